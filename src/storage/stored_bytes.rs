//! Counting what tenants had stored before.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Error, Storage};
use crate::entity::Sequence;
use crate::id::Tenant;

/// How many positions are counted in one go, so that no read is open for long.
const POSITIONS: i64 = 100_000;

/// How long is waited after a count that failed.
const PAUSE: Duration = Duration::from_secs(5);

impl Storage {
    /// How many bytes a tenant has stored, roughly; 0 where they are not counted.
    pub fn stored_bytes(&self, tenant: &Tenant) -> u64 {
        self.0.usage.of(tenant)
    }

    /// Counts from here on what tenants store; what is waited for counts what they had before.
    pub fn count_usage(&self, stop: CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        self.0.usage.begin();
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
        while !self
            .add_counted(self.0.database.usage_of_records(until).await)
            .await
        {}
        while !self
            .add_counted(self.0.database.usage_of_topics(until).await)
            .await
        {}
        while !self
            .add_counted(self.0.database.usage_of_runs(until).await)
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
