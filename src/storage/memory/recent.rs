//! The recent commits that all readers of the feed share.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, watch};

use super::cache::Cache;
use crate::entity::{ChangeKind, Changed, Image, Position, Sequence};
use crate::id::Tenant;
use crate::storage::draft::{Committed, Draft};

/// How many bytes of recent changes are kept for readers that are up to date.
const RECENT_BYTES: usize = 16 << 20;

/// What a change takes beside its document, roughly.
const CHANGE_BYTES: usize = 200;

/// How many deletions of one unit are kept; readers find those of a larger one in the table.
const RECENT_REMOVALS: usize = 1_024;

/// How many changes a reader is given at once, and how many bytes of documents, unless one alone
/// is larger.
pub(in crate::storage) const PART: usize = 256;
pub(in crate::storage) const PART_BYTES: usize = 256 << 10;

/// How many readers read from the table at once. The other connections are for everyone else.
const READING_MAX: usize = 2;

/// What readers of the feed share.
///
/// A mutex, not a task: it is held to push or to copy a few pointers.
#[derive(Debug)]
pub(in crate::storage) struct Recent {
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
pub(in crate::storage) struct Batch {
    pub(in crate::storage) units: Vec<(Tenant, Vec<Changed>)>,
    bytes: usize,
    /// Set when something is missing.
    has_gap: bool,
    pub(in crate::storage) until: i64,
}

impl Batch {
    /// Adds what a unit has changed, before the cache has forgotten what it deleted.
    pub(in crate::storage) fn add_unit(
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
pub(in crate::storage) fn weight(change: &Changed) -> usize {
    let document = change.document.as_ref();
    CHANGE_BYTES + document.map_or(0, |json| json.as_str().len())
}

impl Recent {
    pub(in crate::storage) fn new(newest: Sequence) -> Self {
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

    /// Leave to read from the table.
    pub(in crate::storage) const fn reading(&self) -> &Semaphore {
        &self.reading
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Where the changes of a batch go; none while nobody follows.
    pub(in crate::storage) fn batch(&self) -> Option<Batch> {
        (!self.lock().followed.is_empty()).then(Batch::default)
    }

    /// Makes a batch known that is durable, and wakes who follows one of its tenants.
    pub(in crate::storage) fn publish<'a>(
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
            // From here on it is listed without gaps again.
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

    /// Other processes have committed up to a sequence: a follower finds that in the table.
    pub(in crate::storage) fn skip(&self, until: Sequence) {
        let mut state = self.lock();
        state.until = until;
        state.forget();
        for followed in state.followed.values() {
            followed.newest.send_replace(until);
        }
    }

    /// The batches that continue after a position and hold everything up to a sequence; as many as
    /// make a part. None if they do not.
    pub(in crate::storage) fn after(
        &self,
        position: Position,
        until: Sequence,
    ) -> Option<Vec<Arc<Batch>>> {
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

    pub(in crate::storage) fn follow(&self, tenant: &Tenant) -> watch::Receiver<Sequence> {
        let mut state = self.lock();
        // As of now, not as of when the caller looked: of what was made known between, nobody
        // would be listed before the next commit.
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

    pub(in crate::storage) fn leave(&self, tenant: &Tenant) {
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
