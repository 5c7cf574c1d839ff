//! Limits how much JSON is read for one turn of a run, or for one template.
//!
//! Each member of a path is looked for in all of the value that it is a member of, so a path into a
//! deeply nested document reads most of it once per level.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes may be read.
const BYTES: usize = 64 << 20;

/// What is left of that.
#[derive(Debug)]
pub struct Budget(AtomicUsize);

/// Nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuchWork;

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicUsize::new(BYTES))
    }
}

impl Clone for Budget {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Budget {
    /// Takes that many bytes, if there are as many.
    pub(super) fn take(&self, bytes: usize) -> Result<(), TooMuchWork> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes);
        self.0.store(left.ok_or(TooMuchWork)?, Ordering::Relaxed);
        Ok(())
    }

    /// Has as much left as a copy that was used in its place.
    pub(super) fn become_like(&self, used: &Self) {
        self.0
            .store(used.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
