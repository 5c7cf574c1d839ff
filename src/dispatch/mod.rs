//! The terms of a call to a compute member: which members, with what data, for how long.
//!
//! May use: [`crate::id`], [`crate::entity`].
//! Processors, criteria and schedules call members on the same terms (`grpc.md` §11 and §12).

mod tags;
mod trace;

use std::{sync::Arc, time::Duration};

use crate::entity::Document;
use crate::id::{FunctionName, ProcessorName, StateName, TransitionName};

pub use tags::{TagMatch, Tags};
pub use trace::Trace;

/// What a member is called for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callee {
    /// To process the entity.
    Processor(ProcessorName),
    /// To evaluate a condition.
    Criterion { name: FunctionName, target: Target },
    /// To compute when a transition is due.
    Schedule(FunctionName),
}

/// What a criterion decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Workflow,
    Transition,
}

/// A member's response, by kind of call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The new document of the entity; none leaves it unchanged.
    Processed(Option<Document>),
    Evaluated(CriterionResult),
    /// The result of a schedule function, and its kind.
    Computed {
        kind: String,
        result: Option<Document>,
    },
}

/// The result of a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionResult {
    pub matches: bool,
    /// Why it does not match.
    pub reason: Option<Box<str>>,
}

/// The transition for which a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionContext {
    pub transition: TransitionName,
    pub from: StateName,
    pub to: StateName,
}

impl Callee {
    pub fn name(&self) -> &str {
        match self {
            Self::Processor(name) => name.as_str(),
            Self::Criterion { name, .. } | Self::Schedule(name) => name.as_str(),
        }
    }

    /// Whether the response is of the kind that was requested.
    pub const fn is_answered_by(&self, reply: &Reply) -> bool {
        matches!(
            (self, reply),
            (Self::Processor(_), Reply::Processed(_))
                | (Self::Criterion { .. }, Reply::Evaluated(_))
                | (Self::Schedule(_), Reply::Computed { .. })
        )
    }

    /// The kind, as messages name it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Processor(_) => "processor",
            Self::Criterion { .. } => "criteria",
            Self::Schedule(_) => "function",
        }
    }
}

/// The settings of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSettings {
    /// The tags that a member must have.
    pub tags: Tags,
    pub attachment: Attachment,
    /// The time limit of one attempt; none for the server's default.
    pub response_timeout: Option<Duration>,
    pub retry: RetryPolicy,
    /// Passed to the member unchanged.
    pub context: Option<Arc<str>>,
}

/// Whether a call carries the entity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Attachment {
    #[default]
    Entity,
    Nothing,
}

/// Whether a call is retried after a retryable failure (`grpc.md` §12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RetryPolicy {
    #[default]
    None,
    /// Three further attempts, half a second apart.
    Fixed,
}

/// Settings as given in a definition, from which [`CallSettings`] are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// Absent means true.
    pub attach_entity: Option<bool>,
    pub tags: Option<&'a str>,
    /// 0 and less mean the server's default.
    pub response_timeout_ms: Option<i64>,
    pub retry_policy: Option<&'a str>,
    pub context: Option<&'a str>,
}

impl Given<'_> {
    pub fn settings(self) -> CallSettings {
        CallSettings {
            tags: Tags::parse(self.tags.unwrap_or_default()),
            attachment: if self.attach_entity == Some(false) {
                Attachment::Nothing
            } else {
                Attachment::Entity
            },
            response_timeout: self
                .response_timeout_ms
                .and_then(|ms| u64::try_from(ms).ok())
                .filter(|ms| *ms > 0)
                .map(Duration::from_millis),
            retry: RetryPolicy::from_name(self.retry_policy.unwrap_or_default())
                .unwrap_or_default(),
            context: self
                .context
                .filter(|context| !context.is_empty())
                .map(Into::into),
        }
    }
}

impl RetryPolicy {
    /// The policy of that name; none if it is unknown.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "" | "NONE" => Some(Self::None),
            "FIXED" => Some(Self::Fixed),
            _ => None,
        }
    }
}
