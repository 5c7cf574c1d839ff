//! Runs under load, while the server is killed again and again: every run ends as its document
//! says, and what it does is done once (`runs.md` §5.3). The topic `contributing` has the command
//! of the long form.

mod load;
mod proof;

use std::{sync::Arc, time::Duration};

use serde_json::json;

use crate::support::{Connection, PATIENCE, Server, governed_model, locked_model};

use load::Load;

/// Creates an order and pays for it; what the payment answers decides how it ends. The input is
/// `{n, kind}`.
const ORDER: &str = r#"
kind: Workflow
name: order
version: "1"
idempotency: required
output: {"n": "$.input.n", "task": "$.steps.pay.output.task"}
terminals:
  Refused: {status: failed}
  Late: {status: timed_out}
start:
  run: "@entity/create"
  inputMapping: {"model": {"name": "order", "version": 1}, "data": {"n": "$.input.n"}}
  transitions: {success: pay, failure: flo.Failed}
steps:
  pay:
    run: "@actions/pay"
    inputMapping: {"n": "$.input.n", "kind": "$.input.kind"}
    retry: {max_attempts: 5, backoff: constant, initial_delay_ms: 20, max_delay_ms: 20}
    transitions: {approved: approval, brief: short, refused: Refused, failure: flo.Failed}
  approval:
    waitForSignal: {type: approve, timeoutMs: 3600000, onTimeout: flo.Failed}
    transitions: {success: ship}
  short:
    waitForSignal: {type: approve, timeoutMs: 80, onTimeout: Late}
    transitions: {success: flo.Failed}
  ship:
    run: "@workflow/ship"
    inputMapping: {"n": "$.input.n", "order": "$.steps._start.output.entityId"}
    transitions: {success: flo.Completed, failure: flo.Failed}
"#;

/// Packs an order, by a worker that pulls its tasks, and moves its entity.
const SHIP: &str = r#"
kind: Workflow
name: ship
version: "1"
start:
  run: "@actions/pack"
  transitions: {success: shipped, failure: flo.Failed}
steps:
  shipped:
    run: "@entity/transition"
    inputMapping: {"entityId": "$.input.order", "transition": "SHIP"}
    transitions: {success: flo.Completed, failure: flo.Failed}
"#;

/// Notes each event of a topic.
const NOTED: &str = r#"
kind: Workflow
name: noted
version: "1"
trigger: {stream: events}
start:
  run: "@entity/create"
  inputMapping: {"model": {"name": "note", "version": 1}, "data": "$.input"}
  transitions: {success: flo.Completed, failure: flo.Failed}
"#;

/// Notes that time passes.
const TICK: &str = r#"
kind: Workflow
name: tick
version: "1"
schedule: {interval: 40, input: {"n": 0}}
start:
  run: "@entity/create"
  inputMapping: {"model": {"name": "second", "version": 1}, "data": "$.input"}
  transitions: {success: flo.Completed, failure: flo.Failed}
"#;

/// A number from the environment, or another.
fn given(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

async fn prepare(connection: &Connection) {
    let shipping = json!({"version": "1", "name": "order", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "SHIP", "next": "SHIPPED", "manual": true}]},
        "SHIPPED": {"transitions": []},
    }});
    governed_model(connection, "order", json!({"n": 1}), shipping).await;
    for (name, sample) in [
        ("receipt", json!({"n": 1, "task": "t"})),
        ("note", json!({"n": 1})),
        ("second", json!({"n": 1})),
    ] {
        locked_model(connection, name, sample).await;
    }
    for name in ["pay", "pack"] {
        let action = json!({"name": name, "maxRetries": 100, "retryDelayMs": 5});
        connection.ok("ActionRegisterRequest", action).await;
    }
    for document in [SHIP, ORDER, NOTED, TICK] {
        let payload = json!({"document": document});
        connection.ok("RunDefinitionCreateRequest", payload).await;
    }
}

/// Waits until no run is live.
async fn settled(connection: &Connection) {
    let live = json!({"status": ["pending", "running", "waiting"], "limit": 5});
    let look = async {
        loop {
            let page = connection.ok("RunsGetRequest", live.clone()).await;
            if page["items"].as_array().is_some_and(Vec::is_empty) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(PATIENCE * 2, look).await.is_err() {
        let page = connection.ok("RunsGetRequest", live).await;
        panic!("runs never end: {page:#}");
    }
}

/// Waits until the trigger has read its topic.
async fn caught_up(connection: &Connection) {
    let look = async {
        loop {
            let payload = json!({"name": "noted"});
            let found = connection.ok("RunDefinitionGetRequest", payload).await;
            if found["trigger"]["lag"] == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let caught_up = tokio::time::timeout(PATIENCE, look).await;
    caught_up.expect("the trigger reads its topic");
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
async fn every_run_ends_as_its_document_says_however_often_the_server_is_killed() {
    let rounds = given("INTERLOCK_KILL_ROUNDS", 6);
    let seed = given("INTERLOCK_KILL_SEED", 1);
    let mut server = Server::on_disk(&[("INTERLOCK_TASKS_LEASE", "1s")]);
    prepare(&server.connect().await).await;
    let load = Arc::new(Load::new(seed));
    for _ in 0..rounds {
        let working = load.begin(&server).await;
        let enough = load.below(150);
        tokio::time::timeout(PATIENCE, load.acknowledged(enough))
            .await
            .unwrap_or_else(|_| panic!("seed {seed}: the server does nothing"));
        server.kill();
        for task in working {
            task.await.expect("no panic");
        }
        server.restart();
    }
    let working = load.begin_last(&server).await;
    let connection = server.connect().await;
    let off = json!({"name": "tick", "enabled": false});
    connection.ok("RunDefinitionSetEnabledRequest", off).await;
    tokio::time::timeout(PATIENCE, load.done())
        .await
        .unwrap_or_else(|_| panic!("seed {seed}: what was begun is not finished"));
    caught_up(&connection).await;
    settled(&connection).await;
    working.iter().for_each(tokio::task::JoinHandle::abort);
    let found = proof::check(&connection, &load).await;
    println!("{rounds} kills with seed {seed}: {found}");
}
