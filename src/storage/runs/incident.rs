//! Work that has stopped, and what is known of work that fails.

use std::{ops::Bound, sync::Arc, time::Duration};

use crate::id::{RunId, Tenant};
use crate::storage::{
    Error, Storage, UnitOfWork,
    memory::trouble::{Trouble, Work, key},
    port::{RecordKey, RecordKind, Task, TaskKey, TaskLine, TaskRef},
};
use crate::telemetry::measure::IncidentKind;

impl Storage {
    /// What is known of work that failed; none if it did not, or was removed.
    pub fn trouble(&self, tenant: &Tenant, work: &Work) -> Option<Arc<Trouble>> {
        self.0.troubles.of(tenant, work)
    }

    /// The incident of that identifier.
    pub fn incident(&self, tenant: &Tenant, id: &str) -> Option<Arc<Trouble>> {
        let found = self.0.troubles.get(tenant, id);
        found.filter(|trouble| trouble.is_incident())
    }

    /// The incidents of a tenant after an identifier, and of one kind if that is asked for.
    pub fn incidents(
        &self,
        tenant: &Tenant,
        kind: Option<IncidentKind>,
        after: Option<&str>,
        limit: usize,
    ) -> Vec<(Arc<str>, Arc<Trouble>)> {
        let known = self.0.troubles.lock();
        let Some(of_tenant) = known.get(tenant) else {
            return Vec::new();
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = of_tenant.range::<str, _>((from, Bound::Unbounded));
        let is_wanted = |(_, trouble): &(&Arc<str>, &Arc<Trouble>)| {
            trouble.is_incident() && kind.is_none_or(|kind| kind == trouble.work.kind())
        };
        rest.filter(is_wanted)
            .map(|(id, trouble)| (Arc::clone(id), Arc::clone(trouble)))
            .take(limit)
            .collect()
    }

    /// Has work done that was an incident until the last commit. Of several processes, the one that
    /// has it does it.
    pub async fn wake_work(&self, tenant: &Tenant, work: &Work) -> Result<(), Error> {
        match work {
            Work::Run(run) => self.wake_run(tenant, RunId::new(*run)).await,
            Work::Timer(key) => self.wake_timer(tenant, *key).await,
            Work::Producer(namespace, name) => {
                self.wake_producer(tenant, namespace, name);
                Ok(())
            }
        }
    }

    /// Has a timer looked at now.
    async fn wake_timer(&self, tenant: &Tenant, key: i64) -> Result<(), Error> {
        if let Some(row) = self.tenant_row(tenant).await? {
            let task = TaskRef {
                line: TaskLine(row.0),
                key: TaskKey(key),
            };
            self.postpone(task, Duration::ZERO);
        }
        Ok(())
    }

    /// The timer of that key, if it is still there.
    pub async fn timer(&self, key: i64) -> Result<Option<Task>, Error> {
        let tasks = self.0.database.tasks(&[TaskKey(key)]).await?;
        let found = tasks.into_iter().find(|task| task.key.0 == key);
        self.once_durable(found).await
    }

    /// Has a producer looked at now.
    fn wake_producer(&self, tenant: &Tenant, namespace: &Arc<str>, name: &Arc<str>) {
        let key = RecordKey::new(
            RecordKind::Producer,
            Arc::clone(namespace),
            Arc::clone(name),
        );
        self.0.records.touch(tenant, &key);
    }
}

impl UnitOfWork {
    /// Stores what is known of work that failed.
    pub fn put_trouble(&mut self, trouble: &Trouble) -> Result<(), Error> {
        let body = serde_json::to_string(trouble).unwrap_or_default();
        self.put_record(key(&trouble.work), body.into())
    }

    /// Forgets that work failed, if it did.
    pub fn settle(&mut self, work: &Work) -> Result<(), Error> {
        if self.storage().trouble(self.tenant(), work).is_some() {
            self.drop_record(key(work))?;
        }
        Ok(())
    }
}
