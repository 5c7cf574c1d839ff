//! What governs the entities of one model.

use super::{ModelRow, TenantRow};
use crate::model::Model;
use crate::workflow::WorkflowSet;

/// A model and its workflows, as one commit left them.
#[derive(Debug, Clone)]
pub struct Definitions {
    pub(super) tenant: TenantRow,
    pub(super) row: ModelRow,
    /// The commit that changed the model last.
    pub(super) revision: i64,
    /// The commit that set the workflows; 0 if none were.
    pub workflow_revision: i64,
    pub model: Model,
    pub workflows: WorkflowSet,
}

impl Definitions {
    pub fn has_unique_keys(&self) -> bool {
        !self.model.unique_keys.is_empty()
    }
}
