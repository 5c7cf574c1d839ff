//! Triggers start runs by the events of topics (`orchestration.md` 1.11).

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Connection, PATIENCE, Server, wait::found};

/// A workflow that ends at once.
const ENDS: &str = "flo.Completed";
/// A workflow that waits for a signal.
const HOLDS: &str = "hold";

fn document(trigger: &str, next: &str) -> String {
    format!(
        "kind: Workflow\nname: ship\nversion: \"1.0.0\"\n{trigger}\n\
         start:\n  run: \"@actions/none\"\n  transitions:\n    success: {next}\n    failure: {next}\n\
         steps:\n  hold:\n    waitForSignal:\n      type: go\n    transitions:\n      success: flo.Completed\n"
    )
}

async fn define(connection: &Connection, document: &str) {
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn enable(connection: &Connection, enabled: bool) {
    let payload = json!({"name": "ship", "enabled": enabled});
    connection
        .ok("RunDefinitionSetEnabledRequest", payload)
        .await;
}

/// Publishes numbers.
async fn publish(connection: &Connection, topic: &str, numbers: std::ops::Range<i64>) {
    let events: Vec<_> = numbers.map(|n| json!({"payload": {"n": n}})).collect();
    for events in events.chunks(1_000) {
        let payload = json!({"topic": topic, "events": events});
        connection.ok("TopicPublishRequest", payload).await;
    }
}

async fn trigger(connection: &Connection) -> Value {
    let payload = json!({"name": "ship"});
    let found = connection.ok("RunDefinitionGetRequest", payload).await;
    found["trigger"].clone()
}

/// Waits until the trigger is as it should be.
async fn until(connection: &Connection, is: impl Fn(&Value) -> bool) -> Value {
    found("the trigger is as it should be", async || {
        Some(trigger(connection).await).filter(&is)
    })
    .await
}

/// Waits until the trigger has started runs by the events up to that one.
async fn until_at(connection: &Connection, position: i64) -> Value {
    until(connection, |it| it["position"] == position).await
}

/// The runs of the workflow, the oldest first.
async fn runs(connection: &Connection) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut payload = json!({"definition": "ship", "limit": 1_000});
        if !cursor.is_null() {
            payload["cursor"] = cursor;
        }
        let page = connection.ok("RunsGetRequest", payload).await;
        found.extend(page["items"].as_array().expect("a list").iter().cloned());
        cursor = page["pagination"]["nextCursor"].clone();
        if cursor.is_null() {
            found.reverse();
            return found;
        }
    }
}

/// The inputs of the runs of the workflow, the oldest first.
async fn inputs(connection: &Connection) -> Vec<Value> {
    let mut inputs = Vec::new();
    for run in runs(connection).await {
        let payload = json!({"runId": run["runId"]});
        let run = connection.ok("RunGetRequest", payload).await;
        inputs.push(run["run"]["input"].clone());
    }
    inputs
}

fn numbers(of: std::ops::Range<i64>) -> Vec<Value> {
    of.map(|n| json!({"n": n})).collect()
}

/// The sequences in the keys of the runs, which are of a topic.
fn sequences(runs: &[Value], topic: &str) -> Vec<i64> {
    let sequence = |run: &Value| {
        let key = run["idempotencyKey"].as_str().expect("a key");
        let (of, sequence) = key.rsplit_once(':').expect("a sequence");
        assert!(of.starts_with(&format!("trigger:{topic}@")), "{key}");
        sequence.parse().expect("a number")
    };
    runs.iter().map(sequence).collect()
}

#[tokio::test]
async fn each_event_starts_one_run_in_the_order_of_the_topic() {
    let server = Server::start();
    let connection = server.connect().await;
    publish(&connection, "orders", 1..4).await;
    define(&connection, &document("trigger:\n  stream: orders", ENDS)).await;
    until_at(&connection, 3).await;
    publish(&connection, "orders", 4..6).await;
    let shown = until_at(&connection, 5).await;
    assert_eq!(
        shown,
        json!({
            "topic": "orders", "namespace": "default", "consumerGroup": "wf-ship",
            "mode": "shared", "batchSize": 1, "active": true, "position": 5, "lag": 0,
        })
    );
    assert_eq!(inputs(&connection).await, numbers(1..6));
    let found = runs(&connection).await;
    assert_eq!(sequences(&found, "orders"), [1, 2, 3, 4, 5]);
    assert!(found.iter().all(|run| run["startedBy"] == "trigger"));
    let payload = json!({"runId": found[0]["runId"]});
    let history = connection.ok("RunHistoryGetRequest", payload).await;
    assert_eq!(
        history["items"][0]["eventType"], "trigger_started",
        "{history}"
    );
}

