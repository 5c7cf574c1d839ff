//! The assumption of a request that no definition has changed since the last pulse (STORAGE.md §13).
//!
//! A request sees what any process has acknowledged before it began. One that only creates entities
//! reads nothing but definitions, and its commit is written only if it follows the newest one, so it
//! waits for no pulse: it takes the definitions in memory, and its commit is refused with
//! [`Error::Conflict`] if they are not those of the newest commit. Before it has an effect outside of
//! the database it verifies the assumption.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{Error, Storage};

/// The assumption of one request. Whatever the request answers before it is settled may be wrong.
#[derive(Debug, Clone)]
pub struct Assumption {
    /// How often definitions, indexes and identities were changed, as of what was applied when the
    /// request began.
    revision: i64,
    is_settled: Arc<AtomicBool>,
}

impl Storage {
    /// The assumption for a request that begins; none where there is nothing to assume, since no
    /// other process can write.
    pub fn assume(&self) -> Option<Assumption> {
        self.0.database.is_shared().then(|| Assumption {
            revision: self.0.applied.newest().revision,
            is_settled: Arc::default(),
        })
    }

    /// Asks whether an assumption holds, unless that is known; if it does not, that is a conflict.
    pub(super) async fn verify(&self, assumption: &Assumption) -> Result<(), Error> {
        if assumption.is_settled() {
            return Ok(());
        }
        self.refresh().await?;
        if self.0.applied.newest().revision != assumption.revision {
            return Err(Error::Conflict);
        }
        assumption.settle();
        Ok(())
    }
}

impl Assumption {
    /// Whether it was right, or no longer matters.
    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Acquire)
    }

    /// The revision that a commit has to rest on; none once it is settled.
    pub(super) fn revision(&self) -> Option<i64> {
        (!self.is_settled()).then_some(self.revision)
    }

    /// What became of a unit that was submitted under it. A conflict may be all its fault; any other
    /// outcome is that of the newest commit, or is not to be tried again.
    pub(super) fn met<T>(&self, outcome: &Result<T, Error>) {
        if !matches!(outcome, Err(Error::Conflict)) {
            self.settle();
        }
    }

    fn settle(&self) {
        self.is_settled.store(true, Ordering::Release);
    }
}
