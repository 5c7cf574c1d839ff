//! Runs whose actions are WebAssembly modules (`orchestration.md` 1.15).

use std::time::Instant;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::support::{Connection, PATIENCE, Rest, Server, code, wait::until};

/// A module of the quick start.
fn example(name: &str) -> String {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/clients/python/examples/flo/modules"
    );
    std::fs::read_to_string(format!("{folder}/{name}.wat")).expect("a module")
}

async fn register(connection: &Connection, name: &str, text: &str, timeout_ms: u64) {
    let module = BASE64_STANDARD.encode(text);
    let payload = json!({"name": name, "type": "wasm", "timeoutMs": timeout_ms,
        "wasm": {"module": module}});
    connection.ok("ActionRegisterRequest", payload).await;
}

/// Starts a run, waits for its end and returns it.
async fn ended(connection: &Connection, definition: &str, key: &str, input: Value) -> Value {
    let payload = json!({"definition": definition, "idempotencyKey": key, "input": input});
    let started = connection.ok("RunStartRequest", payload).await;
    let (begun, payload) = (Instant::now(), json!({"runId": started["runId"]}));
    loop {
        let got = connection.ok("RunGetRequest", payload.clone()).await;
        if got["run"].get("finishedAt").is_some() {
            return got["run"].clone();
        }
        assert!(begun.elapsed() < PATIENCE, "{got}");
    }
}

async fn events(connection: &Connection, run: &Value) -> Vec<String> {
    let payload = json!({"runId": run["runId"]});
    let history = connection.ok("RunHistoryGetRequest", payload).await;
    let items = history["items"].as_array().expect("a list").iter();
    let kinds = items.map(|item| item["eventType"].as_str().expect("a text").to_owned());
    kinds.collect()
}

const PROCESS_ORDER: &str = r#"
kind: Workflow
name: process-order
version: "1.0.0"
idempotency: required

start:
  run: "@actions/validate-order"
  transitions:
    success: charge
    failure: flo.Failed

steps:
  charge:
    run: "@actions/charge-payment"
    retry:
      max_attempts: 3
      backoff: exponential
      initial_delay_ms: 1000
      max_delay_ms: 30000
    transitions:
      success: ship
      failure: flo.Failed

  ship:
    run: "@actions/create-shipment"
    transitions:
      success: flo.Completed
      failure: flo.Failed
"#;

#[tokio::test]
async fn the_quick_start_runs_on_three_modules() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    for name in ["validate-order", "charge-payment", "create-shipment"] {
        register(&connection, name, &example(name), 30_000).await;
    }
    let payload = json!({"document": PROCESS_ORDER});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    let order = json!({"order_id": "ORD-123", "amount": 99.99});
    let run = ended(&connection, "process-order", "order-123", order.clone()).await;
    assert_eq!(run["status"], "completed", "{run}");
    assert_eq!(
        run["steps"]["start"]["output"],
        json!({"valid": true}),
        "{run}"
    );
    assert_eq!(run["steps"]["charge"]["output"]["charge_id"], "ch_00001");
    let tracking = run["steps"]["ship"]["output"]["tracking"].as_str();
    assert!(tracking.expect("a text").starts_with("TRK-"), "{run}");
    // A step that is done in the process has no event that says it is awaited.
    assert_eq!(
        events(&connection, &run).await,
        [
            "workflow_started",
            "step_started",
            "action_completed",
            "step_completed",
            "step_started",
            "action_completed",
            "step_completed",
            "step_started",
            "action_completed",
            "step_completed",
            "workflow_completed",
        ]
    );
    let run = ended(
        &connection,
        "process-order",
        "order-124",
        json!({"amount": 1}),
    )
    .await;
    assert_eq!(run["status"], "failed", "{run}");
    let output = &run["steps"]["start"]["output"];
    assert_eq!(output["error_code"], "INVALID_INPUT", "{run}");
    // The modules and their variables outlive a crash.
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let run = ended(&connection, "process-order", "order-125", order).await;
    assert_eq!(
        run["steps"]["charge"]["output"]["charge_id"], "ch_00002",
        "{run}"
    );
}

/// A module of that entry point.
fn module(body: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1)
          (func (export "alloc") (param i32) (result i32) (i32.const 1024))
          (func (export "dealloc") (param i32 i32))
          (func (export "handle") (param i32 i32) (result i64) {body}))"#
    )
}

