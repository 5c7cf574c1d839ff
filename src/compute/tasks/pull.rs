//! Workers: they register, ask for tasks, and report how they ended.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

use super::{
    Channels,
    answer::{Answered, Verdict},
    drive::count,
    ends::TOUCH,
    held::{Ending, NotYours},
    lanes::Actions,
    pool::Pool,
    spec::{Adopted, End, Labels, Reported, Standing, TaskKind},
    worker::{Announced, Channel, Leased, Parked, Worker},
};
use crate::clock::Timestamp;
use crate::dispatch::Tags;
use crate::error::{Code, Failure};
use crate::id::{DEFAULT_NAMESPACE, Tenant};

/// How many tasks a worker has at a time that announces no number.
const CONCURRENCY: u32 = 10;

/// How many workers a tenant may have registered.
const WORKERS_MAX: usize = 10_000;

/// The most bytes of an output for a task whose own limit is not known here.
const OUTPUT_MAX: usize = 1 << 20;

/// How often a report is repeated after a conflict.
const CONFLICTS_MAX: usize = 10;

/// How long a task is awaited that is out and that no channel holds, before it is looked for again.
const ON_ITS_WAY: Duration = Duration::from_millis(20);

/// Facts about a member or worker.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and all of them are shown"
)]
pub struct WorkerFacts {
    pub id: Arc<str>,
    /// As it was announced.
    pub namespace: Option<Arc<str>>,
    pub actions: Vec<Arc<str>>,
    pub tags: Tags,
    pub labels: Labels,
    pub max_concurrency: u32,
    /// Whether that was announced.
    pub announces_max: bool,
    pub machine_id: Option<Arc<str>>,
    /// JSON.
    pub metadata: Option<Arc<str>>,
    pub healthy: bool,
    pub draining: bool,
    /// What it reported last, from 0 to 1.
    pub load: Option<f64>,
    /// How many tasks it has.
    pub running: usize,
    pub seen: Timestamp,
    /// Whether it is a member with a stream.
    pub is_member: bool,
}

/// Why a worker is refused.
#[derive(Debug)]
pub enum Refused {
    /// There is no such worker.
    NoWorker,
    /// A member joins and leaves with its stream.
    IsMember,
    /// The tenant has too many workers.
    TooMany {
        limit: usize,
    },
    /// There is no such task.
    NoTask,
    /// Another worker has the task now.
    LeaseLost,
    /// Nobody waits for the task; the status of its run.
    Finished(&'static str),
    /// The answer is not valid.
    Invalid(Box<str>),
    Failed(Failure),
}

/// What became of a reported answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Whether it was waited for.
    pub applied: bool,
    /// Whether the task is delivered again.
    pub will_retry: bool,
}

impl Ended {
    /// The task is delivered again.
    const AGAIN: Self = Self {
        applied: true,
        will_retry: true,
    };
}

/// A request for tasks. Dropping it gives back what was not received.
#[derive(Debug)]
pub struct Asked {
    channels: Channels,
    tenant: Tenant,
    worker: u64,
    number: u64,
    ready: Vec<Leased>,
    hand: Option<oneshot::Receiver<Vec<Leased>>>,
}

impl Channels {
    /// Registers a worker, or changes its registration; it is not draining any more.
    pub fn register(&self, tenant: &Tenant, id: &str, announced: Announced) -> Result<(), Refused> {
        self.with(tenant, |pool, desk| {
            let namespace = announced.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
            let now = desk.clock.now();
            let Some(number) = pool.find_any(namespace, id) else {
                make_room(pool, now)?;
                let channel = Channel::Pull(VecDeque::new());
                let worker = Worker::new(id.into(), announced, CONCURRENCY, now, channel);
                pool.join(desk, worker);
                return Ok(());
            };
            let Some(old) = pool.workers.get_mut(number) else {
                return Err(Refused::NoWorker);
            };
            if old.is_member() {
                return Err(Refused::IsMember);
            }
            let new = Worker::new(
                id.into(),
                announced,
                CONCURRENCY,
                now,
                Channel::Pull(VecDeque::new()),
            );
            let before = std::mem::replace(old, new);
            old.inherit(before);
            pool.refill(desk, number);
            Ok(())
        })
    }

    /// Notes that a worker lives; facts about it.
    pub fn heartbeat(
        &self,
        tenant: &Tenant,
        namespace: &str,
        id: &str,
        load: Option<f64>,
    ) -> Result<WorkerFacts, Refused> {
        self.with(tenant, |pool, desk| {
            let now = desk.clock.now();
            let worker = pool.worker_mut(namespace, id)?;
            worker.seen = now;
            worker.load = load.or(worker.load);
            Ok(WorkerFacts::of(worker, now))
        })
    }

