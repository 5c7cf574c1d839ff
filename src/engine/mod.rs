//! The state machine: decides what happens next to an entity, without doing it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`],
//! [`crate::dispatch`], [`crate::model`], [`crate::condition`], [`crate::workflow`], [`crate::text`].
//! Must not: await, read a clock, draw a random number, touch storage.
//! [`step()`] takes a run and one input, and returns the run and what must be done outside before
//! the next input. Every driver (a request, a timer, a simulation, an explanation) makes the same
//! decisions. The rules are those of `workflow-engine.md` §7.

mod absorb;
mod arm;
mod criterion;
mod error;
mod record;
mod run;
mod step;
mod take;
#[cfg(test)]
mod tests;
mod timer;

use std::{sync::Arc, time::Duration};

use crate::clock::Timestamp;
use crate::dispatch::{CallSettings, Callee, Reply, TransitionContext};
use crate::entity::Document;
use crate::id::{ProcessorName, WorkflowName};
use crate::model::Schema;
use crate::workflow::{OnRuns, WorkflowSet};

pub use crate::condition::Meter;
pub use error::{Error, ProcessorFailure};
pub use record::{Considered, DispatchRecord, Entry, Leaf, Reason, Record, RunRecord, StartKind};
pub use run::{Fate, Run, RunOutcome, Start, Subject, Suspended};
pub use step::step;
pub use timer::{Armed, Timer, TimerChange, TimerKind};

/// The definitions and limits that a run is evaluated with.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    pub workflows: &'a WorkflowSet,
    pub schema: &'a Schema,
    pub limits: Limits,
    pub now: Timestamp,
    /// Counts the work of an expensive step, and may stop it.
    pub meter: Option<&'a Meter<'a>>,
}

/// The limits of a run (`workflow-engine.md` §7.6).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How often one cascade may enter the same state.
    pub state_visits: u32,
    /// How many transitions one cascade may take.
    pub depth: u32,
    /// How long a run may take, including its calls to members.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            state_visits: 10,
            depth: 100,
            time: Duration::from_mins(10),
        }
    }
}

/// What happened outside since the last step.
#[derive(Debug)]
pub enum Input {
    /// No response was expected.
    Go,
    /// The call that the last step requested has ended.
    Answered(Box<Answered>),
}

/// How a call ended, and what is recorded of it.
#[derive(Debug)]
pub struct Answered {
    pub result: Result<Answer, DispatchError>,
    pub record: DispatchRecord,
}

impl Answered {
    /// What a run continues with after runs of step workflows were started or signalled.
    pub fn of_runs(call: &RunsCall, micros: u64) -> Self {
        Self {
            result: Ok(Answer {
                reply: Reply::Processed(None),
                warnings: Vec::new(),
            }),
            record: DispatchRecord {
                name: call.processor.to_string(),
                micros,
                ..DispatchRecord::default()
            },
        }
    }

    /// The document that a processor returned, if any.
    pub fn document(&self) -> Option<&Document> {
        match &self.result {
            Ok(Answer {
                reply: Reply::Processed(document),
                ..
            }) => document.as_ref(),
            Ok(_) | Err(_) => None,
        }
    }
}

/// A member's response.
#[derive(Debug)]
pub struct Answer {
    pub reply: Reply,
    pub warnings: Vec<String>,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatchError {
    /// The member reported failure.
    Rejected {
        message: String,
        warnings: Vec<String>,
    },
    TimedOut {
        after_ms: u64,
    },
    Disconnected,
    /// Another node has not taken the call over.
    NotForwarded,
    NoMember {
        tags: String,
    },
    TooMany {
        limit: usize,
    },
}

/// What must be done outside before the next step.
#[derive(Debug)]
pub enum Next {
    /// Nothing.
    Go,
    /// Dispatch to a member, and return with its response.
    Dispatch(Box<Dispatch>),
    /// Start a run of a step workflow or signal runs, within the transaction, and return with a
    /// response that changes nothing.
    OnRuns(Box<RunsCall>),
    /// The run has ended.
    Settled,
}

/// A call to a compute member.
#[derive(Debug, Clone)]
pub struct Dispatch {
    pub callee: Callee,
    pub settings: CallSettings,
    pub workflow: WorkflowName,
    /// None while a workflow is being selected.
    pub transition_context: Option<TransitionContext>,
    pub scope: Scope,
}

/// What a processor does to runs of step workflows.
#[derive(Debug, Clone)]
pub struct RunsCall {
    pub processor: ProcessorName,
    pub task: Arc<OnRuns>,
    pub transition_context: TransitionContext,
}

/// How a call relates to the transaction in which it is made (`workflow-engine.md` §6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Inside it.
    Inside,
    /// Inside it, behind a savepoint: what the member wrote is rolled back if it fails.
    Savepoint,
    /// After it: the work so far is committed first, and the rest is another transaction, which the
    /// member may or may not join.
    Boundary { joins: bool },
    /// Inside it for that long, then after it.
    Crossover { after: Duration },
}

/// The run after a step, and what to do next.
#[derive(Debug)]
pub struct Step {
    pub run: Box<Run>,
    pub next: Next,
}