#[tokio::test]
async fn a_batch_is_a_list_and_a_short_one_starts_after_its_time() {
    let server = Server::start();
    let connection = server.connect().await;
    let batches =
        "trigger:\n  stream: orders\n  mode: exclusive\n  batch_size: 3\n  batch_timeout_ms: 400";
    define(&connection, &document(batches, ENDS)).await;
    publish(&connection, "orders", 1..9).await;
    until_at(&connection, 6).await;
    let shown = until_at(&connection, 8).await;
    assert_eq!(
        (&shown["mode"], &shown["batchSize"]),
        (&json!("exclusive"), &json!(3))
    );
    let lists = [numbers(1..4), numbers(4..7), numbers(7..9)];
    assert_eq!(inputs(&connection).await, lists.map(Value::Array));
    assert_eq!(sequences(&runs(&connection).await, "orders"), [3, 6, 8]);
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_backlog_misses_no_event_and_starts_none_twice() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let last = 1_500;
    publish(&connection, "orders", 1..last + 1).await;
    let trigger = "trigger:\n  stream: orders\n  mode: key_shared";
    define(&connection, &document(trigger, ENDS)).await;
    for _ in 0..3 {
        let connection = server.connect().await;
        let now = trigger_position(&connection).await;
        until(&connection, |it| {
            it["position"].as_i64() > Some(now) || it["lag"] == 0
        })
        .await;
        server.kill();
        server.restart();
    }
    let connection = server.connect().await;
    until_at(&connection, last).await;
    let found = runs(&connection).await;
    let expected: Vec<_> = (1..=last).collect();
    assert_eq!(sequences(&found, "orders"), expected);
}

async fn trigger_position(connection: &Connection) -> i64 {
    let found = trigger(connection).await;
    found["position"].as_i64().expect("a number")
}

#[tokio::test]
async fn a_disabled_definition_does_not_read_its_topic() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, &document("trigger:\n  stream: orders", ENDS)).await;
    publish(&connection, "orders", 1..3).await;
    until_at(&connection, 2).await;
    enable(&connection, false).await;
    publish(&connection, "orders", 3..6).await;
    // Another trigger reads the same topic meanwhile.
    let other = document("trigger:\n  stream: orders", ENDS).replace("name: ship", "name: pack");
    define(&connection, &other).await;
    let begun = Instant::now();
    loop {
        let payload = json!({"name": "pack"});
        let found = connection.ok("RunDefinitionGetRequest", payload).await;
        if found["trigger"]["position"] == 5 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
    }
    let shown = trigger(&connection).await;
    assert_eq!(shown["active"], false, "{shown}");
    assert_eq!(
        (&shown["position"], &shown["lag"]),
        (&json!(2), &json!(3)),
        "{shown}"
    );
    enable(&connection, true).await;
    let shown = until_at(&connection, 5).await;
    assert_eq!(shown["active"], true);
    assert_eq!(inputs(&connection).await, numbers(1..6));
}

#[tokio::test]
async fn a_new_version_continues_where_the_one_before_was() {
    let server = Server::start();
    let connection = server.connect().await;
    let one = document("trigger:\n  stream: orders", ENDS);
    define(&connection, &one).await;
    publish(&connection, "orders", 1..4).await;
    until_at(&connection, 3).await;
    define(&connection, &one.replace("1.0.0", "2.0.0")).await;
    publish(&connection, "orders", 4..6).await;
    until_at(&connection, 5).await;
    let found = runs(&connection).await;
    assert_eq!(sequences(&found, "orders"), [1, 2, 3, 4, 5]);
    assert_eq!(found[4]["definition"]["version"], "2.0.0", "{}", found[4]);
    // Another topic is read from its beginning, in another namespace too.
    let payload = json!({"topic": "returns", "namespace": "shop", "events": [{"payload": "back"}]});
    connection.ok("TopicPublishRequest", payload).await;
    let elsewhere = "trigger:\n  stream: returns\n  namespace: shop";
    define(&connection, &document(elsewhere, ENDS)).await;
    let three = document(elsewhere, ENDS).replace("1.0.0", "3.0.0");
    define(&connection, &three).await;
    let shown = until_at(&connection, 1).await;
    assert_eq!(
        (&shown["topic"], &shown["namespace"]),
        (&json!("returns"), &json!("shop"))
    );
    assert_eq!(inputs(&connection).await.pop(), Some(json!("back")));
    define(&connection, &document("", ENDS).replace("1.0.0", "4.0.0")).await;
    assert_eq!(trigger(&connection).await, Value::Null);
}

