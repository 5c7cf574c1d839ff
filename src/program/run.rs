//! The state of a run: where it stands, what it has, what it waits for.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    arrival::Task,
    form::{Name, Program, START, START_IN_PATHS, TerminalStatus},
    history::{EventKind, HistoryEvent},
    input::Prepared,
    machine::Doing,
    saga::Purpose,
    unwinding::SagaState,
};
use crate::clock::Timestamp;
use crate::expr::Budget;

/// A value up to this size stands in the state itself.
const INLINE_MAX: usize = 1 << 10;

/// All values that stand in the state take at most this, so a commit stays small however many
/// steps a run has.
const INLINE_IN_ALL_MAX: usize = 32 << 10;

/// One durable execution of a program, as it is stored: without its history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    pub id: Box<str>,
    pub started_by: StartedBy,
    /// How many parents are above it.
    pub depth: u32,
    pub status: Status,
    /// None before the first step and after the end.
    pub position: Option<Position>,
    pub waiting: Option<Waiting>,
    pub input: Payload,
    /// By the names that paths use: the entry is [`START_IN_PATHS`].
    pub results: BTreeMap<Name, StepResult>,
    /// Signals that no wait has taken yet, oldest first.
    pub signals: VecDeque<Signal>,
    /// Each with its JSON value, null where there is none.
    pub attributes: Vec<(Name, Box<str>)>,
    pub output: Option<Payload>,
    pub error: Option<RunError>,
    #[serde(with = "micros")]
    pub created: Timestamp,
    #[serde(with = "maybe_micros", default)]
    pub started: Option<Timestamp>,
    #[serde(with = "maybe_micros", default)]
    pub ended: Option<Timestamp>,
    /// The number of the last event of the history.
    pub sequence: u64,
    /// What the history takes.
    pub(super) history_bytes: u64,
    /// How many steps were executed, repetitions included.
    pub steps: u64,
    pub(super) visit: Visit,
    pub(super) pass: Option<Pass>,
    /// The number of the last task.
    pub(super) ordinal: u64,
    /// Of a saga only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga: Option<Box<SagaState>>,
    /// The first task since the last answer of this step: the idempotency key.
    pub(super) key: Option<u64>,
    /// What a turn is about while it asks; not stored, as no such turn is committed.
    #[serde(skip)]
    pub(super) doing: Option<Doing>,
    #[serde(skip)]
    pub(super) loaded: HashMap<u64, Arc<str>>,
    /// Executions since the run last waited; stored where it was committed without waiting.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) taken: u32,
    /// Whether a step was entered since the run was loaded.
    #[serde(skip)]
    pub(super) has_entered: bool,
    /// Whether a connector did its work in the turn since the run was loaded.
    #[serde(skip)]
    pub(super) has_called: bool,
    /// What paths may read until the run waits again.
    #[serde(default, skip_serializing_if = "Budget::is_whole")]
    pub(super) budget: Budget,
}

impl Run {
    /// How many bytes of values its paths may read without loading others.
    pub fn bytes(&self) -> usize {
        let outputs = self.results.values().map(|result| &result.output);
        let signals = self.signals.iter().map(|signal| &signal.payload);
        let values = outputs.chain(signals).chain([&self.input]);
        let inline = values.map(|value| match value {
            Payload::Inline(text) => text.len(),
            Payload::At(_) => 0,
        });
        let loaded = self.loaded.values().map(|value| value.len());
        let attributes = self.attributes.iter().map(|(_, value)| value.len());
        inline.chain(loaded).chain(attributes).sum()
    }
}

/// What created a run (`runs.md` §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    Caller,
    Schedule,
    Trigger,
    Parent,
    Transition,
    /// A request to a route of a bundle.
    Route,
    Manager,
}

impl StartedBy {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Schedule => "schedule",
            Self::Trigger => "trigger",
            Self::Parent => "parent",
            Self::Transition => "transition",
            Self::Route => "route",
            Self::Manager => "manager",
        }
    }
}

/// The status of a run (`orchestration.md` 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// The number that stands for it.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The one that a number stands for.
    pub fn of(number: u8) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|status| status.number() == number)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether nothing changes it any more.
    pub const fn is_end(self) -> bool {
        match self {
            Self::Pending | Self::Running | Self::Waiting => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut => true,
        }
    }
}

impl From<TerminalStatus> for Status {
    fn from(status: TerminalStatus) -> Self {
        match status {
            TerminalStatus::Completed => Self::Completed,
            TerminalStatus::Failed => Self::Failed,
            TerminalStatus::Cancelled => Self::Cancelled,
            TerminalStatus::TimedOut => Self::TimedOut,
        }
    }
}

/// The step at which a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Position {
    Start,
    Step(Name),
}

