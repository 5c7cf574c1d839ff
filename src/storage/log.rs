//! The log of the database is kept short.

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Error, Storage, committer::Chore, port::Batch};

/// After how many pages the log is copied back, roughly. `SQLite` does it by itself where it gets
/// much longer than that.
const PAGES: usize = 5_000;

/// How many bytes are a page.
const PAGE_BYTES: usize = 4_096;

/// How much the log has grown.
#[derive(Debug, Default)]
pub(super) struct Growth {
    pages: usize,
}

impl Growth {
    /// Counts a batch, and wakes who copies the log back once there is enough of it.
    pub(super) fn add(&mut self, rows: &Batch, bytes: usize, is_long: &Notify) {
        // A row is on pages of a table and of its indexes, which it shares with others.
        self.pages += rows.len() / 2 + bytes / PAGE_BYTES;
        if self.pages >= PAGES {
            self.pages = 0;
            is_long.notify_one();
        }
    }
}

impl Storage {
    /// Copies the log back whenever it has become long, until `stop` is cancelled.
    pub async fn keep_log_short(self, stop: CancellationToken) {
        let Some(mut checkpointer) = self.0.database.checkpointer() else {
            return;
        };
        while stop
            .run_until_cancelled(self.0.long_log.notified())
            .await
            .is_some()
        {
            if let Err(error) = checkpointer.copy_back().await {
                warn!(%error, "the log was not copied back; the next writer does it");
                continue;
            }
            if self.copy_rest_back().await.is_err() {
                break;
            }
        }
        checkpointer.close().await;
    }

    /// Has the committer copy back what is left.
    async fn copy_rest_back(&self) -> Result<(), Error> {
        let (done, is_done) = oneshot::channel();
        let chores = &self.0.chores;
        let sent = chores.send(Chore::CopyBack { done }).await;
        sent.map_err(|_| Error::Stopped)?;
        is_done.await.map_err(|_| Error::Stopped)
    }
}
