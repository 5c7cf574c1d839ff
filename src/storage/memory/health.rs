//! Whether writes are taken, and whether the database is sound.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::storage::damage;

/// Set by the committer, read by everyone.
#[derive(Debug, Default)]
pub(in crate::storage) struct Health {
    unwell: AtomicBool,
}

impl Health {
    pub(in crate::storage) fn takes_writes(&self) -> bool {
        !self.unwell.load(Ordering::Acquire)
    }

    /// Whether writes are taken and no damaged page was found.
    pub(in crate::storage) fn is_well(&self) -> bool {
        self.takes_writes() && !damage::is_known()
    }

    pub(in crate::storage) fn set_well(&self, well: bool) {
        self.unwell.store(!well, Ordering::Release);
    }
}
