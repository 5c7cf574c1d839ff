//! The compiled form of a document: what a run follows, from its start to its end.
//!
//! It is stored, and a run keeps the form it started with. So a member that is added later needs
//! a default, and one that is here stays readable.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::saga::{Saga, SagaStep};

/// A name of the document: of a step, plan, executor, terminal or attribute.
pub type Name = Box<str>;

/// The version of this form.
pub const FORM: u32 = 1;

/// What the entry step is called in history events and as the current step.
pub const START: &str = "start";

/// What the entry step is called in paths.
pub const START_IN_PATHS: &str = "_start";

/// What the task of a tick is called.
pub const TICK: &str = "tick";

/// One version of a workflow, compiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// [`FORM`] when it was compiled.
    pub form: u32,
    pub name: Name,
    pub version: Box<str>,
    /// The step `start`; a saga has none and begins with the first of its order.
    pub entry: Option<Step>,
    pub steps: BTreeMap<Name, Step>,
    /// All end states, the built-in ones included.
    pub terminals: BTreeMap<Name, Terminal>,
    pub plans: BTreeMap<Name, Plan>,
    pub search_attributes: Vec<SearchAttribute>,
    /// The output of a run that completes.
    pub output: Option<Mapping>,
    /// None: a step workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saga: Option<Saga>,
}

impl Program {
    /// One step that runs an action with the input of the run.
    pub fn of_action(action: &str) -> Self {
        let completed = Name::from("flo.Completed");
        Self {
            form: FORM,
            name: action.into(),
            version: "1".into(),
            entry: Some(Step {
                kind: Kind::Run {
                    target: Target::Action(action.into()),
                    input: None,
                    retry: None,
                    poll: None,
                },
                transitions: vec![("success".into(), completed.clone())],
            }),
            steps: BTreeMap::new(),
            terminals: BTreeMap::from([(
                completed,
                Terminal {
                    status: TerminalStatus::Completed,
                    output: None,
                },
            )]),
            plans: BTreeMap::new(),
            search_attributes: Vec::new(),
            output: None,
            saga: None,
        }
    }

    /// One step that ticks the managers of the namespace which the input of the run names; its
    /// output is that of the run.
    pub fn of_tick(name: &str) -> Self {
        Self {
            entry: Some(Step {
                kind: Kind::Run {
                    target: Target::Tick,
                    input: None,
                    retry: None,
                    poll: None,
                },
                transitions: vec![("success".into(), "flo.Completed".into())],
            }),
            ..Self::of_action(name)
        }
    }

    /// Whether it ticks managers.
    pub fn is_tick(&self) -> bool {
        let entry = self.entry.as_ref().map(|entry| &entry.kind);
        matches!(entry, Some(Kind::Run { target, .. }) if *target == Target::Tick)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub kind: Kind,
    /// Outcome to target: the name of a step or of an end state.
    pub transitions: Vec<(Name, Name)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    Run {
        target: Target,
        /// None: the input of the run.
        input: Option<Mapping>,
        retry: Option<Retry>,
        poll: Option<Poll>,
    },
    Wait(Wait),
    /// A step of a saga.
    Saga(Box<SagaStep>),
}

/// JSON in which texts that begin with `$.` stand for values of the run (1.9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mapping {
    /// Text that should be JSON; whether it is becomes known when the step runs.
    Text(Box<str>),
    /// The text of a JSON value.
    Value(Box<str>),
}

/// A wait for a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The type of the signal, compared exactly.
    pub signal: Box<str>,
    /// None: without end.
    pub timeout: Option<Duration>,
    pub on_timeout: Option<Name>,
}

/// How often a failed step runs again (1.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Executions in total, the first included; at least 1.
    pub executions_max: u32,
    pub backoff: Backoff,
    pub initial_delay: Duration,
    pub delay_max: Duration,
    /// From the first execution; none: without limit.
    pub within: Option<Duration>,
}

/// How the delays between executions grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backoff {
    Constant,
    Linear,
    Exponential,
    /// Up to a quarter more than exponential.
    ExponentialJitter,
}

/// How often a step that answers `pending` is asked again (1.8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    pub initial_delay: Duration,
    pub polls_max: u32,
    pub backoff: Backoff,
    pub base_delay: Duration,
    pub delay_max: Duration,
}

/// A custom end state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    pub status: TerminalStatus,
    pub output: Option<Mapping>,
}

/// The status of a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TerminalStatus {
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

/// Several executors for one step (1.7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub selection: Selection,
    /// In the order of the document; the first 32 are considered.
    pub executors: Vec<Executor>,
    pub health: Health,
    pub cache: Option<Cache>,
    pub fallback: Option<Fallback>,
    pub errors: Errors,
}

/// In what order executors are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    /// Highest priority first.
    StaticOrder,
    RoundRobin,
    Random,
    HealthWeighted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executor {
    pub name: Name,
    /// The name of the action.
    pub action: Name,
    /// Higher first.
    pub priority: i32,
    pub retry: Option<Retry>,
    pub breaker: Breaker,
    pub rate_limit: RateLimit,
    pub tracking: Tracking,
}

/// When an executor that fails is left alone, and for how long (1.7.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    pub failure_threshold: u32,
    pub cooldown: Duration,
    pub half_open_calls_max: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            failure_threshold: 5,
            cooldown: Duration::from_secs(30),
            half_open_calls_max: 3,
        }
    }
}

/// Attempts in the last second, minute and hour; none: without limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    pub per_second: Option<u32>,
    pub per_minute: Option<u32>,
    pub per_hour: Option<u32>,
}

/// How the end of an attempt becomes known (1.7.9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tracking {
    /// By the answer.
    Sync,
    /// By a later report; none: it is waited for without end.
    Async { timeout: Option<Duration> },
}

/// How the health of executors is computed (1.7.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    pub window: Duration,
    /// Above 0, at most 1.
    pub decay: f64,
    pub samples_min: u32,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            window: Duration::from_mins(5),
            decay: 0.9,
            samples_min: 50,
        }
    }
}

/// Outputs of earlier passes (1.7.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    pub ttl: Duration,
    /// A template with placeholders such as `{input.customer}`.
    pub key: Box<str>,
    /// The types of the events that clear it.
    pub invalidate_on: Vec<Box<str>>,
}

/// The output where no executor succeeds (1.7.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// JSON.
    pub value: Box<str>,
    pub on: FallbackOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FallbackOn {
    /// After every executor.
    Exhausted,
    /// After the first executor that fails for good.
    AnyError,
}

/// What codes of failures mean (1.7.8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    pub retryable: Vec<Box<str>>,
    pub fatal: Vec<Box<str>>,
}

/// A value by which runs are found (1.13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchAttribute {
    pub name: Name,
    /// A path such as `input.customer`.
    pub from: Box<str>,
    pub kind: AttributeType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttributeType {
    Text,
    Number,
    Timestamp,
}

/// What a step runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// `@actions/<name>`.
    Action(Name),
    /// `@plan/<name>`: a plan of the same document.
    Plan(Name),
    /// `@workflow/<name>[:<version>]`. What follows the last colon is a version only if no
    /// workflow has the whole as its name, which is known when the step runs.
    Child(Name),
    /// `@entity/<operation>`.
    Entity(EntityStep),
    /// A tick of managers, which this process does after the commit. No document names it.
    Tick,
}

/// What a step does with an entity, in the commit of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntityStep {
    Create,
    Update,
    Transition,
    Get,
    /// Only of the connector `entity`.
    Delete,
    Search,
    /// Waits until the entity is in one of some states.
    Await,
}
