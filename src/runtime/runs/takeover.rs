//! Runs that another process has driven: those that were at work when the service stopped, and those
//! of processes that are gone (`KERNEL` §3, owner and lease).
//!
//! A run is taken over by an ordinary advance, which compares its position and leaves its state as it
//! is. The task that is out is then sent again under its id, unless its worker still has the lease.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use super::{
    ReadRun,
    send::{parts, task_id},
};
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::Waiting;
use crate::runtime::Runtime;

/// How many runs are read at a time.
const PAGE: i64 = 1_000;

/// How many are taken over at once.
const AT_ONCE: usize = 64;

/// How often runs of processes that are gone are looked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// How many of the last tasks of a run are looked for here when it is driven elsewhere: others were
/// over before.
const TASKS_MAX: u64 = 256;

/// Why a task is not waited for any more.
const MOVED: &str = "another process of the service continues the run";

impl Runtime {
    /// Has all runs looked at that were at work when the service stopped, and from then on those of
    /// other processes that are gone.
    pub(in crate::runtime) async fn resume_runs(&self) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.storage().wake_driven(PAGE).await {
                warn!(%error, "the runs of this process could not be read; retrying");
            }
            match self.resume_all().await {
                Ok(_) if !self.storage().is_shared() => return,
                Ok(0) => {}
                Ok(runs) => info!(runs, "runs of a process that is gone were taken over"),
                Err(failure) => warn!(%failure, "the runs at work could not be read; retrying"),
            }
        }
    }

    /// Resumes the runs that no live process drives; how many.
    async fn resume_all(&self) -> Result<usize, Failure> {
        let (mut after, mut resumed) = (RunId::new(0), 0);
        loop {
            let page = self.storage().orphaned_runs(after, PAGE).await?;
            let Some((_, last)) = page.last() else {
                return Ok(resumed);
            };
            after = *last;
            self.storage().refresh().await?;
            let mut resuming = stream::iter(page)
                .map(|(tenant, run)| async move { (self.resume_run(&tenant, run).await, run) })
                .buffer_unordered(AT_ONCE);
            while let Some((outcome, run)) = resuming.next().await {
                match outcome {
                    Ok(is_resumed) => resumed += usize::from(is_resumed),
                    // Another process was faster.
                    Err(failure) if failure.code() == Code::Conflict => {}
                    Err(failure) => warn!(%failure, run.id = %run, "a run could not be resumed"),
                }
            }
        }
    }

    async fn resume_run(&self, tenant: &Tenant, run: RunId) -> Result<bool, Failure> {
        let storage = self.storage();
        if !storage.is_shared() {
            storage.wake_run(tenant, run).await?;
            return Ok(true);
        }
        if !storage.has_share(run.number()) {
            return Ok(false);
        }
        self.take_run_over(tenant, run).await
    }

    /// Drives a run from now on that no live process drives; false if there is one.
    async fn take_run_over(&self, tenant: &Tenant, run: RunId) -> Result<bool, Failure> {
        let storage = self.storage();
        let read = self.read_run(tenant, run).await?;
        let ReadRun { stored, state } = &read;
        if !stored.is_out || storage.is_driven(stored) {
            return Ok(false);
        }
        let out = state.out().into_iter();
        let out: Vec<_> = out.map(|one| task_id(&state.run.id, one)).collect();
        for task in &out {
            storage.find_lease(tenant, task).await?;
        }
        let taken = self.commit_driver(tenant, &read).await;
        if taken.is_err() {
            for task in &out {
                storage.leave_lease(tenant, task);
            }
        }
        taken?;
        Ok(true)
    }

    /// Commits that this process drives a run.
    async fn commit_driver(&self, tenant: &Tenant, read: &ReadRun) -> Result<(), Failure> {
        let (by, mut session) = self.own_session(tenant);
        let as_it_is = read.state.stored(&[])?;
        session.unit()?.take_run_over(&read.stored, as_it_is)?;
        session.finish(&by.cancel).await
    }

    /// Takes over a run from a live process, since the worker that has pulled its task there reports
    /// here. False if there is no such task.
    pub(super) async fn adopt_task(&self, tenant: &Tenant, task: &str) -> Result<bool, Failure> {
        let storage = self.storage();
        let Some((run, ordinal)) = parts(task).filter(|_| storage.is_shared()) else {
            return Ok(false);
        };
        storage.refresh().await?;
        let run = match self.find_run(tenant, run).await {
            Err(failure) if failure.code() == Code::RunNotFound => return Ok(false),
            found => found?,
        };
        let read = self.read_run(tenant, run).await?;
        let ReadRun { stored, state } = &read;
        if state.out() != [ordinal] || storage.drives(stored) {
            return Ok(false);
        }
        let out = state.run.outstanding();
        let Some(out) = out.filter(|out| out.ordinal == ordinal) else {
            return Ok(false);
        };
        let Some(spec) = self.task_spec(tenant, stored, state, out).await? else {
            return Ok(false);
        };
        let task: Arc<str> = task.into();
        if !storage.find_lease(tenant, &task).await? {
            return Ok(false);
        }
        // Before the commit, since a look at the run follows that.
        self.hand_out(spec);
        match self.commit_driver(tenant, &read).await {
            Ok(()) => Ok(true),
            Err(failure) => {
                storage.leave_lease(tenant, &task);
                self.0.channels.let_go(tenant, &task);
                // What has become of it is looked up again.
                if failure.code() == Code::Conflict {
                    return Ok(false);
                }
                Err(failure)
            }
        }
    }

    /// Does nothing more about the tasks of a run that was driven here, and that another process
    /// drives now or nobody has to.
    pub(super) fn leave_tasks(&self, tenant: &Tenant, read: &ReadRun) {
        let ReadRun { stored, state } = read;
        if !self.storage().leave_run(stored.id) {
            return;
        }
        let accepted = match &state.run.waiting {
            Some(Waiting::Task {
                task,
                accepted: true,
                ..
            }) => Some(task.ordinal),
            Some(_) | None => None,
        };
        let (out, last) = (state.out(), state.run.last_task());
        let first = last.saturating_sub(TASKS_MAX) + 1;
        for ordinal in (first..=last).filter(|ordinal| Some(*ordinal) != accepted) {
            let task: Arc<str> = task_id(&state.run.id, ordinal);
            if out.contains(&ordinal) {
                self.storage().leave_lease(tenant, &task);
            }
            self.0.calls.leave(tenant, &task);
            if self.0.channels.view(tenant, &task).is_some() {
                self.0.calls.end(tenant, &task);
            }
            self.give_up_task(tenant, &task, MOVED);
        }
    }
}