    /// Sends a member or worker no more tasks.
    pub fn drain(
        &self,
        tenant: &Tenant,
        namespace: &str,
        id: &str,
    ) -> Result<WorkerFacts, Refused> {
        self.with(tenant, |pool, desk| {
            let now = desk.clock.now();
            let worker = pool.worker_mut(namespace, id)?;
            worker.draining = true;
            Ok(WorkerFacts::of(worker, now))
        })
    }

    /// Removes a worker; what it has is delivered again.
    pub fn deregister(
        &self,
        tenant: &Tenant,
        namespace: &str,
        id: &str,
    ) -> Result<WorkerFacts, Refused> {
        self.with(tenant, |pool, desk| {
            let number = pool.find(namespace, id).ok_or(Refused::NoWorker)?;
            let worker = pool.workers.get(&number).ok_or(Refused::NoWorker)?;
            if worker.is_member() {
                return Err(Refused::IsMember);
            }
            let mut facts = WorkerFacts::of(worker, desk.clock.now());
            facts.draining = true;
            pool.leave(desk, number);
            Ok(facts)
        })
    }

    /// The members and workers of a namespace with ids after one, by id.
    pub fn workers(
        &self,
        tenant: &Tenant,
        namespace: &str,
        after: Option<&str>,
        most: usize,
    ) -> Vec<WorkerFacts> {
        let state = self.lock();
        let now = state.desk.clock.now();
        let Some(pool) = state.pools.get(tenant) else {
            return Vec::new();
        };
        let in_namespace = |worker: &&Worker| {
            worker.is_known
                && worker.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE) == namespace
                && after.is_none_or(|after| *worker.id > *after)
        };
        let found = pool.workers.values().filter(in_namespace);
        let by_id: BTreeMap<_, _> = found.map(|worker| (&worker.id, worker)).collect();
        let page = by_id.into_values().take(most);
        page.map(|worker| WorkerFacts::of(worker, now)).collect()
    }

    /// The members of a tenant, in any namespace.
    pub fn members(&self, tenant: &Tenant) -> Vec<WorkerFacts> {
        let state = self.lock();
        let now = state.desk.clock.now();
        let workers = state.pools.get(tenant).map(|pool| pool.workers.values());
        let members = workers.into_iter().flatten().filter(|one| one.is_member());
        members.map(|worker| WorkerFacts::of(worker, now)).collect()
    }

    pub fn worker(
        &self,
        tenant: &Tenant,
        namespace: &str,
        id: &str,
    ) -> Result<WorkerFacts, Refused> {
        let state = self.lock();
        let pool = state.pools.get(tenant).ok_or(Refused::NoWorker)?;
        let number = pool.find(namespace, id).ok_or(Refused::NoWorker)?;
        let worker = pool.workers.get(&number).ok_or(Refused::NoWorker)?;
        Ok(WorkerFacts::of(worker, state.desk.clock.now()))
    }

    /// Asks for up to `most` tasks of these actions.
    pub fn ask(
        &self,
        tenant: &Tenant,
        namespace: &str,
        id: &str,
        actions: &[String],
        most: usize,
    ) -> Result<Asked, Refused> {
        self.with(tenant, |pool, desk| {
            let worker = pool.find(namespace, id).ok_or(Refused::NoWorker)?;
            let number = desk.number();
            let now = desk.clock.now();
            let seen = pool.workers.get_mut(worker).ok_or(Refused::NoWorker)?;
            if seen.is_member() {
                return Err(Refused::IsMember);
            }
            seen.seen = now;
            let actions: Actions = actions.iter().map(String::as_str).collect();
            let ready = pool.take_now(desk, worker, &actions, most);
            let hand = ready.is_empty().then(|| {
                let (hand, given) = oneshot::channel();
                pool.park(
                    worker,
                    Parked {
                        number,
                        actions,
                        most,
                        hand,
                    },
                );
                given
            });
            Ok(Asked {
                channels: self.clone(),
                tenant: tenant.clone(),
                worker,
                number,
                ready,
                hand,
            })
        })
    }

    /// Records the answer of a worker, or of any caller.
    pub async fn end(
        &self,
        tenant: &Tenant,
        task: &str,
        worker: Option<&str>,
        answered: &Answered<'_>,
    ) -> Result<Ended, Refused> {
        let act = || self.end_held(tenant, task, worker, answered);
        let reported = match self.held_or_adopted(tenant, task, worker, act).await? {
            Some(Ending::Again(stored)) => {
                if let Some(stored) = stored {
                    stored.cancelled().await;
                }
                return Ok(Ended::AGAIN);
            }
            Some(Ending::Reported(reported)) => reported.await.map_err(|_| stopping())?,
            None if answered.asks_again() && self.is_open(tenant, task).await? => {
                return Ok(Ended::AGAIN);
            }
            None => self.end_unheld(tenant, task, answered).await,
        };
        match reported.map_err(Refused::Failed)? {
            Reported::Unknown => Err(Refused::NoTask),
            reported @ (Reported::Applied
            | Reported::Late
            | Reported::Conflict
            | Reported::Lost) => Ok(Ended {
                applied: reported == Reported::Applied,
                will_retry: reported.is_repeated(),
            }),
        }
    }

    /// Ends a task that a channel holds, or has it delivered again. None if no channel holds it.
    fn end_held(
        &self,
        tenant: &Tenant,
        task: &str,
        worker: Option<&str>,
        answered: &Answered<'_>,
    ) -> Result<Option<Ending>, Refused> {
        self.with(tenant, |pool, desk| {
            pool.saw(desk, task, worker);
            let most = pool.spec(task).map_or(OUTPUT_MAX, |spec| spec.output_max);
            let verdict = answered.verdict(most);
            if let Verdict::Invalid { message } = verdict {
                return Err(Refused::Invalid(message));
            }
            match pool.end(desk, task, worker, verdict) {
                Ok(ending) => Ok(Some(ending)),
                Err(NotYours::NotHeld) => Ok(None),
                Err(NotYours::LeaseLost) => Err(Refused::LeaseLost),
            }
        })
    }

    /// Acts on a task that a channel holds; it is taken over from another process if a worker has
    /// pulled it there. None if no channel holds it, and no worker has it elsewhere.
    async fn held_or_adopted<T>(
        &self,
        tenant: &Tenant,
        task: &str,
        worker: Option<&str>,
        act: impl Fn() -> Result<Option<T>, Refused>,
    ) -> Result<Option<T>, Refused> {
        for _ in 0..CONFLICTS_MAX {
            if let Some(done) = act()? {
                return Ok(Some(done));
            }
            let Some(ends) = self.ends() else {
                return Ok(None);
            };
            let adopted = ends.adopt(tenant, task, worker).await;
            match adopted.map_err(Refused::Failed)? {
                // Unless it has moved on meanwhile.
                Adopted::Here => {}
                Adopted::Lost => return Err(Refused::LeaseLost),
                Adopted::Not => return Ok(None),
            }
        }
        Err(moving())
    }

    /// Whether a task is out that no channel holds here, so that it is delivered again whatever
    /// became of the delivery that is reported.
    async fn is_open(&self, tenant: &Tenant, task: &str) -> Result<bool, Refused> {
        let Some(ends) = self.ends() else {
            return Ok(false);
        };
        let standing = ends.standing(tenant, task).await.map_err(Refused::Failed)?;
        Ok(standing == Standing::Open)
    }

    /// Records an answer to a task that no channel holds: it answered `pending`, or is closed.
    async fn end_unheld(
        &self,
        tenant: &Tenant,
        task: &str,
        answered: &Answered<'_>,
    ) -> Result<Reported, Failure> {
        let Some(ends) = self.ends() else {
            return Ok(Reported::Unknown);
        };
        self.with(tenant, |pool, _| pool.accepted.take(task));
        let end = End::of(answered.verdict(OUTPUT_MAX).into());
        for _ in 0..CONFLICTS_MAX {
            let reported = ends.ended(tenant, task, end.clone()).await?;
            if reported == Reported::Applied {
                count(TaskKind::Action, &end);
            }
            if reported != Reported::Conflict {
                return Ok(reported);
            }
        }
        Ok(Reported::Conflict)
    }

    /// Extends the lease or the deadline of a task, for as long as is asked or usual; until when.
    pub async fn touch(
        &self,
        tenant: &Tenant,
        task: &str,
        worker: Option<&str>,
        extend: Option<Duration>,
        progress: Option<Arc<str>>,
    ) -> Result<Timestamp, Refused> {
        let touch = || {
            let touched = self.with(tenant, |pool, desk| {
                pool.saw(desk, task, worker);
                pool.touch(desk, task, worker, extend, progress.clone())
            });
            match touched {
                Ok(until) => Ok(Some(until)),
                Err(NotYours::LeaseLost) => Err(Refused::LeaseLost),
                Err(NotYours::NotHeld) => Ok(None),
            }
        };
        for _ in 0..CONFLICTS_MAX {
            if let Some(until) = self.held_or_adopted(tenant, task, worker, touch).await? {
                return Ok(until);
            }
            let Some(ends) = self.ends() else {
                return Err(Refused::NoTask);
            };
            let asked = || {
                let extend = extend.unwrap_or(TOUCH);
                self.lock().desk.clock.now().after(extend)
            };
            match ends.standing(tenant, task).await.map_err(Refused::Failed)? {
                // It has no lease; what limits it is the step, whose limit does not move.
                Standing::Accepted { until } => {
                    return Ok(until.map_or_else(asked, |until| until.min(asked())));
                }
                // It is about to be sent here, or a member has it elsewhere: nothing was extended.
                Standing::Open => sleep(ON_ITS_WAY).await,
                Standing::Closed(status) => return Err(Refused::Finished(status)),
                Standing::Unknown => return Err(Refused::NoTask),
            }
        }
        Err(moving())
    }
}

