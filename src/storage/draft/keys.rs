//! What a write changes in the indexes of its model.

use crate::entity::Key;
use crate::storage::port::{Batch, IndexRow, KeyRow};

/// What a write changes in the indexes of its model.
#[derive(Debug, Clone, Default)]
pub(in crate::storage) struct KeyChanges {
    /// Of which state of the indexes this was made.
    pub(in crate::storage) generation: u64,
    pub(in crate::storage) removed: Vec<(IndexRow, Key)>,
    pub(in crate::storage) added: Vec<(IndexRow, Key)>,
}

/// What takes deleted entities out of the indexes.
#[derive(Debug, Default)]
pub(in crate::storage) struct TakenOut {
    pub(in crate::storage) keys: Vec<KeyRow>,
    /// Indexes whose keys are looked through for them later.
    pub(in crate::storage) swept: Vec<i64>,
}

impl TakenOut {
    pub(in crate::storage) fn add_to(self, batch: &mut Batch) {
        batch.keys_removed.extend(self.keys);
        batch.swept.extend(self.swept);
    }
}
