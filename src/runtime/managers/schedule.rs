//! Ticks on a schedule: of each namespace that has managers (`runs.md` §8).
//!
//! Which namespaces those are is read once, and then followed by what is committed: a namespace
//! without managers costs nothing. The namespaces of a tenant are ticked one after the other, those
//! of different tenants side by side. Where several processes use one database, one of them ticks
//! each tenant; a folder is ticked by the process that has it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Runtime;
use crate::dialect::managers::MANAGERS;
use crate::id::Tenant;
use crate::registry::Folder;
use crate::runtime::incidents::contained;
use crate::storage::RecordKind;

/// The pause after a failure.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// The name of this work, which processes share out.
const WORK: &str = "managers";

/// The namespaces that are ticked.
#[derive(Debug)]
struct Schedule {
    interval: Duration,
    tenants: HashMap<Tenant, Line>,
    /// When the tenants are due that are not being ticked.
    due: BTreeSet<(Instant, Tenant)>,
}

/// The namespaces of a tenant that have managers.
#[derive(Debug, Default)]
struct Line {
    namespaces: HashSet<Arc<str>>,
    /// Those in which something has changed while they are ticked.
    changed: HashSet<Arc<str>>,
    is_ticked: bool,
}

/// What was ticked of a tenant, when that began, and in which namespaces no managers are left.
struct Ticked {
    tenant: Tenant,
    begun: Instant,
    left: Vec<Arc<str>>,
}

impl Ticked {
    /// Of a tenant that another process ticks.
    const fn elsewhere(tenant: Tenant, begun: Instant) -> Self {
        Self {
            tenant,
            begun,
            left: Vec::new(),
        }
    }
}

impl Schedule {
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            tenants: HashMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Takes in a namespace that has managers.
    fn add(&mut self, (tenant, namespace): (Tenant, Arc<str>), now: Instant) {
        if !self.tenants.contains_key(&tenant) {
            self.due.insert((now + self.interval, tenant.clone()));
        }
        let line = self.tenants.entry(tenant).or_default();
        if line.is_ticked {
            line.changed.insert(Arc::clone(&namespace));
        }
        line.namespaces.insert(namespace);
    }

    /// When the next tenant is due.
    fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The tenants that are due, each with its namespaces. They are due again once they were
    /// ticked.
    fn take_due(&mut self, now: Instant) -> Vec<(Tenant, Vec<Arc<str>>)> {
        let mut taken = Vec::new();
        while let Some((_, tenant)) = self.due.first().filter(|(at, _)| *at <= now).cloned() {
            self.due.pop_first();
            if let Some(line) = self.tenants.get_mut(&tenant) {
                line.is_ticked = true;
                taken.push((tenant, line.namespaces.iter().cloned().collect()));
            }
        }
        taken
    }

    /// Has tenants ticked now that this process is to tick from now on.
    fn hurry(&mut self, is_new: impl Fn(&Tenant) -> bool, now: Instant) {
        let (new, others) = std::mem::take(&mut self.due)
            .into_iter()
            .partition::<BTreeSet<_>, _>(|(_, tenant)| is_new(tenant));
        self.due = others;
        self.due
            .extend(new.into_iter().map(|(at, tenant)| (at.min(now), tenant)));
    }

    fn ticked(&mut self, ticked: Ticked, now: Instant) {
        let Ticked {
            tenant,
            begun,
            left,
        } = ticked;
        let Some(line) = self.tenants.get_mut(&tenant) else {
            return;
        };
        line.is_ticked = false;
        for namespace in left {
            if !line.changed.contains(&namespace) {
                line.namespaces.remove(&namespace);
            }
        }
        line.changed.clear();
        if line.namespaces.is_empty() {
            self.tenants.remove(&tenant);
            return;
        }
        // Ticks that take longer than the interval are followed by a whole one.
        let planned = begun + self.interval;
        let at = if planned > now {
            planned
        } else {
            now + self.interval
        };
        self.due.insert((at, tenant));
    }
}

impl Runtime {
    /// Ticks managers at intervals until `stop` is cancelled.
    pub async fn tick_on_schedule(self, interval: Duration, stop: CancellationToken) {
        let ticking = Box::pin(self.keep_ticking(interval, &stop));
        stop.run_until_cancelled(ticking).await;
    }

