//! Leases of tasks that workers have pulled, so that a restart gives nobody else a task before the
//! lease of its worker ends.
//!
//! Each is a record. All of them are kept in memory, as there is one for each task that a worker has
//! at the moment. Where several processes use one database, each knows those that it has stored
//! itself, and asks for those of a run that it takes over.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use crate::id::Tenant;
use crate::storage::port::{Record, RecordKey, RecordKind};

/// Leases belong to their tenant and to no namespace.
const NAMESPACE: &str = "";

/// A task, and whose it is.
type Name = (Tenant, Arc<str>);

/// A mutex, not a task: a few look-ups for each task that is pulled.
#[derive(Debug, Default)]
pub(in crate::storage) struct Leases(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    stored: HashMap<Name, Arc<str>>,
    /// Those of the last process, until they are asked for.
    found: HashMap<Name, Arc<str>>,
}

/// A lease as it is stored.
#[derive(Debug, Clone)]
pub struct StoredLease {
    pub tenant: Tenant,
    pub task: Arc<str>,
    /// JSON.
    pub body: Arc<str>,
    /// Whether it is the last process's, and its task was not sent yet.
    pub is_found: bool,
}

impl Leases {
    /// Begins with what is stored.
    pub(in crate::storage) fn new(stored: Vec<(Tenant, Record)>) -> Self {
        let name = |(tenant, record): (Tenant, Record)| ((tenant, record.key.name), record.body);
        let found: HashMap<Name, Arc<str>> = stored.into_iter().map(name).collect();
        Self(Mutex::new(Known {
            stored: found.clone(),
            found,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    /// The lease that the last process has left of a task, until it is used.
    pub(in crate::storage) fn find(&self, tenant: &Tenant, task: &Arc<str>) -> Option<Arc<str>> {
        let known = self.lock();
        if known.found.is_empty() {
            return None;
        }
        let name = (tenant.clone(), Arc::clone(task));
        known.found.get(&name).map(Arc::clone)
    }

    /// The task was handed out with the lease that the last process has left of it.
    pub(in crate::storage) fn used(&self, tenant: &Tenant, task: &Arc<str>) {
        let name = (tenant.clone(), Arc::clone(task));
        self.lock().found.remove(&name);
    }

    /// The process that drove a run has left this lease; false if that is known already, so that
    /// somebody else here is about to use it.
    pub(in crate::storage) fn found(
        &self,
        tenant: &Tenant,
        task: &Arc<str>,
        body: Arc<str>,
    ) -> bool {
        let name = (tenant.clone(), Arc::clone(task));
        let mut known = self.lock();
        if known.found.contains_key(&name) {
            return false;
        }
        known.stored.insert(name.clone(), Arc::clone(&body));
        known.found.insert(name, body);
        true
    }

    /// The task is another process's now, and so is its lease.
    pub(in crate::storage) fn forget(&self, tenant: &Tenant, task: &Arc<str>) {
        let name = (tenant.clone(), Arc::clone(task));
        let mut known = self.lock();
        known.stored.remove(&name);
        known.found.remove(&name);
    }

    /// All that are stored.
    pub(in crate::storage) fn stored(&self) -> Vec<StoredLease> {
        let known = self.lock();
        let lease = |(name, body): (&Name, &Arc<str>)| StoredLease {
            tenant: name.0.clone(),
            task: Arc::clone(&name.1),
            body: Arc::clone(body),
            is_found: known.found.contains_key(name),
        };
        known.stored.iter().map(lease).collect()
    }

    /// Takes over a record that was committed, or forgets one that was dropped.
    pub(in crate::storage) fn put(
        &self,
        tenant: &Tenant,
        key: &RecordKey,
        record: Option<&Record>,
    ) {
        if key.kind != RecordKind::Lease {
            return;
        }
        let name = (tenant.clone(), Arc::clone(&key.name));
        let mut known = self.lock();
        if let Some(record) = record {
            known.stored.insert(name, Arc::clone(&record.body));
        } else {
            known.stored.remove(&name);
            known.found.remove(&name);
        }
    }
}

/// The record of a lease.
pub(in crate::storage) fn key(task: &Arc<str>) -> RecordKey {
    RecordKey::new(RecordKind::Lease, NAMESPACE, Arc::clone(task))
}
