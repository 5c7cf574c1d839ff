//! What reaches a run, and what a turn of it asks, leaves behind and waits for.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    form::{EntityStep, Name},
    history::HistoryEvent,
    run::{Payload, Run, RunError, Status},
    saga::Purpose,
};
use crate::clock::Timestamp;

/// What reaches a run. All but [`Arrival::Replied`] begin a turn.
#[derive(Debug, Clone)]
pub enum Arrival {
    /// A pending run takes its first step.
    Start,
    /// The answer of a task.
    Answered {
        ordinal: u64,
        answer: Answer,
    },
    /// Time has passed; nothing happens before [`Run::due`]. What was to happen at `at` is due,
    /// also if the clock was set back and shows an earlier time.
    Due {
        at: Timestamp,
    },
    Signal {
        kind: Box<str>,
        /// JSON.
        payload: Arc<str>,
    },
    Cancel {
        reason: Box<str>,
    },
    /// A child has ended.
    ChildEnded {
        run: Box<str>,
        status: Status,
        /// JSON.
        output: Option<Arc<str>>,
        error: Option<RunError>,
    },
    /// The entity that is waited for has reached one of the states, or was deleted.
    EntityMoved,
    /// The answer to [`Next::Ask`].
    Replied(Reply),
}

impl Arrival {
    /// How many bytes of values it brings.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Answered { answer, .. } | Self::Replied(Reply::Called(answer)) => match answer {
                Answer::Outcome { output, .. } => output.len(),
                Answer::Deadline | Answer::Lost { .. } => 0,
            },
            Self::Signal { payload, .. } => payload.len(),
            Self::ChildEnded { output, .. } => output.as_ref().map_or(0, |output| output.len()),
            Self::Replied(Reply::Loaded(values)) => {
                values.iter().map(|(_, value)| value.len()).sum()
            }
            Self::Replied(
                Reply::Entity(EntityAnswer::Done { output } | EntityAnswer::Reached { output, .. })
                | Reply::Order(Chosen::Cached { output }),
            ) => output.len(),
            Self::Start
            | Self::Due { .. }
            | Self::Cancel { .. }
            | Self::EntityMoved
            | Self::Replied(_) => 0,
        }
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// As the action says.
    Outcome { outcome: Box<str>, output: Arc<str> },
    /// Nothing was answered by the deadline.
    Deadline,
    /// What cannot count as an answer: no worker, a lost one, a malformed answer.
    Lost { code: Box<str>, message: Box<str> },
}

/// What a turn needs to continue, within its unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The values of these events.
    Load(Vec<u64>),
    /// Whether an action can be called.
    Action(Name),
    /// To do an action that is done within the turn.
    Call { action: Name, input: Arc<str> },
    /// To start a run below this one.
    Child { reference: Name, input: Arc<str> },
    /// To work on an entity; `wanted` is what [`EntityStep::Await`] waits for.
    Entity {
        step: EntityStep,
        input: Arc<str>,
        wanted: Wanted,
    },
    /// The order of the executors of a plan, or the output that is cached under the key.
    Order {
        plan: Name,
        cache_key: Option<Box<str>>,
    },
    /// How a connector of the saga is reached.
    Connector(Name),
    /// To do the work of a connector within the turn.
    CallConnector { connector: Name, request: Arc<str> },
    /// Whether an executor may be tried now.
    Permit { plan: Name, executor: Name },
}

/// The answers to the variants of [`Ask`], in their order.
#[derive(Debug, Clone)]
pub enum Reply {
    Loaded(Vec<(u64, Arc<str>)>),
    Action(Availability),
    Called(Answer),
    Child(StartedChild),
    Entity(EntityAnswer),
    Order(Chosen),
    Permit(Permit),
    Connector(Reach),
}

/// Who does the work of a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A member, as a task.
    Member {
        /// How long an outcome is waited for once it answered `pending`.
        timeout: Duration,
    },
    /// This process, after the commit.
    BuiltIn,
    /// The turn itself, by [`Ask::CallConnector`].
    Here,
    Missing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// How long an outcome is waited for once the action answered `pending`.
    Ready {
        timeout: Option<Duration>,
    },
    /// It is done within the turn, by [`Ask::Call`].
    Here,
    Missing,
    Disabled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartedChild {
    Started { run: Box<str> },
    Missing,
    Disabled,
}

/// The states of an entity that are waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub states: Vec<Box<str>>,
    pub since: Since,
    /// Later versions do not count.
    pub until: Option<Timestamp>,
}

/// From where on versions of an entity count that is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Since {
    /// The wait begins.
    #[default]
    Now,
    /// After the version at this position, which was in none of the states.
    Position(i64),
    /// After the run was committed last.
    Parked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityAnswer {
    Done {
        output: Arc<str>,
    },
    /// The entity is in a state that is waited for.
    Reached {
        state: Box<str>,
        output: Arc<str>,
    },
    /// It is not; the run is parked. With it comes the position of the version that was looked at,
    /// if it is committed.
    NotYet {
        seen: Option<i64>,
    },
    Refused {
        code: Box<str>,
        message: Box<str>,
        retryable: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    Cached { output: Arc<str> },
    Executors(Vec<Name>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    Granted,
    /// The breaker is open.
    Open,
    /// The rate limit is reached.
    Limited,
}

/// Work that is sent out after the commit that records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Rises with each execution, not with each delivery.
    pub ordinal: u64,
    /// The ordinal of the first task since the last answer of the step.
    pub key: u64,
    /// Of a call of a saga: the connector.
    pub action: Name,
    pub input: Payload,
    /// What a saga calls it for; none of the task of an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
}

/// What follows a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Send(Task),
    /// The outcome of a task is not waited for any more.
    GiveUp {
        ordinal: u64,
        reason: Box<str>,
    },
    CancelChild {
        run: Box<str>,
        reason: Box<str>,
    },
    /// How an attempt of an executor ended, for its breaker and its health.
    Record {
        plan: Name,
        executor: Name,
        sample: Sample,
    },
    /// An output is cached.
    Keep {
        plan: Name,
        key: Box<str>,
        output: Arc<str>,
    },
    /// Something went wrong that nothing repeats; operators find it in the log.
    Log(Problem),
}

impl Effect {
    /// How an attempt of that executor of that plan ended, if it says so.
    pub fn sample_of(&self, of_plan: &str, by: &str) -> Option<Sample> {
        if let Self::Record {
            plan,
            executor,
            sample,
        } = self
        {
            (**plan == *of_plan && **executor == *by).then_some(*sample)
        } else {
            None
        }
    }
}

/// What went wrong for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    RunFailed { reason: Box<str> },
    CompensationFailed { step: Box<str>, reason: Box<str> },
}

/// How an attempt ended, as breaker and health count it (1.7.3, 1.7.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    Success,
    /// `pending` or an outcome of its own: no fault of the executor.
    Other,
    /// The action answered `failure` or `timeout`.
    Failure,
    /// There was no answer.
    NoAnswer,
}

/// What comes after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Answer by [`Arrival::Replied`], in the same unit of work.
    Ask(Ask),
    /// Commit; then do the effects. The run waits.
    Park,
    /// Commit; then do the effects. The run has ended.
    End,
}

/// One step of the machine.
#[derive(Debug)]
pub struct Turn {
    pub run: Run,
    pub next: Next,
    /// New events; those of a turn that asks are committed with the turn that it becomes.
    pub history: Vec<HistoryEvent>,
    pub effects: Vec<Effect>,
    /// Whether what arrived was taken: an answer by the task that is out, a signal by a wait.
    pub taken: bool,
}
