//! One version of an entity, and the facts about it.

use std::{num::ParseIntError, str::FromStr, sync::Arc};

use super::Json;
use crate::clock::Timestamp;
use crate::id::{EntityId, ModelKey, StateName, TransactionId, TransitionName, WorkflowName};

/// A place on the one number line of everything that was written (`STORAGE.md` §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub i64);

/// The position of a commit. A snapshot is always one of these, so half a commit is never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub i64);

impl FromStr for Position {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

/// An entity as one of its versions left it.
#[derive(Debug, Clone)]
pub struct Image {
    pub id: EntityId,
    pub model: ModelKey,
    pub state: StateName,
    pub document: Json,
    /// When the entity was first made.
    pub created: Timestamp,
    /// When this version was committed; while it is not, when its unit of work began.
    pub updated: Timestamp,
    /// The transaction that wrote this version.
    pub transaction: TransactionId,
    /// The transition that the writer asked for; none for a plain save.
    pub transition: Option<TransitionName>,
    /// The workflow chosen when the entity was made; none if it was the built-in one.
    pub workflow: Option<WorkflowName>,
}

impl Image {
    /// What `meta.transitionForLatestSave` says of a save without a named transition.
    pub const LOOPBACK: &str = "loopback";

    pub fn transition_for_latest_save(&self) -> &str {
        self.transition
            .as_ref()
            .map_or(Self::LOOPBACK, TransitionName::as_str)
    }
}

/// What kind of caller someone is (`models-and-entities.md` §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    User,
    Service,
    System,
}

impl ActorKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Service => "service",
            Self::System => "system",
        }
    }
}

/// A kind of caller that is none of ours.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` is no kind of caller; known are user, service and system")]
pub struct UnknownActorKind(pub String);

impl FromStr for ActorKind {
    type Err = UnknownActorKind;

    fn from_str(text: &str) -> Result<Self, UnknownActorKind> {
        match text {
            "user" => Ok(Self::User),
            "service" => Ok(Self::Service),
            "system" => Ok(Self::System),
            other => Err(UnknownActorKind(other.to_owned())),
        }
    }
}

/// Someone who writes: remembered with every commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor {
    pub kind: ActorKind,
    pub name: Arc<str>,
}

/// What a version did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    Create,
    Update,
    Delete,
}

impl ChangeKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// One row of an entity's history.
#[derive(Debug, Clone)]
pub struct Change {
    pub position: Position,
    pub kind: ChangeKind,
    pub at: Timestamp,
    pub transaction: TransactionId,
    /// To whom the change is attributed.
    pub author: Actor,
    /// Who made it, where that is someone else.
    pub executor: Option<Actor>,
}

impl Change {
    /// Who made it.
    pub fn executor(&self) -> &Actor {
        self.executor.as_ref().unwrap_or(&self.author)
    }
}

/// A change, as the feed tells it.
#[derive(Debug, Clone)]
pub struct Changed {
    pub position: Position,
    pub entity: EntityId,
    pub model: ModelKey,
    /// The state after the change; of a deletion, the last one.
    pub state: StateName,
    pub kind: ChangeKind,
    pub transaction: TransactionId,
    pub at: Timestamp,
    /// Only where it was asked for; a deletion has none.
    pub document: Option<Json>,
}
