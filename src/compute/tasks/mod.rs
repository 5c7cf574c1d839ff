//! Tasks: work of runs that members and workers do (`runs.md` §5).
//!
//! A member is sent tasks on its stream; a worker pulls them. [`Channels::send`] takes over a task
//! whose intent is stored, until [`Ends::ended`] has taken its end: it looks for a taker, and sees
//! to deadlines, lost members and repetitions. All of it is memory: after a restart the tasks that
//! are not over are sent again under the same ids, with what they have [`Used`] up.
//!
//! Must not: wait while the state is locked. What waits is a [`desk::Job`], done in [`drive`].

mod answer;
mod desk;
mod drive;
mod ends;
mod held;
mod lanes;
mod lease;
mod member;
mod offers;
mod pool;
mod pull;
mod spec;
#[cfg(test)]
mod tests;
mod untaken;
mod used;
mod worker;
mod workers;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::id::Tenant;

pub use answer::{Answered, Verdict, is_allowed, of_processor};
pub use ends::NO_MEMBER;
pub use held::TaskView;
pub use lease::Lease;
pub use member::{Form, TaskMembership};
pub use offers::Offered;
pub use pull::{Asked, Ended, Refused, WorkerFacts};
pub use spec::{
    Adopted, Dispatch, End, Ends, GivenUp, Labels, OfRun, Reported, Standing, TaskKind, TaskSpec,
};
pub use used::Used;
pub use worker::{Announced, Delivery, Leased, Sent};

use desk::{Desk, Job};
use pool::Pool;

/// Settings of all tasks.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long a worker has a task without a sign of life.
    pub lease: Duration,
    /// How many bytes of waiting tasks are kept in memory for each tenant; of further ones only
    /// their ids are kept until somebody takes them.
    pub waiting_bytes_max: usize,
}

impl Settings {
    /// The bytes that are kept for each tenant, if nothing else is said.
    pub const WAITING_BYTES: usize = 16 << 20;
}

/// Members and workers, and the tasks that are not over. Cheap to clone.
///
/// One lock, not a task: it is held for look-ups, and what it protects belongs together.
#[derive(Clone)]
pub struct Channels(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Taken by [`Channels::run`].
    jobs: Mutex<Option<mpsc::UnboundedReceiver<Job>>>,
    ends: OnceLock<Arc<dyn Ends>>,
    /// Notified when a timer is due before those there were.
    earlier: Arc<Notify>,
}

struct State {
    pools: HashMap<Tenant, Pool>,
    desk: Desk,
}

impl State {
    fn with<T>(&mut self, tenant: &Tenant, act: impl FnOnce(&mut Pool, &mut Desk) -> T) -> T {
        let pools = &mut self.pools;
        let pool = pools
            .entry(tenant.clone())
            .or_insert_with(|| Pool::of(tenant));
        let done = act(pool, &mut self.desk);
        if pool.is_empty() {
            pools.remove(tenant);
        }
        done
    }
}

impl Channels {
    pub fn new(clock: Clock, settings: Settings) -> Self {
        let (sender, jobs) = mpsc::unbounded_channel();
        let earlier = Arc::new(Notify::new());
        let desk = Desk::new(clock, settings, sender, Arc::clone(&earlier));
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                pools: HashMap::new(),
                desk,
            }),
            jobs: Mutex::new(Some(jobs)),
            ends: OnceLock::new(),
            earlier,
        }))
    }

    /// Reports how tasks end and keeps their deadlines, until `stop`. Only the first call does
    /// anything; from then on the store is asked what is known of tasks.
    pub fn run(
        &self,
        ends: Arc<dyn Ends>,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let jobs = &self.0.jobs;
        let jobs = jobs.lock().take();
        let ends = Arc::clone(self.0.ends.get_or_init(|| ends));
        let channels = self.clone();
        async move {
            if let Some(jobs) = jobs {
                drive::run(channels, jobs, ends, stop).await;
            }
        }
    }

    /// From `stop` on, answers of workers and members are still recorded, but no deadline or lost
    /// worker ends a task.
    pub fn stop_with(&self, stop: CancellationToken) {
        self.lock().desk.stop = stop;
    }

    /// Takes over a task whose intent is stored. One that is there already is not taken twice.
    pub fn send(&self, spec: TaskSpec) {
        let tenant = spec.tenant.clone();
        self.with(&tenant, |pool, desk| pool.accept(desk, spec));
    }

    /// Ends a task that nobody wants any more, without a report.
    pub fn give_up(&self, tenant: &Tenant, task: &str, reason: &str) -> GivenUp {
        self.with(tenant, |pool, desk| pool.give_up(desk, task, reason))
    }

    /// What a task looks like; none if no channel holds it.
    pub fn view(&self, tenant: &Tenant, task: &str) -> Option<TaskView> {
        self.lock().pools.get(tenant)?.view(task)
    }

    /// How many tasks of each action, by namespace and name, wait and are with a worker.
    pub fn counts(&self, tenant: &Tenant) -> HashMap<(Arc<str>, Arc<str>), (usize, usize)> {
        let state = self.lock();
        let pool = state.pools.get(tenant);
        pool.map(Pool::counts_by_action).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    fn with<T>(&self, tenant: &Tenant, act: impl FnOnce(&mut Pool, &mut Desk) -> T) -> T {
        self.lock().with(tenant, act)
    }

    fn ends(&self) -> Option<&Arc<dyn Ends>> {
        self.0.ends.get()
    }

    /// Returns when a timer was set before those there were.
    async fn earlier(&self) {
        self.0.earlier.notified().await;
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channels").finish_non_exhaustive()
    }
}
