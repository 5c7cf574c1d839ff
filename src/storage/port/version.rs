//! What reads return of entities, models and messages.

use super::{EntityRow, ModelRow, TenantRow};
use crate::clock::Timestamp;
use crate::engine::Record;
use crate::entity::{Change, Image, Json, Position, Sequence};
use crate::id::{ModelKey, TransactionId};
use crate::model::Lock;

/// The newest commit.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct Newest {
    pub(in crate::storage) sequence: Sequence,
    pub(in crate::storage) at: Timestamp,
    /// Grows with each change of what batches are validated by, where other processes can make one.
    pub(in crate::storage) revision: i64,
}

/// One version of an entity, and where it stands.
#[derive(Debug, Clone)]
pub struct Version {
    /// The row of the entity.
    pub(in crate::storage) row: EntityRow,
    /// The row of the tenant it belongs to.
    pub(in crate::storage) tenant: TenantRow,
    pub position: Position,
    /// Whether the entity exists after this version; a deletion is a version too.
    pub live: bool,
    pub image: Image,
}

impl Version {
    /// Whether this is committed, not only in the unit that was asked.
    pub const fn is_committed(&self) -> bool {
        self.position.0 != UNCOMMITTED.0
    }
}

/// Where a version stands that is not committed: after all others.
pub(in crate::storage) const UNCOMMITTED: Position = Position(i64::MAX);

/// What one commit has recorded of an entity.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub position: Position,
    pub at: Timestamp,
    pub transaction: TransactionId,
    /// The transaction that the request began with.
    pub entry: TransactionId,
    /// None if the entity was left as it was.
    pub change: Option<Change>,
    pub record: Record,
}

/// A model as lists show it.
#[derive(Debug, Clone)]
pub struct Listed {
    pub(in crate::storage) row: ModelRow,
    pub key: ModelKey,
    pub lock: Lock,
    pub updated: Timestamp,
}

/// A message, part by part as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub header: Json,
    pub metadata: Json,
    pub content: Json,
}

impl Message {
    pub(in crate::storage) fn bytes(&self) -> usize {
        let parts = [&self.header, &self.metadata, &self.content];
        parts.iter().map(|part| part.as_str().len()).sum()
    }
}
