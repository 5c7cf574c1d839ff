//! Durable tasks: what shall happen to an entity later (STORAGE.md §7).
//!
//! A task is written by the commit that makes it necessary and deleted by the commit that
//! completes it. When one is due is known in memory, as far ahead as there is room (`agenda`); the
//! table is the truth.

use std::sync::Arc;

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
    pub(super) const fn waits(self) -> bool {
        !matches!(self, Self::Continuation)
    }
}

/// The key of a row of `task`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey(pub(super) i64);

/// The tasks of one tenant, which wait in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskLine(pub(super) i64);

#[cfg(test)]
impl TaskLine {
    pub(crate) const fn of(tenant: i64) -> Self {
        Self(tenant)
    }
}

/// A task, and the line it waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskRef {
    pub line: TaskLine,
    pub key: TaskKey,
}

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
    pub line: TaskLine,
    pub tenant: Tenant,
    pub entity: EntityId,
    pub kind: TaskKind,
    pub name: Arc<str>,
    pub due: Timestamp,
    pub body: Arc<str>,
}

impl Task {
    pub const fn handle(&self) -> TaskRef {
        TaskRef {
            line: self.line,
            key: self.key,
        }
    }
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
