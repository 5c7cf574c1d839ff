//! Runs as they are stored: by id, by key, in lists, and their histories (`runs.md` §3).
//!
//! A run has a position, that of its last event, and an advance replaces it by comparison, as a
//! write replaces a version. Its history is never changed.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use foldhash::HashMap;
use tokio::sync::{Notify, watch};

use super::{
    Error, Storage,
    port::{RunEvents, RunKey, RunsWanted, StoredRun, TaskLine, TenantRow},
};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId, Tenant};

/// How many bytes of current runs are kept in memory.
const CACHE_BYTES: u64 = 32 << 20;

/// How many runs there are of ordinary size; more are no harm.
const ENTRIES: usize = 32 << 10;

/// What a run takes beside its state, roughly.
const RUN_BYTES: u64 = 300;

/// How many nanoseconds lie between two identifiers at most, beside those that pass.
const GAP: i64 = 1_000;

/// What is known of runs in memory.
///
/// What is in the cache is current: only the committer puts runs in, after their commit and in
/// order. What was evicted is read from the database each time.
#[derive(Debug)]
pub(super) struct Runs {
    current: quick_cache::sync::Cache<RunId, Arc<StoredRun>, Bytes>,
    /// The last identifier.
    last: AtomicI64,
    /// Runs that are to be looked at since something was committed.
    woken: Mutex<Vec<WokenRun>>,
    has_woken: Notify,
    /// The entities that runs wait for.
    awaited: Mutex<HashMap<EntityId, Vec<WokenRun>>>,
    /// Who waits for the end of runs.
    ends: Mutex<HashMap<RunId, watch::Sender<bool>>>,
}

/// A run that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WokenRun {
    pub tenant: Tenant,
    pub line: TaskLine,
    pub run: RunId,
}

/// Waits for the end of a run.
#[derive(Debug)]
pub struct RunEnd {
    storage: Storage,
    run: RunId,
    ended: watch::Receiver<bool>,
}

#[derive(Debug, Clone)]
struct Bytes;

impl quick_cache::Weighter<RunId, Arc<StoredRun>> for Bytes {
    fn weight(&self, _: &RunId, run: &Arc<StoredRun>) -> u64 {
        run.state.len() as u64 + RUN_BYTES
    }
}

impl Runs {
    /// Nothing is known yet but the newest identifier, and which runs wait for entities.
    pub(super) fn new(newest: RunId, awaiting: Vec<(EntityId, TenantRow, Tenant, RunId)>) -> Self {
        let mut awaited: HashMap<EntityId, Vec<WokenRun>> = HashMap::default();
        for (entity, line, tenant, run) in awaiting {
            let woken = woken(&tenant, line, run);
            awaited.entry(entity).or_default().push(woken);
        }
        Self {
            current: quick_cache::sync::Cache::with_weighter(ENTRIES, CACHE_BYTES, Bytes),
            last: AtomicI64::new(newest.number()),
            woken: Mutex::default(),
            has_woken: Notify::new(),
            awaited: Mutex::new(awaited),
            ends: Mutex::default(),
        }
    }

    /// Takes over the runs of a unit that was committed.
    pub(super) fn committed(&self, tenant: &Tenant, runs: impl Iterator<Item = StoredRun>) {
        for run in runs {
            if run.is_out {
                self.wake(tenant, run.tenant, run.id);
            }
            let before = self.current.peek(&run.id).and_then(|run| run.awaits);
            if before != run.awaits {
                let mut awaited = lock(&self.awaited);
                if let Some(entity) = before {
                    forget(&mut awaited, entity, run.id);
                }
                if let Some(entity) = run.awaits {
                    let woken = woken(tenant, run.tenant, run.id);
                    awaited.entry(entity).or_default().push(woken);
                }
            }
            if run.ended.is_some()
                && let Some(waiting) = lock(&self.ends).get(&run.id)
            {
                waiting.send_replace(true);
            }
            self.current.insert(run.id, Arc::new(run));
        }
    }

    /// Has the runs looked at that wait for one of these entities.
    pub(super) fn moved(&self, entities: impl Iterator<Item = EntityId>) {
        let awaited = lock(&self.awaited);
        if awaited.is_empty() {
            return;
        }
        let runs = entities.filter_map(|entity| awaited.get(&entity)).flatten();
        let before = lock(&self.woken).len();
        lock(&self.woken).extend(runs.cloned());
        if lock(&self.woken).len() > before {
            self.has_woken.notify_one();
        }
    }

    fn wake(&self, tenant: &Tenant, line: TenantRow, run: RunId) {
        lock(&self.woken).push(woken(tenant, line, run));
        self.has_woken.notify_one();
    }

    pub(super) fn position(&self, id: RunId) -> Option<Position> {
        self.current.peek(&id).map(|run| run.position)
    }

