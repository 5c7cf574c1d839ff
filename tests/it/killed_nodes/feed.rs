//! A reader of the change feed at each node, which resumes after the last change that it has seen.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use interlock::event::EventType;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::nodes::Nodes;
use crate::support::{code, payload_of, request};

/// How long nothing may come before it is asked whether the stream is still there.
const A_WHILE: Duration = Duration::from_millis(200);

/// A change, as the feed says it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Change {
    pub(super) position: i64,
    pub(super) entity: String,
    pub(super) transaction: String,
    pub(super) kind: String,
}

/// What the reader of a node has seen.
#[derive(Debug, Default)]
pub(super) struct Feed(Mutex<Vec<Change>>);

impl Feed {
    pub(super) fn seen(&self) -> MutexGuard<'_, Vec<Change>> {
        self.0.lock().expect("no panic")
    }

    /// The last position; the changes of positions come in their order.
    pub(super) fn last(&self) -> i64 {
        self.seen().last().map_or(0, |change| change.position)
    }

    /// Reads forever.
    pub(super) async fn follow(self: Arc<Self>, nodes: Arc<Nodes>, node: usize) {
        loop {
            self.read(&nodes, node).await;
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Reads until the stream is lost.
    async fn read(&self, nodes: &Nodes, node: usize) {
        let Some(connection) = nodes.try_connect(node).await else {
            return;
        };
        let from = json!({"fromSequence": self.last()});
        let id = connection.fresh_id();
        let subscribe = request("EntityChangesSubscribeRequest", &id, from);
        let Some(mut answers) = connection.try_begin(subscribe).await else {
            return;
        };
        loop {
            let event = match timeout(A_WHILE, answers.recv()).await {
                Ok(Some(event)) => event,
                Err(_) if !connection.has_ended() => continue,
                Ok(None) | Err(_) => return,
            };
            let reported = payload_of(&event);
            if event.kind != EventType::EntityChangeEvent || reported["success"] != true {
                if reported["success"] == false {
                    assert_eq!(code(&reported), "STORAGE_UNAVAILABLE", "{reported}");
                }
                return;
            }
            let text = |name: &str| reported[name].as_str().expect("a text").to_owned();
            let change = Change {
                position: reported["sequence"].as_i64().expect("a number"),
                entity: text("entityId"),
                transaction: text("transactionId"),
                kind: text("changeType"),
            };
            let mut seen = self.seen();
            if let Some(last) = seen.last() {
                assert!(
                    last.position < change.position,
                    "{last:?} before {change:?}"
                );
            }
            seen.push(change);
        }
    }
}
