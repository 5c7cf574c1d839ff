//! Counting what tenants had stored before.

use std::{collections::HashMap, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::entity::Sequence;
use crate::id::Tenant;
use crate::storage::{
    Error, Storage,
    port::{FreedBytes, Newest, TenantRow, Upkeep},
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
        let began = {
            // What is committed before is counted, and what comes after is added.
            let applying = self.0.applied.begin();
            self.0.usage.begin();
            applying.sequence()
        };
        let storage = self.clone();
        async move {
            stop.run_until_cancelled(storage.count_earlier(began)).await;
        }
    }

    /// Removes what tenants have stored; how many rows that took. None where another process removes
    /// it.
    pub(in crate::storage) async fn free<'a>(
        &self,
        bytes: impl Iterator<Item = (&'a Tenant, i64)>,
        upkeep: impl FnOnce(FreedBytes) -> Upkeep,
    ) -> Result<u64, Error> {
        self.0.usage.counted().await;
        let mut by_tenant: HashMap<&Tenant, i64> = HashMap::new();
        for (tenant, bytes) in bytes {
            *by_tenant.entry(tenant).or_default() += bytes;
        }
        let mut freed = FreedBytes::with_capacity(by_tenant.len());
        for (tenant, bytes) in by_tenant {
            if let Some(row) = self.tenant_row(tenant).await? {
                freed.push((row, tenant.clone(), bytes));
            }
        }
        self.keep_up(upkeep(freed)).await
    }

    /// Subtracts what was removed without a commit.
    pub(in crate::storage) fn freed(&self, upkeep: &Upkeep) {
        for (_, tenant, bytes) in upkeep.freed() {
            self.0.usage.add(tenant, -bytes);
        }
    }

    /// Takes over a commit of this process that brings nothing for the caches but what it has freed.
    pub(in crate::storage) fn take_over_link(
        &self,
        newest: Newest,
        freed: &[(TenantRow, Tenant, i64)],
    ) {
        let mut applying = self.0.applied.begin();
        // Else a pulse has read it, and has subtracted that.
        if applying.is_news(newest.sequence) {
            for (_, tenant, bytes) in freed {
                self.0.usage.add_at(newest.sequence, tenant, -bytes);
            }
        }
        applying.finish(newest);
        drop(applying);
        self.notify_others();
    }

    async fn count_earlier(self, began: Sequence) {
        let until = self.count_now(began).await;
        let mut from = 0;
        while from < until.0 {
            let to = until.0.min(from + POSITIONS);
            match self.0.database.usage(from, to).await {
                Ok(counted) => {
                    for (tenant, bytes) in counted {
                        self.0.usage.add(&tenant, bytes);
                    }
                }
                Err(error) => {
                    not_counted(&error).await;
                    continue;
                }
            }
            // Positions may be left out, more than could be looked at part by part.
            from = match self.0.database.usage_next(to).await {
                Ok(Some(next)) => next - 1,
                Ok(None) => break,
                Err(_) => to,
            };
        }
        self.0.usage.has_counted();
        info!(until = until.0, "what tenants have stored is counted");
    }

    /// Counts what may be rewritten or removed; as of which commit.
    async fn count_now(&self, began: Sequence) -> Sequence {
        loop {
            match self.0.database.usage_now().await {
                Ok((newest, counted)) if newest >= began.0 => {
                    self.0.usage.counted_as_of(Sequence(newest), &counted);
                    return Sequence(newest);
                }
                // The server that was asked is behind.
                Ok(_) => tokio::time::sleep(PAUSE).await,
                Err(error) => not_counted(&error).await,
            }
        }
    }
}

/// Waits before what could not be counted is counted again.
async fn not_counted(error: &Error) {
    warn!(
        error = error as &dyn std::error::Error,
        "what tenants have stored could not be counted; trying again"
    );
    tokio::time::sleep(PAUSE).await;
}
