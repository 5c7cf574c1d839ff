//! Reading and writing the leases of tasks.

use std::sync::Arc;

use crate::id::Tenant;
use crate::storage::{
    Error, Storage, UnitOfWork,
    memory::lease::{StoredLease, key},
    port::Record,
};

impl Storage {
    /// The lease that the last process has left of a task, until it is used.
    pub fn found_lease(&self, tenant: &Tenant, task: &Arc<str>) -> Option<Arc<str>> {
        self.0.leases.find(tenant, task)
    }

    /// The task was handed out with the lease that was found of it.
    pub fn use_lease(&self, tenant: &Tenant, task: &Arc<str>) {
        self.0.leases.used(tenant, task);
    }

    /// The lease of a task that is another process's, if a worker has it. Where this is the only
    /// process, it knows them all.
    pub async fn lease_elsewhere(
        &self,
        tenant: &Tenant,
        task: &Arc<str>,
    ) -> Result<Option<Arc<str>>, Error> {
        if !self.is_shared() {
            return Ok(None);
        }
        let record = self.record(tenant, &key(task)).await?;
        Ok(record.map(|record| Arc::clone(&record.body)))
    }

    /// Looks for the lease that another process has left of a task, which this one is about to take
    /// over; whether there is one, and nobody else here has found it and not used it yet.
    pub async fn find_lease(&self, tenant: &Tenant, task: &Arc<str>) -> Result<bool, Error> {
        let found = self.lease_elsewhere(tenant, task).await?;
        Ok(found.is_some_and(|body| self.0.leases.found(tenant, task, body)))
    }

    /// Leaves the lease of a task to another process, which has the task now.
    pub fn leave_lease(&self, tenant: &Tenant, task: &Arc<str>) {
        if self.is_shared() {
            self.0.leases.forget(tenant, task);
        }
    }

    /// The leases of all processes, each with its task and whose it is.
    pub async fn all_leases(&self) -> Result<Vec<(Tenant, Arc<str>, Arc<str>)>, Error> {
        let leases = self.0.database.leases().await?;
        let lease = |(tenant, record): (Tenant, Record)| (tenant, record.key.name, record.body);
        Ok(leases.into_iter().map(lease).collect())
    }

    /// The leases that this process has stored, or has found when it started.
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
