//! The conformance checklist, `workflow-engine.md` §14: each row is one test, named after it.

mod calls;
mod machine;
mod time;

use serde_json::Value;

use crate::support::Scene;

/// What the audit tells of the state machine of an entity, oldest first.
async fn audited(scene: &Scene, id: &str) -> Vec<Value> {
    let path = format!("/api/audit/entity/{id}?eventType=StateMachine&limit=1000");
    let page = scene.rest.get(&path).await.ok();
    let mut items = page["items"].as_array().expect("a list").clone();
    items.reverse();
    items
}

/// The types of audit events.
fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["eventType"].as_str())
        .collect()
}

/// How many events are of that type.
fn count(events: &[Value], kind: &str) -> usize {
    types(events).iter().filter(|given| **given == kind).count()
}