/// A task is out, and it is not known here who has it.
fn moving() -> Refused {
    let message = "the task is at another node or on its way to one, so nothing was changed; repeat the request";
    Refused::Failed(Failure::new(Code::Conflict, message))
}

/// The process ended while a report was stored.
fn stopping() -> Refused {
    let message = "the server is stopping, and the report may have been recorded";
    Refused::Failed(Failure::new(Code::OutcomeUnknown, message))
}

/// Forgets workers that are silent for long, if there is no room for another.
fn make_room(pool: &mut Pool, now: Timestamp) -> Result<(), Refused> {
    let is_worker = |worker: &Worker| !worker.is_member();
    let count = |pool: &Pool| pool.workers.values().filter(|one| is_worker(one)).count();
    if pool.workers.len() < WORKERS_MAX || count(pool) < WORKERS_MAX {
        return Ok(());
    }
    pool.workers.retain(|worker| {
        !is_worker(worker) || worker.is_healthy(now) || !worker.running().is_empty()
    });
    if count(pool) < WORKERS_MAX {
        return Ok(());
    }
    Err(Refused::TooMany { limit: WORKERS_MAX })
}

impl Pool {
    fn worker_mut(&mut self, namespace: &str, id: &str) -> Result<&mut Worker, Refused> {
        let number = self.find(namespace, id).ok_or(Refused::NoWorker)?;
        self.workers.get_mut(number).ok_or(Refused::NoWorker)
    }

