//! Removing runs that have ended and are past their time, with their histories and keys.

use std::{collections::HashMap, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::clock::Timestamp;
use crate::id::{RunId, Tenant};
use crate::storage::{
    Error, Storage,
    port::{OldRun, OldRunsWanted, Upkeep},
};

/// How many runs, and how many rows of their histories, are removed at once.
const RUNS_AT_ONCE: i64 = 250;
const ROWS_AT_ONCE: i64 = 1_000;

/// How long is waited at least, and at most, before runs are looked for.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));

/// How long a run is kept beyond the retention while its row in the table of another database is not
/// written, or the manager that started it has not read its end. The table or the manager may be gone.
const NEEDED_MAX: Duration = Duration::from_hours(30 * 24);

impl Storage {
    /// Removes runs once they have ended for so long, until `stop` is cancelled.
    pub async fn forget_runs(self, age: Duration, stop: CancellationToken) {
        let forgetting = async {
            loop {
                tokio::time::sleep((age / 2).clamp(PAUSE.0, PAUSE.1)).await;
                let mut since = Timestamp::from_micros(0);
                while match self.forget_some_runs(age, &mut since).await {
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

    /// Removes those that ended first since a time, which moves on to the last of them; how many
    /// rows that were, or 0 if the next ones are to wait.
    pub(in crate::storage) async fn forget_some_runs(
        &self,
        age: Duration,
        since: &mut Timestamp,
    ) -> Result<u64, Error> {
        let before = self.now().before(age);
        let wanted = OldRunsWanted {
            before,
            needed_before: before.before(NEEDED_MAX),
            since: *since,
        };
        let old = self.0.database.runs_old(wanted, RUNS_AT_ONCE).await?;
        let Some(last) = old.last() else {
            return Ok(0);
        };
        let has_moved = last.ended > *since;
        *since = last.ended;
        match self.forget_all(&old).await {
            Err(Error::NotCommitted) => {}
            removed => return removed,
        }
        // The database rejects one of them, which must not keep the others, nor those that follow.
        let mut rows = u64::from(has_moved);
        for one in &old {
            match self.forget_all(std::slice::from_ref(one)).await {
                Err(Error::NotCommitted) => warn!(run = %one.run, "an ended run stays"),
                removed => rows += removed?,
            }
        }
        Ok(rows)
    }

    /// Removes these runs in one transaction, after their histories; how many rows that were.
    async fn forget_all(&self, old: &[OldRun]) -> Result<u64, Error> {
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
