//! The feed: every version in the order of commits, once (STORAGE.md §8).
//!
//! A reader knows how far it has come, and nothing else is kept for it. What it has missed it
//! reads from the table, a page at a time; what is committed while it waits it finds in a ring of
//! recent commits that all readers share. Whether the ring has something is never a question of
//! correctness: what it does not have is in the table.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Semaphore, SemaphorePermit, watch};

use super::{
    Error, Storage,
    cache::Cache,
    draft::{Committed, Draft},
    port::{ChangeRange, ModelRow, TenantRow, Version},
};
use crate::entity::{ChangeKind, Changed, Image, Position, Sequence};
use crate::id::{ModelKey, StateName, Tenant};

/// How many bytes of recent changes are kept for readers that are up to date.
const RECENT_BYTES: usize = 16 << 20;

/// What a change takes beside its document, roughly.
const CHANGE_BYTES: usize = 200;

/// How many deletions of one unit are kept; readers find those of a larger one in the table.
const RECENT_REMOVALS: usize = 1_024;

/// How many changes a reader is given at once, and how many bytes of documents, unless one alone
/// is larger.
const PART: usize = 256;
const PART_BYTES: usize = 256 << 10;

/// How many positions one statement looks at, so that a filter under which little passes does not
/// make a long read of it.
const SPAN: i64 = 16_384;

/// How many readers read from the table at once. The other connections are for everyone else.
const READING_MAX: usize = 2;

/// Which changes a reader wants, and what of them.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of this model only.
    pub model: Option<ModelKey>,
    /// After which the entity is in one of these states only.
    pub states: Option<Vec<StateName>>,
    pub documents: bool,
}

/// What readers of the feed share.
///
/// A mutex, not a task: it is held to push or to copy a few pointers.
#[derive(Debug)]
pub(super) struct Recent {
    state: Mutex<State>,
    reading: Semaphore,
}

#[derive(Debug)]
struct State {
    followed: HashMap<Tenant, Followed>,
    batches: VecDeque<Arc<Batch>>,
    bytes: usize,
    /// Everything after this is in the batches, up to the end of the last.
    from: Sequence,
    until: Sequence,
}

/// A tenant that has readers.
#[derive(Debug)]
struct Followed {
    readers: usize,
    /// The newest sequence that concerns the tenant.
    newest: watch::Sender<Sequence>,
}

/// What one batch has changed, while someone follows.
#[derive(Debug, Default)]
pub(super) struct Batch {
    units: Vec<(Tenant, Vec<Changed>)>,
    bytes: usize,
    /// Set when something is missing.
    has_gap: bool,
    until: i64,
}

impl Batch {
    /// Adds what a unit has changed, before the cache has forgotten what it deleted.
    pub(super) fn add_unit(
        &mut self,
        draft: &Draft,
        first: Position,
        committed: Committed,
        cache: &Cache,
    ) {
        if draft.removals.len() > RECENT_REMOVALS {
            self.has_gap = true;
        }
        if self.has_gap {
            return;
        }
        let change = |position, image: &Image, kind| Changed {
            position: Position(position),
            entity: image.id,
            model: image.model.clone(),
            state: image.state.clone(),
            kind,
            transaction: draft.id,
            at: committed.at,
            document: (kind != ChangeKind::Delete).then(|| image.document.clone()),
        };
        let mut changes = Vec::with_capacity(draft.writes.len() + draft.removals.len());
        for (write, n) in draft.writes.iter().zip(first.0..) {
            changes.push(change(n, &write.image, write.kind()));
        }
        // Deletions come after the writes, and before the decisions.
        let after = draft.removals.len() + draft.decisions.len();
        let first = committed.sequence.0 - i64::try_from(after).unwrap_or(0);
        for (removal, n) in draft.removals.iter().zip(first..) {
            match cache.get(removal.id) {
                Some(last) => changes.push(change(n, &last.image, ChangeKind::Delete)),
                None => self.has_gap = true,
            }
        }
        self.bytes += changes.iter().map(weight).sum::<usize>();
        self.units.push((draft.tenant.clone(), changes));
    }
}

