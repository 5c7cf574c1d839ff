//! Invocations of actions, and tasks as they are shown (`runs.md` §3 and §5).
//!
//! An invocation is a run of one step that is not among the runs that callers see.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

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
use crate::program::{EventKind, HistoryEvent, Purpose, StartedBy, Status, Waiting};
use crate::runtime::{Initiator, Session};
use crate::storage::{RunName, RunsWanted, StoredRun};

/// How many runs are read at a time.
const PAGE: i64 = 256;

/// How many advances of a history are read at a time. Each may have values of a megabyte.
const EVENTS: i64 = 32;

/// How many bytes of inputs and outputs a page of tasks has; one task more may go beyond.
const PAGE_BYTES: usize = 4 << 20;

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
    /// Its number in its run.
    ordinal: u64,
    pub kind: TaskKind,
    pub name: Box<str>,
    pub namespace: Arc<str>,
    pub status: TaskStatus,
    pub outcome: Option<Box<str>>,
    pub input: Arc<str>,
    pub output: Option<Arc<str>>,
    /// How often it was delivered; 0 also if that is not known of one that has ended.
    pub attempt: u32,
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
    pub before: Option<TaskPlace>,
    pub limit: usize,
}

/// A place in the list of tasks: behind it are the tasks of a run before one of them, and those of
/// older runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPlace {
    run: RunId,
    ordinal: u64,
}

impl TaskPlace {
    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, ordinal) = text.split_once('.')?;
        Some(Self {
            run: RunId::new(run.parse().ok()?),
            ordinal: ordinal.parse().ok()?,
        })
    }
}

impl fmt::Display for TaskPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run.number(), self.ordinal)
    }
}

/// The tasks of a page, as far as it is made.
#[derive(Debug, Default)]
struct TasksFound {
    tasks: Vec<ShownTask>,
    bytes: usize,
}

impl TasksFound {
    const fn is_full(&self, limit: usize) -> bool {
        self.tasks.len() >= limit || self.bytes >= PAGE_BYTES
    }
}

/// The task of an action that was invoked.
#[derive(Debug)]
pub struct InvokedTask {
    pub run: RunId,
    pub task: Arc<str>,
    pub created: Timestamp,
    /// Whether the action was not invoked before with that key.
    pub is_new: bool,
}

/// A task while a history is read.
struct Found {
    ordinal: u64,
    /// Whether it is a call of a connector, whose input no event has.
    is_call: bool,
    name: Box<str>,
    step: Box<str>,
    input: Option<Arc<str>>,
    output: Option<Arc<str>>,
    /// Whether its output is known, or its step has that of another one.
    is_settled: bool,
    end: Option<(EventKind, Box<str>, Timestamp)>,
    /// The delivery that it ended with.
    attempt: Option<u32>,
    created: Timestamp,
}

impl Runtime {
    /// Invokes an action in the transaction of a session.
    pub async fn invoke(
        &self,
        session: &mut Session,
        by: &Initiator,
        invoke: Invoke,
    ) -> Result<InvokedTask, Failure> {
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
        Ok(started.await?.task)
    }