    /// An identifier greater than those before it, which does not show how many there were.
    fn fresh(&self, now: Timestamp) -> RunId {
        let now = now.micros().saturating_mul(1_000);
        let next = |last: i64| {
            let from = last.max(now);
            // The golden ratio spreads the gaps; nothing has to be random.
            let spread = from.wrapping_mul(0x61c8_8646_80b5_83eb).unsigned_abs() >> 32;
            from.saturating_add(1 + i64::try_from(spread).unwrap_or(0) % GAP)
        };
        let ordering = Ordering::Relaxed;
        let fetched = self
            .last
            .fetch_update(ordering, ordering, |last| Some(next(last)));
        let (Ok(last) | Err(last)) = fetched;
        RunId::new(next(last))
    }
}

fn woken(tenant: &Tenant, line: TenantRow, run: RunId) -> WokenRun {
    WokenRun {
        tenant: tenant.clone(),
        line: TaskLine(line.0),
        run,
    }
}

fn forget(awaited: &mut HashMap<EntityId, Vec<WokenRun>>, entity: EntityId, run: RunId) {
    if let Some(runs) = awaited.get_mut(&entity) {
        runs.retain(|woken| woken.run != run);
        if runs.is_empty() {
            awaited.remove(&entity);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunEnd {
    /// Returns once the run has ended.
    pub async fn reached(&mut self) {
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

impl Drop for RunEnd {
    fn drop(&mut self) {
        let mut ends = lock(&self.storage.0.runs.ends);
        // This receiver is the last one.
        if ends
            .get(&self.run)
            .is_some_and(|end| end.receiver_count() <= 1)
        {
            ends.remove(&self.run);
        }
    }
}

impl Storage {
    /// Waits for the end of a run from here on; whether it has ended already is for the caller to
    /// find out afterwards.
    pub fn run_end(&self, run: RunId) -> RunEnd {
        let mut ends = lock(&self.0.runs.ends);
        let ended = ends.entry(run).or_insert_with(|| watch::Sender::new(false));
        RunEnd {
            ended: ended.subscribe(),
            storage: self.clone(),
            run,
        }
    }

    /// Has a run looked at.
    pub async fn wake_run(&self, tenant: &Tenant, run: RunId) -> Result<(), Error> {
        if let Some(row) = self.tenant_row(tenant).await? {
            self.0.runs.wake(tenant, row, run);
        }
        Ok(())
    }

    /// The runs that are to be looked at since this was asked last.
    pub fn woken_runs(&self) -> Vec<WokenRun> {
        std::mem::take(&mut *lock(&self.0.runs.woken))
    }

    /// Returns once there may be a run to look at.
    pub async fn runs_woken(&self) {
        self.0.runs.has_woken.notified().await;
    }

    /// An identifier for a new run.
    pub fn fresh_run(&self) -> RunId {
        self.0.runs.fresh(self.now())
    }

    /// A run as it was committed last; none of another tenant's.
    pub async fn run(&self, tenant: &Tenant, id: RunId) -> Result<Option<Arc<StoredRun>>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        if let Some(run) = self.0.runs.current.get(&id) {
            return Ok((run.tenant == tenant).then_some(run));
        }
        let stored = self.0.database.run(tenant, id).await?.map(Arc::new);
        self.once_durable(stored).await
    }

    /// The run that has a key.
    pub async fn run_of_key(&self, tenant: &Tenant, key: &RunKey) -> Result<Option<RunId>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let found = self
            .0
            .database
            .run_keys(tenant, std::slice::from_ref(key))
            .await?;
        self.once_durable(found.first().map(|(_, run)| *run)).await
    }

    /// A page of runs, the newest first.
    pub async fn runs(
        &self,
        tenant: &Tenant,
        wanted: &RunsWanted,
        limit: i64,
    ) -> Result<Vec<StoredRun>, Error> {
        match self.tenant_row(tenant).await? {
            Some(tenant) => {
                let runs = self.0.database.runs(tenant, wanted, limit).await?;
                self.once_durable(runs).await
            }
            None => Ok(Vec::new()),
        }
    }

    /// The events of a run after the one of that number, a part of so many advances.
    pub async fn run_events(
        &self,
        run: RunId,
        after: u64,
        limit: i64,
    ) -> Result<Vec<RunEvents>, Error> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let events = self.0.database.run_events(run, after, limit).await?;
        self.once_durable(events).await
    }

    /// The events of all runs of a tenant after a position, a part of so many advances. With it
    /// comes how far that went.
    pub async fn run_events_after(
        &self,
        tenant: &Tenant,
        after: Position,
        limit: i64,
    ) -> Result<(Vec<RunEvents>, Position), Error> {
        let latest = Position(self.latest().0);
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok((Vec::new(), latest));
        };
        let events = self
            .0
            .database
            .run_events_after(tenant, after, latest, limit)
            .await?;
        let is_full = i64::try_from(events.len()).is_ok_and(|found| found >= limit);
        let reached = match events.last() {
            Some(last) if is_full => last.position,
            Some(_) | None => latest,
        };
        Ok((events, reached))
    }

    /// The next runs, of all tenants, of which work was out when they were stored.
    pub async fn runs_that_are_out(
        &self,
        after: RunId,
        limit: i64,
    ) -> Result<Vec<(Tenant, RunId)>, Error> {
        self.0.database.runs_that_are_out(after, limit).await
    }
}