impl Position {
    /// The name in history events and as the current step.
    pub fn name(&self) -> &str {
        match self {
            Self::Start => START,
            Self::Step(name) => name,
        }
    }

    /// The name in paths.
    pub(super) fn in_paths(&self) -> &str {
        match self {
            Self::Start => START_IN_PATHS,
            Self::Step(name) => name,
        }
    }
}

/// A JSON value of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    Inline(Box<str>),
    /// That of the event with this number: [`HistoryEvent::payload`].
    At(u64),
}

/// How a step that has finished ended; of several executions the latest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    pub outcome: Box<str>,
    pub output: Payload,
    pub executions: u32,
}

/// A signal that waits for a step that takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub kind: Box<str>,
    pub payload: Payload,
    #[serde(with = "micros")]
    pub at: Timestamp,
}

/// Why a run ended other than by a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    pub code: Option<Box<str>>,
    pub message: Box<str>,
}

/// What a parked run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    Signal {
        kind: Box<str>,
        #[serde(with = "maybe_micros", default)]
        until: Option<Timestamp>,
    },
    /// A task that is out.
    Task {
        task: Task,
        /// How long the outcome is waited for once the task answered `pending`.
        timeout: Option<Duration>,
        /// The task answered `pending`; its outcome is reported later.
        accepted: bool,
        /// Only of an accepted one: the channel has the deadline of a delivery.
        #[serde(with = "maybe_micros", default)]
        until: Option<Timestamp>,
    },
    Child {
        run: Box<str>,
    },
    Timer {
        then: Then,
        #[serde(with = "micros")]
        until: Timestamp,
    },
    Entity {
        entity: Box<str>,
        states: Vec<Box<str>>,
        #[serde(with = "maybe_micros", default)]
        until: Option<Timestamp>,
        /// The position of the version that was looked at last; none if that was not committed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<i64>,
    },
}

/// What a timer of a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    Retry,
    Poll,
    /// Another attempt of the same executor.
    Attempt,
    /// The call of a saga's step, or what follows it.
    Delay,
    /// What a saga does next: its next step, `on_complete`, or the next compensation.
    Deferred,
}

/// The counters of a stay at one step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Visit {
    /// All of them.
    pub(super) executions: u32,
    /// Those that were polls.
    pub(super) polls: u32,
    /// When the first began.
    #[serde(with = "maybe_micros", default)]
    pub(super) first: Option<Timestamp>,
}

/// A plan's way through its executors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pass {
    pub(super) plan: Name,
    pub(super) order: Vec<Name>,
    /// The place in the order.
    pub(super) at: usize,
    /// Attempts of this executor, and when the first began.
    pub(super) attempts: u32,
    #[serde(with = "maybe_micros", default)]
    pub(super) first: Option<Timestamp>,
    /// Whether every executor so far was passed over for its rate limit.
    pub(super) only_limited: bool,
    /// None until the mapped input is stored with the first task.
    pub(super) input: Option<Payload>,
    pub(super) cache_key: Option<Box<str>>,
    /// The output of the last failed attempt.
    pub(super) last: Option<Payload>,
    /// The mapped input before it is stored.
    #[serde(skip)]
    pub(super) fresh: Option<Arc<str>>,
}

/// A run that is to be created.
#[derive(Debug, Clone)]
pub struct Begin {
    pub id: Box<str>,
    pub started_by: StartedBy,
    /// That of the parent and one; 0 without a parent.
    pub depth: u32,
    /// JSON.
    pub input: Arc<str>,
    pub now: Timestamp,
}

impl Run {
    /// A new run, which has not taken its first step, and the first event of its history.
    pub fn begin(begin: Begin, program: &Program) -> (Self, HistoryEvent) {
        let kind = match begin.started_by {
            StartedBy::Caller | StartedBy::Transition | StartedBy::Route | StartedBy::Manager => {
                EventKind::WorkflowStarted
            }
            StartedBy::Schedule => EventKind::ScheduleStarted,
            StartedBy::Trigger => EventKind::TriggerStarted,
            StartedBy::Parent => EventKind::ChildStarted,
        };
        let event = HistoryEvent {
            sequence: 1,
            kind,
            detail: begin.input,
            micros: begin.now.micros(),
            data: None,
            task: None,
            attempt: None,
        };
        let mut run = Self {
            id: begin.id,
            started_by: begin.started_by,
            depth: begin.depth,
            status: Status::Pending,
            position: None,
            waiting: None,
            input: Payload::At(1),
            results: BTreeMap::new(),
            signals: VecDeque::new(),
            attributes: Vec::new(),
            output: None,
            error: None,
            created: begin.now,
            started: None,
            ended: None,
            sequence: 1,
            history_bytes: event.bytes(),
            steps: 0,
            visit: Visit::default(),
            pass: None,
            ordinal: 0,
            saga: program.saga.as_ref().map(|saga| {
                let deadline = saga.timeout.map(|timeout| begin.now.after(timeout));
                Box::new(SagaState::new(deadline))
            }),
            key: None,
            doing: None,
            loaded: HashMap::new(),
            taken: 0,
            has_entered: false,
            has_called: false,
            budget: Budget::default(),
        };
        run.input = run.payload(event.payload(), 1);
        run.loaded.insert(1, Arc::clone(&event.detail));
        if let Prepared::Ready(attributes) = run.attributes(&program.search_attributes, begin.now) {
            run.attributes = attributes.values;
        }
        run.loaded.clear();
        (run, event)
    }

