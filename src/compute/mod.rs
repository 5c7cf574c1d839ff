//! The connected compute members, and calls to them.
//!
//! May use: [`crate::backoff`], [`crate::id`], [`crate::clock`], [`crate::telemetry`], [`crate::entity`],
//! [`crate::dispatch`], [`crate::error`], [`crate::program`].
//! Must not: wait for one member on behalf of another. Each member has its own bounded queue and
//! table of calls in flight; the edge that holds its stream drains the one and completes the other
//! (`grpc.md` §9–§12).

mod dispatch;
mod member;
mod others;
pub mod tasks;

use std::sync::Arc;

use tokio::time::Instant;

use crate::dispatch::{Callee, Reply, Trace, TransitionContext};
use crate::entity::{Actor, Image};
use crate::id::{CallId, DispatchKey, EntityId, TransactionId, WorkflowName};

pub use dispatch::{Attempted, Attempts, DispatchSpec, Dispatched, RETRY_PAUSE, Settings};
pub use member::{Connected, Members, Membership};
pub use others::{Chosen, Forwarded, Others, RemoteMember, RemoteOutcome, Wanted};

/// The code of an answer of a member that has not begun the call or task, because it is about to
/// leave.
pub const MEMBER_STOPPING: &str = "MEMBER_STOPPING";

/// A call as it is sent to a member.
#[derive(Debug, Clone)]
pub struct Request {
    pub call: CallId,
    /// The same for every attempt of one call.
    pub dispatch: DispatchKey,
    /// Joins the transaction in which the call is made, as long as this attempt is valid.
    pub token: Option<Arc<str>>,
    /// When this attempt is given up; none as long as it is not sent.
    pub deadline: Option<Instant>,
    pub work: Arc<Work>,
}

/// The content of a call; the same for every attempt.
#[derive(Debug)]
pub struct Work {
    pub callee: Callee,
    pub workflow: WorkflowName,
    /// None while a workflow is being selected.
    pub transition_context: Option<TransitionContext>,
    pub entity: EntityId,
    /// None if the call is made outside of any transaction.
    pub transaction: Option<TransactionId>,
    /// The configured context, unchanged.
    pub context: Option<Arc<str>>,
    /// The entity, if the call carries it.
    pub attached: Option<Image>,
    pub principal: Principal,
}

/// The principal on whose behalf a member is called.
#[derive(Debug, Clone)]
pub struct Principal {
    pub actor: Actor,
    pub roles: Arc<[Box<str>]>,
    /// The trace of its request; none for work that is done later.
    pub trace: Option<Trace>,
}

impl Principal {
    /// The principal of work that no request asked for.
    pub fn system() -> Self {
        Self {
            actor: Actor::system(),
            roles: Arc::default(),
            trace: None,
        }
    }
}

/// A member's response.
#[derive(Debug)]
pub struct Response {
    pub outcome: Result<Reply, Rejection>,
    pub warnings: Vec<String>,
}

/// A failure that a member reported.
#[derive(Debug, Clone)]
pub struct Rejection {
    pub message: String,
    /// Whether the member says that a retry may help.
    pub retryable: Option<bool>,
}

/// Why a call has no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    #[error("the member answered: {0}")]
    Rejected(String),
    #[error("the member did not answer within {after_ms} ms")]
    TimedOut { after_ms: u64 },
    #[error("the member disconnected")]
    Disconnected,
    /// Another node, to which a member is connected, has not taken the call over.
    #[error("another node did not take the call over")]
    NotForwarded,
    #[error("no member has the tags \"{tags}\"")]
    NoMember { tags: String },
    /// The tenant already has this many calls in flight.
    #[error("the tenant has {limit} calls in flight already")]
    TooMany { limit: usize },
}
