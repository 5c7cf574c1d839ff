//! Invocations of actions, and tasks as they are shown (`runs.md` §3 and §5).
//!
//! An invocation is a run of one step that is not among the runs that callers see.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    Runtime, StartRun, State, events,
    send::{kind_of, parts, task_id},
    start::{INVOCATION, ITEM},
    state::Invoked,
};
use crate::clock::Timestamp;
use crate::compute::tasks::{TaskKind, TaskView};
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{EventKind, HistoryEvent, StartedBy, Status, Waiting};
use crate::runtime::{Initiator, Session};
use crate::storage::{RunName, RunsWanted, StoredRun};

/// How many advances of a history are read at a time.
const PAGE: i64 = 256;

/// How many runs are looked at for one page of tasks.
const LOOKED_AT_MAX: usize = 5_000;

/// An action to invoke.
#[derive(Debug, Clone)]
pub struct Invoke {
    pub namespace: Arc<str>,
    pub action: Arc<str>,
    pub input: Arc<str>,
    pub key: Option<Box<str>>,
    pub priority: u8,
    pub delay: Duration,
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

/// A task as it is shown.
#[derive(Debug)]
pub struct ShownTask {
    pub id: Arc<str>,
    pub kind: TaskKind,
    pub name: Box<str>,
    pub namespace: Arc<str>,
    pub status: TaskStatus,
    pub outcome: Option<Box<str>>,
    pub input: Arc<str>,
    pub output: Option<Arc<str>>,
    /// Of one that a channel holds.
    pub held: Option<TaskView>,
    /// None of an invocation.
    pub run: Option<Box<str>>,
    pub step: Option<Box<str>>,
    pub created: Timestamp,
    pub ended: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

impl TaskStatus {
    const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// Which tasks are asked for.
#[derive(Debug, Clone)]
pub struct TasksAsked {
    pub namespace: Arc<str>,
    pub name: Option<Box<str>>,
    pub statuses: Vec<TaskStatus>,
    pub run: Option<String>,
    /// The runs before it.
    pub before: Option<RunId>,
    pub limit: usize,
}

/// A task while a history is read.
struct Found {
    ordinal: u64,
    name: Box<str>,
    step: Box<str>,
    input: Option<Arc<str>>,
    output: Option<Arc<str>>,
    end: Option<(EventKind, Box<str>, Timestamp)>,
    created: Timestamp,
}

impl Runtime {
    /// Invokes an action in the transaction of a session; the identifier of its task, and its run.
    pub async fn invoke(
        &self,
        session: &mut Session,
        by: &Initiator,
        invoke: Invoke,
    ) -> Result<(RunId, Arc<str>), Failure> {
        let (registry, action) = (&self.0.registry, &invoke.action);
        let known = registry.action_named(&by.tenant, &invoke.namespace, action);
        let known = known.await?;
        if !known.enabled {
            return Err(Failure::new(
                Code::ActionDisabled,
                format!("the action \"{action}\" is disabled; enable it first"),
            )
            .with("name", &**action));
        }
        let started = self.invoke_known(session, by, &invoke, None, StartedBy::Caller);
        started.await
    }

    /// Sends the work of a manager's item to members, in the transaction of a session; the
    /// identifier of its task. That of its run may be given.
    pub async fn invoke_item(
        &self,
        session: &mut Session,
        by: &Initiator,
        mut item: Invoke,
        id: Option<Box<str>>,
    ) -> Result<Arc<str>, Failure> {
        item.action = format!("{ITEM}{}", item.action).into();
        let started = self.invoke_known(session, by, &item, id, StartedBy::Manager);
        Ok(started.await?.1)
    }

    async fn invoke_known(
        &self,
        session: &mut Session,
        by: &Initiator,
        invoke: &Invoke,
        id: Option<Box<str>>,
        started_by: StartedBy,
    ) -> Result<(RunId, Arc<str>), Failure> {
        let name = RunName {
            namespace: Arc::clone(&invoke.namespace),
            name: format!("{INVOCATION}{}", invoke.action).into(),
        };
        let held_back = (!invoke.delay.is_zero()).then(|| self.0.clock.now().after(invoke.delay));
        let start = StartRun {
            id,
            key: invoke.key.clone(),
            steps_at_once: started_by == StartedBy::Caller && !session.has_joined(),
            invoked: Some(Invoked {
                priority: invoke.priority,
                labels: invoke.labels.clone(),
                not_before: held_back.map(Timestamp::micros),
            }),
            ..StartRun::new(name, Arc::clone(&invoke.input), started_by)
        };
        let started = self.start_run(session, by, start).await?;
        Ok((started.run, task_id(&started.id, 1)))
    }

    /// A task by its identifier.
    pub async fn shown_task(&self, tenant: &Tenant, task: &str) -> Result<ShownTask, Failure> {
        let unknown = || {
            Failure::new(Code::TaskNotFound, format!("there is no task {task}"))
                .with("taskId", task)
        };
        let (run, ordinal) = parts(task).ok_or_else(unknown)?;
        let stored = match self.stored_run(tenant, run).await {
            Err(failure) if failure.code() == Code::RunNotFound => return Err(unknown()),
            stored => stored?,
        };
        let tasks = self.tasks_of_run(tenant, &stored).await?;
        let id = task_id(run, ordinal);
        tasks
            .into_iter()
            .find(|task| task.id == id)
            .ok_or_else(unknown)
    }

