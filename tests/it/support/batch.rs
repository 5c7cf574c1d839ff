//! Managers and their files, as tests put, read and tick them.

use serde_json::{Value, json};

use super::Connection;

pub(crate) const MANAGER: &str = include_str!("../fixtures/finmars/manager.json");
pub(crate) const REGISTRY: &str = include_str!("../fixtures/finmars/registry.json");

/// The file of the documented manager.
pub(crate) const FILE: &str = "com.finmars.standard-workflow:workflow-manager-20240821095322.json";

/// A step workflow that ends when it is signalled.
pub(crate) fn waits_for_a_signal(name: &str) -> Value {
    json!({"document": {"kind": "Workflow", "name": name, "version": "1", "start": {
        "waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}
    }}})
}

pub(crate) async fn put(connection: &Connection, path: &str, content: &str) {
    let content: Value = serde_json::from_str(content).expect("JSON");
    let payload = json!({"path": path, "content": content});
    connection.ok("FilePutRequest", payload).await;
}

pub(crate) async fn file(connection: &Connection, path: &str) -> Value {
    let found = connection.ok("FileGetRequest", json!({"path": path})).await;
    found["content"].clone()
}

pub(crate) async fn put_manager(connection: &Connection, name: &str, content: &str) {
    put(connection, &format!("/states/managers/{name}"), content).await;
}

pub(crate) async fn manager(connection: &Connection, name: &str) -> Value {
    file(connection, &format!("/states/managers/{name}")).await
}

pub(crate) async fn tick(connection: &Connection) -> Value {
    connection.ok("ManagerTickRequest", json!({})).await
}

/// The statuses of a manager, of its workers and of their items.
pub(crate) fn statuses(manager: &Value) -> Value {
    let workers = manager["workers"].as_array().expect("a list").iter();
    let workers = workers.map(|worker| {
        let items = worker["items"].as_array().expect("a list").iter();
        let items = items.map(|item| item["status"].clone());
        json!([worker["status"], items.collect::<Vec<_>>()])
    });
    json!([manager["status"], workers.collect::<Vec<_>>()])
}

/// A manager with one worker, whose items have these members.
pub(crate) fn of_items(target: &str, items: &Value) -> String {
    json!({"status": "in-progress", "workers": [{
        "order": 1, "configuration_code": "org.acme", "user_code": target, "status": "in-progress",
        "items": items
    }]})
    .to_string()
}