/// What a change takes in memory, in bytes.
fn weight(change: &Changed) -> usize {
    let document = change.document.as_ref();
    CHANGE_BYTES + document.map_or(0, |json| json.as_str().len())
}

impl Recent {
    pub(super) fn new(newest: Sequence) -> Self {
        Self {
            state: Mutex::new(State {
                followed: HashMap::new(),
                batches: VecDeque::new(),
                bytes: 0,
                from: newest,
                until: newest,
            }),
            reading: Semaphore::new(READING_MAX),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the changes of a batch go; none while nobody follows.
    pub(super) fn batch(&self) -> Option<Batch> {
        (!self.lock().followed.is_empty()).then(Batch::default)
    }

    /// Makes a batch known that is durable, and wakes who follows one of its tenants.
    pub(super) fn publish<'a>(
        &self,
        batch: Option<Batch>,
        until: Sequence,
        tenants: impl Iterator<Item = &'a Tenant>,
    ) {
        let mut state = self.lock();
        state.until = until;
        match batch {
            Some(mut batch) if !batch.has_gap => {
                batch.until = until.0;
                state.bytes += batch.bytes;
                state.batches.push_back(Arc::new(batch));
            }
            // From here on it is told without gaps again.
            Some(_) | None => state.forget(),
        }
        while state.bytes > RECENT_BYTES
            && let Some(oldest) = state.batches.pop_front()
        {
            state.bytes -= oldest.bytes;
            state.from = Sequence(oldest.until);
        }
        if state.followed.is_empty() {
            return;
        }
        for tenant in tenants {
            if let Some(followed) = state.followed.get(tenant) {
                followed.newest.send_replace(until);
            }
        }
    }

    /// The batches that go on after a position and hold everything up to a sequence; as many as
    /// make a part. None if they do not.
    fn after(&self, position: Position, until: Sequence) -> Option<Vec<Arc<Batch>>> {
        let state = self.lock();
        if state.from.0 > position.0 || state.until < until {
            return None;
        }
        let first = state
            .batches
            .partition_point(|batch| batch.until <= position.0);
        let mut bytes = 0;
        let enough = |batch: &&Arc<Batch>| {
            let more = bytes < PART_BYTES;
            bytes += batch.bytes;
            more
        };
        Some(
            state
                .batches
                .range(first..)
                .take_while(enough)
                .cloned()
                .collect(),
        )
    }

    fn follow(&self, tenant: &Tenant) -> watch::Receiver<Sequence> {
        let mut state = self.lock();
        // As of now, not as of when the caller looked: of what was made known between, nobody
        // would be told before the next commit.
        let newest = state.until;
        let followed = state
            .followed
            .entry(tenant.clone())
            .or_insert_with(|| Followed {
                readers: 0,
                newest: watch::Sender::new(newest),
            });
        followed.readers += 1;
        followed.newest.subscribe()
    }

    fn leave(&self, tenant: &Tenant) {
        let mut state = self.lock();
        if let Some(followed) = state.followed.get_mut(tenant) {
            followed.readers -= 1;
            if followed.readers == 0 {
                state.followed.remove(tenant);
            }
        }
        if state.followed.is_empty() {
            state.forget();
        }
    }
}

impl State {
    fn forget(&mut self) {
        self.batches.clear();
        self.bytes = 0;
        self.from = self.until;
    }
}

impl Wanted {
    fn includes(&self, change: &Changed) -> bool {
        self.model
            .as_ref()
            .is_none_or(|model| *model == change.model)
            && self
                .states
                .as_ref()
                .is_none_or(|states| states.contains(&change.state))
    }
}

impl Storage {
    /// Follows the changes of a tenant: those after a position, or those from now on.
    pub async fn follow(
        &self,
        tenant: &Tenant,
        wanted: Wanted,
        after: Option<Position>,
    ) -> Result<Feed, Error> {
        let row = self.tenant_row(tenant).await?;
        let model = match (&wanted.model, row) {
            (Some(model), Some(row)) => self.0.database.model_row(row, model).await?,
            (None, _) | (Some(_), None) => None,
        };
        if let (Some(model), None) = (&wanted.model, model) {
            return Err(Error::ModelNotFound(model.clone()));
        }
        let latest = self.latest();
        if let Some(after) = after.filter(|after| after.0 > latest.0) {
            return Err(Error::NotYet { after, latest });
        }
        Ok(Feed {
            newest: self.0.recent.follow(tenant),
            storage: self.clone(),
            tenant: tenant.clone(),
            row,
            model,
            wanted,
            reached: after.unwrap_or(Position(latest.0)),
        })
    }
}

impl Storage {
    /// Leave to read from tables what a reader of the feed needs beside it. Held while it reads.
    pub async fn reading_behind(&self) -> Option<SemaphorePermit<'_>> {
        // Never closed.
        self.0.recent.reading.acquire().await.ok()
    }

