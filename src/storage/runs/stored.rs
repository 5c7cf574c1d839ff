//! Runs as they are stored: by id, by key, in lists, and their histories (`runs.md` §3).
//!
//! A run has a position, that of its last event, and an advance replaces it by comparison, as a
//! write replaces a version. Its history is never changed.

use std::sync::Arc;

use tokio::sync::watch;

use crate::entity::Position;
use crate::id::{RunId, Tenant};
use crate::storage::{
    Error, Storage, TaskNote,
    memory::known_runs::WokenRun,
    port::{RunEvents, RunKey, RunsWanted, StoredRun},
};

/// Waits for the end of a run.
#[derive(Debug)]
pub struct RunEnd {
    storage: Storage,
    run: RunId,
    ended: watch::Receiver<bool>,
}

impl RunEnd {
    /// Returns once the run has ended.
    pub async fn reached(&mut self) {
        // The sender is gone only with the last that waits.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

impl Drop for RunEnd {
    fn drop(&mut self) {
        self.storage.0.runs.leave_end(self.run);
    }
}

impl Storage {
    /// Waits for the end of a run from here on; whether it has ended already is for the caller to
    /// find out afterwards.
    pub fn run_end(&self, run: RunId) -> RunEnd {
        RunEnd {
            ended: self.0.runs.end_of(run),
            storage: self.clone(),
            run,
        }
    }

    /// Has a run looked at.
    pub async fn wake_run(&self, tenant: &Tenant, run: RunId) -> Result<(), Error> {
        if let Some(row) = self.tenant_row(tenant).await? {
            self.0.runs.wake(tenant, row, run);
        }
        Ok(())
    }

    /// The runs that are to be looked at since this was asked last.
    pub fn woken_runs(&self) -> Vec<WokenRun> {
        self.0.runs.woken()
    }

    /// What was committed about tasks since this was asked last.
    pub fn task_notes(&self) -> Vec<(Tenant, TaskNote)> {
        self.0.runs.task_notes()
    }

    /// Returns once there may be a run to look at, or something was committed about a task.
    pub async fn runs_woken(&self) {
        self.0.runs.has_woken().await;
    }

    /// How many runs of a tenant have not ended.
    pub fn live_runs(&self, tenant: &Tenant) -> u64 {
        self.0.live_runs.of(tenant)
    }

    /// An identifier for a new run.
    pub fn fresh_run(&self) -> RunId {
        self.0.runs.fresh(self.now())
    }

    /// A run as it was committed last; none of another tenant's.
    pub async fn run(&self, tenant: &Tenant, id: RunId) -> Result<Option<Arc<StoredRun>>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        if let Some(run) = self.0.runs.get(id) {
            return Ok((run.tenant == tenant).then_some(run));
        }
        let stored = self.0.database.run(tenant, id).await?.map(Arc::new);
        self.once_durable(stored).await
    }

    /// The run that has a key.
    pub async fn run_of_key(&self, tenant: &Tenant, key: &RunKey) -> Result<Option<RunId>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let found = self
            .0
            .database
            .run_keys(tenant, std::slice::from_ref(key))
            .await?;
        self.once_durable(found.first().map(|(_, run)| *run)).await
    }

    /// A page of runs, the newest first.
    pub async fn runs(
        &self,
        tenant: &Tenant,
        wanted: &RunsWanted,
        limit: i64,
    ) -> Result<Vec<StoredRun>, Error> {
        match self.tenant_row(tenant).await? {
            Some(tenant) => {
                let turn = self.0.long_reads.turn(tenant).await;
                let runs = self.0.database.runs(tenant, wanted, limit).await?;
                drop(turn);
                self.once_durable(runs).await
            }
            None => Ok(Vec::new()),
        }
    }

    /// The events of a run after the one of that number, a part of so many advances.
    pub async fn run_events(
        &self,
        run: RunId,
        after: u64,
        limit: i64,
    ) -> Result<Vec<RunEvents>, Error> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let events = self.0.database.run_events(run, after, limit).await?;
        self.once_durable(events).await
    }

    /// The events of all runs of a tenant after a position, a part of so many advances. With it
    /// comes how far that went.
    pub async fn run_events_after(
        &self,
        tenant: &Tenant,
        after: Position,
        limit: i64,
    ) -> Result<(Vec<RunEvents>, Position), Error> {
        let latest = Position(self.latest().0);
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok((Vec::new(), latest));
        };
        let events = self
            .0
            .database
            .run_events_after(tenant, after, latest, limit)
            .await?;
        let is_full = i64::try_from(events.len()).is_ok_and(|found| found >= limit);
        let reached = match events.last() {
            Some(last) if is_full => last.position,
            Some(_) | None => latest,
        };
        Ok((events, reached))
    }
}
