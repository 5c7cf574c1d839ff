//! What the committer does when the database fails it.

use std::time::Duration;

use tracing::{error, info, warn};

use super::{Committer, answer, flight::Judged, refuse_all};
use crate::storage::{Error, sqlite::Batch};

/// How long the committer waits before it tries a failed storage again.
const RECOVERY_PAUSE: Duration = Duration::from_secs(1);

impl Committer {
    /// Answers a batch that could not be written or made durable, after what became of it.
    pub(super) async fn settle(&mut self, judged: Judged, error: sqlx::Error) {
        match self.find_out(&judged.rows, error).await {
            Ok(()) => self.announce(judged),
            Err(error) => {
                self.storage.0.instants.finish(judged.stamped);
                let survivors = judged.survivors.into_iter();
                refuse_all(survivors.map(|survivor| survivor.submission), &error);
            }
        }
    }

    /// What became of rows, after something failed.
    async fn find_out(&mut self, rows: &Batch, error: sqlx::Error) -> Result<(), Error> {
        // A row that the database refuses was rolled back; anything else may have been written.
        if error
            .as_database_error()
            .is_some_and(|error| !matches!(error.kind(), sqlx::error::ErrorKind::Other))
        {
            error!(%error, "the database refused a batch that was judged fit");
            return Err(error.into());
        }
        let sequences: Vec<_> = rows.commits.iter().map(|commit| commit.seq).collect();
        error!(%error, units = sequences.len(), "a commit failed; writes are refused until the storage is well");
        self.recover(&sequences).await
    }

    /// Refuses writes until the database can be used again, then says whether the commits are there.
    pub(super) async fn recover(&mut self, sequences: &[i64]) -> Result<(), Error> {
        self.storage.0.health.set_well(false);
        loop {
            let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
            let known = match writer.reopen().await {
                Ok(()) => writer.knows(sequences).await,
                Err(error) => Err(error),
            };
            match known {
                Ok(known) => {
                    self.storage.0.health.set_well(true);
                    info!(written = known, "the storage is well again");
                    return if known {
                        Ok(())
                    } else {
                        Err(Error::Unavailable)
                    };
                }
                Err(error) => warn!(%error, "the storage is not well yet"),
            }
            self.refuse_waiting();
            tokio::time::sleep(RECOVERY_PAUSE).await;
        }
    }

    fn refuse_waiting(&mut self) {
        let waiting = self
            .left_over
            .take()
            .into_iter()
            .chain(std::iter::from_fn(|| self.inbox.try_recv().ok()));
        for submission in waiting {
            answer(submission, Err(Error::Unavailable));
        }
    }
}
