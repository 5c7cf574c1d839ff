//! Whether writes are taken.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the committer, read by everyone.
#[derive(Debug, Default)]
pub(super) struct Health {
    unwell: AtomicBool,
}

impl Health {
    pub(super) fn is_well(&self) -> bool {
        !self.unwell.load(Ordering::Acquire)
    }

    pub(super) fn set_well(&self, well: bool) {
        self.unwell.store(!well, Ordering::Release);
    }
}
