//! What somebody waits for: files and runs, so that they need not be looked at again while nothing
//! happens to them.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};

use crate::id::{RunId, Tenant};
use crate::storage::port::{RecordKey, RecordKind};

/// How many things all watches have together; what is beyond is not watched.
const THINGS_MAX: usize = 2_000_000;

/// What is watched, and by whom.
///
/// A mutex, not a task: held for a look-up when a file is committed or a run ends, and not even
/// that while nothing is watched.
#[derive(Debug, Default)]
pub(in crate::storage) struct Watched {
    known: Mutex<Known>,
    /// How many things are watched.
    count: AtomicUsize,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Known {
    /// Each thing by its hash, with a watch on it. Two things of one hash disturb each other's
    /// watches, which costs a look.
    things: BTreeSet<(u64, u64)>,
    watches: HashMap<u64, Arc<AtomicBool>>,
    last: u64,
}

/// A watch on files and on the ends of runs. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    watched: Arc<Watched>,
    id: u64,
    things: Vec<u64>,
    is_disturbed: Arc<AtomicBool>,
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }

    fn file(&self, tenant: &Tenant, namespace: &str, path: &str) -> u64 {
        self.hasher.hash_one((0_u8, tenant, namespace, path))
    }

    fn run(&self, run: RunId) -> u64 {
        self.hasher.hash_one((1_u8, run))
    }

    /// A watch on nothing yet.
    pub(in crate::storage) fn watch(self: &Arc<Self>) -> Watch {
        let is_disturbed = Arc::new(AtomicBool::new(false));
        let mut known = self.lock();
        known.last += 1;
        let id = known.last;
        known.watches.insert(id, Arc::clone(&is_disturbed));
        Watch {
            watched: Arc::clone(self),
            id,
            things: Vec::new(),
            is_disturbed,
        }
    }

    /// To be called once who reads the file finds what was committed.
    pub(in crate::storage) fn record_changed(&self, tenant: &Tenant, key: &RecordKey) {
        if key.kind == RecordKind::File && self.count.load(Ordering::Acquire) > 0 {
            self.disturb(self.file(tenant, &key.namespace, &key.name));
        }
    }

    /// To be called once who reads the run finds that it has ended.
    pub(in crate::storage) fn run_ended(&self, run: RunId) {
        if self.count.load(Ordering::Acquire) > 0 {
            self.disturb(self.run(run));
        }
    }

    fn disturb(&self, thing: u64) {
        let known = self.lock();
        for (_, watch) in known.things.range((thing, 0)..=(thing, u64::MAX)) {
            if let Some(is_disturbed) = known.watches.get(watch) {
                is_disturbed.store(true, Ordering::Release);
            }
        }
    }
}

impl Watch {
    /// Watches a file from here on, whether it is there or not.
    pub fn file(&mut self, tenant: &Tenant, namespace: &str, path: &str) {
        self.add(self.watched.file(tenant, namespace, path));
    }

    /// Watches for the end of a run from here on.
    pub fn run(&mut self, run: RunId) {
        self.add(self.watched.run(run));
    }

    fn add(&mut self, thing: u64) {
        let mut known = self.watched.lock();
        if known.things.len() >= THINGS_MAX {
            self.is_disturbed.store(true, Ordering::Release);
        } else if known.things.insert((thing, self.id)) {
            self.watched.count.fetch_add(1, Ordering::AcqRel);
            self.things.push(thing);
        }
    }

    /// Whether nothing has happened to what is watched.
    pub fn is_quiet(&self) -> bool {
        !self.is_disturbed.load(Ordering::Acquire)
    }

    /// How many things are watched.
    pub fn things(&self) -> usize {
        self.things.len()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut known = self.watched.lock();
        for thing in &self.things {
            known.things.remove(&(*thing, self.id));
        }
        known.watches.remove(&self.id);
        self.watched
            .count
            .fetch_sub(self.things.len(), Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> RecordKey {
        RecordKey::new(RecordKind::File, "n", name)
    }

    #[test]
    fn a_watch_is_quiet_until_something_happens_to_what_it_watches() {
        let watched = Arc::new(Watched::default());
        let (one, other): (Tenant, Tenant) = ("one".into(), "other".into());
        let watch = || {
            let mut watch = watched.watch();
            watch.file(&one, "n", "/a");
            watch.run(RunId::new(7));
            watch
        };
        let (first, second) = (watch(), watch());
        assert_eq!(first.things(), 2);
        watched.record_changed(&one, &file("/b"));
        watched.record_changed(&other, &file("/a"));
        watched.record_changed(&one, &RecordKey::new(RecordKind::File, "m", "/a"));
        watched.record_changed(&one, &RecordKey::new(RecordKind::Action, "n", "/a"));
        watched.run_ended(RunId::new(8));
        assert!(first.is_quiet() && second.is_quiet());
        watched.record_changed(&one, &file("/a"));
        assert!(!first.is_quiet() && !second.is_quiet());
        let third = watch();
        assert!(third.is_quiet());
        watched.run_ended(RunId::new(7));
        assert!(!third.is_quiet());
        drop((first, second, third));
        let known = watched.lock();
        assert!(known.things.is_empty() && known.watches.is_empty());
        assert_eq!(watched.count.load(Ordering::Acquire), 0);
    }
}
