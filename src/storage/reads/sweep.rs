//! Walking over the entities of a model for someone who decides about each: many at once, and of each
//! only what is needed for that.

use tokio_util::task::AbortOnDropHandle;

use crate::id::EntityId;
use crate::storage::{
    Error, Snapshot,
    port::{Definitions, ModelRow, Reached, ScanPage, ScanRequest},
};

/// How many entities are on a page.
const ROWS: i64 = 512;

/// Up to how many bytes a document is on a page itself; two pages are in memory at a time.
const DOCUMENT_BYTES: i64 = 8 << 10;

/// A task of its own, so that it lets go of its connection however long nobody asks for the page.
type Reading = AbortOnDropHandle<Result<Reached, Error>>;

/// A walk over the entities of a model, a page at a time. While one is looked at, the next is
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
    /// The next page; none at the end. One may be empty although more follow.
    pub async fn next(&mut self) -> Result<Option<ScanPage>, Error> {
        let Some(reading) = self.next.take() else {
            return Ok(None);
        };
        let (page, reached) = reading.await.map_err(|_| Error::Stopped)??;
        self.reached = reached;
        self.next = reached.map(|_| self.read(reached));
        Ok(Some(page))
    }

    /// The id up to which the pages given so far have gone; none once that is the end.
    pub const fn reached(&self) -> Option<EntityId> {
        self.reached
    }

    fn read(&self, after: Option<EntityId>) -> Reading {
        let request = ScanRequest {
            model: self.model,
            after,
            at: self.snapshot.at,
            rows: ROWS,
            document_bytes: DOCUMENT_BYTES,
            lifecycle: self.lifecycle,
        };
        let storage = self.snapshot.storage.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            storage.0.database.scan_page(request).await
        }))
    }
}

impl Snapshot {
    /// Walks the entities of a model that come after an id, in the order of their ids; `lifecycle`
    /// says whether more is to be known of them than their documents.
    pub fn sweep(
        &self,
        definitions: &Definitions,
        lifecycle: bool,
        after: Option<EntityId>,
    ) -> Sweep {
        let mut sweep = Sweep {
            snapshot: self.clone(),
            model: definitions.row,
            lifecycle,
            next: None,
            reached: None,
        };
        if self.tenant.is_some() {
            sweep.next = Some(sweep.read(after));
        }
        sweep
    }
}
