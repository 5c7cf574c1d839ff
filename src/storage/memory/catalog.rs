//! Definitions in memory.

use std::sync::Arc;

use foldhash::HashMap;
use parking_lot::RwLock;

use crate::id::ModelKey;
use crate::model::Schema;
use crate::storage::port::{Definitions, TenantRow};

/// How many definitions are remembered.
const KNOWN_MAX: usize = 10_000;

/// The definitions in use. Swapped by the committer, in the order of commits.
///
/// A lock, not a task: read by every request, written when a model changes.
#[derive(Debug, Default)]
pub(in crate::storage) struct Catalog {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<(TenantRow, ModelKey), Arc<Definitions>>,
    /// Grows with each change, so that what was read before one is not kept after it.
    generation: u64,
}

impl Catalog {
    pub(in crate::storage) fn get(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Option<Arc<Definitions>> {
        let state = self.state.read();
        state.known.get(&(tenant, model.clone())).cloned()
    }

    pub(in crate::storage) fn generation(&self) -> u64 {
        self.state.read().generation
    }

    /// Remembers what was read, unless something has changed since `generation`.
    pub(in crate::storage) fn fill(
        &self,
        tenant: TenantRow,
        definitions: &Arc<Definitions>,
        generation: u64,
    ) {
        let mut state = self.state.write();
        if state.generation != generation {
            return;
        }
        let name = (tenant, definitions.model.key.clone());
        // Any other makes room: one that is in use is soon read again.
        if state.known.len() >= KNOWN_MAX
            && !state.known.contains_key(&name)
            && let Some(other) = state.known.keys().next().cloned()
        {
            state.known.remove(&other);
        }
        state.known.insert(name, Arc::clone(definitions));
    }

    /// Swaps the schema of a model that was widened.
    pub(in crate::storage) fn widen(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
        schema: &Arc<Schema>,
        deltas: usize,
    ) {
        let mut state = self.state.write();
        state.generation += 1;
        if let Some(known) = state.known.get_mut(&(tenant, model.clone())) {
            *known = known.with_schema(Arc::clone(schema), deltas);
        }
    }

    /// Forgets all models: other processes have committed, and it is not known what.
    pub(in crate::storage) fn clear(&self) {
        let mut state = self.state.write();
        state.generation += 1;
        state.known.clear();
    }

    /// Forgets a model that was changed; the next reader loads it.
    pub(in crate::storage) fn forget(&self, tenant: TenantRow, model: &ModelKey) {
        let mut state = self.state.write();
        state.generation += 1;
        state.known.remove(&(tenant, model.clone()));
    }
}
