//! How work is shared out over the processes that use one database, and what this one has taken.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

use crate::random::mixed;
use crate::storage::port::{NodeRow, TaskKey};

/// The node that does a piece of work, if it is there: the one with the highest number that is made
/// of both. When a node comes or goes, only its own work has another place. None without nodes.
pub(in crate::storage) fn place(work: i64, live: &[NodeRow]) -> Option<NodeRow> {
    let weight = |node: &NodeRow| mixed(mixed(work.cast_unsigned()) ^ node.0.cast_unsigned());
    live.iter().copied().max_by_key(weight)
}

/// The number of a piece of work that has a name, the same in every process (FNV-1a).
pub(in crate::storage) fn number(name: &[&str]) -> i64 {
    let bytes = name.iter().flat_map(|part| part.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}

/// The tasks that this process has to do with. Empty where the database is not shared.
///
/// A mutex, not a task: it is held for a few keys.
#[derive(Debug, Default)]
pub(in crate::storage) struct Shares {
    taken: Mutex<Taken>,
    /// How far is looked ahead for tasks, in milliseconds.
    ahead: AtomicU64,
}

#[derive(Debug, Default)]
struct Taken {
    /// Those it has taken and put off.
    kept: HashSet<TaskKey>,
    /// Those that were found in the table and are not yet due.
    found: HashSet<TaskKey>,
}

impl Shares {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }

    /// How far is looked ahead for tasks.
    pub(in crate::storage) fn ahead(&self) -> Duration {
        Duration::from_millis(self.ahead.load(Ordering::Relaxed))
    }

    pub(in crate::storage) fn look_ahead(&self, ahead: Duration) {
        let millis = u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX);
        self.ahead.store(millis, Ordering::Relaxed);
    }

    /// A task is put off; it stays with this process.
    pub(in crate::storage) fn keep(&self, key: TaskKey) {
        self.lock().kept.insert(key);
    }

    /// Those of these tasks that were put off. They are due now, so they are not found any more.
    pub(in crate::storage) fn kept(&self, keys: &[TaskKey]) -> Vec<TaskKey> {
        let mut taken = self.lock();
        for key in keys {
            taken.found.remove(key);
        }
        let of_them = keys.iter().copied();
        of_them.filter(|key| taken.kept.contains(key)).collect()
    }

    /// These were taken, or belong to others.
    pub(in crate::storage) fn settled(&self, keys: &[TaskKey]) {
        let mut taken = self.lock();
        for key in keys {
            taken.kept.remove(key);
        }
    }

    /// Whether a task that is in the table was not found before, nor put off.
    pub(in crate::storage) fn finds(&self, key: TaskKey) -> bool {
        let mut taken = self.lock();
        !taken.kept.contains(&key) && taken.found.insert(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_also_by_where_their_parts_end() {
        let names: [&[&str]; 4] = [&["a", "b"], &["ab"], &["ab", ""], &["", "ab"]];
        let numbers: HashSet<i64> = names.map(number).into_iter().collect();
        assert_eq!(numbers.len(), names.len());
        assert_eq!(number(names[0]), number(&["a", "b"]));
    }

    #[test]
    fn work_is_spread_evenly_and_stays_where_it_is_when_a_node_goes() {
        let nodes: Vec<NodeRow> = [3, 4, 9].map(NodeRow).to_vec();
        let without: Vec<NodeRow> = [3, 9].map(NodeRow).to_vec();
        let mut counts = [0; 3];
        for work in 1..=3_000 {
            let at = place(work, &nodes).expect("a node");
            let index = nodes.iter().position(|node| *node == at).expect("known");
            counts[index] += 1;
            if at != NodeRow(4) {
                assert_eq!(place(work, &without), Some(at));
            }
        }
        assert!(counts.iter().all(|count| *count > 850), "{counts:?}");
        assert_eq!(place(1, &[]), None);
    }
}
