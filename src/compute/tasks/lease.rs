//! Leases: which worker has a task that it has pulled, and until when. They are stored by who uses
//! the channels, and given back after a restart.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Channels, TaskSpec, TaskView,
    desk::Desk,
    held::{Held, Out, Phase},
    pool::Pool,
    worker::{Announced, Channel, Leased, Limit, Worker},
};
use crate::clock::Timestamp;
use crate::id::{DEFAULT_NAMESPACE, Tenant};

/// How many tasks a worker may have that is known by its leases only; it gets no more anyway.
const CONCURRENCY: u32 = 0;

/// For how long a touch extends a lease at most. More is left of one only if the clock was ahead.
const TOUCHED_MAX: Duration = Duration::from_mins(5);

/// A task that a worker has, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Where the worker is registered.
    pub namespace: Arc<str>,
    pub worker: Arc<str>,
    pub attempt: u32,
    /// When it ends, in microseconds.
    pub until: i64,
    /// When the delivery counts as not answered, in microseconds.
    pub ends: i64,
}

impl Lease {
    /// Whether it is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now.micros()
    }
}

impl From<Lease> for TaskView {
    fn from(lease: Lease) -> Self {
        Self {
            running: true,
            attempt: lease.attempt,
            taken_by: Some(lease.worker),
            progress: None,
            until: Some(Timestamp::from_micros(lease.until)),
        }
    }
}

impl Channels {
    /// The leases of all tasks that workers have.
    pub fn leases(&self) -> Vec<(Tenant, Arc<str>, Lease)> {
        let state = self.lock();
        let mut leases = Vec::new();
        for (tenant, pool) in &state.pools {
            for worker in pool.workers.values().filter(|worker| !worker.is_member()) {
                let of_it = worker.running().iter();
                leases.extend(of_it.filter_map(|task| {
                    let lease = pool.lease(task)?;
                    Some((tenant.clone(), Arc::clone(task), lease))
                }));
            }
        }
        leases
    }

    /// The lease of a task, if a worker has it.
    pub fn lease(&self, tenant: &Tenant, leased: &Leased) -> Option<Lease> {
        self.lock().pools.get(tenant)?.lease(&leased.spec.id)
    }

    /// Takes over a task that a worker has had since before a restart. One that is there already is
    /// not taken twice.
    pub fn restore(&self, spec: TaskSpec, lease: &Lease) {
        let tenant = spec.tenant.clone();
        self.with(&tenant, |pool, desk| pool.restore(desk, spec, lease));
    }
}

impl Pool {
    fn lease(&self, task: &str) -> Option<Lease> {
        let held = self.tasks.get(task)?;
        let out = held.out()?;
        out.limit.lease?;
        let worker = self.workers.get(&out.worker)?;
        let namespace = worker.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        Some(Lease {
            namespace: namespace.into(),
            worker: Arc::clone(&worker.id),
            attempt: held.attempt,
            until: out.limit.until.micros(),
            ends: out.limit.ends.micros(),
        })
    }

    fn restore(&mut self, desk: &mut Desk, spec: TaskSpec, lease: &Lease) {
        let id = Arc::clone(&spec.id);
        if self.tasks.contains_key(&id) {
            return;
        }
        let now = desk.clock.now();
        let number = match self.find_any(&lease.namespace, &lease.worker) {
            Some(number) => number,
            None => self.add_unknown(desk, lease, now),
        };
        let Some(worker) = self.workers.get_mut(number).filter(|one| !one.is_member()) else {
            return self.accept(desk, spec);
        };
        let at = |micros: i64, longest: Duration| {
            let rest = Timestamp::from_micros(micros).since(now);
            Instant::now() + rest.min(longest.max(TOUCHED_MAX))
        };
        let limit = Limit {
            deadline: at(lease.ends, spec.timeout),
            lease: Some(at(lease.until, desk.lease)),
            until: Timestamp::from_micros(lease.until),
            ends: Timestamp::from_micros(lease.ends),
        };
        worker.begin(&id);
        let mut held = Held::new(spec, desk.number());
        held.attempt = lease.attempt;
        held.last = Some(number);
        held.phase = Phase::Out(Out {
            worker: number,
            call: None,
            limit,
        });
        self.tasks.insert(Arc::clone(&id), held);
        self.set_timer(desk, &id, Some(limit.first()));
    }

    /// A worker that has not registered again yet.
    fn add_unknown(&mut self, desk: &mut Desk, lease: &Lease, now: Timestamp) -> u64 {
        let announced = Announced {
            namespace: Some(Arc::clone(&lease.namespace)),
            ..Announced::default()
        };
        let id = Arc::clone(&lease.worker);
        let channel = Channel::Pull(VecDeque::new());
        let mut worker = Worker::new(id, announced, CONCURRENCY, now, channel);
        worker.is_known = false;
        let number = desk.number();
        self.workers.insert(number, worker);
        number
    }

    /// Whether a worker is known by leases only, and has none any more.
    pub(super) fn is_done_with(&self, number: u64) -> bool {
        let worker = self.workers.get(&number);
        worker.is_some_and(|worker| !worker.is_known && worker.running().is_empty())
    }
}
