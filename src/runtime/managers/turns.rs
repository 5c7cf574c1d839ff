//! Turns of ticks: one at a time in a namespace, and the managers of tenants by turns.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::id::Tenant;
use crate::pool::{Pool, Slot};
use crate::runtime::{Lines, Turn};

use super::quiet::Quiet;

/// How many managers are brought up to date at once. A tenant has one of these slots at most, and
/// waits for the next one behind all others: very many managers of one delay those of another by
/// one manager each.
const SLOTS: usize = 4;

/// The ticks of this process.
#[derive(Debug)]
pub(in crate::runtime) struct Ticks {
    namespaces: Lines,
    managers: Pool,
    pub(super) quiet: Quiet,
    hasher: RandomState,
    /// The ticks of runs that are at work, by the identifiers of their tasks. A mutex, not a task:
    /// held to put one in, or to take it out.
    of_runs: Mutex<HashMap<(Tenant, Arc<str>), CancellationToken>>,
}

impl Default for Ticks {
    fn default() -> Self {
        Self {
            namespaces: Lines::default(),
            managers: Pool::of_slots(SLOTS, 1),
            quiet: Quiet::default(),
            hasher: RandomState::new(),
            of_runs: Mutex::default(),
        }
    }
}

impl Ticks {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Tenant, Arc<str>), CancellationToken>> {
        self.of_runs.lock()
    }

    /// Waits for the turn to tick a namespace.
    pub(super) async fn turn(
        &self,
        tenant: &Tenant,
        namespace: &str,
        cancel: &CancellationToken,
    ) -> Result<Turn, Failure> {
        let turn = self.namespaces.turn((tenant, namespace));
        let turn = cancel.run_until_cancelled(turn).await;
        turn.ok_or_else(Failure::cancelled)
    }

    /// Waits for the turn to bring a manager of a tenant up to date.
    pub(super) async fn slot(
        &self,
        tenant: &Tenant,
        cancel: &CancellationToken,
    ) -> Result<Slot, Failure> {
        let entering = self.managers.enter(self.hasher.hash_one(tenant));
        let slot = cancel.run_until_cancelled(entering).await;
        slot.ok_or_else(Failure::cancelled)
    }

    /// Begins the tick of a run; none if it is at work already.
    pub(super) fn begin(
        &self,
        tenant: &Tenant,
        task: &Arc<str>,
        stop: &CancellationToken,
    ) -> Option<CancellationToken> {
        let mut of_runs = self.lock();
        let key = (tenant.clone(), Arc::clone(task));
        if of_runs.contains_key(&key) {
            return None;
        }
        let cancel = stop.child_token();
        of_runs.insert(key, cancel.clone());
        Some(cancel)
    }

    pub(super) fn end(&self, tenant: &Tenant, task: &Arc<str>) {
        self.lock().remove(&(tenant.clone(), Arc::clone(task)));
    }

    /// Stops the tick of a run that was cancelled: what it has committed stays.
    pub(in crate::runtime) fn give_up(&self, tenant: &Tenant, task: &str) {
        let cancel = self.lock().remove(&(tenant.clone(), task.into()));
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }
}
