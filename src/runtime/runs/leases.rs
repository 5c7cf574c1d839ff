//! Keeping leases of pulled tasks over a restart (`runs.md` §11).
//!
//! A lease is stored before its worker receives the task. What touches change, and what is over, is
//! stored once a second for all tasks of a tenant, not with each touch.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::compute::tasks::{Lease, Leased, TaskSpec, TaskView};
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::runtime::Runtime;

/// How often changes are stored.
const PAUSE: Duration = Duration::from_secs(1);

/// After how many pauses leases are looked for that nobody has.
const SWEEP_EVERY: u32 = 60;

/// The name of that work, which one of several processes does.
const SWEEP: &str = "leases";

/// How long a lease has been over that no process renews any more.
const LEFT: Duration = Duration::from_mins(1);

/// How many changes are one commit.
const AT_ONCE: usize = 1_000;

/// What is to be stored of the lease of a task; none if it is to be forgotten.
type Change = (Arc<str>, Option<Arc<str>>);

impl Runtime {
    /// Stores the leases of tasks that a worker is about to receive. If that fails they are kept in
    /// memory only.
    pub async fn store_leases(&self, tenant: &Tenant, taken: &[Leased]) {
        let changes = taken.iter().filter_map(|leased| {
            let lease = self.0.channels.lease(tenant, leased)?;
            Some((Arc::clone(&leased.spec.id), Some(text(&lease))))
        });
        let changes: Vec<Change> = changes.collect();
        if let Err(failure) = self.change_leases(tenant, &changes).await {
            not_stored(&failure);
        }
    }

    /// Stores how leases change, until `stop` is cancelled.
    pub async fn keep_leases(self, stop: CancellationToken) {
        let mut is_last = false;
        let mut count = 0_u32;
        while !is_last {
            is_last = stop
                .run_until_cancelled(tokio::time::sleep(PAUSE))
                .await
                .is_none();
            count = count.wrapping_add(1);
            if count.is_multiple_of(SWEEP_EVERY)
                && self.storage().has_share_of(&[SWEEP])
                && let Err(failure) = self.sweep_leases().await
            {
                warn!(failure = %failure.in_full(), "old leases of tasks could not be removed; trying again");
            }
            for (tenant, changes) in self.changed_leases() {
                for part in changes.chunks(AT_ONCE) {
                    if let Err(failure) = self.change_leases(&tenant, part).await {
                        not_stored(&failure);
                    }
                }
            }
        }
    }

    /// Removes leases that processes have left that are gone. One that is not renewed for so long is
    /// of no process.
    async fn sweep_leases(&self) -> Result<(), Failure> {
        if !self.storage().is_shared() {
            return Ok(());
        }
        let before = self.0.clock.now().before(LEFT);
        let mut left: BTreeMap<Tenant, Vec<Change>> = BTreeMap::new();
        for (tenant, task, body) in self.storage().all_leases().await? {
            if read(&body).is_none_or(|lease| lease.is_over(before)) {
                left.entry(tenant).or_default().push((task, None));
            }
        }
        for (tenant, changes) in left {
            for part in changes.chunks(AT_ONCE) {
                self.change_leases(&tenant, part).await?;
            }
        }
        Ok(())
    }

    /// The differences between what is stored and what is so.
    fn changed_leases(&self) -> BTreeMap<Tenant, Vec<Change>> {
        let now = self.0.clock.now();
        let held = self.0.channels.leases().into_iter();
        let mut held: HashMap<(Tenant, Arc<str>), Arc<str>> = held
            .map(|(tenant, task, lease)| ((tenant, task), text(&lease)))
            .collect();
        let mut changes: BTreeMap<Tenant, Vec<Change>> = BTreeMap::new();
        for stored in self.storage().stored_leases() {
            let name = (stored.tenant, stored.task);
            let change = match held.remove(&name) {
                Some(body) if body == stored.body => continue,
                Some(body) => Some(body),
                // Its task was not sent yet since the start.
                None if stored.is_found
                    && read(&stored.body).is_some_and(|it| !it.is_over(now)) =>
                {
                    continue;
                }
                None => None,
            };
            let (tenant, task) = name;
            changes.entry(tenant).or_default().push((task, change));
        }
        for ((tenant, task), body) in held {
            changes.entry(tenant).or_default().push((task, Some(body)));
        }
        changes
    }

    async fn change_leases(&self, tenant: &Tenant, changes: &[Change]) -> Result<(), Failure> {
        if changes.is_empty() {
            return Ok(());
        }
        let (by, mut session) = self.own_session(tenant);
        let unit = session.unit()?;
        for (task, body) in changes {
            match body {
                Some(body) => unit.put_lease(task, Arc::clone(body))?,
                None => unit.drop_lease(task)?,
            }
        }
        session.finish(&by.cancel).await
    }

    /// A task that another process has given to a worker, as its lease shows it.
    pub(super) async fn held_elsewhere(
        &self,
        tenant: &Tenant,
        task: &Arc<str>,
    ) -> Result<Option<TaskView>, Failure> {
        let stored = self.storage().lease_elsewhere(tenant, task).await?;
        let lease = stored.and_then(|body| read(&body));
        let now = self.0.clock.now();
        Ok(lease.filter(|lease| !lease.is_over(now)).map(Into::into))
    }

    /// A task that a worker has had since before the last start, until it is handed out.
    pub(super) fn held_before(&self, tenant: &Tenant, task: &Arc<str>) -> Option<TaskView> {
        let found = self.storage().found_lease(tenant, task);
        let lease = found.and_then(|body| read(&body));
        let now = self.0.clock.now();
        Some(lease.filter(|lease| !lease.is_over(now))?.into())
    }

    /// Hands a task out, or leaves it with the worker that has it since before the last start.
    pub(super) fn hand_out(&self, spec: TaskSpec) {
        let found = self.storage().found_lease(&spec.tenant, &spec.id);
        let lease = found.and_then(|body| read(&body));
        let is_held = |lease: &Lease| {
            // That of a delivery that has failed may not be removed yet.
            lease.attempt > spec.used.attempt && !lease.is_over(self.0.clock.now())
        };
        let (tenant, task) = (spec.tenant.clone(), Arc::clone(&spec.id));
        match lease.filter(is_held) {
            Some(lease) => self.0.channels.restore(spec, &lease),
            None => self.0.channels.send(spec),
        }
        // Not before: it may be handed out by two at once, and then both do the same.
        self.storage().use_lease(&tenant, &task);
    }
}

/// Leases that are kept in memory only, until they change again. While the storage refuses writes, it
/// says so itself.
fn not_stored(failure: &Failure) {
    if failure.code() == Code::StorageUnavailable {
        debug!("the leases of tasks wait for the storage");
    } else {
        warn!(failure = %failure.in_full(), "the leases of tasks could not be stored");
    }
}

fn text(lease: &Lease) -> Arc<str> {
    serde_json::to_string(lease).unwrap_or_default().into()
}

fn read(body: &str) -> Option<Lease> {
    serde_json::from_str(body).ok()
}
