//! Why a run failed.

use std::time::Duration;

use super::DispatchError;
use crate::condition::Halt;
use crate::dispatch::Callee;
use crate::error::{Code, Coded, Properties};
use crate::id::{FunctionName, ProcessorName, StateName, TransitionName};

/// Why a run failed. Nothing of it is stored.
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
    #[error(
        "transition `{transition}` of state `{state}` is scheduled and fires automatically; it is not manually fireable{}",
        alternatives(known)
    )]
    TransitionScheduled {
        transition: TransitionName,
        state: StateName,
        known: Vec<TransitionName>,
    },
    #[error(
        "transition `{transition}` of state `{state}` was imported again, and the processor with which the run continues is not at its place any more"
    )]
    NotResumable {
        transition: TransitionName,
        state: StateName,
    },
    #[error("no workflow contains state `{0}`; import a workflow that has this state")]
    NoWorkflow(StateName),
    #[error("transition \"{transition}\" criterion not matched{}", because(reason.as_deref()))]
    NotMatched {
        transition: TransitionName,
        /// The member's reason, if a member was called.
        reason: Option<Box<str>>,
    },
    #[error("the criterion of \"{guarded}\" cannot be evaluated: {why}")]
    UnknownCriterion {
        /// The workflow or transition that it guards.
        guarded: String,
        why: Box<str>,
    },
    #[error(
        "processor {processor}: execution type \"internalized\" is not yet implemented; import it with the type EXTERNAL and run it in a compute member"
    )]
    Internalized { processor: ProcessorName },
    #[error("processor {processor} failed: {failure}")]
    Processor {
        processor: ProcessorName,
        failure: ProcessorFailure,
    },
    #[error("{kind} {name} could not be evaluated: {message}")]
    Function {
        kind: &'static str,
        name: FunctionName,
        message: String,
    },
    #[error("DISPATCH_TIMEOUT: processor dispatch timed out after {after_ms}ms")]
    ProcessorTimedOut { after_ms: u64 },
    #[error("{kind} dispatch timed out after {after_ms}ms")]
    TimedOut { kind: &'static str, after_ms: u64 },
    #[error("compute member disconnected during {kind} dispatch")]
    Disconnected { kind: &'static str },
    #[error(
        "the node that the member is connected to has not taken the {kind} call over; retry, and look at the log of this node"
    )]
    NotForwarded { kind: &'static str },
    #[error(
        "no compute member with the tags [{tags}] is connected; start one, or raise CYODA_DISPATCH_WAIT_TIMEOUT"
    )]
    NoMember { tags: String },
    #[error(
        "the tenant already has {limit} calls to members in flight; wait until some of them end, or raise INTERLOCK_MAX_CALLS_OUT"
    )]
    TooManyCalls { limit: usize },
    #[error("the schedule function {function} returned an invalid schedule: {why}")]
    NoSchedule {
        function: FunctionName,
        why: &'static str,
    },
    #[error("state machine aborted: state \"{state}\" visited {visits} times (limit: {limit})")]
    TooManyVisits {
        state: StateName,
        visits: u32,
        limit: u32,
    },
    #[error("state machine aborted: cascade depth exceeded ({limit}) at state \"{state}\"")]
    TooDeep { state: StateName, limit: u32 },
    #[error(
        "state machine aborted: the run took longer than {} s (INTERLOCK_MAX_RUN_TIME)",
        limit.as_secs()
    )]
    TooLong { limit: Duration },
    #[error("the criterion of `{of}`: {halt}")]
    Halted { of: String, halt: Halt },
    /// The driver gave an input that the run does not expect.
    #[error("the engine was given {0}")]
    Misfit(&'static str),
}

/// Why a processor failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorFailure {
    #[error("processor dispatch failed: {0}")]
    Rejected(String),
    #[error("the entity was deleted while the processor ran")]
    EntityGone,
    #[error("compute member disconnected during processor dispatch")]
    Disconnected,
    #[error("COMMIT_BEFORE_DISPATCH is not possible in a transaction that was joined with a token")]
    BoundaryInCallback,
    /// A run could not be started or signalled.
    #[error("{0}")]
    Runs(String),
}

impl Error {
    /// The failure of a run whose entity was deleted during a call.
    pub fn entity_gone(callee: &Callee) -> Self {
        match callee {
            Callee::Processor(processor) => Self::Processor {
                processor: processor.clone(),
                failure: ProcessorFailure::EntityGone,
            },
            Callee::Criterion { name, .. } | Callee::Schedule(name) => Self::Function {
                kind: callee.kind(),
                name: name.clone(),
                message: "the entity was deleted while the function ran".to_owned(),
            },
        }
    }

