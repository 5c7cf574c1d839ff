//! Schedules start runs by the clock (`orchestration.md` 1.11).

use serde_json::{Value, json};

use crate::support::{Connection, Server, wait::found};

/// A workflow that ends at once, or waits for a signal.
fn document(schedule: &str, next: &str) -> String {
    format!(
        "kind: Workflow\nname: nightly\nversion: \"1.0.0\"\n{schedule}\n\
         start:\n  run: \"@actions/none\"\n  transitions:\n    success: {next}\n    failure: {next}\n\
         steps:\n  hold:\n    waitForSignal:\n      type: go\n    transitions:\n      success: flo.Completed\n"
    )
}

async fn define(connection: &Connection, document: &str) {
    let payload = json!({"document": document});
    // A schedule that fires all the time may be first.
    found("it is defined", async || {
        let answer = connection.call("RunDefinitionCreateRequest", payload.clone());
        let answer = answer.await;
        let is_defined = answer["success"] == true;
        let is_retryable = answer["error"]["retryable"] == true;
        assert!(is_defined || is_retryable, "{answer}");
        is_defined.then_some(())
    })
    .await;
}

async fn schedule(connection: &Connection) -> Value {
    let payload = json!({"name": "nightly"});
    let found = connection.ok("RunDefinitionGetRequest", payload).await;
    found["schedule"].clone()
}

async fn runs(connection: &Connection) -> Vec<Value> {
    let payload = json!({"definition": "nightly", "limit": 1000});
    let found = connection.ok("RunsGetRequest", payload).await;
    found["items"].as_array().expect("a list").clone()
}

/// Waits until there are so many runs.
async fn until_runs(connection: &Connection, count: usize) -> Vec<Value> {
    found(&format!("{count} runs"), async || {
        Some(runs(connection).await).filter(|found| found.len() >= count)
    })
    .await
}

/// Waits until the schedule is as it should be.
async fn until(connection: &Connection, is: impl Fn(&Value) -> bool) -> Value {
    found("the schedule is as it should be", async || {
        Some(schedule(connection).await).filter(&is)
    })
    .await
}

#[tokio::test]
async fn an_interval_starts_runs_with_the_input_of_the_schedule() {
    let server = Server::start();
    let connection = server.connect().await;
    let every = "schedule:\n  interval: 50\n  maxConcurrent: 0\n  input: '{\"night\": 1.50}'";
    define(&connection, &document(every, "flo.Completed")).await;
    let found = until_runs(&connection, 3).await;
    for run in &found {
        assert_eq!(run["startedBy"], "schedule", "{run}");
    }
    let id = found[2]["runId"].clone();
    let run = connection.ok("RunGetRequest", json!({"runId": id})).await;
    assert_eq!(run["run"]["input"], json!({"night": 1.5}));
    let history = connection
        .ok("RunHistoryGetRequest", json!({"runId": id}))
        .await;
    assert_eq!(
        history["items"][0]["eventType"], "schedule_started",
        "{history}"
    );
    let schedule = schedule(&connection).await;
    assert_eq!(schedule["intervalMs"], 50);
    assert_eq!(schedule["active"], true);
    assert!(schedule["nextFireAt"].is_string() && schedule["lastFireAt"].is_string());
}

#[tokio::test]
async fn an_instant_is_skipped_while_too_many_runs_of_the_schedule_are_live() {
    let server = Server::start();
    let connection = server.connect().await;
    let every = "schedule:\n  interval: 20";
    define(&connection, &document(every, "hold")).await;
    // A run of a caller does not count.
    let payload = json!({"definition": "nightly"});
    connection.ok("RunStartRequest", payload).await;
    let held = until(&connection, |it| it["skipped"].as_u64() >= Some(3)).await;
    assert_eq!(held["running"], 1, "{held}");
    let found = runs(&connection).await;
    assert_eq!(found.len(), 2);
    let scheduled = found.iter().find(|run| run["startedBy"] == "schedule");
    let id = &scheduled.expect("one")["runId"];
    let payload = json!({"runId": id, "type": "go"});
    connection.ok("RunSignalRequest", payload).await;
    until_runs(&connection, 3).await;
}

#[tokio::test]
async fn a_schedule_starts_nothing_while_its_tenant_has_stored_its_limit() {
    let server = Server::with(&[("INTERLOCK_TENANT_STORED_BYTES", "100000")]);
    let connection = server.connect().await;
    let input = "x".repeat(10_000);
    let every =
        format!("schedule:\n  interval: 20\n  maxConcurrent: 0\n  input: '{{\"x\": \"{input}\"}}'");
    define(&connection, &document(&every, "hold")).await;
    let is_skipped = |it: &Value, times| it["skipped"].as_u64() >= Some(times);
    until(&connection, |it| is_skipped(it, 1)).await;
    let started = runs(&connection).await.len();
    until(&connection, |it| is_skipped(it, 4)).await;
    assert_eq!(runs(&connection).await.len(), started);
}

