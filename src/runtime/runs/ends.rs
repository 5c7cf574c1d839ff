//! How tasks end: what channels report, and what they ask (`runs.md` §5.2).

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use serde::Deserialize;

use super::{ReadRun, RunKind, send::parts};
use crate::compute::tasks::{Adopted, End, Ends, Reported, Standing, TaskSpec, Used};
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::program::{Answer, Arrival, Waiting, may_be_at_work};
use crate::runtime::{
    Runtime,
    incidents::{Held, Verdict, contained},
};
use crate::storage::Work;

/// Whether a member has answered that it ended a task because it was cancelled.
fn was_cancelled(answer: &Answer) -> bool {
    #[derive(Deserialize)]
    struct Failed<'a> {
        #[serde(borrow)]
        error_code: Cow<'a, str>,
    }
    let Answer::Outcome { outcome, output } = answer else {
        return false;
    };
    let failed = || serde_json::from_str::<Failed<'_>>(output).ok();
    &**outcome == "failure"
        && failed().is_some_and(|failed| failed.error_code == Code::Cancelled.as_str())
}

/// Stores how tasks end.
pub(super) struct TaskEnds(pub(in crate::runtime) Runtime);

impl fmt::Debug for TaskEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskEnds")
    }
}

impl Ends for TaskEnds {
    fn ended<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
        end: End,
    ) -> BoxFuture<'a, Result<Reported, Failure>> {
        let ended = self.0.task_ended_contained(tenant, task, end);
        ended.map_err(|(failure, _)| failure).boxed()
    }

    fn token(&self, spec: &TaskSpec, attempt: u32) -> Option<Arc<str>> {
        Some(self.0.task_token(spec, attempt))
    }

    fn discard(&self, tenant: &Tenant, task: &str, attempt: u32) {
        self.0.discard_delivery(tenant, task, attempt);
    }

    fn left<'a>(&'a self, tenant: &'a Tenant, task: &'a str) -> BoxFuture<'a, ()> {
        self.0.call_left(tenant, task).boxed()
    }

    fn again<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
        pause: Duration,
    ) -> BoxFuture<'a, Option<Duration>> {
        self.0.report_again(tenant, task, pause).boxed()
    }

    fn load<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Option<TaskSpec>, Failure>> {
        self.0.task_to_send(tenant, task).boxed()
    }

    fn keep<'a>(&'a self, tenant: &'a Tenant, task: &'a str, used: Used) -> BoxFuture<'a, ()> {
        self.0.keep_used(tenant, task, used).boxed()
    }

    fn adopt<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
        worker: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Adopted, Failure>> {
        self.0.adopt_task(tenant, task, worker).boxed()
    }

    fn standing<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Standing, Failure>> {
        self.0.task_standing(tenant, task).boxed()
    }
}

impl Runtime {
    /// The same as [`Self::task_ended`]; a failure counts as one of its run, of which it says what
    /// follows.
    pub(super) async fn task_ended_contained(
        &self,
        tenant: &Tenant,
        task: &str,
        end: End,
    ) -> Result<Reported, (Failure, Verdict)> {
        let fault = match contained(Box::pin(self.task_ended(tenant, task, end))).await {
            Ok(reported) => return Ok(reported),
            Err(fault) => fault,
        };
        let mut verdict = Verdict::Again(self.0.settings.retry_pause);
        if let Some((run, _)) = parts(task)
            && let Ok(run) = self.find_run(tenant, run).await
        {
            verdict = self.run_failed(tenant, run, &fault).await;
        }
        Err((fault.into_failure(), verdict))
    }

    /// After which pause a report is to be stored again; not at all if its run has stopped, which
    /// sends the task again once an operator has it tried again.
    async fn report_again(&self, tenant: &Tenant, task: &str, pause: Duration) -> Option<Duration> {
        let (run, _) = parts(task)?;
        let Ok(run) = self.find_run(tenant, run).await else {
            return Some(pause);
        };
        match self.held(tenant, &Work::run(run)) {
            // Reports wait in one line, so that their pauses are shorter than those of runs.
            Held::No | Held::For(_) => Some(pause),
            Held::Stopped => None,
        }
    }