    /// The failure of a run whose call failed.
    pub(super) fn of_call(callee: &Callee, error: DispatchError) -> Self {
        let kind = callee.kind();
        match (callee, error) {
            (Callee::Processor(processor), DispatchError::Rejected { message, .. }) => {
                Self::Processor {
                    processor: processor.clone(),
                    failure: ProcessorFailure::Rejected(message),
                }
            }
            (
                Callee::Criterion { name, .. } | Callee::Schedule(name),
                DispatchError::Rejected { message, .. },
            ) => Self::Function {
                kind,
                name: name.clone(),
                message,
            },
            (Callee::Processor(_), DispatchError::TimedOut { after_ms }) => {
                Self::ProcessorTimedOut { after_ms }
            }
            (_, DispatchError::TimedOut { after_ms }) => Self::TimedOut { kind, after_ms },
            (_, DispatchError::Disconnected) => Self::Disconnected { kind },
            (_, DispatchError::NotForwarded) => Self::NotForwarded { kind },
            (_, DispatchError::NoMember { tags }) => Self::NoMember { tags },
            (_, DispatchError::TooMany { limit }) => Self::TooManyCalls { limit },
        }
    }

    /// The failure of a call that changed nothing, as a warning, which names what was called.
    pub(super) fn as_warning(&self, callee: &Callee) -> String {
        if matches!(self, Self::Processor { .. } | Self::Function { .. }) {
            return self.to_string();
        }
        format!("{} {}: {self}", callee.kind(), callee.name())
    }

    /// The same failure for a call that was made after a commit: there a disconnected member is a
    /// failure of the processor (`workflow-engine.md` §6.3).
    #[must_use]
    pub(super) fn in_scope(self, callee: &Callee, after_commit: bool) -> Self {
        match (self, callee) {
            (Self::Disconnected { .. }, Callee::Processor(processor)) if after_commit => {
                Self::Processor {
                    processor: processor.clone(),
                    failure: ProcessorFailure::Disconnected,
                }
            }
            (error, _) => error,
        }
    }

    /// Whether a member disconnected during a call that was made after a commit.
    pub const fn is_disconnect_after_commit(&self) -> bool {
        matches!(
            self,
            Self::Processor {
                failure: ProcessorFailure::Disconnected,
                ..
            }
        )
    }

    /// Whether the same run may succeed once members are available.
    pub const fn is_about_members(&self) -> bool {
        matches!(
            self,
            Self::ProcessorTimedOut { .. }
                | Self::TimedOut { .. }
                | Self::Disconnected { .. }
                | Self::NotForwarded { .. }
                | Self::NoMember { .. }
                | Self::TooManyCalls { .. }
                | Self::Processor {
                    failure: ProcessorFailure::Disconnected,
                    ..
                }
        )
    }
}

fn alternatives(names: &[TransitionName]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<_> = names.iter().map(TransitionName::as_str).collect();
    format!("; available are {}", names.join(", "))
}

fn because(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::TransitionNotFound { .. } | Self::TransitionScheduled { .. } => {
                Code::TransitionNotFound
            }
            Self::NotResumable { .. }
            | Self::NoWorkflow(_)
            | Self::NotMatched { .. }
            | Self::UnknownCriterion { .. }
            | Self::Internalized { .. }
            | Self::Processor { .. }
            | Self::Function { .. }
            | Self::ProcessorTimedOut { .. }
            | Self::TooManyVisits { .. }
            | Self::TooDeep { .. }
            | Self::TooLong { .. } => Code::WorkflowFailed,
            Self::Halted { halt, .. } => halt.code(),
            Self::TimedOut { .. } => Code::DispatchTimeout,
            Self::Disconnected { .. } => Code::ComputeMemberDisconnected,
            Self::NotForwarded { .. } => Code::DispatchForwardFailed,
            Self::NoMember { .. } => Code::NoComputeMemberForTag,
            Self::TooManyCalls { .. } => Code::TooManyRequests,
            Self::NoSchedule { .. } => Code::ScheduleFunctionInvalidResult,
            Self::Misfit(_) => Code::ServerError,
        }
    }

    fn properties(&self) -> Properties {
        if matches!(self, Self::ProcessorTimedOut { .. }) {
            return vec![("cause", Code::DispatchTimeout.as_str().into())];
        }
        if let Self::Processor {
            failure: ProcessorFailure::Disconnected,
            ..
        } = self
        {
            return vec![("cause", Code::ComputeMemberDisconnected.as_str().into())];
        }
        if let Self::TransitionNotFound { known, .. } | Self::TransitionScheduled { known, .. } =
            self
        {
            let known: Vec<_> = known.iter().map(TransitionName::as_str).collect();
            return vec![("availableTransitions", known.into())];
        }
        Properties::new()
    }
}