#[tokio::test]
async fn a_schedule_pauses_with_its_definition_and_is_resumed_by_enabling() {
    let server = Server::start();
    let connection = server.connect().await;
    let every = "schedule:\n  interval: 20\n  maxConcurrent: 0\n  paused: true";
    define(&connection, &document(every, "flo.Completed")).await;
    let paused = schedule(&connection).await;
    assert_eq!(paused["active"], false);
    assert!(paused.get("nextFireAt").is_none());
    let set = |enabled: bool| json!({"name": "nightly", "enabled": enabled});
    let request = "RunDefinitionSetEnabledRequest";
    connection.ok(request, set(true)).await;
    until_runs(&connection, 2).await;
    connection.ok(request, set(false)).await;
    let stopped = runs(&connection).await.len();
    assert_eq!(schedule(&connection).await["active"], false);
    connection.ok(request, set(true)).await;
    until_runs(&connection, stopped + 1).await;
}

#[tokio::test]
async fn a_new_definition_replaces_the_schedule_and_one_without_removes_it() {
    let server = Server::start();
    let connection = server.connect().await;
    let every = "schedule:\n  interval: 3600000\n  maxConcurrent: 0";
    define(&connection, &document(every, "flo.Completed")).await;
    assert_eq!(schedule(&connection).await["intervalMs"], 3_600_000);
    let every = "schedule:\n  cron: \"* * * * *\"";
    define(&connection, &document(every, "flo.Completed")).await;
    let cron = schedule(&connection).await;
    assert_eq!(cron["cron"], "* * * * *");
    assert!(
        cron["nextFireAt"]
            .as_str()
            .expect("a time")
            .ends_with(":00Z")
    );
    let every = "schedule:\n  interval: 20\n  maxConcurrent: 0";
    define(&connection, &document(every, "flo.Completed")).await;
    until_runs(&connection, 2).await;
    define(&connection, &document("", "flo.Completed")).await;
    assert_eq!(schedule(&connection).await, Value::Null);
    let payload = json!({"name": "nightly"});
    connection.ok("RunDefinitionDeleteRequest", payload).await;
}

#[tokio::test]
async fn an_older_version_that_is_replaced_leaves_the_schedule_of_the_latest() {
    let server = Server::start();
    let connection = server.connect().await;
    let of_two = "schedule:\n  interval: 3600000\n  input: '{\"v\": 2}'";
    define(&connection, &document("", "hold")).await;
    let two = document(of_two, "hold").replace("1.0.0", "2.0.0");
    define(&connection, &two).await;
    let before = schedule(&connection).await;
    assert_eq!(before["intervalMs"], 3_600_000);
    for of_one in ["", "schedule:\n  interval: 20\n  input: '{\"v\": 1}'"] {
        let one = document(of_one, "flo.Completed");
        define(&connection, &format!("description: again\n{one}")).await;
        assert_eq!(schedule(&connection).await, before, "{of_one}");
    }
    // What is sent again as it is keeps the place of the schedule, and a pause.
    let set = |enabled: bool| json!({"name": "nightly", "enabled": enabled});
    let request = "RunDefinitionSetEnabledRequest";
    connection.ok(request, set(false)).await;
    define(&connection, &two).await;
    assert_eq!(schedule(&connection).await["active"], false);
    connection.ok(request, set(true)).await;
    // The schedule of the version that is then the latest follows.
    let payload = json!({"name": "nightly", "version": "2.0.0"});
    connection.ok("RunDefinitionDeleteRequest", payload).await;
    let found = until_runs(&connection, 1).await;
    let run = json!({"runId": found[0]["runId"]});
    let run = connection.ok("RunGetRequest", run).await;
    assert_eq!(run["run"]["input"], json!({"v": 1}));
    assert_eq!(run["run"]["definition"]["version"], "1.0.0");
}

#[tokio::test]
async fn a_schedule_resumes_after_a_crash_without_making_up_for_what_it_missed() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let every = "schedule:\n  interval: 50\n  maxConcurrent: 0";
    define(&connection, &document(every, "flo.Completed")).await;
    until_runs(&connection, 2).await;
    for _ in 0..2 {
        server.kill();
        server.restart();
        let connection = server.connect().await;
        let before = runs(&connection).await.len();
        until_runs(&connection, before + 2).await;
    }
    let connection = server.connect().await;
    let found = runs(&connection).await;
    // Each run is of an instant of its own.
    let last = schedule(&connection).await;
    assert!(last["lastFireAt"].is_string(), "{last}");
    assert!(found.iter().all(|run| run["startedBy"] == "schedule"));
}