    /// Lets a request wait for tasks.
    fn park(&mut self, worker: u64, request: Parked) {
        if let Some(Worker {
            channel: Channel::Pull(parked),
            ..
        }) = self.workers.get_mut(worker)
        {
            parked.push_back(request);
        }
        self.note_takers(worker);
    }

    fn unpark(&mut self, worker: u64, number: u64) {
        if let Some(Worker {
            channel: Channel::Pull(parked),
            ..
        }) = self.workers.get_mut(worker)
        {
            parked.retain(|parked| parked.number != number);
        }
        self.note_takers(worker);
    }
}

impl Asked {
    /// Waits for tasks, until the time is over; those that there are then. They are given back unless
    /// the worker receives them.
    pub async fn tasks(&mut self, patience: Duration) -> &[Leased] {
        let until = Instant::now() + patience;
        if let Some(hand) = &mut self.hand
            && let Ok(Ok(given)) = timeout_at(until, hand).await
        {
            self.hand = None;
            self.ready = given;
        }
        &self.ready
    }

    /// The tasks, which the worker receives now.
    pub fn received(mut self) -> Vec<Leased> {
        std::mem::take(&mut self.ready)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut unread = std::mem::take(&mut self.ready);
        self.channels.with(&self.tenant, |pool, desk| {
            if let Some(mut hand) = self.hand.take() {
                pool.unpark(self.worker, self.number);
                unread.extend(hand.try_recv().into_iter().flatten());
            }
            pool.give_back(desk, self.worker, &unread);
        });
    }
}

impl WorkerFacts {
    fn of(worker: &Worker, now: Timestamp) -> Self {
        Self {
            id: Arc::clone(&worker.id),
            namespace: worker.namespace.clone(),
            actions: worker.actions.list(),
            tags: worker.tags.clone(),
            labels: worker.labels.clone(),
            max_concurrency: worker.max,
            announces_max: worker.announced_max.is_some(),
            machine_id: worker.machine_id.clone(),
            metadata: worker.metadata.clone(),
            healthy: worker.is_healthy(now),
            draining: worker.draining,
            load: worker.load,
            running: worker.running().len(),
            seen: worker.seen,
            is_member: worker.is_member(),
        }
    }
}
