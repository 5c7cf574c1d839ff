//! The keys of rows: numbers that a database gives, and that nobody outside storage sees.

use crate::entity::Position;

/// How many bits of the key of a task number it within its position: a version has fewer timers.
const TASK_BITS: u32 = 16;

/// The key of a row of `entity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::storage) struct EntityRow(pub(in crate::storage) i64);

/// The key of a row of `model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::storage) struct ModelRow(pub(in crate::storage) i64);

/// The key of a row of `tenant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::storage) struct TenantRow(pub(in crate::storage) i64);

/// The key of a row of `actor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::storage) struct ActorRow(pub(in crate::storage) i64);

/// The key of a row of `search_path`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexRow(pub(in crate::storage) i64);

/// The key of a row of `search_job`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobRow(pub(in crate::storage) i64);

impl JobRow {
    /// Before all others.
    pub const FIRST: Self = Self(0);

    /// For tests that need some.
    #[cfg(test)]
    pub(crate) const fn test(number: i64) -> Self {
        Self(number)
    }
}

/// The key of a row of `task`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey(pub(in crate::storage) i64);

impl TaskKey {
    /// That of the first task of a unit whose first position that is. No key is given twice, also
    /// after its task is done: other processes may still know the task that had it.
    pub(in crate::storage) const fn first_of(first: Position) -> Self {
        Self(first.0 << TASK_BITS)
    }
}

/// The tasks of one tenant, which wait in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskLine(pub(in crate::storage) i64);

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
