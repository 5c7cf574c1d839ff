//! The state machine: decides what happens next to an entity, never does it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`], [`crate::model`],
//! [`crate::condition`], [`crate::workflow`].
//! Must not: await, read a clock, draw a random number, touch storage.
//! [`step`] takes a run and one input and gives back the run and what must be done outside before
//! the next input; whoever drives it (a request, a simulation, an explanation) sees the same
//! decisions. The rules are those of `workflow-engine.md` §7.

mod record;
mod run;
mod step;

use crate::entity::Document;
use crate::error::{Code, Coded, Properties};
use crate::id::{ProcessorName, StateName, TransitionName, WorkflowName};
use crate::model::Schema;
use crate::workflow::{CallSettings, WorkflowSet};

pub use record::{CallRecord, Considered, Entry, Leaf, Reason, Record, RunRecord, StartKind};
pub use run::{Run, Start, Subject};
pub use step::step;

/// What a run is judged against.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    pub workflows: &'a WorkflowSet,
    pub schema: &'a Schema,
    pub limits: Limits,
}

/// How far a cascade may go (`workflow-engine.md` §7.6).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How often one cascade may be in one state.
    pub state_visits: u32,
    /// How many transitions one cascade may take.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            state_visits: 10,
            depth: 100,
        }
    }
}

/// What happened outside since the last step.
#[derive(Debug)]
pub enum Input {
    /// Nothing that was waited for.
    Go,
    /// The call that the last step asked for has ended.
    Answered(Answered),
}

/// How a call ended, and what the record keeps of it.
#[derive(Debug)]
pub struct Answered {
    pub result: Result<Answer, CallError>,
    pub record: CallRecord,
}

/// What a member answered.
#[derive(Debug, Default)]
pub struct Answer {
    /// The document the entity shall have; none leaves it as it is.
    pub document: Option<Document>,
    pub warnings: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The member said so.
    Rejected {
        message: String,
        warnings: Vec<String>,
    },
    TimedOut {
        after_ms: u64,
    },
    Disconnected,
    NoMember {
        tags: String,
    },
}

/// What must be done outside before the next step.
#[derive(Debug)]
pub enum Next {
    /// Nothing.
    Go,
    /// Call a member, and come back with its answer.
    Call(Box<Call>),
    /// Nothing more will happen to the entity.
    Settled,
}

/// A call of a compute member.
#[derive(Debug, Clone)]
pub struct Call {
    pub processor: ProcessorName,
    pub settings: CallSettings,
    pub workflow: WorkflowName,
    pub transition: TransitionName,
    pub from: StateName,
    pub to: StateName,
}

/// The run after a step, and what is next.
#[derive(Debug)]
pub struct Step {
    pub run: Run,
    pub next: Next,
}

/// Why a run failed. Nothing of it is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "transition `{transition}` {why} in state `{state}`{}",
        alternatives(known)
    )]
    TransitionNotFound {
        transition: TransitionName,
        state: StateName,
        why: &'static str,
        known: Vec<TransitionName>,
    },
    #[error("no workflow contains state `{0}`")]
    NoWorkflow(StateName),
    #[error("transition \"{0}\" criterion not matched")]
    NotMatched(TransitionName),
    #[error("processor {processor} failed: {failure}")]
    Processor {
        processor: ProcessorName,
        failure: ProcessorFailure,
    },
    #[error("DISPATCH_TIMEOUT: processor dispatch timed out after {after_ms}ms")]
    TimedOut { after_ms: u64 },
    #[error("compute member disconnected during processor dispatch")]
    Disconnected,
    #[error(
        "no compute member with the tags [{tags}] is connected; start one, or raise CYODA_DISPATCH_WAIT_TIMEOUT"
    )]
    NoMember { tags: String },
    #[error("state machine aborted: state \"{state}\" visited {visits} times (limit: {limit})")]
    TooManyVisits {
        state: StateName,
        visits: u32,
        limit: u32,
    },
    #[error("state machine aborted: cascade depth exceeded ({limit}) at state \"{state}\"")]
    TooDeep { state: StateName, limit: u32 },
    /// The driver gave an input that the run does not wait for.
    #[error("the engine was given {0}")]
    Misfit(&'static str),
}

/// What a member's failure says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorFailure {
    #[error("processor dispatch failed: {0}")]
    Rejected(String),
    #[error("the entity was deleted while the processor ran")]
    EntityGone,
}

fn alternatives(names: &[TransitionName]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<_> = names.iter().map(TransitionName::as_str).collect();
    format!("; there are {}", names.join(", "))
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::TransitionNotFound { .. } => Code::TransitionNotFound,
            Self::NoWorkflow(_)
            | Self::NotMatched(_)
            | Self::Processor { .. }
            | Self::TimedOut { .. }
            | Self::TooManyVisits { .. }
            | Self::TooDeep { .. } => Code::WorkflowFailed,
            Self::Disconnected => Code::ComputeMemberDisconnected,
            Self::NoMember { .. } => Code::NoComputeMemberForTag,
            Self::Misfit(_) => Code::ServerError,
        }
    }

    fn properties(&self) -> Properties {
        if matches!(self, Self::TimedOut { .. }) {
            vec![("cause", Code::DispatchTimeout.as_str().into())]
        } else {
            Properties::new()
        }
    }
}
