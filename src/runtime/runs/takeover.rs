//! Runs that another process has driven: those that were at work when the service stopped, and those
//! of processes that are gone (`help/design/runs.md` §5.4).
//!
//! Tenants take turns: the runs of one do not wait for all those of another.
//!
//! A run is taken over by an ordinary advance, which compares its position and leaves its state as it
//! is. The task that is out is then sent again under its id, unless its worker still has the lease.

use std::{collections::HashMap, slice, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
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

/// How many are found before the first is taken over: tenants take turns among those.
const FOUND_MAX: usize = 1_000_000;

/// How many runs of a tenant are taken over in its turn, by one commit.
const TURN: usize = 64;

/// How many turns there are at once, and how many runs are read at once in each.
const TURNS_AT_ONCE: usize = 8;
const READS_AT_ONCE: usize = 8;

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
            let found = self.find_orphans(&mut after).await?;
            if found.is_empty() {
                return Ok(resumed);
            }
            self.storage().refresh().await?;
            let resuming = stream::iter(by_turns(found))
                .map(|(tenant, runs)| async move { self.resume_some(&tenant, runs).await });
            let mut resuming = resuming.buffer_unordered(TURNS_AT_ONCE);
            while let Some(some) = resuming.next().await {
                resumed += some;
            }
        }
    }

    /// The next runs, by tenant, that no live process drives and that this one is to resume.
    async fn find_orphans(
        &self,
        after: &mut RunId,
    ) -> Result<HashMap<Tenant, Vec<RunId>>, Failure> {
        let storage = self.storage();
        let (mut found, mut count) = (HashMap::<Tenant, Vec<RunId>>::new(), 0);
        while count < FOUND_MAX {
            let page = storage.orphaned_runs(*after, PAGE).await?;
            let Some((_, last)) = page.last() else { break };
            *after = *last;
            for (tenant, run) in page {
                if storage.has_share(run.number()) {
                    found.entry(tenant).or_default().push(run);
                    count += 1;
                }
            }
        }
        Ok(found)
    }

    /// Resumes runs of a tenant; how many.
    async fn resume_some(&self, tenant: &Tenant, runs: Vec<RunId>) -> usize {
        let storage = self.storage();
        if storage.is_shared()
            && runs.len() > 1
            && let Ok(resumed) = self.take_runs_over(tenant, runs.clone()).await
        {
            return resumed;
        }
        // One of them may have moved, or cannot be read; the others are not held up by it.
        let mut resumed = 0;
        for run in runs {
            let outcome = if storage.is_shared() {
                self.take_runs_over(tenant, vec![run]).await
            } else {
                self.wake_again(tenant, run).await
            };
            match outcome {
                Ok(some) => resumed += some,
                // Another process was faster.
                Err(failure) if failure.code() == Code::Conflict => {}
                Err(failure) => {
                    warn!(failure = %failure.in_full(), run.id = %run, "a run could not be resumed; retrying");
                    if !storage.is_shared() {
                        // Nobody looks for it again.
                        self.0.retries.put(tenant, run, INTERVAL);
                    }
                }
            }
        }
        resumed
    }

    /// Resumes a run that this process has driven before it was restarted.
    async fn wake_again(&self, tenant: &Tenant, run: RunId) -> Result<usize, Failure> {
        let read = self.read_run(tenant, run).await?;
        self.resumes_call(tenant, &read.state);
        self.storage().wake_run(tenant, run).await?;
        Ok(1)
    }

    /// Drives those of some runs of a tenant from now on, by one commit, that no live process drives;
    /// how many.
    async fn take_runs_over(&self, tenant: &Tenant, runs: Vec<RunId>) -> Result<usize, Failure> {
        let reading = stream::iter(runs)
            .map(|run| self.read_run(tenant, run))
            .buffered(READS_AT_ONCE);
        let mut orphans: Vec<ReadRun> = reading.try_collect().await?;
        let is_driven = |read: &ReadRun| self.storage().is_driven(&read.stored);
        orphans.retain(|read| read.stored.is_out && !is_driven(read));
        if orphans.is_empty() {
            return Ok(0);
        }
        let mut leases = Vec::new();
        let mut taken = self.find_leases(tenant, &orphans, &mut leases).await;
        for read in &orphans {
            self.resumes_call(tenant, &read.state);
        }
        if taken.is_ok() {
            taken = self.commit_driver(tenant, &orphans).await;
        }
        if taken.is_err() {
            for task in leases {
                self.storage().leave_lease(tenant, &task);
            }
            for read in &orphans {
                self.leaves_call(tenant, &read.state);
            }
        }
        taken?;
        Ok(orphans.len())
    }

    /// Finds the leases of tasks of runs that are about to be taken over.
    async fn find_leases(
        &self,
        tenant: &Tenant,
        orphans: &[ReadRun],
        found: &mut Vec<Arc<str>>,
    ) -> Result<(), Failure> {
        for ReadRun { state, .. } in orphans {
            for one in state.out() {
                let task = task_id(&state.run.id, one);
                if self.storage().find_lease(tenant, &task).await? {
                    found.push(task);
                }
            }
        }
        Ok(())
    }

    /// Commits that this process drives runs.
    async fn commit_driver(&self, tenant: &Tenant, runs: &[ReadRun]) -> Result<(), Failure> {
        let (by, mut session) = self.own_session(tenant);
        let unit = session.unit()?;
        for ReadRun { stored, state } in runs {
            unit.take_run_over(stored, state.stored(&[])?)?;
        }
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
            let committed = runtime.commit_driver(&tenant, slice::from_ref(&read)).await;
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

/// Cuts the runs of tenants into turns: all first turns come before all second ones.
fn by_turns(found: HashMap<Tenant, Vec<RunId>>) -> Vec<(Tenant, Vec<RunId>)> {
    let mut turns: Vec<(usize, Tenant, Vec<RunId>)> = Vec::new();
    for (tenant, runs) in found {
        let of_tenant = runs.chunks(TURN).enumerate();
        turns.extend(of_tenant.map(|(turn, runs)| (turn, tenant.clone(), runs.to_vec())));
    }
    turns.sort_by_key(|(turn, ..)| *turn);
    let turns = turns.into_iter();
    turns.map(|(_, tenant, runs)| (tenant, runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_with_many_runs_does_not_hold_up_another() {
        let runs = |from: i64, until: i64| (from..until).map(RunId::new).collect::<Vec<_>>();
        let many: Tenant = "many".into();
        let few: Tenant = "few".into();
        let found = HashMap::from([
            (many.clone(), runs(0, 3_000)),
            (few.clone(), runs(3_000, 3_001)),
        ]);
        let turns = by_turns(found);
        let at = turns.iter().position(|(tenant, _)| *tenant == few);
        assert!(at.is_some_and(|at| at < 2), "{at:?}");
        let of_many = turns.into_iter().filter(|(tenant, _)| *tenant == many);
        let of_many: Vec<_> = of_many.flat_map(|(_, runs)| runs).collect();
        assert_eq!(of_many, runs(0, 3_000));
    }
}
