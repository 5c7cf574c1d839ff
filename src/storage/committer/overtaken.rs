//! What the committer does where other processes write to the database, too
//! (`help/design/storage.md` §13).
//!
//! It validates by what it knows as of one commit, and what it writes has to follow that one. If
//! another process was first, nothing is written: what is new is read, and everything is validated
//! again.

use std::time::Duration;

use tracing::debug;

use super::{Committer, Refused};
use crate::clock::Timestamp;
use crate::entity::Sequence;
use crate::id::{Tenant, TransactionId};
use crate::storage::{
    Error,
    backend::Writer,
    port::{Cause, CommitRow, Failure, Link, Newest, TenantRow, Upkeep},
};

/// How long a turn lasts while more waits to be written. A shorter turn is passed on more often, which
/// costs as much as a small batch; during a longer turn the other processes wait longer.
const TURN: Duration = Duration::from_millis(5);

/// How often something is tried that other processes overtake. By far fewer are needed where they
/// take turns: what is overtaken that often does not follow what is there.
const ROUNDS_MAX: u32 = 100;

/// The attempts at one thing.
#[derive(Debug, Default)]
pub(super) struct Rounds(u32);

impl Committer {
    /// Another process was first: has this one wait for its turn, or ends that after many rounds. Then
    /// writes are refused until the database has taken an empty commit of this process.
    pub(super) async fn next_round(&mut self, rounds: &mut Rounds) -> Result<(), Error> {
        rounds.0 += 1;
        if rounds.0 < ROUNDS_MAX {
            self.take_turn().await;
            return Ok(());
        }
        self.land().await;
        let always = "other processes were reported to be first each time";
        let failure = Failure::new(Cause::Away, always);
        let _ = self.recover(&[], None, &failure, &mut |_| {}).await;
        Err(Error::Unavailable)
    }

    /// Reads how far other processes have come, if they may have come further than is known.
    pub(super) async fn catch_up(&mut self) -> Result<(), Error> {
        if !self.storage.0.database.is_shared() {
            return Ok(());
        }
        let is_known = self.storage.latest().0 > self.follows();
        if !self.is_behind && !is_known {
            return Ok(());
        }
        // Of what was written last, this process knows more than the database says.
        self.land().await;
        if self.is_behind {
            self.storage.refresh().await?;
        }
        self.follow();
        self.is_behind = false;
        Ok(())
    }

    /// Has others that were overtaken wait until this process has written. It is only fair; what is
    /// wrong with the connection shows when it writes.
    pub(super) async fn take_turn(&mut self) {
        self.land().await;
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.take_turn().await
        {
            debug!(%error, "a batch is written without a turn");
        }
    }

    /// Takes a turn before a batch is tried, if other processes write as often, and reads what they
    /// have written until then. If that is nothing, the next batch is tried without a turn.
    pub(super) async fn take_contended_turn(&mut self) -> Result<(), Error> {
        if !self.is_contended || self.has_turn() {
            return Ok(());
        }
        let before = self.follows();
        self.take_turn().await;
        self.is_behind = true;
        self.catch_up().await?;
        self.is_contended = self.follows() > before;
        Ok(())
    }

    /// Whether others wait until this process has written.
    pub(super) fn has_turn(&self) -> bool {
        self.turn_age().is_some()
    }

    fn turn_age(&self) -> Option<Duration> {
        self.writer.as_ref().and_then(Writer::turn_age)
    }

    /// Ends a turn, unless it has begun a moment ago and more waits to be written.
    pub(super) async fn pass_turn(&mut self) {
        let has_more = !self.waiting.is_empty() || !self.inbox.is_empty();
        if !has_more || self.turn_age().is_none_or(|age| age >= TURN) {
            if self.has_turn() {
                // Those who wait for the batch do not wait for the end of the turn, too.
                self.land().await;
            }
            self.end_turn().await;
        }
    }

    pub(super) async fn end_turn(&mut self) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.end_turn().await
        {
            debug!(%error, "the end of a turn was not answered");
        }
    }

    /// From here on everything is validated as of the newest commit that was applied.
    fn follow(&mut self) {
        let newest = self.storage.0.applied.newest();
        self.newest_entity = None;
        self.newest_topic = None;
        // What was not written may have been given later positions.
        self.next = newest.sequence.0 + 1;
        self.revision = newest.revision;
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
        // The pulse would wait for the batch in flight, which only this task can announce.
        self.land().await;
        self.storage.refresh().await?;
        let is_overtaken = self.storage.latest().0 > follows;
        self.is_behind |= is_overtaken;
        Ok(is_overtaken)
    }

    /// The newest commit that everything is validated by.
    pub(super) const fn follows(&self) -> i64 {
        self.next - 1
    }

    /// A commit that holds no unit.
    pub(super) fn link(&self, at: Timestamp, revises: bool) -> Link {
        Link {
            follows: self.follows(),
            revises,
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
    pub(super) fn linked(&mut self, at: Timestamp, upkeep: &Upkeep) {
        let sequence = Sequence(self.next);
        self.next += 1;
        self.revision += i64::from(upkeep.revises());
        self.applied(sequence, at, upkeep.freed());
    }

    /// A commit of this process is there that brings nothing for the caches but what it has freed.
    pub(super) fn applied(
        &self,
        sequence: Sequence,
        at: Timestamp,
        freed: &[(TenantRow, Tenant, i64)],
    ) {
        let newest = Newest {
            sequence,
            at,
            revision: self.revision,
        };
        self.storage.take_over_link(newest, freed);
    }
}
