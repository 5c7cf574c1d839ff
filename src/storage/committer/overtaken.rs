//! What the committer does where other processes write to the database, too (STORAGE.md §13).
//!
//! It validates by what it knows as of one commit, and what it writes has to follow that one. If
//! another process was first, nothing is written: what is new is read, and everything is validated
//! again.

use super::{Committer, Refused};
use crate::clock::Timestamp;
use crate::entity::Sequence;
use crate::id::TransactionId;
use crate::storage::{
    Error,
    port::{CommitRow, Link, Newest},
};

impl Committer {
    /// Reads how far other processes have come, if that is not known.
    pub(super) async fn catch_up(&mut self) -> Result<(), Error> {
        if !self.is_behind {
            return Ok(());
        }
        // Of what was written last, this process knows more than the database says.
        self.land().await;
        if let Some(newest) = self.storage.0.database.newest().await? {
            self.follow(newest).await?;
        }
        self.is_behind = false;
        Ok(())
    }

    /// From here on everything is validated as of a commit of another process.
    async fn follow(&mut self, newest: Newest) -> Result<(), Error> {
        self.newest_entity = None;
        self.newest_task = None;
        self.newest_topic = None;
        // What was not written may have been given later positions.
        self.next = newest.sequence.0 + 1;
        if newest.sequence <= *self.publish.borrow() {
            return Ok(());
        }
        let storage = self.storage.clone();
        let inner = &storage.0;
        inner.instants.raise(newest.at);
        inner.cache.clear();
        inner.records.clear();
        inner.runs.clear();
        if newest.revision != self.revision {
            inner.catalog.clear();
            storage.reload_indexes().await?;
            self.revision = newest.revision;
        }
        self.publish.send_replace(newest.sequence);
        inner.recent.skip(newest.sequence);
        Ok(())
    }

    /// Whether what was refused has to be validated again, because another process has committed
    /// since the commit that it was validated by.
    pub(super) async fn is_overtaken(
        &mut self,
        refused: &[Refused],
        follows: i64,
    ) -> Result<bool, Error> {
        if refused.is_empty() || !self.storage.0.database.is_shared() {
            return Ok(false);
        }
        let newest = self.storage.0.database.newest().await?;
        let is_overtaken = newest.is_some_and(|newest| newest.sequence.0 > follows);
        self.is_behind |= is_overtaken;
        Ok(is_overtaken)
    }

    /// The newest commit that everything is validated by.
    pub(super) const fn follows(&self) -> i64 {
        self.next - 1
    }

    /// A commit that holds no unit.
    pub(super) fn link(&self, at: Timestamp) -> Link {
        Link {
            follows: self.follows(),
            commit: CommitRow {
                seq: self.next,
                id: TransactionId::fresh().uuid(),
                entry: None,
                tenant: 0,
                at: at.micros(),
                author: 0,
                executor: None,
            },
        }
    }

    /// A commit that holds no unit is there.
    pub(super) fn linked(&mut self) {
        let sequence = Sequence(self.next);
        self.next += 1;
        self.revision += 1;
        self.publish.send_replace(sequence);
    }
}
