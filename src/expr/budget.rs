//! Limits how much JSON is read for one turn of a run, or for one template.
//!
//! Each member of a path is looked for in all of the value that it is a member of, so a path into a
//! deeply nested document reads most of it once per level.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::{Deserialize, Serialize};

/// How many bytes may be read.
const BYTES: usize = 64 << 20;

/// What is left of that.
#[derive(Debug, Serialize, Deserialize)]
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
    /// Whether nothing was taken yet.
    pub fn is_whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) == BYTES
    }

    /// Takes that many bytes, if there are as many.
    pub(super) fn take(&self, bytes: usize) -> Result<(), TooMuchWork> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes);
        self.0.store(left.ok_or(TooMuchWork)?, Ordering::Relaxed);
        Ok(())
    }

    /// Takes that many bytes within [`Budget::while_left`], which ends if there are not as many.
    pub(super) fn spend(&self, bytes: usize) {
        if let Err(nothing_left) = self.take(bytes) {
            // An error would not end it: macros and operators go on after errors.
            resume_unwind(Box::new(nothing_left));
        }
    }

    /// Does work that takes of a copy of the budget, as long as anything is left.
    pub(super) fn while_left<T>(
        &self,
        work: impl FnOnce(Arc<Self>) -> T,
    ) -> Result<T, TooMuchWork> {
        let copy = Arc::new(self.clone());
        let done = catch_unwind(AssertUnwindSafe(|| work(Arc::clone(&copy))));
        self.0
            .store(copy.0.load(Ordering::Relaxed), Ordering::Relaxed);
        done.map_err(|panic| match panic.downcast::<TooMuchWork>() {
            Ok(nothing_left) => *nothing_left,
            Err(panic) => resume_unwind(panic),
        })
    }
}
