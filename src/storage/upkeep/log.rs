//! The log of the database is kept short.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::storage::{Error, Storage, chore::Chore};

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
