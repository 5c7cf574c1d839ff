//! Search indexes as a database has them, and what is looked for in them
//! (`help/design/storage.md` §6).

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use super::{EntityRow, IndexRow, ModelRow, Version};
use crate::clock::Timestamp;
use crate::entity::{Json, Key, KeyRange, Path, Position};
use crate::id::{EntityId, ModelKey, StateName, Tenant};

/// What can be done with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Writers maintain it, and what was there before is being added.
    Filling,
    /// It finds everything.
    Ready,
    /// Nobody uses it any more; its rows are being removed.
    Dropping,
}

impl IndexState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filling => "FILLING",
            Self::Ready => "READY",
            Self::Dropping => "DROPPING",
        }
    }

    pub(in crate::storage) const fn code(self) -> i64 {
        match self {
            Self::Filling => 0,
            Self::Ready => 1,
            Self::Dropping => 2,
        }
    }

    pub(in crate::storage) fn from_code(code: i64) -> Option<Self> {
        [Self::Filling, Self::Ready, Self::Dropping]
            .into_iter()
            .find(|state| state.code() == code)
    }
}

/// An index of the entities of one model by the values at one path.
#[derive(Debug, Clone)]
pub struct Index {
    pub row: IndexRow,
    pub(in crate::storage) model: ModelRow,
    pub path: Path,
    pub state: IndexState,
    /// Asked for, not made because it seemed useful.
    pub declared: bool,
    pub(in crate::storage) of: Arc<OfModel>,
    pub(in crate::storage) use_of: Use,
    /// The entity up to which it has been filled.
    pub(in crate::storage) filled_to: Option<EntityId>,
}

/// Which model an index belongs to, for those who receive it.
#[derive(Debug)]
pub(in crate::storage) struct OfModel {
    pub(in crate::storage) tenant: Tenant,
    pub(in crate::storage) model: ModelKey,
}

/// When searches used an index. All descriptions of one index share it.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Use {
    /// In microseconds.
    last: Arc<AtomicI64>,
    /// What the database knows of it.
    written: i64,
}

impl Use {
    pub(in crate::storage) fn new(written: Option<i64>) -> Self {
        let written = written.unwrap_or_default();
        Self {
            last: Arc::new(AtomicI64::new(written)),
            written,
        }
    }

    /// Continues from what is known of it already, together with those who know that.
    pub(in crate::storage) fn share(&mut self, known: &Self) {
        self.last = Arc::clone(&known.last);
    }

    fn note(&self, now: Timestamp) {
        self.last.fetch_max(now.micros(), Ordering::Relaxed);
    }
}

impl Index {
    /// When a search used it last.
    pub(in crate::storage) fn used(&self) -> Timestamp {
        Timestamp::from_micros(self.use_of.last.load(Ordering::Relaxed))
    }

    /// Whether it was used so much later than the database knows, in microseconds.
    pub(in crate::storage) fn is_used_unwritten(&self, later: i64) -> bool {
        self.used().micros().saturating_sub(self.use_of.written) > later
    }

    /// Counts as used from now on.
    pub(in crate::storage) fn note_used(&self, now: Timestamp) {
        self.use_of.note(now);
    }
}

/// Where to look for entities.
#[derive(Debug, Clone)]
pub enum Probe {
    Keys(IndexRow, KeyRange),
    State(StateName),
}

impl Probe {
    pub(in crate::storage) const fn index(&self) -> Option<IndexRow> {
        match self {
            Self::Keys(index, _) => Some(*index),
            Self::State(_) => None,
        }
    }
}

/// Where an index has an entity, in its order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyed {
    pub key: Key,
    pub(in crate::storage) row: EntityRow,
}

/// A part of an index, in its order.
#[derive(Debug)]
pub(in crate::storage) struct Stretch {
    pub(in crate::storage) index: IndexRow,
    pub(in crate::storage) range: KeyRange,
    pub(in crate::storage) after: Option<Keyed>,
    pub(in crate::storage) descending: bool,
    pub(in crate::storage) limit: usize,
}

/// What an index has in a range.
#[derive(Debug, Default)]
pub struct Ordered {
    pub found: Vec<(Keyed, Version)>,
    /// Whether the range may have more.
    pub goes_on: bool,
    /// The newest position that was taken by then; none if nothing was written ever.
    pub newest: Option<Position>,
}

/// An entity as it is, to be put into an index.
#[derive(Debug)]
pub(in crate::storage) struct Indexable {
    pub(in crate::storage) entity: EntityRow,
    pub(in crate::storage) id: EntityId,
    pub(in crate::storage) position: Position,
    pub(in crate::storage) state: StateName,
    pub(in crate::storage) document: Json,
}

/// A document of an entity that is being deleted, to be taken out of the indexes.
#[derive(Debug)]
pub(in crate::storage) struct Leaving {
    pub(in crate::storage) entity: EntityRow,
    pub(in crate::storage) model: ModelRow,
    pub(in crate::storage) document: Json,
}
