//! Step workflows: one document is one version of a workflow (`orchestration.md` chapter 1).
//!
//! [`Document::read_in`] takes YAML or JSON and returns the document together with everything there
//! is to say about it; with an error among the findings there is no document.

mod check;
mod codes;
mod cron;
mod document;
mod fields;
mod plan;
mod producer;
mod read;
mod step;
mod target;

pub use codes::{RULES, Rule};
pub use cron::Cron;
pub use document::{
    AttributeType, Backoff, Breaker, Cache, Document, Errors, Every, Executor, Fallback,
    FallbackOn, Health, Idempotency, Kind, Mapping, Name, Plan, Poll, RateLimit, Retry, Schedule,
    SearchAttribute, Selection, Step, Terminal, TerminalStatus, Tracking, Trigger, TriggerMode,
    Wait,
};
pub use read::is_namespace;
pub use target::{EntityStep, Target};

/// What the entry step is called in history events and as the current step.
pub const START: &str = "start";

/// What the entry step is called in paths.
pub const START_IN_PATHS: &str = "_start";

/// The name under which managers are ticked, which no workflow may have (`runs.md` §8).
pub const MANAGER: &str = "com.finmars.standard-workflow:workflow-manager";

/// The end states that every workflow has.
pub const BUILT_IN_TERMINALS: [(&str, TerminalStatus); 4] = [
    ("flo.Completed", TerminalStatus::Completed),
    ("flo.Failed", TerminalStatus::Failed),
    ("flo.Cancelled", TerminalStatus::Cancelled),
    ("flo.TimedOut", TerminalStatus::TimedOut),
];

#[cfg(test)]
mod generate;
#[cfg(test)]
mod tests;
