//! Removing the events of topics that are past their time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::storage::{Error, Storage, port::Upkeep};

/// How many events are removed at once.
const REMOVED_AT_ONCE: i64 = 1_000;

/// How long is waited at least, and at most, before events are looked for.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));

impl Storage {
    /// Removes the events of topics once they are so old, until `stop` is cancelled.
    pub async fn forget_topic_events(self, age: Duration, stop: CancellationToken) {
        let forgetting = async {
            loop {
                tokio::time::sleep((age / 2).clamp(PAUSE.0, PAUSE.1)).await;
                while match self.forget_some_topic_events(age).await {
                    Ok(removed) => removed > 0,
                    Err(error) => {
                        warn!(%error, "old events of topics could not be removed; trying again");
                        false
                    }
                } {}
            }
        };
        stop.run_until_cancelled(forgetting).await;
    }

    /// Removes the oldest; how many that were.
    async fn forget_some_topic_events(&self, age: Duration) -> Result<u64, Error> {
        let before = self.now().before(age);
        let old = self.0.database.topic_old(before, REMOVED_AT_ONCE).await?;
        let Some(until) = old.iter().map(|(_, newest, _)| *newest).max() else {
            return Ok(0);
        };
        let bytes = old.iter().map(|(tenant, _, bytes)| (tenant, *bytes));
        self.free(bytes, |freed| Upkeep::ForgetTopicEvents {
            until,
            before,
            freed,
        })
        .await
    }
}
