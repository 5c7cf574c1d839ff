//! What is known of runs in memory: those that were advanced lately, which are to be looked at, and
//! who waits for what.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use foldhash::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::watched::Watched;
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId, Tenant};
use crate::storage::draft::TaskNote;
use crate::storage::port::{NodeRow, RunMoved, StoredRun, TaskLine, TenantRow};

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
pub(in crate::storage) struct Runs {
    current: quick_cache::sync::Cache<RunId, Arc<StoredRun>, Bytes>,
    /// The last identifier.
    last: AtomicI64,
    /// Runs that are to be looked at since something was committed.
    woken: Mutex<Vec<WokenRun>>,
    has_woken: Notify,
    /// What was committed about tasks, for those who hold them.
    task_notes: Mutex<Vec<(Tenant, TaskNote)>>,
    awaited: Mutex<Awaited>,
    /// Those of which this process has work out; only where other processes advance runs, too.
    driven: Option<Mutex<HashMap<RunId, WokenRun>>>,
    /// The tenants of runs that other processes have handed over to this one.
    handed_over: Mutex<HashSet<Tenant>>,
    /// Whether other processes may have changed who drives runs, and this one does not know which.
    may_have_moved: AtomicBool,
    /// Who waits for the end of runs.
    ends: Mutex<HashMap<RunId, watch::Sender<bool>>>,
}

/// The entity that a run waits for, whose it is, and the run.
pub(in crate::storage) type AwaitingRun = (EntityId, TenantRow, Tenant, RunId);

/// The entities that runs wait for. A run that waits takes some forty bytes.
#[derive(Debug, Default)]
struct Awaited {
    runs: BTreeMap<(EntityId, RunId), TaskLine>,
    tenants: HashMap<TaskLine, Tenant>,
    /// What each run waits for; only where other processes advance runs, too.
    by_run: Option<HashMap<RunId, EntityId>>,
}

impl Awaited {
    fn add(&mut self, entity: EntityId, run: &WokenRun) {
        self.runs.insert((entity, run.run), run.line);
        let tenant = self.tenants.entry(run.line);
        tenant.or_insert_with(|| run.tenant.clone());
        if let Some(by_run) = &mut self.by_run {
            by_run.insert(run.run, entity);
        }
    }

    fn remove(&mut self, entity: EntityId, run: RunId) {
        self.runs.remove(&(entity, run));
        if let Some(by_run) = &mut self.by_run {
            by_run.remove(&run);
        }
    }

    /// A run waits for this, or for nothing, whatever it has waited for before.
    fn set(&mut self, run: &WokenRun, awaits: Option<EntityId>) {
        let before = self
            .by_run
            .as_mut()
            .and_then(|by_run| by_run.remove(&run.run));
        if let Some(before) = before {
            self.runs.remove(&(before, run.run));
        }
        if let Some(entity) = awaits {
            self.add(entity, run);
        }
    }

    fn of(&self, entity: EntityId) -> impl Iterator<Item = WokenRun> {
        let all = (entity, RunId::new(i64::MIN))..=(entity, RunId::new(i64::MAX));
        self.runs.range(all).filter_map(|((_, run), line)| {
            Some(WokenRun {
                tenant: self.tenants.get(line)?.clone(),
                line: *line,
                run: *run,
            })
        })
    }
}

