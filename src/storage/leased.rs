//! Reading and writing the leases of tasks.

use std::sync::Arc;

use super::{
    Error, Storage, UnitOfWork,
    lease::{StoredLease, key},
};
use crate::id::Tenant;

impl Storage {
    /// The lease that the last process has left of a task; once.
    pub fn found_lease(&self, tenant: &Tenant, task: &Arc<str>) -> Option<Arc<str>> {
        self.0.leases.take_found(tenant, task)
    }

    /// All leases that are stored.
    pub fn stored_leases(&self) -> Vec<StoredLease> {
        self.0.leases.stored()
    }
}

impl UnitOfWork {
    /// Stores the lease of a task.
    pub fn put_lease(&mut self, task: &Arc<str>, body: Arc<str>) -> Result<(), Error> {
        self.put_record(key(task), body)
    }

    /// Forgets the lease of a task.
    pub fn drop_lease(&mut self, task: &Arc<str>) -> Result<(), Error> {
        self.drop_record(key(task))
    }
}
