//! Runs that another process has driven: those that were at work when the service stopped, and those
//! of processes that are gone (`help/design/runs.md` §5.4).
//!
//! A run is taken over by an ordinary advance, which compares its position and leaves its state as it
//! is. The task that is out is then sent again under its id, unless its worker still has the lease.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::{
    sync::oneshot,
    time::{MissedTickBehavior, interval, sleep},
};
use tracing::{info, warn};

use super::{
    ReadRun,
    send::{parts, task_id},
};
use crate::compute::tasks::Adopted;
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

/// How often a task is to be taken over whose run is advanced meanwhile, and the pause before that
/// is tried again.
const ADOPTIONS_MAX: u32 = 10;
const ADOPTION_PAUSE: Duration = Duration::from_millis(20);

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
                Err(failure) => {
                    warn!(failure = %failure.in_full(), "the runs in progress could not be read; retrying");
                }
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
            let resuming = stream::iter(page).map(|(tenant, run)| async move {
                (self.resume_run(&tenant, run).await, tenant, run)
            });
            let mut resuming = resuming.buffer_unordered(AT_ONCE);
            while let Some((outcome, tenant, run)) = resuming.next().await {
                match outcome {
                    Ok(is_resumed) => resumed += usize::from(is_resumed),
                    // Another process was faster.
                    Err(failure) if failure.code() == Code::Conflict => {}
                    Err(failure) => {
                        warn!(failure = %failure.in_full(), run.id = %run, "a run could not be resumed; retrying");
                        if !self.storage().is_shared() {
                            // Nobody looks for it again.
                            self.0.retries.put(&tenant, run, INTERVAL);
                        }
                    }
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
        let mut found = Vec::new();
        for task in &out {
            if storage.find_lease(tenant, task).await? {
                found.push(task);
            }
        }
        let taken = self.commit_driver(tenant, &read).await;
        if taken.is_err() {
            for task in found {
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
    /// here. A run that is advanced meanwhile is read again.
    pub(super) async fn adopt_task(
        &self,
        tenant: &Tenant,
        task: &str,
        worker: Option<&str>,
    ) -> Result<Adopted, Failure> {
        let mut tried = 1;
        loop {
            match self.try_adopt_task(tenant, task, worker).await {
                Err(failure) if failure.code() == Code::Conflict && tried < ADOPTIONS_MAX => {}
                adopted => return adopted,
            }
            tried += 1;
            sleep(ADOPTION_PAUSE).await;
        }
    }

    async fn try_adopt_task(
        &self,
        tenant: &Tenant,
        task: &str,
        worker: Option<&str>,
    ) -> Result<Adopted, Failure> {
        let storage = self.storage();
        let Some((run, ordinal)) = parts(task) else {
            return Ok(Adopted::Not);
        };
        if !storage.is_shared() {
            return Ok(self.about_to_be_handed_out(tenant, &task.into(), worker));
        }
        storage.refresh().await?;
        let run = match self.find_run(tenant, run).await {
            Err(failure) if failure.code() == Code::RunNotFound => return Ok(Adopted::Not),
            found => found?,
        };
        let read = self.read_run(tenant, run).await?;
        let ReadRun { stored, state } = &read;
        if state.out() != [ordinal] {
            return Ok(Adopted::Not);
        }
        let task: Arc<str> = task.into();
        let holder = self.held_elsewhere(tenant, &task).await?;
        // A delivery that has failed may still have its lease.
        let used = state.used(ordinal).attempt;
        let Some(holder) = holder.filter(|holder| holder.attempt > used) else {
            return Ok(Adopted::Not);
        };
        let is_other = |worker: &str| holder.taken_by.as_deref() != Some(worker);
        if worker.is_some_and(is_other) {
            return Ok(Adopted::Lost);
        }
        if storage.drives(stored) {
            // It was taken over with its lease, and is about to be handed out.
            return match self.0.channels.view(tenant, &task) {
                Some(_) => Ok(Adopted::Here),
                None => Err(Failure::new(Code::Conflict, "the task is on its way here")),
            };
        }
        let out = state.run.outstanding();
        let Some(out) = out.filter(|out| out.ordinal == ordinal) else {
            return Ok(Adopted::Not);
        };
        let Some(spec) = self.task_spec(tenant, stored, state, out).await? else {
            return Ok(Adopted::Not);
        };
        if !storage.find_lease(tenant, &task).await? {
            let message = "the task is on its way here, or its lease has just ended";
            return Err(Failure::new(Code::Conflict, message));
        }
        // It goes on if who asks for it has gone: whether it was committed has to be known.
        let (runtime, tenant) = (self.clone(), tenant.clone());
        let (ended, outcome) = oneshot::channel();
        self.0.calls.spawn(async move {
            let committed = runtime.commit_driver(&tenant, &read).await;
            match &committed {
                // So does who looks at the run after the commit; one of them is the first.
                Ok(()) => runtime.hand_out(spec),
                Err(_) => runtime.storage().leave_lease(&tenant, &task),
            }
            // The caller may be gone.
            let _ = ended.send(committed);
        });
        let outcome = outcome.await;
        outcome.unwrap_or_else(|_| Err(Failure::internal("a task was not taken over")))?;
        Ok(Adopted::Here)
    }

    /// A task that no channel of the only process holds may be about to be left with the worker that
    /// has it since before the last start.
    fn about_to_be_handed_out(
        &self,
        tenant: &Tenant,
        task: &Arc<str>,
        worker: Option<&str>,
    ) -> Adopted {
        let holder = self.held_before(tenant, task);
        if self.0.channels.view(tenant, task).is_some() {
            return Adopted::Here;
        }
        let holder = holder.and_then(|holder| holder.taken_by);
        match (holder, worker) {
            (Some(holder), Some(worker)) if *holder != *worker => Adopted::Lost,
            _ => Adopted::Not,
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
            // It is just being taken back.
            if self.storage().found_lease(tenant, &task).is_some() {
                continue;
            }
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
