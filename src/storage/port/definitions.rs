//! What governs the entities of one model.

use std::sync::Arc;

use super::{ModelRow, TenantRow};
use crate::model::{Model, Schema};
use crate::workflow::WorkflowSet;

/// A model and its workflows, as one commit left them.
#[derive(Debug, Clone)]
pub struct Definitions {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) row: ModelRow,
    /// The commit that changed the model last; widening it is not a change.
    pub(in crate::storage) revision: i64,
    /// How many deltas the schema is stored as.
    pub(in crate::storage) deltas: usize,
    /// The commit that set the workflows; 0 if none were.
    pub workflow_revision: i64,
    pub model: Model,
    pub workflows: WorkflowSet,
}

impl Definitions {
    /// The tenant whose share of threads is used for expensive work.
    pub const fn party(&self) -> u64 {
        self.tenant.0.cast_unsigned()
    }

    pub fn has_unique_keys(&self) -> bool {
        !self.model.unique_keys.is_empty()
    }

    /// A copy with a schema that is extended by `delta`.
    #[must_use]
    pub fn with(&self, delta: &Schema) -> Arc<Self> {
        let mut grown = self.clone();
        grown.grow(delta);
        Arc::new(grown)
    }

    /// Extends the schema by `delta`; it is copied only if someone else has it, too.
    pub(in crate::storage) fn grow(&mut self, delta: &Schema) {
        Arc::make_mut(&mut self.model.schema).add(delta.clone());
    }

    /// A copy with another schema, which is stored as so many deltas.
    pub(in crate::storage) fn with_schema(&self, schema: Arc<Schema>, deltas: usize) -> Arc<Self> {
        let mut grown = self.clone();
        grown.model.schema = schema;
        grown.deltas = deltas;
        Arc::new(grown)
    }
}