#[tokio::test]
async fn a_deleted_definition_starts_nothing_and_a_new_one_begins_with_the_oldest_event() {
    let server = Server::start();
    let connection = server.connect().await;
    let one = document("trigger:\n  stream: orders", ENDS);
    define(&connection, &one).await;
    publish(&connection, "orders", 1..4).await;
    until_at(&connection, 3).await;
    let payload = json!({"name": "ship"});
    connection.ok("RunDefinitionDeleteRequest", payload).await;
    publish(&connection, "orders", 4..6).await;
    assert_eq!(runs(&connection).await.len(), 3);
    // It is a new one, whatever the runs of the one before.
    let batches = "trigger:\n  stream: orders\n  batch_size: 5";
    define(&connection, &document(batches, ENDS)).await;
    until_at(&connection, 5).await;
    let found = runs(&connection).await;
    assert_eq!(sequences(&found, "orders"), [1, 2, 3, 5]);
    // One that merely changes repeats nothing.
    define(&connection, &one).await;
    publish(&connection, "orders", 6..7).await;
    until_at(&connection, 6).await;
    let found = runs(&connection).await;
    assert_eq!(sequences(&found, "orders"), [1, 2, 3, 5, 6]);
    let payload = json!({"name": "ship"});
    connection.ok("RunDefinitionDeleteRequest", payload).await;
    define(&connection, &one).await;
    until_at(&connection, 6).await;
    let found = runs(&connection).await;
    let repeated = [1, 2, 3, 5, 6, 1, 2, 3, 4, 5, 6];
    assert_eq!(sequences(&found, "orders"), repeated);
}

#[tokio::test]
async fn events_that_are_removed_before_a_trigger_reads_them_are_counted() {
    let server = Server::with(&[("INTERLOCK_TOPICS_RETENTION", "2s")]);
    let connection = server.connect().await;
    define(&connection, &document("trigger:\n  stream: orders", ENDS)).await;
    let shown = trigger(&connection).await;
    assert_eq!(shown.get("missed"), None, "{shown}");
    enable(&connection, false).await;
    publish(&connection, "orders", 1..6).await;
    let shown = until(&connection, |it| it["missed"] == 5).await;
    assert_eq!(shown["lag"], 0, "{shown}");
    // What it misses stays counted when it goes on.
    enable(&connection, true).await;
    publish(&connection, "orders", 6..7).await;
    let shown = until_at(&connection, 6).await;
    assert_eq!(shown["missed"], 5, "{shown}");
    assert_eq!(inputs(&connection).await, numbers(6..7));
    // Events that were removed before there was a trigger are not missed.
    let payload = json!({"name": "ship"});
    connection.ok("RunDefinitionDeleteRequest", payload).await;
    let begun = Instant::now();
    loop {
        let read = json!({"topic": "orders"});
        let part = connection.ok("TopicGetRequest", read).await;
        if part["first"] == 7 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{part}");
    }
    define(&connection, &document("trigger:\n  stream: orders", ENDS)).await;
    let shown = trigger(&connection).await;
    assert_eq!(shown.get("missed"), None, "{shown}");
}

#[tokio::test]
async fn a_thousand_live_runs_hold_the_rest_of_a_backlog_back() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    publish(&connection, "orders", 1..1_204).await;
    define(&connection, &document("trigger:\n  stream: orders", HOLDS)).await;
    let shown = until_at(&connection, 1_000).await;
    assert_eq!(shown["lag"], 203);
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let found = runs(&connection).await;
    assert_eq!(found.len(), 1_000);
    for run in &found[..3] {
        let begun = Instant::now();
        let id = &run["runId"];
        while connection.ok("RunGetRequest", json!({"runId": id})).await["run"]["status"]
            != "waiting"
        {
            assert!(begun.elapsed() < PATIENCE);
        }
        let payload = json!({"runId": id, "type": "go"});
        connection.ok("RunSignalRequest", payload).await;
    }
    until_at(&connection, 1_003).await;
    assert_eq!(runs(&connection).await.len(), 1_003);
}