    /// The version at a position, where it is in memory.
    pub fn known(&self, change: &Changed) -> Option<Version> {
        let known = self.0.cache.get(change.entity);
        known.filter(|known| known.position == change.position)
    }
}

/// A reader of the feed.
#[derive(Debug)]
pub struct Feed {
    storage: Storage,
    tenant: Tenant,
    /// None of a tenant that had not written when it was last looked for.
    row: Option<TenantRow>,
    model: Option<ModelRow>,
    wanted: Wanted,
    reached: Position,
    newest: watch::Receiver<Sequence>,
}

impl Feed {
    /// The next changes; waits until there are some.
    pub async fn next(&mut self) -> Result<Vec<Changed>, Error> {
        loop {
            let newest = *self.newest.borrow_and_update();
            if self.reached.0 >= newest.0 {
                // The sender is gone only with the storage.
                self.newest.changed().await.map_err(|_| Error::Stopped)?;
                continue;
            }
            let changes = match self.storage.0.recent.after(self.reached, newest) {
                Some(batches) => self.pick(&batches),
                None => self.read(newest).await?,
            };
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    /// What is wanted of recent batches.
    fn pick(&mut self, batches: &[Arc<Batch>]) -> Vec<Changed> {
        let mut picked = Vec::new();
        let mut bytes = 0;
        for batch in batches {
            let units = batch
                .units
                .iter()
                .filter(|(tenant, _)| *tenant == self.tenant);
            for change in units.flat_map(|(_, changes)| changes) {
                if change.position <= self.reached || !self.wanted.includes(change) {
                    continue;
                }
                self.reached = change.position;
                bytes += weight(change);
                picked.push(Changed {
                    document: change.document.clone().filter(|_| self.wanted.documents),
                    ..change.clone()
                });
                if picked.len() >= PART || bytes >= PART_BYTES {
                    return picked;
                }
            }
            self.reached = Position(batch.until);
        }
        picked
    }

    /// A page of the table.
    async fn read(&mut self, newest: Sequence) -> Result<Vec<Changed>, Error> {
        if self.row.is_none() {
            self.row = self.storage.tenant_row(&self.tenant).await?;
        }
        let Some(tenant) = self.row else {
            self.reached = Position(newest.0);
            return Ok(Vec::new());
        };
        let range = ChangeRange {
            tenant,
            after: self.reached,
            until: Position(newest.0.min(self.reached.0 + SPAN)),
            model: self.model,
            states: self.wanted.states.clone(),
            documents: self.wanted.documents,
            limit: PART,
            bytes: PART_BYTES,
        };
        let inner = &self.storage.0;
        // Never closed.
        let reading = inner.recent.reading.acquire().await.ok();
        let (changes, reached) = inner.database.changes(&range).await?;
        drop(reading);
        self.reached = reached;
        Ok(changes)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.storage.0.recent.leave(&self.tenant);
    }
}
