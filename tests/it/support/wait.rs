//! Waiting for what a test wants to see.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::PATIENCE;

/// How often it is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    found(what, async || holds().await.then_some(())).await;
}

/// Waits for a value.
pub(crate) async fn found<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            sleep(BETWEEN_LOOKS).await;
        }
    };
    let asked = timeout(PATIENCE, asking).await;
    asked.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}
