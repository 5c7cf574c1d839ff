//! Durable tasks: what shall happen to an entity later (STORAGE.md §7).
//!
//! A task is written by the commit that makes it necessary and deleted by the commit that
//! completes it. When one is due is known in memory, as far ahead as there is room; the table is
//! the truth.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::EntityRow;
use crate::clock::Timestamp;
use crate::id::{EntityId, Tenant};

/// What a task is; part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskKind {
    /// The schedule of a transition.
    Schedule,
    /// A timer that a processor set.
    Timer,
    /// The rest of a run that has committed a part of what it did.
    Continuation,
}

impl TaskKind {
    pub(super) const ALL: [Self; 3] = [Self::Schedule, Self::Timer, Self::Continuation];

    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Schedule => 1,
            Self::Timer => 2,
            Self::Continuation => 3,
        }
    }

    /// Whether it waits for a time, and not for whoever is at it now.
    const fn waits(self) -> bool {
        !matches!(self, Self::Continuation)
    }
}

/// The key of a row of `task`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey(pub(super) i64);

/// A task to be written. An entity has one of a kind and name at most: it replaces an earlier one.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub entity: EntityId,
    pub kind: TaskKind,
    pub name: Arc<str>,
    pub due: Timestamp,
    pub body: Arc<str>,
}

/// A task as it is stored.
#[derive(Debug, Clone)]
pub struct Task {
    pub key: TaskKey,
    pub tenant: Tenant,
    pub entity: EntityId,
    pub kind: TaskKind,
    pub name: Arc<str>,
    pub due: Timestamp,
    pub body: Arc<str>,
}

/// A change that a unit makes to tasks.
#[derive(Debug, Clone)]
pub(super) enum TaskChange {
    Put(NewTask),
    Drop(Dropped),
}

/// A task that is not to be done any more, whether it is stored or was to be.
#[derive(Debug, Clone)]
pub(super) struct Dropped {
    /// 0 of one that is not stored.
    pub(super) key: TaskKey,
    pub(super) entity: EntityId,
    pub(super) kind: TaskKind,
    pub(super) name: Arc<str>,
}

impl Dropped {
    pub(super) fn is(&self, task: &Task) -> bool {
        (self.entity, self.kind, &self.name) == (task.entity, task.kind, &task.name)
    }
}

/// A record of what was decided about an entity that was not changed.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    pub(super) entity: EntityRow,
    pub(super) record: Arc<str>,
}

/// How many tasks are known in memory.
const KNOWN_MAX: usize = 1_000_000;

/// What is due next.
///
/// A mutex, not a task: the committer adds on the path of every batch, and it is held for a push.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    state: Mutex<Known>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Known {
    due: BinaryHeap<Reverse<(i64, i64)>>,
    /// Tasks due from here on are only in the table.
    horizon: Option<i64>,
}

/// What to do about tasks.
#[derive(Debug, PartialEq, Eq)]
pub enum NextTask {
    /// Some are due, or were when they were noted: they may have gone since.
    Due(Vec<TaskKey>),
    /// Nothing until then.
    Until(Timestamp),
    /// The table knows more from there on.
    Read(Timestamp),
    Nothing,
}

impl Agenda {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes when tasks are due, except where only the table has room for it.
    pub(super) fn add(&self, tasks: impl IntoIterator<Item = (i64, i64)>) {
        let mut known = self.lock();
        for (due, key) in tasks {
            if known.horizon.is_none_or(|horizon| due < horizon) {
                known.due.push(Reverse((due, key)));
            }
        }
        if known.due.len() > KNOWN_MAX {
            let mut all = std::mem::take(&mut known.due).into_sorted_vec();
            // The soonest are last.
            let keep = all.split_off(all.len() - KNOWN_MAX / 2);
            known.horizon = keep.first().map(|Reverse((due, _))| *due);
            known.due = keep.into();
        }
        drop(known);
        self.added.notify_one();
    }

    /// Notes what the table said is due from the horizon on; a full part may not be all.
    pub(super) fn read(&self, tasks: Vec<(i64, i64)>, full: bool) {
        let mut known = self.lock();
        known.horizon = if full {
            tasks.last().map(|(due, _)| due + 1)
        } else {
            None
        };
        known.due.extend(tasks.into_iter().map(Reverse));
        drop(known);
        self.added.notify_one();
    }

    /// Takes what is due at `now`, `limit` at most.
    pub(super) fn next(&self, now: Timestamp, limit: usize) -> NextTask {
        let mut known = self.lock();
        let mut taken = Vec::new();
        while taken.len() < limit {
            match known.due.peek() {
                Some(Reverse((due, key))) if *due <= now.micros() => {
                    taken.push(TaskKey(*key));
                    known.due.pop();
                }
                Some(Reverse((due, _))) if taken.is_empty() => {
                    return NextTask::Until(Timestamp::from_micros(*due));
                }
                None if taken.is_empty() => {
                    return known.horizon.map_or(NextTask::Nothing, |horizon| {
                        NextTask::Read(Timestamp::from_micros(horizon))
                    });
                }
                Some(_) | None => break,
            }
        }
        NextTask::Due(taken)
    }

    /// Returns once something was noted.
    pub(super) async fn changed(&self) {
        self.added.notified().await;
    }

    /// How much of the table is read at a time.
    pub(super) const fn part() -> usize {
        KNOWN_MAX / 2
    }
}

/// When a new task is due for the agenda; none if it is not.
pub(super) fn noted(kind: TaskKind, due: i64, key: i64) -> Option<(i64, i64)> {
    kind.waits().then_some((due, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_and_the_rest_stays_in_the_table() {
        let agenda = Agenda::default();
        let at = Timestamp::from_micros;
        assert_eq!(agenda.next(at(9), 9), NextTask::Nothing);
        agenda.add([(30, 3), (10, 1), (20, 2)]);
        assert_eq!(agenda.next(at(9), 9), NextTask::Until(at(10)));
        assert_eq!(
            agenda.next(at(20), 9),
            NextTask::Due(vec![TaskKey(1), TaskKey(2)])
        );
        assert_eq!(agenda.next(at(99), 9), NextTask::Due(vec![TaskKey(3)]));
        let all = i64::try_from(KNOWN_MAX).expect("small") + 1;
        agenda.add((0..all).map(|n| (n, n)));
        let kept = all / 2;
        for n in 0..kept {
            assert_eq!(agenda.next(at(all), 1), NextTask::Due(vec![TaskKey(n)]));
        }
        let NextTask::Read(from) = agenda.next(at(all), 1) else {
            panic!("the table knows more")
        };
        assert!(from.micros() <= kept);
        agenda.read(vec![(from.micros(), 7)], false);
        assert_eq!(agenda.next(at(all), 1), NextTask::Due(vec![TaskKey(7)]));
        assert_eq!(agenda.next(at(all), 1), NextTask::Nothing);
    }
}
