//! Step workflows: one document is one version of a workflow (`orchestration.md` chapter 1).
//!
//! [`Document::read_in`] takes YAML or JSON and returns the document together with everything there
//! is to say about it; with an error among the findings there is no document.

mod check;
mod codes;
mod compile;
mod cron;
mod document;
mod fields;
mod plan;
mod producer;
mod read;
mod step;
mod target;

pub use codes::RULES;
pub use cron::Cron;
pub use document::{Document, Every, Idempotency, Schedule, Trigger, TriggerMode};

use crate::program::TerminalStatus;

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
pub(crate) mod generate;
#[cfg(test)]
mod tests;
