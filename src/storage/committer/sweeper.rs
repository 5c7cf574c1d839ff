//! Deleting what is remembered of requests and past its time.

use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::clock::Timestamp;
use crate::storage::{Storage, backend::Writer, port::OutcomeRow};

/// How many outcomes are deleted at once.
const SWEPT_AT_ONCE: i64 = 1_000;

/// The pause until more of what has expired is deleted.
const BETWEEN_SWEEPS: Duration = Duration::from_millis(10);

/// How long is waited at least, and at most, before outcomes are deleted.
const SWEEP_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));

/// Deletes outcomes that are past their time, in the committer's spare moments.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    /// None while nothing is stored.
    due: Option<Instant>,
}

impl Sweeper {
    /// Returns when there may be something to delete.
    pub(super) async fn is_due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Finds out when there will be.
    pub(super) async fn plan(&mut self, storage: &Storage) {
        match storage.0.database.next_expiry().await {
            Ok(None) => self.due = None,
            Ok(Some(at)) => self.wait(Timestamp::from_micros(at).since(storage.now())),
            Err(error) => {
                warn!(%error, "could not look for what has expired; trying again");
                self.wait(SWEEP_PAUSE.1);
            }
        }
    }

    /// Takes note of what has been stored.
    pub(super) fn note(&mut self, rows: &[OutcomeRow], now: Timestamp) {
        if let (None, Some(stored)) = (self.due, rows.first()) {
            self.wait(Timestamp::from_micros(stored.expires).since(now));
        }
    }

    fn wait(&mut self, pause: Duration) {
        self.due = Some(Instant::now() + pause.clamp(SWEEP_PAUSE.0, SWEEP_PAUSE.1));
    }

    pub(super) async fn sweep(&mut self, storage: &Storage, writer: Option<&mut Writer>) {
        let Some(writer) = writer else { return };
        match writer.sweep(storage.now(), SWEPT_AT_ONCE).await {
            // There may be more: what is stored faster than it is deleted would grow without end.
            Ok(swept) if swept >= SWEPT_AT_ONCE.unsigned_abs() => {
                self.due = Some(Instant::now() + BETWEEN_SWEEPS);
            }
            Ok(_) => self.plan(storage).await,
            Err(error) => {
                warn!(%error, "what has expired could not be deleted; trying again");
                self.wait(SWEEP_PAUSE.1);
            }
        }
    }
}
