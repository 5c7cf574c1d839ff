//! One version of an entity, and its metadata.

use std::{num::ParseIntError, str::FromStr, sync::Arc};

use super::Json;
use crate::clock::Timestamp;
use crate::id::{EntityId, ModelKey, StateName, TransactionId, TransitionName, WorkflowName};

/// A position on the number line of everything that was written (`storage.md` §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub i64);

/// The position of a commit. Snapshots are always taken at one, so a part of a commit is never
/// visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub i64);

impl FromStr for Position {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

/// An entity as of one of its versions.
#[derive(Debug, Clone)]
pub struct Image {
    pub id: EntityId,
    pub model: ModelKey,
    pub state: StateName,
    pub document: Json,
    /// When the entity was created.
    pub created: Timestamp,
    /// When this version was committed; before that, when its unit of work began.
    pub updated: Timestamp,
    /// The transaction that wrote this version.
    pub transaction: TransactionId,
    /// The transition that the writer named; none for a plain save.
    pub transition: Option<TransitionName>,
    /// The workflow selected at creation; none if it was the built-in one.
    pub workflow: Option<WorkflowName>,
}

impl Image {
    /// The value of `meta.transitionForLatestSave` after a save without a named transition.
    pub const LOOPBACK: &str = "loopback";

    pub fn transition_for_latest_save(&self) -> &str {
        self.transition
            .as_ref()
            .map_or(Self::LOOPBACK, TransitionName::as_str)
    }
}

/// The kind of a principal (`models-and-entities.md` §10).
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

/// An unknown kind of principal.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` is not a kind of principal; use user, service or system")]
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

/// A principal as it is stored with a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor {
    pub kind: ActorKind,
    pub name: Arc<str>,
}

impl Actor {
    /// The service itself, for work that no request asked for.
    pub fn system() -> Self {
        Self {
            kind: ActorKind::System,
            name: "system".into(),
        }
    }
}

/// The kind of change that a version made.
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
    /// The principal to which the change is attributed.
    pub author: Actor,
    /// The principal that executed it, if it is a different one.
    pub executor: Option<Actor>,
}

impl Change {
    /// The principal that executed it.
    pub fn executor(&self) -> &Actor {
        self.executor.as_ref().unwrap_or(&self.author)
    }
}

/// A change, as the feed delivers it.
#[derive(Debug, Clone)]
pub struct Changed {
    pub position: Position,
    pub entity: EntityId,
    pub model: ModelKey,
    /// The state after the change; for a deletion, the last one.
    pub state: StateName,
    pub kind: ChangeKind,
    pub transaction: TransactionId,
    pub at: Timestamp,
    /// Only if it was requested; a deletion has none.
    pub document: Option<Json>,
}
