//! The model of a step workflow: what its document says, with defaults filled in.

use std::time::Duration;

use super::{Cron, Target};

/// A name of the document: of a step, plan, executor, terminal or attribute.
pub type Name = Box<str>;

/// One version of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub name: Name,
    pub version: Box<str>,
    pub description: Box<str>,
    /// None: that of the caller.
    pub namespace: Option<Name>,
    pub idempotency: Idempotency,
    pub start: Step,
    /// In the order of the document.
    pub steps: Vec<(Name, Step)>,
    /// Custom end states, in the order of the document.
    pub terminals: Vec<(Name, Terminal)>,
    pub plans: Vec<(Name, Plan)>,
    pub schedule: Option<Schedule>,
    pub trigger: Option<Trigger>,
    pub search_attributes: Vec<SearchAttribute>,
    pub output: Option<Mapping>,
}

/// Whether a start takes an idempotency key (`orchestration.md` 1.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// A key is ignored.
    None,
    Optional,
    /// A start without a key is rejected.
    Required,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub kind: Kind,
    /// Outcome to target: the name of a step or of an end state.
    pub transitions: Vec<(Name, Name)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Run {
        target: Target,
        /// None: the input of the run.
        input: Option<Mapping>,
        retry: Option<Retry>,
        poll: Option<Poll>,
    },
    Wait(Wait),
}

/// JSON in which texts that begin with `$.` stand for values of the run (1.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapping {
    /// Text that should be JSON; whether it is becomes known when the step runs.
    Text(Box<str>),
    /// The text of a JSON value.
    Value(Box<str>),
}

/// A wait for a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The type of the signal, compared exactly.
    pub signal: Box<str>,
    /// None: without end.
    pub timeout: Option<Duration>,
    pub on_timeout: Option<Name>,
}

/// How often a failed step runs again (1.6).
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backoff {
    Constant,
    Linear,
    Exponential,
    /// Up to a quarter more than exponential.
    ExponentialJitter,
}

/// How often a step that answers `pending` is asked again (1.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    pub initial_delay: Duration,
    pub polls_max: u32,
    pub backoff: Backoff,
    pub base_delay: Duration,
    pub delay_max: Duration,
}

/// A custom end state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    pub status: TerminalStatus,
    pub output: Option<Mapping>,
}

/// The status of a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalStatus {
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

/// Several executors for one step (1.7).
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Highest priority first.
    StaticOrder,
    RoundRobin,
    Random,
    HealthWeighted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RateLimit {
    pub per_second: Option<u32>,
    pub per_minute: Option<u32>,
    pub per_hour: Option<u32>,
}

/// How the end of an attempt becomes known (1.7.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tracking {
    /// By the answer.
    Sync,
    /// By a later report; none: it is waited for without end.
    Async { timeout: Option<Duration> },
}

/// How the health of executors is computed (1.7.5).
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    pub ttl: Duration,
    /// A template with placeholders such as `{input.customer}`.
    pub key: Box<str>,
    /// The types of the events that clear it.
    pub invalidate_on: Vec<Box<str>>,
}

/// The output where no executor succeeds (1.7.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// JSON.
    pub value: Box<str>,
    pub on: FallbackOn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackOn {
    /// After every executor.
    Exhausted,
    /// After the first executor that fails for good.
    AnyError,
}

/// What codes of failures mean (1.7.8).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors {
    pub retryable: Vec<Box<str>>,
    pub fatal: Vec<Box<str>>,
}

/// Starts by the clock (1.11).
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub every: Every,
    /// How many runs of this schedule may be live; 0: without limit.
    pub concurrent_max: u32,
    /// JSON.
    pub input: Box<str>,
    pub paused: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Every {
    Cron(Cron),
    Interval(Duration),
}

/// Starts by the events of a topic (1.11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    pub topic: Name,
    /// None: that of the workflow.
    pub namespace: Option<Name>,
    pub consumer_group: Name,
    pub mode: TriggerMode,
    /// Events in one run; of 1, the input is the event itself, else a list.
    pub batch_size: u32,
    /// How long a part of a batch may wait.
    pub batch_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerMode {
    Shared,
    Exclusive,
    KeyShared,
}

/// A value by which runs are found (1.13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchAttribute {
    pub name: Name,
    /// A path such as `input.customer`.
    pub from: Box<str>,
    pub kind: AttributeType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeType {
    Text,
    Number,
    Timestamp,
}
