//! Many entities at once, and of each only what is needed to decide whether it is wanted.

use super::ModelRow;
use crate::clock::Timestamp;
use crate::entity::{Image, Position, Sequence};
use crate::id::{EntityId, TransactionId};

/// Some entities, in the order of their ids.
#[derive(Debug)]
pub struct ScanPage {
    rows: Vec<Entry>,
    documents: String,
    lifecycles: Option<Lifecycles>,
}

#[derive(Debug)]
pub(in crate::storage) struct Entry {
    pub(in crate::storage) id: EntityId,
    pub(in crate::storage) position: Position,
    /// Where its document is; none if it is too large for a page.
    pub(in crate::storage) document: Option<(usize, usize)>,
    /// Its number among [`Lifecycles::all`].
    pub(in crate::storage) index: usize,
}

/// What is known beside the documents.
#[derive(Debug)]
pub(in crate::storage) struct Lifecycles {
    pub(in crate::storage) states: String,
    pub(in crate::storage) transitions: String,
    pub(in crate::storage) all: Vec<LifecycleEntry>,
}

#[derive(Debug)]
pub(in crate::storage) struct LifecycleEntry {
    pub(in crate::storage) state: (usize, usize),
    pub(in crate::storage) transition: (usize, usize),
    pub(in crate::storage) created: Timestamp,
    pub(in crate::storage) updated: Timestamp,
    pub(in crate::storage) transaction: TransactionId,
}

/// One of the entities of a page.
#[derive(Debug, Clone, Copy)]
pub struct ScanRow<'a> {
    pub id: EntityId,
    pub position: Position,
    /// None if it is too large for a page: then it is to be read by its position.
    pub document: Option<&'a str>,
    /// None if it was not asked for.
    pub lifecycle: Option<ScanLifecycle<'a>>,
}

/// What is known of an entity beside its document.
#[derive(Debug, Clone, Copy)]
pub struct ScanLifecycle<'a> {
    pub state: &'a str,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// As [`Image::transition_for_latest_save`].
    pub previous_transition: &'a str,
    pub transaction: TransactionId,
}

impl ScanPage {
    pub(in crate::storage) fn new(
        mut rows: Vec<Entry>,
        documents: String,
        lifecycles: Option<Lifecycles>,
    ) -> Self {
        rows.sort_unstable_by_key(|row| row.id);
        Self {
            rows,
            documents,
            lifecycles,
        }
    }

    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The entity of that number.
    pub fn row(&self, index: usize) -> Option<ScanRow<'_>> {
        let entry = self.rows.get(index)?;
        let lifecycle = self.lifecycles.as_ref().and_then(|known| {
            let lifecycle = known.all.get(entry.index)?;
            let asked = known
                .transitions
                .get(lifecycle.transition.0..lifecycle.transition.1)?;
            Some(ScanLifecycle {
                state: known.states.get(lifecycle.state.0..lifecycle.state.1)?,
                created: lifecycle.created,
                updated: lifecycle.updated,
                previous_transition: if asked.is_empty() {
                    Image::LOOPBACK
                } else {
                    asked
                },
                transaction: lifecycle.transaction,
            })
        });
        Some(ScanRow {
            id: entry.id,
            position: entry.position,
            document: entry
                .document
                .and_then(|(from, to)| self.documents.get(from..to)),
            lifecycle,
        })
    }
}

/// What a page is asked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct ScanRequest {
    pub(in crate::storage) model: ModelRow,
    pub(in crate::storage) after: Option<EntityId>,
    pub(in crate::storage) at: Sequence,
    pub(in crate::storage) rows: i64,
    pub(in crate::storage) document_bytes: i64,
    pub(in crate::storage) lifecycle: bool,
}

/// A page, and how far it goes; none where that is to the end.
pub(in crate::storage) type Reached = (ScanPage, Option<EntityId>);
