//! Whether writes are taken, and whether the database is sound.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::Storage;
use crate::telemetry::measure;

/// For how long damaged pages are looked for once one was read.
const SEARCH_TIME: Duration = Duration::from_secs(30);

/// How long is waited before they are looked for again.
const SEARCH_PAUSE: Duration = Duration::from_mins(1);

/// Whether the database has answered that a page is damaged. It is one for the process, as the
/// database is: errors know of nothing they could say it to.
static DAMAGED: AtomicBool = AtomicBool::new(false);
static DAMAGE_FOUND: Notify = Notify::const_new();

/// Takes note of a damaged page, which ends readiness until the service is started again.
pub(super) fn note_damage() {
    measure::damaged();
    DAMAGED.store(true, Ordering::Release);
    DAMAGE_FOUND.notify_one();
}

/// Set by the committer, read by everyone.
#[derive(Debug, Default)]
pub(super) struct Health {
    unwell: AtomicBool,
}

impl Health {
    pub(super) fn takes_writes(&self) -> bool {
        !self.unwell.load(Ordering::Acquire)
    }

    /// Whether writes are taken and no damaged page was found.
    pub(super) fn is_well(&self) -> bool {
        self.takes_writes() && !DAMAGED.load(Ordering::Acquire)
    }

    pub(super) fn set_well(&self, well: bool) {
        self.unwell.store(!well, Ordering::Release);
    }
}

impl Storage {
    /// Names damaged pages in the log whenever one was read, until `stop` is cancelled.
    pub async fn name_damage(self, stop: CancellationToken) {
        let naming = async {
            loop {
                DAMAGE_FOUND.notified().await;
                error!(
                    "a damaged page was read; the service is not ready, what is elsewhere is still \
                     read and written; looking for the page"
                );
                if let Err(error) = self.0.database.name_damage(SEARCH_TIME).await {
                    warn!(%error, "the damaged pages could not be looked for");
                }
                tokio::time::sleep(SEARCH_PAUSE).await;
            }
        };
        stop.run_until_cancelled(naming).await;
    }
}
