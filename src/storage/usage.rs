//! How much each tenant has stored, roughly: its documents with their history, decision records
//! and messages, in bytes.
//!
//! It is counted only where a limit asks for it. What was there at the start is counted in the
//! background, part by part, and what is committed from then on is added by the committer. So it
//! costs no statement of its own, and for a moment after the start it is too low. Indexes, models
//! and what is remembered for idempotency keys come on top and are not counted.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Error, Storage, draft::Draft};
use crate::entity::Sequence;
use crate::id::Tenant;

/// How many positions are counted in one go, so that no read is open for long.
const POSITIONS: i64 = 100_000;

/// How long is waited after a count that failed.
const PAUSE: Duration = Duration::from_secs(5);

/// Bytes by tenant; nothing where they are not counted.
///
/// A mutex, not a task: one addition for each commit, and one look-up for each write.
#[derive(Debug, Default)]
pub(super) struct Usage(OnceLock<Mutex<HashMap<Tenant, i64>>>);

impl Usage {
    pub(super) fn is_counted(&self) -> bool {
        self.0.get().is_some()
    }

    fn lock(&self) -> Option<MutexGuard<'_, HashMap<Tenant, i64>>> {
        let bytes = self.0.get()?;
        Some(bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, tenant: &Tenant, more: i64) {
        let Some(mut bytes) = self.lock() else {
            return;
        };
        match bytes.get_mut(tenant) {
            Some(sum) => *sum = sum.saturating_add(more),
            None => {
                bytes.insert(tenant.clone(), more);
            }
        }
    }

    /// What a unit has stored, and taken away, is there.
    pub(super) fn committed(&self, draft: &Draft) {
        if self.is_counted() {
            self.add(&draft.tenant, draft.stored_bytes());
        }
    }
}

impl Storage {
    /// How many bytes a tenant has stored, roughly; 0 where they are not counted.
    pub fn stored_bytes(&self, tenant: &Tenant) -> u64 {
        let bytes = self.0.usage.lock();
        let bytes = bytes.and_then(|bytes| bytes.get(tenant).copied());
        u64::try_from(bytes.unwrap_or(0)).unwrap_or(0)
    }

    /// Counts from here on what tenants store; what is waited for counts what they had before.
    pub fn count_usage(&self, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        self.0.usage.0.get_or_init(Mutex::default);
        let (storage, until) = (self.clone(), self.latest());
        async move {
            stop.run_until_cancelled(storage.count_earlier(until)).await;
        }
    }

    async fn count_earlier(self, until: Sequence) {
        let mut from = 0;
        while from < until.0 {
            let to = until.0.min(from + POSITIONS);
            if self
                .add_counted(self.0.database.usage(from, to).await)
                .await
            {
                from = to;
            }
        }
        while !self
            .add_counted(self.0.database.usage_of_messages(until).await)
            .await
        {}
        info!(until = until.0, "what tenants have stored is counted");
    }

    /// Adds what was counted; false after a pause if it was not.
    async fn add_counted(&self, counted: Result<Vec<(Tenant, i64)>, Error>) -> bool {
        match counted {
            Ok(counted) => {
                for (tenant, bytes) in counted {
                    self.0.usage.add(&tenant, bytes);
                }
                true
            }
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "what tenants have stored could not be counted; trying again"
                );
                tokio::time::sleep(PAUSE).await;
                false
            }
        }
    }
}

impl Draft {
    /// How many bytes more are stored once this is committed; fewer, if it deletes messages.
    fn stored_bytes(&self) -> i64 {
        let writes = self.writes.iter().map(|write| {
            let record = write.record.as_ref().map_or(0, |record| record.len());
            write.image.document.as_str().len() + record
        });
        let decisions = self.decisions.iter().map(|decision| decision.record.len());
        let stored: usize = writes.chain(decisions).sum();
        let messages: i64 = self
            .messages
            .iter()
            .map(super::message::MessageChange::bytes)
            .sum();
        i64::try_from(stored)
            .unwrap_or(i64::MAX)
            .saturating_add(messages)
    }
}
