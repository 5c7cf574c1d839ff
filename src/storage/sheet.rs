//! Walking over the entities of a model for someone who judges them: many at once, and of each
//! only what is needed for that.

use tokio_util::task::AbortOnDropHandle;

use super::{Definitions, Error, ModelRow, Snapshot};
use crate::clock::Timestamp;
use crate::entity::{Image, Position, Sequence};
use crate::id::{EntityId, TransactionId};

/// How many entities are on a sheet.
const ROWS: i64 = 512;

/// Up to how many bytes a document is on a sheet itself; two sheets are in memory at a time.
const DOCUMENT_BYTES: i64 = 8 << 10;

/// Some entities, in the order of their ids.
#[derive(Debug)]
pub struct Sheet {
    rows: Vec<Entry>,
    documents: String,
    lifecycles: Option<Lifecycles>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: EntityId,
    pub(super) position: Position,
    /// Where its document is; none if it is too large for a sheet.
    pub(super) document: Option<(usize, usize)>,
    /// Its number among [`Lifecycles::all`].
    pub(super) index: usize,
}

/// What is known beside the documents.
#[derive(Debug)]
pub(super) struct Lifecycles {
    pub(super) states: String,
    pub(super) transitions: String,
    pub(super) all: Vec<LifecycleEntry>,
}

#[derive(Debug)]
pub(super) struct LifecycleEntry {
    pub(super) state: (usize, usize),
    pub(super) transition: (usize, usize),
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    pub(super) transaction: TransactionId,
}

/// One of the entities of a sheet.
#[derive(Debug, Clone, Copy)]
pub struct SheetRow<'a> {
    pub id: EntityId,
    pub position: Position,
    /// None if it is too large for a sheet: then it is to be read by its position.
    pub document: Option<&'a str>,
    /// None if it was not asked for.
    pub lifecycle: Option<SheetLifecycle<'a>>,
}

/// What is known of an entity beside its document.
#[derive(Debug, Clone, Copy)]
pub struct SheetLifecycle<'a> {
    pub state: &'a str,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// As [`Image::transition_for_latest_save`].
    pub previous_transition: &'a str,
    pub transaction: TransactionId,
}

impl Sheet {
    pub(super) fn new(
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

    /// A sheet of these versions, with everything that is known of them.
    #[cfg(test)]
    pub(super) fn of(versions: &[super::Version]) -> Self {
        let (mut rows, mut documents) = (Vec::new(), String::new());
        let mut known = Lifecycles {
            states: String::new(),
            transitions: String::new(),
            all: Vec::new(),
        };
        let add = |text: &str, to: &mut String| {
            let from = to.len();
            to.push_str(text);
            (from, to.len())
        };
        for (index, version) in versions.iter().enumerate() {
            let image = &version.image;
            rows.push(Entry {
                id: image.id,
                position: version.position,
                document: Some(add(image.document.as_str(), &mut documents)),
                index,
            });
            known.all.push(LifecycleEntry {
                state: add(image.state.as_str(), &mut known.states),
                transition: add(image.transition_for_latest_save(), &mut known.transitions),
                created: image.created,
                updated: image.updated,
                transaction: image.transaction,
            });
        }
        Self::new(rows, documents, Some(known))
    }

    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The entity of that number.
    pub fn row(&self, index: usize) -> Option<SheetRow<'_>> {
        let entry = self.rows.get(index)?;
        let lifecycle = self.lifecycles.as_ref().and_then(|known| {
            let lifecycle = known.all.get(entry.index)?;
            let asked = known
                .transitions
                .get(lifecycle.transition.0..lifecycle.transition.1)?;
            Some(SheetLifecycle {
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
        Some(SheetRow {
            id: entry.id,
            position: entry.position,
            document: entry
                .document
                .and_then(|(from, to)| self.documents.get(from..to)),
            lifecycle,
        })
    }
}

/// What a sheet is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sheeting {
    pub(super) model: ModelRow,
    pub(super) after: Option<EntityId>,
    pub(super) at: Sequence,
    pub(super) rows: i64,
    pub(super) document_bytes: i64,
    pub(super) lifecycle: bool,
}

/// A sheet, and how far it goes; none where that is to the end.
pub(super) type Reached = (Sheet, Option<EntityId>);

/// A task of its own, so that it lets go of its connection however long nobody asks for the sheet.
type Reading = AbortOnDropHandle<Result<Reached, Error>>;

/// A walk over the entities of a model, a sheet at a time. While one is looked at, the next is
/// being read.
#[derive(Debug)]
pub struct Sweep {
    snapshot: Snapshot,
    model: ModelRow,
    lifecycle: bool,
    next: Option<Reading>,
    reached: Option<EntityId>,
}

impl Sweep {
    /// The next sheet; none at the end. One may be empty although more follow.
    pub async fn next(&mut self) -> Result<Option<Sheet>, Error> {
        let Some(reading) = self.next.take() else {
            return Ok(None);
        };
        let (sheet, reached) = reading.await.map_err(|_| Error::Stopped)??;
        self.reached = reached;
        self.next = reached.map(|_| self.read(reached));
        Ok(Some(sheet))
    }

    /// The id up to which the sheets given so far have gone; none once that is the end.
    pub const fn reached(&self) -> Option<EntityId> {
        self.reached
    }

    fn read(&self, after: Option<EntityId>) -> Reading {
        let sheeting = Sheeting {
            model: self.model,
            after,
            at: self.snapshot.at,
            rows: ROWS,
            document_bytes: DOCUMENT_BYTES,
            lifecycle: self.lifecycle,
        };
        let storage = self.snapshot.storage.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            storage.0.database.sheet(sheeting).await
        }))
    }
}

impl Snapshot {
    /// Walks the entities of a model in the order of their ids; `lifecycle` says whether more is
    /// to be known of them than their documents.
    pub fn sweep(&self, definitions: &Definitions, lifecycle: bool) -> Sweep {
        let mut sweep = Sweep {
            snapshot: self.clone(),
            model: definitions.row,
            lifecycle,
            next: None,
            reached: None,
        };
        if self.tenant.is_some() {
            sweep.next = Some(sweep.read(None));
        }
        sweep
    }
}
