//! Tenants, actors and definitions of runs by name: small rows that are made once and never change.

use foldhash::HashMap;
use parking_lot::RwLock;

use crate::entity::Actor;
use crate::id::Tenant;
use crate::storage::port::{ActorRow, RunName, RunNameRow, TenantRow};

/// How many actors, and names of definitions, are remembered; beyond, they are looked up again.
const ACTORS_MAX: usize = 100_000;

/// A lock, not a task: read by every request, written once per name.
#[derive(Debug)]
pub(in crate::storage) struct Names {
    tenants: RwLock<HashMap<Tenant, TenantRow>>,
    actors: quick_cache::sync::Cache<(TenantRow, Actor), ActorRow>,
    runs: quick_cache::sync::Cache<(TenantRow, RunName), RunNameRow>,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            tenants: RwLock::default(),
            actors: quick_cache::sync::Cache::new(ACTORS_MAX),
            runs: quick_cache::sync::Cache::new(ACTORS_MAX),
        }
    }
}

impl Names {
    pub(in crate::storage) fn tenant(&self, tenant: &Tenant) -> Option<TenantRow> {
        self.tenants.read().get(tenant).copied()
    }

    pub(in crate::storage) fn know_tenant(&self, tenant: &Tenant, row: TenantRow) {
        self.tenants.write().insert(tenant.clone(), row);
    }

    /// Forgets all rows, since some of them may be gone.
    pub(in crate::storage) fn clear(&self) {
        self.tenants.write().clear();
        self.actors.clear();
        self.runs.clear();
    }

    pub(in crate::storage) fn actor(&self, tenant: TenantRow, actor: &Actor) -> Option<ActorRow> {
        self.actors.get(&(tenant, actor.clone()))
    }

    pub(in crate::storage) fn know_actor(&self, tenant: TenantRow, actor: &Actor, row: ActorRow) {
        self.actors.insert((tenant, actor.clone()), row);
    }

    pub(in crate::storage) fn run_name(
        &self,
        tenant: TenantRow,
        name: &RunName,
    ) -> Option<RunNameRow> {
        self.runs.get(&(tenant, name.clone()))
    }

    pub(in crate::storage) fn know_run_name(
        &self,
        tenant: TenantRow,
        name: &RunName,
        row: RunNameRow,
    ) {
        self.runs.insert((tenant, name.clone()), row);
    }
}
