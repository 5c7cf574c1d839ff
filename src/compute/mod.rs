//! The connected compute members: who they are, and calling them.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::telemetry`], [`crate::entity`],
//! [`crate::callout`].
//! Must not: wait for one member on behalf of another. A member has a bounded queue of its own
//! and a table of the calls that are out; the edge that holds its stream feeds the one and
//! empties the other (`grpc.md` §9–§12).

mod call;
mod member;

use std::sync::Arc;

use crate::callout::{Callee, Passage, Reply};
use crate::entity::{Actor, Image};
use crate::id::{CallId, DispatchKey, EntityId, TransactionId, WorkflowName};

pub use call::{Attempted, Attempts, CallSpec, Called, RETRY_PAUSE, Settings};
pub use member::{Connected, Members, Membership};

/// What a member is sent.
#[derive(Debug, Clone)]
pub struct Request {
    pub call: CallId,
    /// The same for every attempt of one call.
    pub dispatch: DispatchKey,
    /// Joins the transaction the call is made in, for as long as this attempt may count.
    pub token: Option<Arc<str>>,
    pub work: Arc<Work>,
}

/// What a call is about; the same for every attempt.
#[derive(Debug)]
pub struct Work {
    pub callee: Callee,
    pub workflow: WorkflowName,
    /// None while a workflow is being chosen.
    pub passage: Option<Passage>,
    pub entity: EntityId,
    /// None if the call is made outside any.
    pub transaction: Option<TransactionId>,
    /// The configured context, as it is.
    pub context: Option<Arc<str>>,
    /// The entity, if the call carries it.
    pub attached: Option<Image>,
    pub principal: Principal,
}

/// On whose behalf a member is called.
#[derive(Debug, Clone)]
pub struct Principal {
    pub actor: Actor,
    pub roles: Arc<[Box<str>]>,
}

/// What a member answered.
#[derive(Debug)]
pub struct Response {
    pub outcome: Result<Reply, Rejection>,
    pub warnings: Vec<String>,
}

/// A member's no.
#[derive(Debug, Clone)]
pub struct Rejection {
    pub message: String,
    /// What the member says of trying again.
    pub retryable: Option<bool>,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed {
    Rejected(String),
    TimedOut {
        after_ms: u64,
    },
    Disconnected,
    NoMember {
        tags: String,
    },
    /// The tenant has this many calls out already.
    TooMany {
        limit: usize,
    },
}
