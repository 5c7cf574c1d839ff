//! Requests to a server that may be killed at any time.

use std::time::{Duration, Instant};

use interlock::event::{AttributeValue, Event};
use serde_json::Value;

use super::{Connection, PATIENCE, payload_of, request};

/// How long an answer may take before it is asked whether the stream is still there.
const A_WHILE: Duration = Duration::from_millis(200);

/// The answer; none if the connection is lost before.
pub(crate) async fn try_call(
    connection: &Connection,
    kind: &str,
    payload: Value,
    key: Option<&str>,
) -> Option<Value> {
    let mut event = request(kind, &connection.fresh_id(), payload);
    if let Some(key) = key {
        event = event.with("idempotencykey", AttributeValue::String(key.into()));
    }
    answer_of(connection, event).await
}

/// The same of an event.
pub(crate) async fn answer_of(connection: &Connection, event: Event) -> Option<Value> {
    let what = event.kind;
    let mut answers = connection.try_begin(event).await?;
    let begun = Instant::now();
    loop {
        match tokio::time::timeout(A_WHILE, answers.recv()).await {
            Ok(answer) => return answer.as_ref().map(payload_of),
            // The stream may have ended without a word to who has just begun.
            Err(_) if connection.has_ended() => return None,
            Err(_) => assert!(begun.elapsed() < PATIENCE, "no answer to {what}"),
        }
    }
}