    /// When the run is due: the time at which [`super::Arrival::Due`] changes it.
    pub fn due(&self) -> Option<Timestamp> {
        let until = match self.waiting.as_ref()? {
            Waiting::Signal { until, .. }
            | Waiting::Task { until, .. }
            | Waiting::Entity { until, .. } => *until,
            Waiting::Timer { until, .. } => Some(*until),
            Waiting::Child { .. } => None,
        };
        let deadline = self.saga.as_ref().and_then(|saga| saga.due());
        until.into_iter().chain(deadline).min()
    }

    /// What names the execution of a step that the run is at, also if its turn is repeated.
    pub fn execution(&self) -> String {
        let id = &self.id;
        match &self.doing {
            Some(Doing::CalledConnector(purpose)) => format!("{id}:{purpose}"),
            Some(_) | None => format!("{id}:{}", self.steps),
        }
    }

    /// The number of the last task that was recorded; 0 before the first.
    pub const fn last_task(&self) -> u64 {
        self.ordinal
    }

    /// The task that is out and has not been answered: after a crash it is sent again.
    pub fn outstanding(&self) -> Option<&Task> {
        match self.waiting.as_ref()? {
            Waiting::Task {
                task,
                accepted: false,
                ..
            } => Some(task),
            Waiting::Signal { .. }
            | Waiting::Task { .. }
            | Waiting::Child { .. }
            | Waiting::Timer { .. }
            | Waiting::Entity { .. } => None,
        }
    }

    /// The call of a connector that is out to a member.
    pub fn call_of_member(&self) -> Option<&Task> {
        match self.waiting.as_ref()? {
            Waiting::Task {
                task,
                timeout: Some(_),
                ..
            } => Some(task).filter(|task| task.purpose.is_some()),
            Waiting::Signal { .. }
            | Waiting::Task { .. }
            | Waiting::Child { .. }
            | Waiting::Timer { .. }
            | Waiting::Entity { .. } => None,
        }
    }

    /// The calls of a saga that it has given up and that may still be out. One that succeeds
    /// nevertheless is undone, so that they are sent again after a crash, too.
    pub fn given_up(&self) -> impl Iterator<Item = &Task> {
        let calls = self.saga.iter().flat_map(|saga| &saga.given_up);
        calls.filter(|call| call.is_out).map(|call| &call.task)
    }

    /// Whether it matters how a call ended that was given up.
    pub fn has_given_up(&self, ordinal: u64) -> bool {
        let Some(saga) = &self.saga else {
            return false;
        };
        let is_interrupted = match &self.waiting {
            Some(Waiting::Task { task, .. }) if task.ordinal == ordinal => {
                let is_forward =
                    matches!(task.purpose, Some(Purpose::Action(_) | Purpose::OnComplete));
                saga.has_unwound && is_forward
            }
            Some(_) | None => false,
        };
        is_interrupted
            || saga
                .given_up
                .iter()
                .any(|call| call.task.ordinal == ordinal)
    }

    /// How a value that the event of this number has is kept.
    pub(super) fn payload(&self, text: &str, sequence: u64) -> Payload {
        if text.len() <= INLINE_MAX && self.inline_bytes() + text.len() <= INLINE_IN_ALL_MAX {
            Payload::Inline(text.into())
        } else {
            Payload::At(sequence)
        }
    }

    fn inline_bytes(&self) -> usize {
        let results = self.results.values().map(|result| &result.output);
        let signals = self.signals.iter().map(|signal| &signal.payload);
        let payloads = results.chain(signals).chain([&self.input]);
        payloads
            .map(|payload| match payload {
                Payload::Inline(text) => text.len(),
                Payload::At(_) => 0,
            })
            .sum()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Instants as microseconds.
mod micros {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Timestamp;

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_micros)
    }
}

/// Instants that may be missing, as microseconds.
pub(super) mod maybe_micros {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Timestamp;

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(in crate::program) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Timestamp::micros).serialize(to)
    }

    pub(in crate::program) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let micros = Option::<i64>::deserialize(from)?;
        Ok(micros.map(Timestamp::from_micros))
    }
}
