//! What is done between two batches and is not a commit.

use tracing::{error, warn};

use super::{Committer, answer_early, overtaken::Rounds};
use crate::clock::Timestamp;
use crate::storage::{
    Error,
    chore::{Chore, Reply},
    port::{Cause, KeptUp, Upkeep},
};

impl Committer {
    /// The caller may be gone; that changes nothing.
    pub(super) async fn keep_up(&mut self, chore: Chore) {
        self.land().await;
        match chore {
            Chore::Write { upkeep, mut reply } => {
                // What is remembered of a request is answered to nobody before it is on the disk.
                let storage = self.storage.clone();
                let instants = &storage.0.instants;
                let at = upkeep.outcome().map(|_| instants.stamp(storage.now(), 1));
                let written = self.try_keep_up(&upkeep, at, &mut reply).await;
                self.end_turn().await;
                if let Some(at) = at {
                    instants.finish(at);
                }
                let _ = reply.send(written);
            }
            Chore::CopyBack { done } => {
                if let Some(writer) = &mut self.writer
                    && let Err(error) = writer.copy_back().await
                {
                    warn!(%error, "the log was not copied back; it grows until it is");
                }
                let _ = done.send(());
            }
        }
    }

    async fn try_keep_up(
        &mut self,
        upkeep: &Upkeep,
        at: Option<Timestamp>,
        reply: &mut Reply<u64>,
    ) -> Result<u64, Error> {
        if let Upkeep::ForgetRuns { runs, .. } = upkeep {
            // From here on a unit that has read one of them gets a conflict.
            self.storage.0.runs.removed(runs);
        }
        let is_link = upkeep.is_link() && self.storage.0.database.is_shared();
        let mut rounds = Rounds::default();
        let rows = loop {
            self.catch_up().await?;
            if let Upkeep::Identities { seen, .. } = upkeep
                && self.storage.identity_changes() > *seen
            {
                return Err(Error::Conflict);
            }
            let stamped = is_link.then(|| self.storage.0.instants.stamp(self.storage.now(), 1));
            let link = stamped.map(|at| self.link(at, upkeep.revises()));
            let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
            let written = writer.keep_up(upkeep, link.as_ref()).await;
            if let Ok(KeptUp::Done(rows)) = written {
                match stamped {
                    Some(at) => self.linked(at, upkeep),
                    None if rows > 0 => self.storage.freed(upkeep),
                    None => {}
                }
            }
            if let Some(at) = stamped {
                self.storage.0.instants.finish(at);
            }
            match written {
                Ok(KeptUp::Done(rows)) => break rows,
                Ok(KeptUp::Gone) => break 0,
                Ok(KeptUp::Overtaken) => {
                    self.is_behind = true;
                    self.next_round(&mut rounds).await?;
                }
                Err(failure) if failure.cause() == Cause::Rejected => {
                    error!(error = %failure, "the database rejected a change of indexes, identities or stored runs");
                    return Err(Error::NotCommitted);
                }
                Err(failure) => {
                    let mut answer_failed = |error| answer_early(reply, error);
                    // The others can be done again, so it does not matter whether they were written.
                    let is_once = matches!(upkeep, Upkeep::Identities { .. });
                    let commit = link.as_ref().filter(|_| is_once).map(|link| &link.commit);
                    let commits = commit.map_or(&[][..], std::slice::from_ref);
                    self.recover(commits, at, &failure, &mut answer_failed)
                        .await?;
                    break 0;
                }
            }
        };
        if let Some(outcome) = upkeep.outcome() {
            let outcome = std::slice::from_ref(outcome);
            self.sweeper.note(outcome, self.storage.now());
        }
        if upkeep.changes_indexes() {
            self.storage.reload_indexes().await?;
        }
        Ok(rows)
    }
}