    pub(super) async fn task_ended(
        &self,
        tenant: &Tenant,
        task: &str,
        end: End,
    ) -> Result<Reported, Failure> {
        let Some((run, ordinal)) = parts(task) else {
            return Ok(Reported::Unknown);
        };
        // Another process may have sent it.
        self.storage().refresh().await?;
        let found = match self.find_run(tenant, run).await {
            Err(failure) if failure.code() == Code::RunNotFound => return Ok(Reported::Unknown),
            found => found?,
        };
        let read = match self.storage().run(tenant, found).await? {
            Some(stored) => self.read_of(stored)?,
            None => return Ok(Reported::Unknown),
        };
        // A tick is done by this process, and nobody else says how it ended.
        if read.state.kind() == RunKind::Manager {
            return Ok(Reported::Unknown);
        }
        // It was never sent.
        if ordinal == 0 || ordinal > read.state.run.last_task() {
            return Ok(Reported::Unknown);
        }
        // No task has the number 0, so what is late is recorded alone. The end of its delivery may
        // not be stored yet, and was reported first.
        // A saga undoes what has succeeded too late.
        let is_wanted = !end.is_late || read.state.run.has_given_up(ordinal);
        if end.is_late && is_wanted && was_cancelled(&end.answer) {
            // Its member has ended it without knowing whether it was done.
            self.call_again(tenant, found, &task.into()).await;
            return Ok(Reported::Late);
        }
        let ordinal = if is_wanted { ordinal } else { 0 };
        let is_of_saga = read.state.run.saga.is_some();
        let end = if is_of_saga {
            self.end_of_call(tenant, task, end)
        } else {
            end
        };
        // After its deadline a member may still be at work.
        let is_over = is_of_saga && !matches!(end.answer, Answer::Deadline);
        let is_unknown = may_be_at_work(&end.answer);
        let reported = if end.is_late {
            None
        } else {
            self.end_in_transaction(tenant, task, &end).await?
        };
        let reported = match reported {
            Some(reported) => reported,
            None => self.take_answer(tenant, read, ordinal, end).await?,
        };
        if is_over && !reported.is_repeated() {
            self.0.calls.end(tenant, &task.into());
            if is_unknown {
                self.repeat_call(tenant, found).await;
            }
        }
        // Its member may have answered before this was stored, and has it no longer.
        if is_of_saga && !is_over && !self.0.calls.is_out(tenant, &task.into()) {
            self.repeat_call(tenant, found).await;
        }
        Ok(reported)
    }

    /// Stores how a tick ended.
    pub(in crate::runtime) async fn tick_ended(
        &self,
        tenant: &Tenant,
        task: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let Some((run, ordinal)) = parts(task) else {
            return Ok(());
        };
        let run = self.find_run(tenant, run).await?;
        let read = self.read_run(tenant, run).await?;
        let end = End::of(answer);
        let _: Reported = self.take_answer(tenant, read, ordinal, end).await?;
        Ok(())
    }

    async fn take_answer(
        &self,
        tenant: &Tenant,
        read: ReadRun,
        ordinal: u64,
        end: End,
    ) -> Result<Reported, Failure> {
        let End {
            attempt, answer, ..
        } = end;
        let arrival = Arrival::Answered { ordinal, answer };
        let arrived = self.arrive(tenant, read, arrival, attempt, None).await?;
        Ok(if arrived.is_taken {
            Reported::Applied
        } else {
            Reported::Late
        })
    }

    /// A task that is still to be done.
    async fn task_to_send(&self, tenant: &Tenant, task: &str) -> Result<Option<TaskSpec>, Failure> {
        let Some((run, ordinal)) = parts(task) else {
            return Ok(None);
        };
        let stored = match self.stored_run(tenant, run).await {
            Err(failure) if failure.code() == Code::RunNotFound => return Ok(None),
            stored => stored?,
        };
        let state = self.0.parsed.read(&stored)?;
        let run = &state.run;
        let mut out = run.outstanding().into_iter().chain(run.given_up());
        match out.find(|task| task.ordinal == ordinal) {
            Some(task) => self.task_spec(tenant, &stored, &state, task).await,
            None => Ok(None),
        }
    }

    async fn task_standing(&self, tenant: &Tenant, task: &str) -> Result<Standing, Failure> {
        let Some((run, ordinal)) = parts(task) else {
            return Ok(Standing::Unknown);
        };
        let stored = match self.stored_run(tenant, run).await {
            Err(failure) if failure.code() == Code::RunNotFound => return Ok(Standing::Unknown),
            stored => stored?,
        };
        let state = self.0.parsed.read(&stored)?;
        let run = &state.run;
        if state.kind() == RunKind::Manager {
            return Ok(Standing::Unknown);
        }
        Ok(match &run.waiting {
            Some(Waiting::Task { task, accepted, .. }) if task.ordinal == ordinal => {
                if *accepted {
                    Standing::Accepted { until: run.due() }
                } else {
                    Standing::Open
                }
            }
            _ if (1..=run.last_task()).contains(&ordinal) => Standing::Closed(run.status.as_str()),
            _ => Standing::Unknown,
        })
    }
}
