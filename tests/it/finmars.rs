//! The documented registry and manager as they stand, in an empty namespace, ticked by hand until
//! the manager is done.
//!
//! `cargo test --test it finmars -- --nocapture` prints registry, workers and items after each tick.
#![expect(clippy::print_stdout, reason = "what a tick changes can be looked at")]

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, PATIENCE, Server,
    batch::{FILE, MANAGER, REGISTRY, file, manager, put, put_manager, tick},
};

/// A step workflow for the items of a worker: it ends when it is signalled.
async fn define(connection: &Connection, name: &str) {
    let document = json!({"kind": "Workflow", "name": name, "version": "1", "start": {
        "waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}}});
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn print(connection: &Connection, what: &str) {
    println!("{what}");
    let registry = file(connection, "/states/global_state_manager.json").await;
    println!("  registry {registry}");
    let now = manager(connection, FILE).await;
    println!("  manager {}", now["status"]);
    for worker in now["workers"].as_array().expect("a list") {
        let code = &worker["user_code"];
        println!("    worker {} {code} {}", worker["order"], worker["status"]);
        for item in worker["items"].as_array().expect("a list") {
            let (path, work) = (&item["state_path"], &item["workflow_id"]);
            println!("      item {path} {} {work}", item["status"]);
        }
    }
}

/// Ends the runs that a tick has started.
async fn end(connection: &Connection, ticked: &Value) {
    let all = ticked["processed"].as_array().expect("a list").iter();
    let started = all.flat_map(|one| one["started"].as_array().expect("a list"));
    for run in started.map(|started| &started["runId"]) {
        let signal = json!({"runId": run, "type": "go"});
        connection.ok("RunSignalRequest", signal).await;
        let follow = json!({"runId": run, "fromSequence": 0});
        let ended = connection.all("RunHistorySubscribeRequest", follow);
        timeout(PATIENCE, ended).await.expect("it ends");
    }
}

#[tokio::test]
async fn the_documented_manager_is_ticked_by_hand_until_it_is_done() {
    let server = Server::with(&[("INTERLOCK_MANAGER_INTERVAL", "0s")]);
    let connection = server.connect().await;
    let document: Value = serde_json::from_str(MANAGER).expect("JSON");
    for worker in document["workers"].as_array().expect("a list") {
        let part = |name: &str| worker[name].as_str().expect("a text").to_owned();
        let name = format!("{}:{}", part("configuration_code"), part("user_code"));
        define(&connection, &name).await;
    }
    put(&connection, "/states/global_state_manager.json", REGISTRY).await;
    put_manager(&connection, FILE, MANAGER).await;
    print(&connection, "as they stand").await;
    let mut statuses = Vec::new();
    for number in 1..20 {
        let ticked = tick(&connection).await;
        print(&connection, &format!("tick {number}")).await;
        let status = manager(&connection, FILE).await["status"].take();
        statuses.push(status.clone());
        if status == "done" {
            break;
        }
        end(&connection, &ticked).await;
    }
    let registry = file(&connection, "/states/global_state_manager.json").await;
    assert_eq!(registry["done"], json!([FILE]));
    let before: Vec<_> = statuses.iter().take(statuses.len() - 1).collect();
    assert!(before.iter().all(|status| **status == "in-progress"));
    // One for the first item, one for the others, one for the next worker, one that finds it done.
    assert_eq!(statuses.len(), 4);
    let now = manager(&connection, FILE).await;
    for (name, value) in document.as_object().expect("an object") {
        if !["status", "workers"].contains(&name.as_str()) {
            assert_eq!(now[name], *value, "{name} stays as it was");
        }
    }
}
