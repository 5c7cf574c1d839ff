//! What is written between two batches and is no commit.

use tokio::sync::oneshot;
use tracing::error;

use super::Committer;
use crate::storage::{Error, sqlite::Upkeep};

/// Something to be written between two batches, and who waits for it.
#[derive(Debug)]
pub(in crate::storage) struct Chore {
    pub(in crate::storage) upkeep: Upkeep,
    pub(in crate::storage) reply: oneshot::Sender<Result<u64, Error>>,
}

impl Committer {
    pub(super) async fn keep_up(&mut self, chore: Chore) {
        self.land().await;
        // Who asked may have gone; that changes nothing.
        let _ = chore.reply.send(self.try_keep_up(&chore.upkeep).await);
    }

    async fn try_keep_up(&mut self, upkeep: &Upkeep) -> Result<u64, Error> {
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        let rows = match writer.keep_up(upkeep).await {
            Ok(rows) => rows,
            Err(error) => {
                error!(%error, "upkeep failed; writes are refused until the storage is well");
                // All of it can be done again, so it does not matter whether it was written.
                self.recover(&[]).await?;
                0
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
