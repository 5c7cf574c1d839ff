//! Tasks as a database has them.

use std::sync::Arc;

use super::{TaskKey, TaskLine, TaskRef};
use crate::clock::Timestamp;
use crate::id::{EntityId, RunId, Tenant};

/// What a task is; part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskKind {
    /// The schedule of a transition.
    Schedule,
    /// A timer that a processor set.
    Timer,
    /// The rest of a run that has committed a part of what it did.
    Continuation,
    /// What a run does next.
    Run,
}

/// What a task belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Entity(EntityId),
    Run(RunId),
}

impl TaskKind {
    pub(in crate::storage) const ALL: [Self; 4] =
        [Self::Schedule, Self::Timer, Self::Continuation, Self::Run];

    pub(in crate::storage) const fn code(self) -> i64 {
        match self {
            Self::Schedule => 1,
            Self::Timer => 2,
            Self::Continuation => 3,
            Self::Run => 4,
        }
    }

    /// Whether it waits for a time, and not for the worker that has it now.
    pub(in crate::storage) const fn waits(self) -> bool {
        !matches!(self, Self::Continuation)
    }
}

/// A task as it is stored.
#[derive(Debug, Clone)]
pub struct Task {
    pub key: TaskKey,
    pub line: TaskLine,
    pub tenant: Tenant,
    pub subject: Subject,
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

    /// Whether the table has it. A run may be looked at without a task of its own.
    pub const fn is_stored(&self) -> bool {
        self.key.0 != 0
    }

    /// The entity that it belongs to; none of that of a run.
    pub const fn entity(&self) -> Option<EntityId> {
        match self.subject {
            Subject::Entity(id) => Some(id),
            Subject::Run(_) => None,
        }
    }
}

/// A part of the table to be read: what comes after a due time and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPage {
    pub(in crate::storage) line: TaskLine,
    pub(in crate::storage) after: (i64, i64),
    /// The last task that an earlier process wrote.
    pub(in crate::storage) began_with: i64,
    pub(in crate::storage) limit: usize,
}
