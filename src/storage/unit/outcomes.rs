//! What became of requests that are to be done once (`stream.md` §2, idempotency).
//!
//! An outcome is a row of the commit that did the work, so it is there if and only if the work is.
//! A repeated request looks for it first; validation makes that binding, since of two commits
//! that bring one the second is refused and finds it when it looks again. What is past its time is
//! as good as gone, and deleted a part at a time.

use std::sync::Arc;

use super::UnitOfWork;
use crate::id::Tenant;
use crate::storage::{Error, Storage, draft::StoredOutcome, port::Remembered};

/// What an outcome takes beside its answer, roughly.
const OUTCOME_BYTES: usize = 200;

impl Storage {
    /// The outcomes that are stored for a key, unless they are past their time.
    pub async fn outcomes(&self, tenant: &Tenant, key: &str) -> Result<Vec<Remembered>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(Vec::new());
        };
        let stored = self.0.database.outcomes(tenant, key, self.now()).await?;
        self.once_durable(stored).await
    }
}

impl UnitOfWork {
    /// Stores an outcome with everything else.
    pub fn remember(&mut self, outcome: StoredOutcome) -> Result<(), Error> {
        self.grow(outcome.answer.len() + OUTCOME_BYTES)?;
        self.outcomes.push(outcome);
        Ok(())
    }

    /// The outcomes that this unit itself would store for a key.
    pub fn remembered(&self, key: &str) -> Vec<Remembered> {
        let own = self.outcomes.iter();
        own.filter(|outcome| *outcome.once.key == *key)
            .map(|outcome| Remembered {
                part: outcome.once.part,
                print: outcome.once.print,
                answer: Arc::clone(&outcome.answer),
            })
            .collect()
    }
}
