//! The assumption of a request that no definition has changed since the last pulse
//! (`help/design/storage.md` §13).
//!
//! A request sees what any process has acknowledged before it began. One that only creates entities
//! reads nothing but definitions and how much its tenant has stored, and its commit is written only if
//! it follows the newest one. So it waits for no pulse: it takes what is in memory, and its commit is
//! refused with [`Error::Conflict`] if that is not so as of the newest commit. Before it has an effect
//! outside of the database it verifies the assumption.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{Error, Storage, draft::Assumed};
use crate::id::Tenant;

/// The assumption of one request. Whatever the request answers before it is settled may be wrong.
#[derive(Debug, Clone)]
pub struct Assumption {
    assumed: Assumed,
    is_settled: Arc<AtomicBool>,
}

impl Storage {
    /// The assumption for a request that begins, whose tenant has stored fewer bytes than its limit,
    /// if there is one. None where there is nothing to assume, since no other process can write.
    pub fn assume(&self, stored_below: Option<u64>) -> Option<Assumption> {
        self.0.database.is_shared().then(|| Assumption {
            assumed: Assumed {
                revision: self.0.applied.newest().revision,
                stored_below,
            },
            is_settled: Arc::default(),
        })
    }

    /// Checks an assumption, unless that was done; one that does not hold is a conflict.
    pub(super) async fn verify(
        &self,
        assumption: &Assumption,
        tenant: &Tenant,
    ) -> Result<(), Error> {
        if assumption.is_settled() {
            return Ok(());
        }
        self.refresh().await?;
        let revision = self.0.applied.newest().revision;
        if !self.holds(assumption.assumed, tenant, revision) {
            return Err(Error::Conflict);
        }
        assumption.settle();
        Ok(())
    }

    /// Whether what is assumed for a tenant is so, as of a commit with that revision.
    pub(super) fn holds(&self, assumed: Assumed, tenant: &Tenant, revision: i64) -> bool {
        let stored = self.0.usage.of(tenant);
        revision == assumed.revision && assumed.stored_below.is_none_or(|limit| stored < limit)
    }
}

impl Assumption {
    /// Whether it was right, or no longer matters.
    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Acquire)
    }

    /// What has to be so when a unit is committed; nothing once it is settled.
    pub(super) fn assumed(&self) -> Option<Assumed> {
        (!self.is_settled()).then_some(self.assumed)
    }

    /// Takes the outcome of a unit that was submitted under it. A conflict may be due to the
    /// assumption; any other outcome is valid as of the newest commit, or must not be tried again.
    pub(super) fn met<T>(&self, outcome: &Result<T, Error>) {
        if !matches!(outcome, Err(Error::Conflict)) {
            self.settle();
        }
    }

    fn settle(&self) {
        self.is_settled.store(true, Ordering::Release);
    }
}
