//! Finding out which pages are damaged.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::storage::{Storage, damage};

/// For how long damaged pages are looked for once one was read.
const SEARCH_TIME: Duration = Duration::from_secs(30);

/// How long is waited before they are looked for again.
const SEARCH_PAUSE: Duration = Duration::from_mins(1);

impl Storage {
    /// Names damaged pages in the log whenever one was read, until `stop` is cancelled.
    pub async fn name_damage(self, stop: CancellationToken) {
        let naming = async {
            loop {
                damage::found().await;
                error!(
                    "a damaged page was read; the service is not ready, what is elsewhere is still \
                     read and written; looking for the page"
                );
                if let Err(error) = self.0.database.name_damage(SEARCH_TIME).await {
                    warn!(%error, "could not look for damaged pages");
                }
                tokio::time::sleep(SEARCH_PAUSE).await;
            }
        };
        stop.run_until_cancelled(naming).await;
    }
}
