//! Counting what tenants had stored before.

use std::{collections::HashMap, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::entity::Sequence;
use crate::id::Tenant;
use crate::storage::{
    Error, Storage,
    port::{FreedBytes, Upkeep},
};

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
        let until = {
            // What is committed before is counted, and what comes after is added.
            let applying = self.0.applied.begin();
            self.0.usage.begin();
            applying.sequence()
        };
        let storage = self.clone();
        async move {
            stop.run_until_cancelled(storage.count_earlier(until)).await;
        }
    }

    /// Removes what tenants have stored; how many rows that took. None where another process removes
    /// it.
    pub(in crate::storage) async fn free<'a>(
        &self,
        bytes: impl Iterator<Item = (&'a Tenant, i64)>,
        upkeep: impl FnOnce(FreedBytes) -> Upkeep,
    ) -> Result<u64, Error> {
        let mut by_tenant: HashMap<&Tenant, i64> = HashMap::new();
        for (tenant, bytes) in bytes {
            *by_tenant.entry(tenant).or_default() += bytes;
        }
        let mut freed = FreedBytes::with_capacity(by_tenant.len());
        for (tenant, bytes) in &by_tenant {
            if let Some(row) = self.tenant_row(tenant).await? {
                freed.push((row, *bytes));
            }
        }
        let rows = self.keep_up(upkeep(freed)).await?;
        if rows > 0 {
            for (tenant, bytes) in by_tenant {
                self.0.usage.add(tenant, -bytes);
            }
        }
        Ok(rows)
    }

    async fn count_earlier(self, until: Sequence) {
        let mut from = 0;
        while from < until.0 {
            let to = until.0.min(from + POSITIONS);
            if !self
                .add_counted(self.0.database.usage(from, to).await)
                .await
            {
                continue;
            }
            // Positions may be left out, more than could be looked at part by part.
            from = match self.0.database.usage_next(to).await {
                Ok(Some(next)) => next - 1,
                Ok(None) => break,
                Err(_) => to,
            };
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
