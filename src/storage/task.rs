//! Durable tasks: what shall happen to an entity later (`help/design/storage.md` §7).
//!
//! A task is written by the commit that makes it necessary and deleted by the commit that
//! completes it. When one is due is known in memory, as far ahead as there is room (`agenda`); the
//! table is the truth.

use std::sync::Arc;

use super::port::{EntityRow, Subject, Task, TaskKey, TaskKind};
use crate::clock::Timestamp;
use crate::id::EntityId;

/// A task to be written. An entity has one of a kind and name at most: it replaces an earlier one.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub entity: EntityId,
    pub kind: TaskKind,
    pub name: Arc<str>,
    pub due: Timestamp,
    pub body: Arc<str>,
}

/// A change that a unit makes to tasks.
#[derive(Debug, Clone)]
pub(super) enum TaskChange {
    /// The row of its entity is that of a write of the unit; this one, if it does not write it.
    Put(NewTask, Option<EntityRow>),
    Drop(Dropped),
}

/// A task that is not to be done any more, whether it is stored or was to be.
#[derive(Debug, Clone)]
pub(super) struct Dropped {
    /// 0 of one that is not stored.
    pub(super) key: TaskKey,
    pub(super) subject: Subject,
    pub(super) kind: TaskKind,
    pub(super) name: Arc<str>,
}

impl Dropped {
    pub(super) fn is(&self, task: &Task) -> bool {
        (self.subject, self.kind, &self.name) == (task.subject, task.kind, &task.name)
    }
}

/// A record of what was decided about an entity that was not changed.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    pub(super) entity: EntityRow,
    pub(super) record: Arc<str>,
}