    async fn keep_ticking(&self, interval: Duration, stop: &CancellationToken) {
        let mut schedule = Schedule::new(interval);
        for namespace in self.namespaces_with_managers().await {
            schedule.add(namespace, Instant::now());
        }
        let mut ticking = FuturesUnordered::new();
        let mut nodes = self.storage().sharing();
        loop {
            let next = schedule.next();
            let is_due = async {
                match next {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = is_due => {
                    for (tenant, namespaces) in schedule.take_due(Instant::now()) {
                        if self.ticks_tenant(&tenant) {
                            ticking.push(self.tick_tenant(tenant, namespaces, stop));
                        } else {
                            let left = Ticked::elsewhere(tenant, Instant::now());
                            schedule.ticked(left, Instant::now());
                        }
                    }
                }
                now = self.nodes_changed(&nodes) => {
                    let before = std::mem::replace(&mut nodes, now);
                    let is_new = |tenant: &Tenant| {
                        self.storage().gains_share_of(&[WORK, tenant.as_str()], &before)
                    };
                    schedule.hurry(is_new, Instant::now());
                }
                Some(ticked) = ticking.next() => schedule.ticked(ticked, Instant::now()),
                () = self.storage().files_changed() => {
                    for namespace in self.storage().changed_files() {
                        schedule.add(namespace, Instant::now());
                    }
                }
            }
        }
    }

    /// Whether this process ticks the managers of a tenant.
    fn ticks_tenant(&self, tenant: &Tenant) -> bool {
        let folder = self.0.registry.any_folder().map(Folder::owner);
        let has_folder = folder.is_some_and(|(owner, _)| owner == tenant);
        has_folder || self.storage().has_share_of(&[WORK, tenant.as_str()])
    }

    /// Ticks the managers of a tenant, namespace by namespace.
    async fn tick_tenant(
        &self,
        tenant: Tenant,
        namespaces: Vec<Arc<str>>,
        stop: &CancellationToken,
    ) -> Ticked {
        let begun = Instant::now();
        let mut left = Vec::new();
        for namespace in namespaces {
            if !self.tick_namespace(&tenant, &namespace, stop).await {
                left.push(namespace);
            }
        }
        Ticked {
            tenant,
            begun,
            left,
        }
    }

    /// Ticks the managers of a namespace; whether it still has any.
    async fn tick_namespace(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        stop: &CancellationToken,
    ) -> bool {
        let ticking = async {
            let ticked = self.tick_managers(tenant, namespace, None, stop).await?;
            let lists = ticked.registry.lists();
            // Nobody says when people add files to a folder.
            let is_folder = self.0.registry.folder(tenant, namespace).is_some();
            Ok(is_folder || lists.map(|(_, names)| names.len()).sum::<usize>() > 0)
        };
        match contained(ticking).await {
            Ok(has_managers) => has_managers,
            Err(fault) => {
                warn!(?fault, tenant = %tenant, namespace = %namespace, "a tick of managers failed; it is repeated at the next interval");
                true
            }
        }
    }

    async fn namespaces_with_managers(&self) -> Vec<(Tenant, Arc<str>)> {
        // What is committed from now on is noticed.
        self.storage().watch_files(MANAGERS);
        let folder = self.0.registry.any_folder().map(Folder::owner);
        let folder = folder.map(|(tenant, namespace)| (tenant.clone(), Arc::clone(namespace)));
        loop {
            match self.storage().namespaces(RecordKind::File, MANAGERS).await {
                Ok(found) => return found.into_iter().chain(folder).collect(),
                Err(error) => {
                    warn!(%error, "the managers could not be read; retrying");
                    tokio::time::sleep(AFTER_TROUBLE).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn namespace(tenant: &str, name: &str) -> (Tenant, Arc<str>) {
        (tenant.into(), name.into())
    }

    fn taken(schedule: &mut Schedule, now: Instant) -> Vec<String> {
        let mut taken: Vec<_> = schedule
            .take_due(now)
            .into_iter()
            .flat_map(|(tenant, namespaces)| {
                let name = move |namespace| format!("{tenant}/{namespace}");
                namespaces.into_iter().map(name).collect::<Vec<_>>()
            })
            .collect();
        taken.sort();
        taken
    }

    fn ticked(tenant: &str, begun: Instant, left: &[&str]) -> Ticked {
        Ticked {
            tenant: tenant.into(),
            begun,
            left: left.iter().map(|name| Arc::from(*name)).collect(),
        }
    }

    #[test]
    fn nothing_is_due_without_managers_and_tenants_are_due_on_their_own() {
        let begun = Instant::now();
        let mut schedule = Schedule::new(MINUTE);
        assert_eq!(schedule.next(), None);
        schedule.add(namespace("a", "one"), begun);
        schedule.add(namespace("b", "one"), begun + MINUTE / 2);
        schedule.add(namespace("a", "two"), begun + MINUTE / 2);
        assert_eq!(schedule.next(), Some(begun + MINUTE));
        assert_eq!(taken(&mut schedule, begun + MINUTE / 2), [""; 0]);
        assert_eq!(taken(&mut schedule, begun + MINUTE), ["a/one", "a/two"]);
        // While it is ticked, which may take long, others are due.
        let later = begun + 2 * MINUTE;
        assert_eq!(taken(&mut schedule, later), ["b/one"]);
        assert_eq!(schedule.next(), None);
        schedule.ticked(ticked("b", later, &[]), later);
        assert_eq!(schedule.next(), Some(later + MINUTE));
        // A tick that took longer than the interval is followed by a whole one.
        schedule.ticked(ticked("a", begun + MINUTE, &["two"]), later + MINUTE / 2);
        let next = later + MINUTE + MINUTE / 2;
        assert_eq!(taken(&mut schedule, later + MINUTE), ["b/one"]);
        assert_eq!(schedule.next(), Some(next));
        // What has changed meanwhile is looked at once more.
        assert_eq!(taken(&mut schedule, next), ["a/one"]);
        schedule.add(namespace("a", "one"), next);
        schedule.ticked(ticked("a", next, &["one"]), next);
        assert_eq!(taken(&mut schedule, next + MINUTE), ["a/one"]);
        schedule.ticked(ticked("a", next, &["one"]), next);
        schedule.ticked(ticked("b", next, &["one"]), next);
        assert_eq!(schedule.next(), None, "nothing is left");
        assert!(schedule.tenants.is_empty());
    }
}
