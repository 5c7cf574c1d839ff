//! What a write changes in the indexes of its model.

use crate::entity::Key;
use crate::storage::port::IndexRow;

/// What a write changes in the indexes of its model.
#[derive(Debug, Clone, Default)]
pub(in crate::storage) struct KeyChanges {
    /// Of which state of the indexes this was made.
    pub(in crate::storage) generation: u64,
    pub(in crate::storage) removed: Vec<(IndexRow, Key)>,
    pub(in crate::storage) added: Vec<(IndexRow, Key)>,
}
