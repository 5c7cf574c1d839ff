//! The calls of sagas that this process has sent, or does itself.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::connector::Connectors;
use crate::id::Tenant;

/// How many calls are known to be new; beyond, all of them may have been sent before.
const ISSUED_MAX: usize = 100_000;

/// The calls that this process does itself.
#[derive(Debug)]
pub struct Calls {
    connectors: Connectors,
    tasks: TaskTracker,
    /// Cancelled when the service stops: what is out is repeated after the restart.
    stop: CancellationToken,
    /// The tasks that were sent in this life of the service and have not ended, those of members
    /// included: what is sent again is done once. Their tokens are cancelled when they are given up.
    out: Mutex<HashMap<(Tenant, Arc<str>), CancellationToken>>,
    /// Those of them that were committed since the service started: nobody was sent them before.
    issued: Mutex<HashSet<(Tenant, Arc<str>)>>,
    /// Those that were out when their runs were resumed: they may have been sent before.
    resumed: Mutex<HashSet<(Tenant, Arc<str>)>>,
}

impl Calls {
    pub fn new(connectors: Connectors, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            connectors,
            tasks,
            stop,
            out: Mutex::default(),
            issued: Mutex::default(),
            resumed: Mutex::default(),
        }
    }

    pub(in crate::runtime) const fn connectors(&self) -> &Connectors {
        &self.connectors
    }

    pub(in crate::runtime) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Does work of a run beside everything else.
    pub(in crate::runtime) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Takes a task, with what is cancelled when it is given up; none if it is out already.
    pub(super) fn begin(&self, tenant: &Tenant, task: &Arc<str>) -> Option<CancellationToken> {
        let mut out = self.out.lock();
        match out.entry((tenant.clone(), Arc::clone(task))) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => Some(place.insert(CancellationToken::new()).clone()),
        }
    }

    pub(super) fn give_up(&self, tenant: &Tenant, task: &Arc<str>) {
        let out = self.out.lock();
        let given_up = out.get(&(tenant.clone(), Arc::clone(task))).cloned();
        drop(out);
        if let Some(given_up) = given_up {
            given_up.cancel();
        }
    }

    pub(super) fn is_out(&self, tenant: &Tenant, task: &Arc<str>) -> bool {
        let out = self.out.lock();
        out.contains_key(&(tenant.clone(), Arc::clone(task)))
    }

    pub(super) fn end(&self, tenant: &Tenant, task: &Arc<str>) {
        let key = (tenant.clone(), Arc::clone(task));
        let mut out = self.out.lock();
        out.remove(&key);
        drop(out);
        let mut issued = self.issued.lock();
        issued.remove(&key);
        drop(issued);
        self.resumed.lock().remove(&key);
    }

    /// A run is about to be resumed, whose call may have been sent before.
    pub(super) fn resume(&self, tenant: &Tenant, task: Arc<str>) {
        self.resumed.lock().insert((tenant.clone(), task));
    }

    /// A run was not resumed here.
    pub(super) fn stay_away(&self, tenant: &Tenant, task: Arc<str>) {
        self.resumed.lock().remove(&(tenant.clone(), task));
    }

    pub(super) fn was_resumed(&self, tenant: &Tenant, task: &Arc<str>) -> bool {
        let resumed = self.resumed.lock();
        resumed.contains(&(tenant.clone(), Arc::clone(task)))
    }

    pub(super) fn issue(&self, tenant: &Tenant, task: Arc<str>) {
        let mut issued = self.issued.lock();
        if issued.len() >= ISSUED_MAX {
            issued.clear();
        }
        issued.insert((tenant.clone(), task));
    }

    /// Another process may send a call from now on.
    pub(super) fn leave(&self, tenant: &Tenant, task: &Arc<str>) {
        let mut issued = self.issued.lock();
        issued.remove(&(tenant.clone(), Arc::clone(task)));
    }

    pub(super) fn was_issued(&self, tenant: &Tenant, task: &Arc<str>) -> bool {
        let issued = self.issued.lock();
        issued.contains(&(tenant.clone(), Arc::clone(task)))
    }
}