    async fn invoke_known(
        &self,
        session: &mut Session,
        by: &Initiator,
        invoke: &Invoke,
        id: Option<Box<str>>,
        started_by: StartedBy,
    ) -> Result<InvokedTask, Failure> {
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
        Ok(InvokedTask {
            run: started.run,
            task: task_id(&started.id, 1),
            created: started.created,
            is_new: started.is_new,
        })
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

    /// The tasks that are asked for, those of the newest runs first. With them comes the place at
    /// which to continue, if there may be more.
    pub async fn list_tasks(
        &self,
        tenant: &Tenant,
        asked: &TasksAsked,
    ) -> Result<(Vec<ShownTask>, Option<TaskPlace>), Failure> {
        let mut found = TasksFound::default();
        let before = asked.before;
        if let Some(run) = &asked.run {
            let stored = self.stored_run(tenant, run).await?;
            let below = before.map(|place| place.ordinal);
            let next = self.add_tasks(tenant, &stored, below, asked, &mut found);
            let next = next.await?;
            return Ok((found.tasks, next));
        }
        if let Some(place) = before.filter(|place| place.ordinal > 0)
            && let Some(stored) = self.storage().run(tenant, place.run).await?
            && stored.name.namespace == asked.namespace
        {
            let below = Some(place.ordinal);
            let next = self.add_tasks(tenant, &stored, below, asked, &mut found);
            if let Some(next) = next.await? {
                return Ok((found.tasks, Some(next)));
            }
        }
        let mut wanted = RunsWanted {
            before: before.map(|place| place.run),
            ..RunsWanted::default()
        };
        let mut looked_at = 0;
        loop {
            let page = self.storage().runs(tenant, &wanted, PAGE).await?;
            let is_last = i64::try_from(page.len()).is_ok_and(|rows| rows < PAGE);
            for stored in page {
                if found.is_full(asked.limit) || looked_at == LOOKED_AT_MAX {
                    let behind = wanted.before.map(|run| TaskPlace { run, ordinal: 0 });
                    return Ok((found.tasks, behind));
                }
                looked_at += 1;
                wanted.before = Some(stored.id);
                if stored.name.namespace != asked.namespace {
                    continue;
                }
                let next = self.add_tasks(tenant, &stored, None, asked, &mut found);
                if let Some(next) = next.await? {
                    return Ok((found.tasks, Some(next)));
                }
            }
            if is_last {
                return Ok((found.tasks, None));
            }
            tokio::task::yield_now().await;
        }
    }

    /// Adds those tasks of a run that are asked for, the newest first, as long as there is room; the
    /// place of the rest.
    async fn add_tasks(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        below: Option<u64>,
        asked: &TasksAsked,
        found: &mut TasksFound,
    ) -> Result<Option<TaskPlace>, Failure> {
        for task in self.tasks_of_run(tenant, stored).await?.into_iter().rev() {
            let is_behind = below.is_none_or(|below| task.ordinal < below);
            let is_named = asked.name.as_ref().is_none_or(|name| *name == task.name);
            let statuses = &asked.statuses;
            let is_so = statuses.is_empty() || statuses.contains(&task.status);
            if !(is_behind && is_named && is_so) {
                continue;
            }
            if found.is_full(asked.limit) {
                return Ok(Some(TaskPlace {
                    run: stored.id,
                    ordinal: task.ordinal + 1,
                }));
            }
            let output = task.output.as_ref().map_or(0, |output| output.len());
            found.bytes += task.input.len() + output;
            found.tasks.push(task);
        }
        Ok(None)
    }

    /// The tasks of a run, the oldest first.
    async fn tasks_of_run(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
    ) -> Result<Vec<ShownTask>, Failure> {
        // The tasks of a run whose state cannot be read are not known.
        let Ok(state) = self.0.parsed.read(stored) else {
            return Ok(Vec::new());
        };
        let mut found: Vec<Found> = Vec::new();
        let mut step = Box::<str>::default();
        let invoked = stored.name.name.strip_prefix(INVOCATION);
        if let Some(action) = invoked {
            found.push(Found::new(1, action, "", state.run.created));
        }
        let (mut after, mut last_at) = (0, state.run.created);
        // What has happened since the state was read would not fit it.
        while after < state.run.sequence {
            let mut page = self.storage().run_events(stored.id, after, EVENTS).await?;
            page.retain(|advance| advance.last <= state.run.sequence);
            let Some(last) = page.last() else { break };
            after = last.last;
            for advance in page {
                for event in events(&advance.record)? {
                    last_at = event.at();
                    take(&mut found, &mut step, &event, invoked.is_some());
                }
            }
        }
        if let Some(out) = state.run.call_of_member() {
            let input = Some(self.shown_value(stored.id, &out.input).await?);
            if let Some(task) = found.iter_mut().find(|task| task.ordinal == out.ordinal) {
                task.input = input;
            } else {
                // One of a compensation or a callback.
                let step = out.purpose.as_ref().and_then(Purpose::step);
                let step = step.unwrap_or_default();
                found.push(Found {
                    input,
                    is_call: true,
                    ..Found::new(out.ordinal, &out.action, step, last_at)
                });
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
            None if found.is_call => "null".into(),
            None => self.shown_value(stored.id, &state.run.input).await?,
        };
        let attempt = match (&held, found.attempt) {
            (Some(held), _) => held.attempt,
            (None, Some(attempt)) => attempt,
            (None, None) => state.used(found.ordinal).attempt,
        };
        let is_invoked = !state.is_listed();
        Ok(ShownTask {
            id,
            ordinal: found.ordinal,
            kind: if found.is_call {
                TaskKind::Connector
            } else {
                kind_of(&found.name)
            },
            name: match found.name.strip_prefix(ITEM) {
                Some(workflow) => workflow.into(),
                None => found.name,
            },
            namespace: Arc::clone(&stored.name.namespace),
            status,
            outcome: found.end.as_ref().map(|(_, outcome, _)| outcome.clone()),
            input,
            output: found.output,
            attempt,
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
            is_call: false,
            name: name.into(),
            step: step.into(),
            input: None,
            output: None,
            is_settled: false,
            end: None,
            attempt: None,
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
            // That of a call is in its event: calls of which none is a task are counted with it.
            let ordinal = event.task.unwrap_or(found.len() as u64 + 1);
            let mut task = Found::new(ordinal, &event.detail, step, event.at());
            task.is_call = event.task.is_some();
            task.input.clone_from(&event.data);
            found.push(task);
        }
        EventKind::ActionCompleted | EventKind::ActionLost => match found.last_mut() {
            Some(task) if task.end.is_none() => {
                task.output.clone_from(&event.data);
                task.end = Some((event.kind, (*event.detail).into(), event.at()));
                task.attempt = event.attempt;
                task.is_settled = task.output.is_some();
            }
            // A module or an entity has done the step after it.
            Some(task) => task.is_settled = true,
            None => {}
        },
        EventKind::StepCompleted => {
            let ended = found.last_mut().filter(|task| task.end.is_some());
            if let Some(task) = ended.filter(|task| !task.is_settled) {
                task.output.clone_from(&event.data);
                task.is_settled = true;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_the_output_of_its_step_unless_another_one_ended_that() {
        let output = |events: &[(EventKind, &str, Option<&str>)]| {
            let (mut found, mut step) = (Vec::new(), Box::default());
            for (sequence, (kind, detail, data)) in (1..).zip(events) {
                let event = HistoryEvent {
                    sequence,
                    kind: *kind,
                    detail: (*detail).into(),
                    micros: 0,
                    data: data.map(Into::into),
                    task: None,
                    attempt: None,
                };
                take(&mut found, &mut step, &event, false);
            }
            found.remove(0).output
        };
        let begun = (EventKind::AwaitingAction, "a", None);
        let lost = (EventKind::ActionLost, "execution_failure", None);
        let completed = (EventKind::ActionCompleted, "success", None);
        let step = (EventKind::StepCompleted, "start", Some("{}"));
        assert_eq!(output(&[begun, completed, step]).as_deref(), Some("{}"));
        // A plan goes on with a module.
        assert_eq!(output(&[begun, lost, completed, step]), None);
        let without = (EventKind::StepCompleted, "start", None);
        assert_eq!(output(&[begun, lost, without, completed, step]), None);
    }
}
