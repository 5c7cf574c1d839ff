//! Removing runs that have ended and are past their time, with their histories and keys.

use std::{collections::HashMap, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::id::{RunId, Tenant};
use crate::storage::{Error, Storage, port::Upkeep};

/// How many runs, and how many rows of their histories, are removed at once.
const RUNS_AT_ONCE: i64 = 250;
const ROWS_AT_ONCE: i64 = 1_000;

/// How long is waited at least, and at most, before runs are looked for.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));

impl Storage {
    /// Removes runs once they have ended for so long, until `stop` is cancelled.
    pub async fn forget_runs(self, age: Duration, stop: CancellationToken) {
        let forgetting = async {
            loop {
                tokio::time::sleep((age / 2).clamp(PAUSE.0, PAUSE.1)).await;
                while match self.forget_some_runs(age).await {
                    Ok(removed) => removed > 0,
                    Err(error) => {
                        warn!(%error, "ended runs could not be removed; trying again");
                        false
                    }
                } {}
            }
        };
        stop.run_until_cancelled(forgetting).await;
    }

    /// Removes those that ended first; how many that were.
    async fn forget_some_runs(&self, age: Duration) -> Result<u64, Error> {
        let before = self.now().before(age);
        let old = self.0.database.runs_old(before, RUNS_AT_ONCE).await?;
        if old.is_empty() {
            return Ok(0);
        }
        let runs: Vec<RunId> = old.iter().map(|old| old.run).collect();
        let tenants: HashMap<RunId, &Tenant> =
            old.iter().map(|old| (old.run, &old.tenant)).collect();
        loop {
            let events = self.0.database.old_run_events(&runs, ROWS_AT_ONCE).await?;
            if events.is_empty() {
                break;
            }
            let bytes = events.iter();
            let bytes = bytes.filter_map(|(_, run, bytes)| Some((*tenants.get(run)?, *bytes)));
            let events = events.iter().map(|(position, ..)| *position).collect();
            let forgotten = self.free(bytes, |freed| Upkeep::ForgetRunEvents { events, freed });
            if forgotten.await? == 0 {
                return Ok(0);
            }
        }
        let bytes = old.iter().map(|old| (&old.tenant, old.bytes));
        self.free(bytes, |freed| Upkeep::ForgetRuns { runs, freed })
            .await
    }
}
