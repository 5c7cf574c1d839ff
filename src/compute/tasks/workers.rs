//! The members and workers of one tenant.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Deref,
    sync::Arc,
};

use super::worker::Worker;
use crate::id::DEFAULT_NAMESPACE;

/// Members and workers by their numbers. One is found by its id without looking at the others: a
/// tenant may have thousands, most of their requests name one, and all tenants wait meanwhile.
#[derive(Debug, Default)]
pub(super) struct Workers {
    by_number: HashMap<u64, Worker>,
    by_id: HashMap<Arc<str>, OfId>,
}

/// The numbers of those that have one id.
#[derive(Debug, Default)]
struct OfId {
    /// The id of a member is its own in every namespace.
    members: BTreeSet<u64>,
    /// Workers by their namespaces.
    workers: HashMap<Arc<str>, u64>,
}

impl Workers {
    /// Adds one; a worker only where [`Self::find`] finds none.
    pub(super) fn insert(&mut self, number: u64, worker: Worker) {
        let of_id = self.by_id.entry(Arc::clone(&worker.id)).or_default();
        if worker.is_member() {
            of_id.members.insert(number);
        } else {
            of_id.workers.insert(namespace(&worker).into(), number);
        }
        self.by_number.insert(number, worker);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Worker> {
        let worker = self.by_number.remove(&number)?;
        if let Some(of_id) = self.by_id.get_mut(&worker.id) {
            if worker.is_member() {
                of_id.members.remove(&number);
            } else {
                of_id.workers.remove(namespace(&worker));
            }
            if of_id.members.is_empty() && of_id.workers.is_empty() {
                self.by_id.remove(&worker.id);
            }
        }
        Some(worker)
    }

    pub(super) fn retain(&mut self, stays: impl Fn(&Worker) -> bool) {
        let leaves = self.by_number.iter().filter(|(_, worker)| !stays(worker));
        let leaves: Vec<u64> = leaves.map(|(number, _)| *number).collect();
        for number in leaves {
            self.remove(number);
        }
    }

    /// For changes of anything but the id, the namespace, and whether it is a member.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Worker> {
        self.by_number.get_mut(&number)
    }

    /// The worker of that id in a namespace, else a member of that id.
    pub(super) fn find(&self, namespace: &str, id: &str) -> Option<u64> {
        let of_id = self.by_id.get(id)?;
        let worker = of_id.workers.get(namespace);
        worker.or_else(|| of_id.members.first()).copied()
    }
}

impl Deref for Workers {
    type Target = HashMap<u64, Worker>;

    fn deref(&self) -> &Self::Target {
        &self.by_number
    }
}

fn namespace(worker: &Worker) -> &str {
    worker.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tokio::sync::mpsc;

    use super::*;
    use crate::clock::Timestamp;
    use crate::compute::tasks::worker::{Announced, Channel, Stream};

    fn one(id: &str, namespace: Option<&str>, channel: Channel) -> Worker {
        let announced = Announced {
            namespace: namespace.map(Into::into),
            ..Announced::default()
        };
        Worker::new(id.into(), announced, 1, Timestamp::from_micros(0), channel)
    }

    #[test]
    fn a_worker_is_found_in_its_namespace_and_a_member_in_all() {
        let mut workers = Workers::default();
        let pull = || Channel::Pull(VecDeque::new());
        workers.insert(1, one("a", None, pull()));
        workers.insert(2, one("a", Some("other"), pull()));
        let found =
            |workers: &Workers| ["default", "other", "third"].map(|it| workers.find(it, "a"));
        assert_eq!(found(&workers), [Some(1), Some(2), None]);
        let stream = Channel::Stream(Stream::new(mpsc::unbounded_channel().0));
        workers.insert(3, one("a", None, stream));
        assert_eq!(found(&workers), [Some(1), Some(2), Some(3)]);
        workers.remove(1);
        assert_eq!(found(&workers), [Some(3), Some(2), Some(3)]);
        workers.retain(|worker| !worker.is_member());
        assert_eq!(found(&workers), [None, Some(2), None]);
        workers.remove(2);
        assert!(workers.is_empty() && workers.by_id.is_empty());
    }
}