    /// The tasks that are asked for, the newest runs first. With them comes the run after which to
    /// continue, if there may be more.
    pub async fn list_tasks(
        &self,
        tenant: &Tenant,
        asked: &TasksAsked,
    ) -> Result<(Vec<ShownTask>, Option<RunId>), Failure> {
        let is_asked_for = |task: &ShownTask| {
            let name = asked.name.as_ref().is_none_or(|name| *name == task.name);
            name && (asked.statuses.is_empty() || asked.statuses.contains(&task.status))
        };
        if let Some(run) = &asked.run {
            let stored = self.stored_run(tenant, run).await?;
            let mut tasks = self.tasks_of_run(tenant, &stored).await?;
            tasks.retain(is_asked_for);
            tasks.reverse();
            tasks.truncate(asked.limit);
            return Ok((tasks, None));
        }
        let mut wanted = RunsWanted {
            before: asked.before,
            ..RunsWanted::default()
        };
        let (mut found, mut looked_at) = (Vec::new(), 0);
        loop {
            let page = self.storage().runs(tenant, &wanted, PAGE).await?;
            let is_last = i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE);
            for stored in page {
                if found.len() >= asked.limit || looked_at == LOOKED_AT_MAX {
                    return Ok((found, wanted.before));
                }
                looked_at += 1;
                wanted.before = Some(stored.id);
                if stored.name.namespace != asked.namespace {
                    continue;
                }
                let mut tasks = self.tasks_of_run(tenant, &stored).await?;
                tasks.retain(is_asked_for);
                tasks.reverse();
                found.extend(tasks);
            }
            if is_last {
                return Ok((found, None));
            }
            tokio::task::yield_now().await;
        }
    }

    /// The tasks of a run, the oldest first.
    async fn tasks_of_run(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
    ) -> Result<Vec<ShownTask>, Failure> {
        let state = self.0.parsed.read(stored)?;
        let mut found: Vec<Found> = Vec::new();
        let mut step = Box::<str>::default();
        let invoked = stored.name.name.strip_prefix(INVOCATION);
        if let Some(action) = invoked {
            found.push(Found::new(1, action, "", state.run.created));
        }
        let mut after = 0;
        loop {
            let page = self.storage().run_events(stored.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.last;
            for advance in page {
                for event in events(&advance.record)? {
                    take(&mut found, &mut step, &event, invoked.is_some());
                }
            }
        }
        let mut shown = Vec::with_capacity(found.len());
        for task in found {
            shown.push(self.shown_of(tenant, stored, &state, task).await?);
        }
        Ok(shown)
    }

    async fn shown_of(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        found: Found,
    ) -> Result<ShownTask, Failure> {
        let id = task_id(&state.run.id, found.ordinal);
        let is_out = matches!(
            &state.run.waiting,
            Some(Waiting::Task { task, .. }) if task.ordinal == found.ordinal
        );
        let held = match self.0.channels.view(tenant, &id) {
            None if is_out => self.held_elsewhere(tenant, &id).await?,
            held => held,
        };
        let is_accepted = is_out && state.run.outstanding().is_none();
        let status = match &found.end {
            Some((EventKind::ActionLost, ..)) => TaskStatus::Failed,
            Some((_, outcome, _)) => match &**outcome {
                "failure" | "execution_failure" => TaskStatus::Failed,
                "timeout" => TaskStatus::TimedOut,
                _ => TaskStatus::Completed,
            },
            None if state.run.status == Status::Cancelled => TaskStatus::Cancelled,
            None if is_accepted || held.as_ref().is_some_and(|held| held.running) => {
                TaskStatus::Running
            }
            None if state.run.status.is_end() => TaskStatus::Failed,
            None => TaskStatus::Pending,
        };
        let input = match found.input {
            Some(input) => input,
            None => self.shown_value(stored.id, &state.run.input).await?,
        };
        let is_invoked = !state.is_listed();
        Ok(ShownTask {
            id,
            kind: kind_of(&found.name),
            name: match found.name.strip_prefix(ITEM) {
                Some(workflow) => workflow.into(),
                None => found.name,
            },
            namespace: Arc::clone(&stored.name.namespace),
            status,
            outcome: found.end.as_ref().map(|(_, outcome, _)| outcome.clone()),
            input,
            output: found.output,
            held,
            run: (!is_invoked).then(|| state.run.id.clone()),
            step: (!is_invoked).then_some(found.step),
            created: found.created,
            ended: found.end.map(|(_, _, at)| at).or(state.run.ended),
        })
    }
}

impl Found {
    fn new(ordinal: u64, name: &str, step: &str, created: Timestamp) -> Self {
        Self {
            ordinal,
            name: name.into(),
            step: step.into(),
            input: None,
            output: None,
            end: None,
            created,
        }
    }
}

/// Takes an event of a history. The task of an invocation is there before its first.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most events are not about tasks"
)]
fn take(found: &mut Vec<Found>, step: &mut Box<str>, event: &HistoryEvent, is_invoked: bool) {
    match event.kind {
        EventKind::StepStarted => *step = (*event.detail).into(),
        EventKind::AwaitingAction if !is_invoked => {
            let ordinal = found.len() as u64 + 1;
            let mut task = Found::new(ordinal, &event.detail, step, event.at());
            task.input.clone_from(&event.data);
            found.push(task);
        }
        EventKind::ActionCompleted | EventKind::ActionLost => {
            if let Some(task) = found.last_mut().filter(|task| task.end.is_none()) {
                task.output.clone_from(&event.data);
                task.end = Some((event.kind, (*event.detail).into(), event.at()));
            }
        }
        EventKind::StepCompleted => {
            if let Some(task) = found.last_mut().filter(|task| task.end.is_some())
                && task.output.is_none()
            {
                task.output.clone_from(&event.data);
            }
        }
        _ => {}
    }
}
