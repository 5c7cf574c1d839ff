//! What other processes have committed.

use super::Newest;
use crate::id::EntityId;

/// The newest commit, and what has changed since an earlier one.
#[derive(Debug)]
pub(in crate::storage) struct Pulse {
    pub(in crate::storage) newest: Newest,
    /// The entities that were changed or deleted since; none if there are too many.
    pub(in crate::storage) moved: Option<Vec<EntityId>>,
}
