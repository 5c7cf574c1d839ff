//! Waiting for what a test wants to see.

use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{Connection, PATIENCE, code};

/// How often it is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Waits for a moment, in which the processors are others'.
pub(crate) async fn between_looks() {
    sleep(BETWEEN_LOOKS).await;
}

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
            between_looks().await;
        }
    };
    let asked = timeout(PATIENCE, asking).await;
    asked.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// Waits until a run is gone, which is never answered otherwise.
pub(crate) async fn until_removed(connection: &Connection, run: &str) {
    until("the run is removed", async || {
        let answer = connection.call("RunGetRequest", json!({"runId": run}));
        let answer = answer.await;
        let is_removed = answer["error"].is_object();
        assert!(!is_removed || code(&answer) == "RUN_NOT_FOUND", "{answer}");
        is_removed
    })
    .await;
}
