//! How code in a compute member is asked for: by which members, with what, for how long.
//!
//! May use: [`crate::id`], [`crate::entity`].
//! Processors, criteria and schedules all call members, on the same terms (`grpc.md` §11 and §12).

mod tags;

use std::{sync::Arc, time::Duration};

use crate::entity::Document;
use crate::id::{FunctionName, ProcessorName, StateName, TransitionName};

pub use tags::Tags;

/// What a member is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callee {
    /// To work on the entity.
    Processor(ProcessorName),
    /// Whether something is so.
    Criterion { name: FunctionName, target: Target },
    /// When a transition is due.
    Schedule(FunctionName),
}

/// What a criterion decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Workflow,
    Transition,
}

/// What a member answers, by what it was asked for.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The document the entity shall have; none leaves it as it is.
    Processed(Option<Document>),
    Judged(Judgement),
    /// What a schedule's function says, and of which kind that is.
    Computed {
        kind: String,
        result: Option<Document>,
    },
}

/// What a member says of a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub matches: bool,
    /// Why not.
    pub reason: Option<Box<str>>,
}

/// The transition a call is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
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

    /// Whether this is an answer to what it is asked for.
    pub const fn is_answered_by(&self, reply: &Reply) -> bool {
        matches!(
            (self, reply),
            (Self::Processor(_), Reply::Processed(_))
                | (Self::Criterion { .. }, Reply::Judged(_))
                | (Self::Schedule(_), Reply::Computed { .. })
        )
    }

    /// The word for it in messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Processor(_) => "processor",
            Self::Criterion { .. } => "criteria",
            Self::Schedule(_) => "function",
        }
    }
}

/// The terms of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSettings {
    /// What a member must declare to be called.
    pub tags: Tags,
    pub attachment: Attachment,
    /// How long one attempt may take; none is the server's default.
    pub response_timeout: Option<Duration>,
    pub retry: RetryPolicy,
    /// Passed to the member as it is.
    pub context: Option<Arc<str>>,
}

/// Whether a call carries the entity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Attachment {
    #[default]
    Entity,
    Nothing,
}

/// What happens when a call fails for a reason that may pass (`grpc.md` §12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RetryPolicy {
    #[default]
    None,
    /// Three further attempts, half a second apart.
    Fixed,
}

/// A documented setting as it is given; the terms it makes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// Absent means true.
    pub attach_entity: Option<bool>,
    pub tags: Option<&'a str>,
    /// Nothing, zero and less mean the server's default.
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
    /// The policy of that name; a name that is not known acts as `NONE`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "" | "NONE" => Some(Self::None),
            "FIXED" => Some(Self::Fixed),
            _ => None,
        }
    }
}