/// A run that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WokenRun {
    pub tenant: Tenant,
    pub line: TaskLine,
    pub run: RunId,
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
    pub(in crate::storage) fn new(
        newest: RunId,
        awaiting: Vec<AwaitingRun>,
        is_shared: bool,
    ) -> Self {
        let mut awaited = Awaited {
            by_run: is_shared.then(HashMap::default),
            ..Awaited::default()
        };
        let mut looked_at = Vec::with_capacity(awaiting.len());
        for (entity, line, tenant, run) in awaiting {
            let woken = woken(&tenant, line, run);
            // The entity may have moved just before the service stopped.
            awaited.add(entity, &woken);
            looked_at.push(woken);
        }
        Self {
            current: quick_cache::sync::Cache::with_weighter(ENTRIES, CACHE_BYTES, Bytes),
            last: AtomicI64::new(newest.number()),
            woken: Mutex::new(looked_at),
            has_woken: Notify::new(),
            task_notes: Mutex::default(),
            awaited: Mutex::new(awaited),
            driven: is_shared.then(Mutex::default),
            handed_over: Mutex::default(),
            may_have_moved: AtomicBool::new(false),
            ends: Mutex::default(),
        }
    }

    /// Takes over the runs of a unit that was committed, each with the entity that it waited for.
    /// What is not the newest any more is not kept. Work that is out is done by this process, `own`,
    /// unless another one drives the run.
    pub(in crate::storage) fn committed(
        &self,
        tenant: &Tenant,
        runs: impl Iterator<Item = (StoredRun, Option<EntityId>)>,
        watched: &Watched,
        own: NodeRow,
        is_newest: bool,
    ) {
        let (mut all_ended, mut all_out) = (Vec::new(), Vec::new());
        for (run, before) in runs {
            let is_here = run.is_out && run.owner.is_none_or(|owner| owner == own);
            let out = is_here.then_some((run.tenant, run.id));
            if let Some(driven) = &self.driven {
                if is_here {
                    driven
                        .lock()
                        .insert(run.id, woken(tenant, run.tenant, run.id));
                } else {
                    driven.lock().remove(&run.id);
                }
            }
            if is_newest && before != run.awaits {
                let mut awaited = self.awaited.lock();
                if let Some(entity) = before {
                    awaited.remove(entity, run.id);
                }
                if let Some(entity) = run.awaits {
                    awaited.add(entity, &woken(tenant, run.tenant, run.id));
                }
            }
            all_ended.extend(run.ended.is_some().then_some(run.id));
            all_out.extend(out);
            if is_newest {
                self.current.insert(run.id, Arc::new(run));
            }
        }
        // Only now: who looks at one of them sees all that was committed with it, such as its parent.
        for id in all_ended {
            self.ended(id, watched);
        }
        for (line, id) in all_out {
            self.wake(tenant, line, id);
        }
    }

    /// Takes over what a unit that was committed notes of tasks.
    pub(in crate::storage) fn note_tasks(&self, tenant: &Tenant, notes: &[TaskNote]) {
        if notes.is_empty() {
            return;
        }
        let notes = notes.iter().map(|note| (tenant.clone(), note.clone()));
        self.task_notes.lock().extend(notes);
        self.has_woken.notify_one();
    }

    /// The entities that runs wait for.
    pub(in crate::storage) fn awaited(&self) -> Vec<EntityId> {
        let mut entities: Vec<_> = self.awaited.lock().runs.keys().map(|key| key.0).collect();
        entities.dedup();
        entities
    }

    /// Has the runs looked at that wait for one of these entities.
    pub(in crate::storage) fn moved(&self, entities: impl Iterator<Item = EntityId>) {
        let awaited = self.awaited.lock();
        if awaited.runs.is_empty() {
            return;
        }
        let mut woken = self.woken.lock();
        let before = woken.len();
        woken.extend(entities.flat_map(|entity| awaited.of(entity)));
        if woken.len() > before {
            self.has_woken.notify_one();
        }
    }

    /// Has a run looked at.
    pub(in crate::storage) fn wake(&self, tenant: &Tenant, line: TenantRow, run: RunId) {
        self.woken.lock().push(woken(tenant, line, run));
        self.has_woken.notify_one();
    }

    /// Forgets runs that are about to be removed.
    pub(in crate::storage) fn removed(&self, runs: &[RunId]) {
        for run in runs {
            self.current.remove(run);
        }
    }

    /// Forgets where all runs are: many were advanced, and it is not known which. With it comes which
    /// wait for entities. Those who wait for ends are answered early, with how far their runs are.
    pub(in crate::storage) fn clear(&self, awaiting: Vec<AwaitingRun>, watched: &Watched) {
        let mut awaited = Awaited {
            by_run: Some(HashMap::default()),
            ..Awaited::default()
        };
        for (entity, line, tenant, run) in awaiting {
            awaited.add(entity, &woken(&tenant, line, run));
        }
        *self.awaited.lock() = awaited;
        self.current.clear();
        if self.driven.is_some() {
            self.may_have_moved.store(true, Ordering::Relaxed);
        }
        for (run, waiting) in self.ends.lock().iter() {
            waiting.send_replace(true);
            watched.run_ended(*run);
        }
    }

    /// Takes over that a run was advanced by any process.
    pub(in crate::storage) fn advanced(&self, moved: &RunMoved, watched: &Watched, own: NodeRow) {
        let run = woken(&moved.tenant, moved.row, moved.run);
        self.awaited.lock().set(&run, moved.awaits);
        self.current.remove(&moved.run);
        if moved.owner == Some(own) {
            self.handed_over(&moved.tenant, moved.row, moved.run);
        } else if let Some(driven) = &self.driven
            && driven.lock().contains_key(&moved.run)
        {
            // Its work may be elsewhere now or for nothing.
            self.wake(&moved.tenant, moved.row, moved.run);
        }
        if moved.ended {
            self.ended(moved.run, watched);
        }
    }

    /// The work of a run that is out is for this process to send from now on.
    pub(in crate::storage) fn handed_over(&self, tenant: &Tenant, line: TenantRow, run: RunId) {
        if let Some(driven) = &self.driven {
            let known = driven.lock().insert(run, woken(tenant, line, run));
            if known.is_none() {
                self.handed_over.lock().insert(tenant.clone());
            }
        }
        self.wake(tenant, line, run);
    }

    /// The tenants of runs that were handed over to this process since this was asked last.
    pub(in crate::storage) fn handed_over_lately(&self) -> HashSet<Tenant> {
        std::mem::take(&mut *self.handed_over.lock())
    }

    /// A run has ended, which who looks at it now finds.
    fn ended(&self, run: RunId, watched: &Watched) {
        if let Some(waiting) = self.ends.lock().get(&run) {
            waiting.send_replace(true);
        }
        watched.run_ended(run);
    }

    /// Another process drives a run now, or nobody has to; whether this one did.
    pub(in crate::storage) fn leave(&self, run: RunId) -> bool {
        let driven = self.driven.as_ref();
        driven.is_some_and(|driven| driven.lock().remove(&run).is_some())
    }

    /// The runs of which this process has work out, if other processes may have changed that
    /// without its knowledge; once.
    pub(in crate::storage) fn driven_once(&self) -> Option<HashMap<RunId, WokenRun>> {
        let driven = self.driven.as_ref()?;
        let may_have_moved = self.may_have_moved.swap(false, Ordering::Relaxed);
        may_have_moved.then(|| driven.lock().clone())
    }

    /// Has runs looked at.
    pub(in crate::storage) fn wake_all(&self, runs: impl IntoIterator<Item = WokenRun>) {
        self.woken.lock().extend(runs);
        self.has_woken.notify_one();
    }

    /// A run that was advanced lately.
    pub(in crate::storage) fn get(&self, id: RunId) -> Option<Arc<StoredRun>> {
        self.current.get(&id)
    }

    /// Waits for the end of a run from here on.
    pub(in crate::storage) fn end_of(&self, run: RunId) -> watch::Receiver<bool> {
        let mut ends = self.ends.lock();
        let ended = ends.entry(run).or_insert_with(|| watch::Sender::new(false));
        ended.subscribe()
    }

    /// The last of those that wait for the end of a run may be about to leave.
    pub(in crate::storage) fn leave_end(&self, run: RunId) {
        let mut ends = self.ends.lock();
        if ends.get(&run).is_some_and(|end| end.receiver_count() <= 1) {
            ends.remove(&run);
        }
    }

    /// The runs that are to be looked at since this was asked last.
    pub(in crate::storage) fn woken(&self) -> Vec<WokenRun> {
        std::mem::take(&mut *self.woken.lock())
    }

    /// What was committed about tasks since this was asked last.
    pub(in crate::storage) fn task_notes(&self) -> Vec<(Tenant, TaskNote)> {
        std::mem::take(&mut *self.task_notes.lock())
    }

    pub(in crate::storage) async fn has_woken(&self) {
        self.has_woken.notified().await;
    }

    pub(in crate::storage) fn position(&self, id: RunId) -> Option<Position> {
        self.current.peek(&id).map(|run| run.position)
    }

    /// An identifier greater than those before it, which does not show how many there were.
    pub(in crate::storage) fn fresh(&self, now: Timestamp) -> RunId {
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
