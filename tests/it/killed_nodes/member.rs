//! The members, which are all at one node, and come back to it whenever it is there.

use std::{sync::Arc, time::Duration};

use interlock::event::{Event, EventType};
use serde_json::json;
use tokio::{task::JoinHandle, time::sleep};

use super::load::Load;
use crate::support::{Connection, payload_of, request};

/// How many there are.
const COUNT: usize = 2;
/// The node that they are at.
const NODE: usize = 0;

pub(super) fn begin(load: &Arc<Load>) -> Vec<JoinHandle<()>> {
    let members = (0..COUNT).map(|_| tokio::spawn(member(Arc::clone(load))));
    members.collect()
}

async fn member(load: Arc<Load>) {
    loop {
        if let Some(connection) = load.nodes.try_connect(NODE).await {
            serve(&load, &connection).await;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Answers until the stream is lost.
async fn serve(load: &Load, connection: &Connection) {
    let join = json!({"tags": ["red"], "actions": ["do"], "maxConcurrency": 50});
    let join = request("CalculationMemberJoinEvent", "join", join);
    if connection.try_begin(join).await.is_none() {
        return;
    }
    while let Some(event) = connection.unasked_or_end().await {
        if let Some(answer) = answer(load, &event, connection)
            && connection.try_begin(answer).await.is_none()
        {
            return;
        }
    }
}

fn answer(load: &Load, event: &Event, connection: &Connection) -> Option<Event> {
    let asked = payload_of(event);
    let (kind, answer) = if event.kind == EventType::EntityProcessorCalculationRequest {
        let mut data = asked["payload"]["data"].clone();
        data["seen"] = json!(true);
        let payload = json!({"requestId": asked["requestId"], "entityId": asked["entityId"],
            "success": true, "payload": {"type": "JSON", "data": data}});
        ("EntityProcessorCalculationResponse", payload)
    } else if event.kind == EventType::TaskCalculationRequest {
        let id = asked["taskId"].as_str().expect("an id").to_owned();
        *load.ledger().tasks.entry(id).or_default() += 1;
        let payload = json!({"requestId": asked["requestId"], "success": true});
        ("TaskCalculationResponse", payload)
    } else {
        return None;
    };
    Some(request(kind, &connection.fresh_id(), answer))
}
