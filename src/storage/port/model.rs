//! A change of a model, as it is written.

use super::{CommitRow, ModelRow, OutcomeRow, TenantRow};
use crate::id::ModelKey;
use crate::model::{ChangeLevel, Lock, Schema, UniqueKeys};
use crate::workflow::WorkflowSet;

/// A change of a model, and what is written beside it.
#[derive(Debug)]
pub(in crate::storage) struct ModelCommit<'a> {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) key: &'a ModelKey,
    pub(in crate::storage) effect: Effect<'a>,
    pub(in crate::storage) commit: CommitRow,
    /// The newest commit that it was validated by.
    pub(in crate::storage) follows: i64,
    pub(in crate::storage) outcomes: Vec<OutcomeRow>,
}

/// What a change makes of a model.
#[derive(Debug)]
pub(in crate::storage) enum Effect<'a> {
    /// Makes it, or makes one that was deleted again.
    Make(&'a Schema),
    Edit(ModelRow, Edit<'a>),
}

/// What a change makes of a model that there is.
#[derive(Debug)]
pub(in crate::storage) enum Edit<'a> {
    /// Adds a delta to the schema.
    Extend(&'a Schema),
    /// Stores the whole schema in place of its deltas.
    Fold(Schema),
    /// Remembers that a sample came that said nothing new.
    Touch,
    SetLock(Lock),
    SetChangeLevel(ChangeLevel),
    Delete,
    SetWorkflows(&'a WorkflowSet),
    SetUniqueKeys(UniqueKeys),
}
