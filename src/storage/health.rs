//! Whether writes are taken, and whether the database is sound.

use std::sync::atomic::{AtomicBool, Ordering};

use super::damage;

/// Set by the committer, read by everyone.
#[derive(Debug, Default)]
pub(super) struct Health {
    unwell: AtomicBool,
}

impl Health {
    pub(super) fn takes_writes(&self) -> bool {
        !self.unwell.load(Ordering::Acquire)
    }

    /// Whether writes are taken and no damaged page was found.
    pub(super) fn is_well(&self) -> bool {
        self.takes_writes() && !damage::is_known()
    }

    pub(super) fn set_well(&self, well: bool) {
        self.unwell.store(!well, Ordering::Release);
    }
}
