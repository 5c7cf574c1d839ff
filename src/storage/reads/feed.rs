//! The feed: every version in the order of commits, once (`help/design/storage.md` §8).
//!
//! A reader knows how far it has come, and nothing else is kept for it. What it has missed it
//! reads from the table, a page at a time; what is committed while it waits it finds in a ring of
//! recent commits that all readers share. Whether the ring has something is never a question of
//! correctness: what it does not have is in the table.

use std::sync::Arc;

use tokio::sync::{SemaphorePermit, watch};

use crate::entity::{Changed, Position, Sequence};
use crate::id::{ModelKey, StateName, Tenant};
use crate::storage::{
    Error, Storage,
    memory::recent::{Batch, PART, PART_BYTES, weight},
    port::{ChangeRange, ModelRow, TenantRow, Version},
};

/// How many positions one statement looks at, so that a filter under which little passes does not
/// make a long read of it.
const SPAN: i64 = 16_384;

/// Which changes a reader wants, and what of them.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of this model only.
    pub model: Option<ModelKey>,
    /// After which the entity is in one of these states only.
    pub states: Option<Vec<StateName>>,
    pub documents: bool,
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
        self.0.recent.reading().acquire().await.ok()
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
        let reading = inner.recent.reading().acquire().await.ok();
        let (changes, reached) = inner.database.changes(&range).await?;
        self.reached = reached;
        if changes.is_empty() && reached < Position(newest.0) {
            // There may be nothing for long: the first commit on another server leaves positions
            // out. What is committed up to the newest sequence is there.
            let next = inner.database.next_version(reached).await?;
            let before = next.map_or(newest.0, |next| newest.0.min(next.0 - 1));
            self.reached = Position(before.max(reached.0));
        }
        drop(reading);
        Ok(changes)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.storage.0.recent.leave(&self.tenant);
    }
}
