//! A part of the feed, as it is asked of a database.

use super::{ModelRow, TenantRow};
use crate::entity::Position;
use crate::id::StateName;

/// A part of the table that is to be read.
#[derive(Debug, Clone)]
pub(in crate::storage) struct ChangeRange {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) after: Position,
    pub(in crate::storage) until: Position,
    pub(in crate::storage) model: Option<ModelRow>,
    pub(in crate::storage) states: Option<Vec<StateName>>,
    pub(in crate::storage) documents: bool,
    /// How many changes at most, and how many bytes of documents, unless one alone is larger.
    pub(in crate::storage) limit: usize,
    pub(in crate::storage) bytes: usize,
}