/// A workflow of one step, whose outcome is the name of the terminal.
fn one_step(action: &str) -> String {
    format!(
        "kind: Workflow\nname: {action}\nversion: \"1\"\n\
         terminals:\n  Late:\n    status: timed_out\n  Broken:\n    status: cancelled\n\
         start:\n  run: \"@actions/{action}\"\n  transitions:\n    success: flo.Completed\n    \
         failure: flo.Failed\n    timeout: Late\n    execution_failure: Broken\n"
    )
}

#[tokio::test]
async fn a_hostile_module_ends_its_own_step_and_hurts_no_other_run() {
    let server = Server::start();
    let connection = server.connect().await;
    let modules = [
        ("loops", "(loop (br 0)) (unreachable)", "timed_out"),
        ("traps", "(unreachable)", "cancelled"),
        (
            "grows",
            "(loop (drop (memory.grow (i32.const 1))) (br 0)) (unreachable)",
            "cancelled",
        ),
        ("lies", "(i64.const 0x7fffffffffffffff)", "cancelled"),
        ("refuses", "(i64.const -1)", "failed"),
        ("works", "(i64.const 0)", "completed"),
    ];
    for (name, body, status) in modules {
        // On a busy machine a thousand growths of a memory take a while.
        let timeout_ms = if status == "timed_out" { 200 } else { 60_000 };
        register(&connection, name, &module(body), timeout_ms).await;
        let payload = json!({"document": one_step(name)});
        connection.ok("RunDefinitionCreateRequest", payload).await;
    }
    for round in 0..2 {
        for (name, _, status) in modules {
            let run = ended(&connection, name, &format!("{name}-{round}"), json!({})).await;
            assert_eq!(run["status"], status, "{name}: {run}");
        }
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_gives_back_the_place_of_its_module() {
    let server = Server::with(&[("INTERLOCK_WASM_CONCURRENCY", "1")]);
    let connection = server.connect().await;
    let loops = "(loop (br 0)) (unreachable)";
    for (name, body) in [("loops", loops), ("works", "(i64.const 0)")] {
        register(&connection, name, &module(body), 86_400_000).await;
        let payload = json!({"document": one_step(name)});
        connection.ok("RunDefinitionCreateRequest", payload).await;
    }
    let payload = json!({"definition": "loops"});
    let started = connection.ok("RunStartRequest", payload).await;
    let payload = json!({"runId": started["runId"]});
    connection.ok("RunCancelRequest", payload.clone()).await;
    let run = ended(&connection, "works", "k", json!({})).await;
    assert_eq!(run["status"], "completed", "{run}");
    let got = connection.ok("RunGetRequest", payload).await;
    assert_eq!(got["run"]["status"], "cancelled", "{got}");
}

#[tokio::test]
async fn a_module_that_runs_at_the_stop_of_the_service_has_not_failed() {
    let mut server = Server::start();
    let connection = server.connect().await;
    register(
        &connection,
        "loops",
        &module("(loop (br 0)) (unreachable)"),
        86_400_000,
    )
    .await;
    let payload = json!({"document": one_step("loops")});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    let payload = json!({"definition": "loops"});
    connection.ok("RunStartRequest", payload).await;
    let metrics = Rest::new(server.admin);
    until("the module runs", async || {
        let text = metrics.get("/metrics").await.text;
        text.contains("interlock_expensive_work_running{kind=\"modules\"} 1")
    })
    .await;
    assert_eq!(server.stop().await, Some(0));
    let logged = server.logged();
    assert!(!logged.contains("work failed"), "{logged}");
}

#[tokio::test]
async fn only_an_administrator_changes_an_action_with_a_module() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let admin = server.connect().await;
    register(&admin, "charge", &example("charge-payment"), 1_000).await;
    let other = server.connect_as(&[("x-mock-roles", "ROLE_M2M")]).await;
    for (kind, payload) in [
        ("ActionRegisterRequest", json!({"name": "charge"})),
        (
            "ActionSetEnabledRequest",
            json!({"name": "charge", "enabled": false}),
        ),
        ("ActionDeleteRequest", json!({"name": "charge"})),
    ] {
        let answer = other.call(kind, payload.clone()).await;
        assert_eq!(code(&answer), "FORBIDDEN", "{kind}");
        admin.ok(kind, payload).await;
        register(&admin, "charge", &example("charge-payment"), 1_000).await;
    }
}
