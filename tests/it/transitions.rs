//! Transitions that start runs of step workflows, and that send signals to them (`runs.md` §6).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, Server, between_looks, create, get, governed_model, locked_model, new_entity, state,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for a signal, and shows what it was given and received.
const FULFILMENT: &str = r#"
kind: Workflow
name: fulfilment
version: "1"
idempotency: optional
output: '{"input": "$.input", "reported": "$.steps._start.output"}'
start:
  waitForSignal: {type: go}
  transitions: {success: flo.Completed}
"#;

async fn define(connection: &Connection, document: &str) {
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

fn starts(config: Value) -> Value {
    json!({"type": "run", "name": "fulfil", "config": config})
}

fn signals(config: Value) -> Value {
    json!({"type": "signal", "name": "tell", "config": config})
}

/// Orders that are paid and shipped by request, with these processors.
fn orders(pay: Value, ship: Value) -> Value {
    json!({"version": "1", "name": "orders", "initialState": "OPEN", "states": {
        "OPEN": {"transitions": [
            {"name": "pay", "next": "PAID", "manual": true, "processors": pay}]},
        "PAID": {"transitions": [
            {"name": "ship", "next": "SHIPPED", "manual": true, "processors": ship},
            {"name": "again", "next": "PAID", "manual": true, "processors": pay}]},
        "SHIPPED": {}}})
}

async fn take(connection: &Connection, id: &str, transition: &str) -> Value {
    let payload = json!({"entityId": id, "transition": transition});
    connection.ok("EntityTransitionRequest", payload).await
}

/// The runs of an entity, newest first.
async fn runs_of(connection: &Connection, entity: &str) -> Vec<Value> {
    let payload = json!({"entityId": entity});
    let page = connection.ok("RunsGetRequest", payload).await;
    page["items"].as_array().expect("a list").clone()
}

async fn run(connection: &Connection, id: &Value) -> Value {
    let payload = json!({"runId": id});
    connection.ok("RunGetRequest", payload).await["run"].take()
}

/// Waits until a run has that status.
async fn comes_to(connection: &Connection, id: &Value, status: &str) -> Value {
    let look = async {
        loop {
            let run = run(connection, id).await;
            if run["status"] == status {
                return run;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, look).await.expect("that status")
}

/// The transaction that wrote an entity last.
async fn transaction(connection: &Connection, id: &str) -> String {
    let entity = get(connection, id).await;
    let id = entity["meta"]["transactionId"].as_str();
    id.expect("an id").to_owned()
}

#[tokio::test]
async fn a_transition_starts_a_run_in_its_commit_and_another_one_signals_it() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let tell = json!({"signal": "go", "payload": {"of": "$.entity.data.total", "by": "me"}});
    let workflow = orders(
        json!([starts(json!({"definition": "fulfilment"}))]),
        json!([signals(tell)]),
    );
    let model = governed_model(&connection, "order", json!({"total": 1.5}), workflow).await;
    let id = create(&connection, &model, json!({"total": 20.50})).await;
    let other = create(&connection, &model, json!({"total": 1})).await;
    assert!(runs_of(&connection, &id).await.is_empty());
    take(&connection, &id, "pay").await;
    let paid = transaction(&connection, &id).await;
    take(&connection, &other, "pay").await;
    let runs = runs_of(&connection, &id).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0]["startedBy"], "transition");
    assert_eq!(runs[0]["entityId"], *id);
    assert_eq!(runs[0]["idempotencyKey"], format!("{id}:pay:{paid}"));
    comes_to(&connection, &runs[0]["runId"], "waiting").await;
    take(&connection, &id, "ship").await;
    let ended = run(&connection, &runs[0]["runId"]).await;
    assert_eq!(ended["status"], "completed", "it is in the same commit");
    let model = json!({"name": "order", "version": 1});
    assert_eq!(
        ended["output"],
        json!({
            "input": {
                "entity": {"id": id, "model": model, "state": "OPEN", "data": {"total": 20.5}},
                "transition": "pay"},
            "reported": {"of": 20.5, "by": "me"}})
    );
    let others = runs_of(&connection, &other).await;
    let waiting = comes_to(&connection, &others[0]["runId"], "waiting").await;
    let signals = waiting["signals"].as_array();
    assert!(signals.is_none_or(Vec::is_empty), "{waiting}");
}

#[tokio::test]
async fn a_run_is_started_with_a_mapped_input_and_once_per_key() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    for (name, mapping) in [
        (
            "object",
            json!({"id": "$.entity.id", "n": "$.entity.data.lines[1].n", "x": "$.entity.data.x", "t": "$.transition"}),
        ),
        (
            "text",
            json!(
                r#"{"id": "$.entity.id", "n": "$.entity.data.lines[1].n", "x": "$.entity.data.x", "t": "$.transition"}"#
            ),
        ),
    ] {
        let config = json!({"definition": "fulfilment", "version": "1", "namespace": "default",
            "inputMapping": mapping, "idempotencyKey": "$.entity.data.key"});
        let workflow = orders(json!([starts(config)]), json!([]));
        let sample = json!({"key": "a", "lines": [{"n": 1.5}]});
        let model = governed_model(&connection, name, sample, workflow).await;
        let data = json!({"key": name, "lines": [{"n": 1}, {"n": 1.25}]});
        let id = create(&connection, &model, data).await;
        take(&connection, &id, "pay").await;
        take(&connection, &id, "again").await;
        let runs = runs_of(&connection, &id).await;
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert_eq!(runs[0]["idempotencyKey"], name);
        let input = json!({"id": id, "n": 1.25, "x": null, "t": "pay"});
        assert_eq!(run(&connection, &runs[0]["runId"]).await["input"], input);
    }
}

#[tokio::test]
async fn the_default_key_starts_one_run_per_transition_and_transaction() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let start = starts(json!({"definition": "fulfilment"}));
    let workflow = orders(json!([start, start]), json!([]));
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    take(&connection, &id, "pay").await;
    assert_eq!(runs_of(&connection, &id).await.len(), 1);
    take(&connection, &id, "again").await;
    assert_eq!(runs_of(&connection, &id).await.len(), 2);
}

#[tokio::test]
async fn a_definition_that_is_unknown_or_disabled_fails_the_transition() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let workflow = orders(
        json!([
            starts(json!({"definition": "fulfilment"})),
            starts(json!({"definition": "other"}))
        ]),
        json!([]),
    );
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let pay = json!({"entityId": id, "transition": "pay"});
    let refused = connection
        .call("EntityTransitionRequest", pay.clone())
        .await;
    let message = refused["error"]["message"].as_str().expect("a text");
    assert!(
        message.starts_with("WORKFLOW_FAILED: processor fulfil failed: "),
        "{message}"
    );
    assert!(message.contains("other"), "{message}");
    assert_eq!(state(&get(&connection, &id).await), "OPEN");
    assert!(runs_of(&connection, &id).await.is_empty(), "none is left");
    define(&connection, &FULFILMENT.replace("fulfilment", "other")).await;
    let disable = json!({"name": "other", "enabled": false});
    connection
        .ok("RunDefinitionSetEnabledRequest", disable.clone())
        .await;
    let code = connection
        .fails("EntityTransitionRequest", pay.clone())
        .await;
    assert_eq!(code, "WORKFLOW_FAILED");
    assert!(runs_of(&connection, &id).await.is_empty());
    let enable = json!({"name": "other", "enabled": true});
    connection
        .ok("RunDefinitionSetEnabledRequest", enable)
        .await;
    connection.ok("EntityTransitionRequest", pay).await;
    assert_eq!(runs_of(&connection, &id).await.len(), 2);
}

#[tokio::test]
async fn a_transition_that_fails_later_starts_and_signals_nothing() {
    let server = Server::with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "0s")]);
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let start = starts(json!({"definition": "fulfilment"}));
    let tell = signals(json!({"signal": "go"}));
    let fails = json!({"type": "EXTERNAL", "name": "nobody", "executionMode": "SYNC",
        "config": {"calculationNodesTags": "nobody"}});
    let workflow = json!({"version": "1", "name": "orders", "initialState": "OPEN", "states": {
        "OPEN": {"transitions": [
            {"name": "pay", "next": "PAID", "manual": true, "processors": [start]},
            {"name": "bad", "next": "PAID", "manual": true, "processors": [start, fails]}]},
        "PAID": {"transitions": [
            {"name": "bad", "next": "PAID", "manual": true, "processors": [tell, fails]}]}}});
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let bad = json!({"entityId": id, "transition": "bad"});
    let code = connection
        .fails("EntityTransitionRequest", bad.clone())
        .await;
    assert_eq!(code, "NO_COMPUTE_MEMBER_FOR_TAG");
    assert!(runs_of(&connection, &id).await.is_empty());
    take(&connection, &id, "pay").await;
    let runs = runs_of(&connection, &id).await;
    let before = comes_to(&connection, &runs[0]["runId"], "waiting").await;
    connection.fails("EntityTransitionRequest", bad).await;
    assert_eq!(run(&connection, &runs[0]["runId"]).await, before);
}

#[tokio::test]
async fn a_run_that_was_started_in_the_same_commit_is_signalled_too() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let start = starts(json!({"definition": "fulfilment"}));
    let tell = signals(json!({"signal": "go", "payload": "$.entity.state"}));
    let workflow = json!({"version": "1", "name": "orders", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "open", "next": "OPEN", "manual": false, "processors": [start]}]},
        "OPEN": {"transitions": [{"name": "close", "next": "DONE", "manual": false, "processors": [tell]}]},
        "DONE": {}}});
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let made = connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let runs = runs_of(&connection, id).await;
    assert_eq!(runs.len(), 1);
    let ended = comes_to(&connection, &runs[0]["runId"], "completed").await;
    assert_eq!(ended["output"]["reported"], "OPEN");
}

#[tokio::test]
async fn timers_take_transitions_that_start_and_signal_runs() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let start = starts(json!({"definition": "fulfilment"}));
    let tell = signals(json!({"signal": "go", "payload": "late"}));
    let workflow = json!({"version": "1", "name": "orders", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "open", "next": "OPEN", "manual": false,
            "schedule": {"delayMs": 50}, "processors": [start]}]},
        "OPEN": {"transitions": [{"name": "close", "next": "DONE", "manual": false,
            "schedule": {"delayMs": 50}, "processors": [tell]}]},
        "DONE": {}}});
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let started = async {
        loop {
            if let [run] = &runs_of(&connection, &id).await[..] {
                return run["runId"].clone();
            }
            between_looks().await;
        }
    };
    let run = timeout(PATIENCE, started).await.expect("a run");
    let ended = comes_to(&connection, &run, "completed").await;
    assert_eq!(ended["output"]["reported"], "late");
}

#[tokio::test]
async fn a_step_whose_transition_signals_its_own_run_takes_the_signal_afterwards() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = r#"
kind: Workflow
name: fulfilment
version: "1"
output: '"$.steps.wait.output"'
start:
  run: "@entity/transition"
  inputMapping: {"entityId": "$.input.entity.id", "transition": "ship"}
  transitions: {success: wait, failure: flo.Failed}
steps:
  wait:
    waitForSignal: {type: go}
    transitions: {success: flo.Completed}
"#;
    define(&connection, document).await;
    let workflow = orders(
        json!([starts(json!({"definition": "fulfilment"}))]),
        json!([signals(json!({"signal": "go", "payload": "$.transition"}))]),
    );
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    take(&connection, &id, "pay").await;
    let runs = runs_of(&connection, &id).await;
    let ended = comes_to(&connection, &runs[0]["runId"], "completed").await;
    assert_eq!(ended["output"], "ship");
    assert_eq!(state(&get(&connection, &id).await), "SHIPPED");
}

/// One that only passes time, and one that takes a transition itself before it waits for another
/// signal than that sends.
const SAGAS: &str = r#"connector "store" { type = "entity" }
saga "idle" {
  step "rest" { delay = "1h" }
}
saga "shipping" {
  step "ship" {
    action {
      connector = "store"
      operation = "TRANSITION ship"
      target    = "order/1"
      where     = { id = "input.entity.id" }
    }
  }
  step "wait" { await = "delivered" }
}
"#;

#[tokio::test]
async fn a_saga_that_does_not_wait_for_the_signal_of_a_transition_does_not_refuse_it() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let files = json!([{"path": "a.hcl", "text": SAGAS}]);
    connection
        .ok("BundleApplyRequest", json!({"files": files}))
        .await;
    let tell = json!([signals(json!({"signal": "go"}))]);
    let start = |name: &str| starts(json!({"definition": name}));
    let pay = json!([start("idle"), start("fulfilment")]);
    let model = json!({"n": 1});
    let model = governed_model(&connection, "order", model, orders(pay, tell.clone())).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    take(&connection, &id, "pay").await;
    let runs = runs_of(&connection, &id).await;
    for run in &runs {
        comes_to(&connection, &run["runId"], "waiting").await;
    }
    take(&connection, &id, "ship").await;
    let by_name = |name: &str| {
        let mut runs = runs.iter();
        let run = runs.find(|run| run["definition"]["name"] == name);
        run.expect("a run")["runId"].clone()
    };
    let waited = run(&connection, &by_name("fulfilment")).await;
    assert_eq!(waited["status"], "completed", "it is in the same commit");
    let idle = run(&connection, &by_name("idle")).await;
    assert_eq!(idle["waiting"]["for"], "timer", "{idle}");
    let import = orders(json!([start("shipping")]), tell);
    let import = json!({"model": model, "importMode": "REPLACE", "workflows": [import]});
    connection.ok("EntityWorkflowImportRequest", import).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    take(&connection, &id, "pay").await;
    let runs = runs_of(&connection, &id).await;
    let shipping = comes_to(&connection, &runs[0]["runId"], "waiting").await;
    assert_eq!(shipping["waiting"]["name"], "delivered", "{shipping}");
    assert_eq!(state(&get(&connection, &id).await), "SHIPPED");
}

#[tokio::test]
async fn a_signalled_run_sees_and_changes_the_entity_within_the_transition() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = r#"
kind: Workflow
name: fulfilment
version: "1"
start:
  waitForSignal: {type: go}
  transitions: {success: mark}
steps:
  mark:
    run: "@entity/update"
    inputMapping: {"entityId": "$.input.entity.id", "patch": {"mark": "$.steps._start.output"}}
    transitions: {success: flo.Completed, failure: flo.Failed}
"#;
    define(&connection, document).await;
    let workflow = orders(
        json!([starts(json!({"definition": "fulfilment"}))]),
        json!([signals(
            json!({"signal": "go", "payload": "$.entity.data.n"})
        )]),
    );
    let sample = json!({"n": 1, "mark": 1});
    let model = governed_model(&connection, "order", sample, workflow).await;
    let id = create(&connection, &model, json!({"n": 7})).await;
    take(&connection, &id, "pay").await;
    let runs = runs_of(&connection, &id).await;
    comes_to(&connection, &runs[0]["runId"], "waiting").await;
    take(&connection, &id, "ship").await;
    let entity = get(&connection, &id).await;
    assert_eq!(state(&entity), "SHIPPED");
    assert_eq!(entity["data"], json!({"n": 7, "mark": 7}));
    let ended = run(&connection, &runs[0]["runId"]).await;
    assert_eq!(ended["status"], "completed", "{ended}");
}

/// A signalled run whose steps are these, and the order that it is of, which is shipped.
async fn shipped(server: &Server, steps: &str) -> (Connection, String, Value) {
    let connection = server.connect().await;
    let document = format!(
        "kind: Workflow\nname: fulfilment\nversion: \"1\"\n\
         start: {{waitForSignal: {{type: go}}, transitions: {{success: next}}}}\n\
         steps: {{{steps}}}\n"
    );
    define(&connection, &document).await;
    let workflow = orders(
        json!([starts(json!({"definition": "fulfilment"}))]),
        json!([signals(json!({"signal": "go"}))]),
    );
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    take(&connection, &id, "pay").await;
    let runs = runs_of(&connection, &id).await;
    let run = runs[0]["runId"].clone();
    comes_to(&connection, &run, "waiting").await;
    take(&connection, &id, "ship").await;
    (connection, id, run)
}

/// The run begins to wait for the entity in the commit that moves it.
#[tokio::test]
async fn a_signalled_run_finds_the_state_that_the_transition_leads_to() {
    let server = Server::start();
    let steps = "next: {run: \"@entity/await\", input: {entityId: $.input.entity.id, states: [SHIPPED]}, transitions: {success: flo.Completed}}";
    let (connection, _, run) = shipped(&server, steps).await;
    comes_to(&connection, &run, "completed").await;
}

#[tokio::test]
async fn a_signalled_run_does_not_move_the_entity_within_the_transition() {
    let server = Server::start();
    let steps = "next: {run: \"@entity/transition\", input: {entityId: $.input.entity.id, transition: ship}, transitions: {success: flo.Completed, conflict: flo.Cancelled}}";
    let (connection, id, run) = shipped(&server, steps).await;
    comes_to(&connection, &run, "cancelled").await;
    assert_eq!(state(&get(&connection, &id).await), "SHIPPED");
}

#[tokio::test]
async fn imports_check_these_processors_and_exports_keep_them() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "order", json!({"n": 1})).await;
    for (processor, expected) in [
        (starts(json!({})), "`config.definition` is missing"),
        (
            starts(json!({"definition": "d", "namespace": "a b"})),
            "`config.namespace` is `a b`",
        ),
        (
            starts(json!({"definition": "d", "inputMapping": {"a": "$.input.b"}})),
            "`$.input.b` is not a valid path here; paths begin with $.entity.id",
        ),
        (
            starts(json!({"definition": "d", "inputMapping": "{"})),
            "`config.inputMapping`: the mapping is not valid JSON",
        ),
        (
            starts(json!({"definition": "d", "idempotencyKey": "$.run"})),
            "`config.idempotencyKey`: `$.run` is not a valid path",
        ),
        (
            signals(json!({"signal": "_go"})),
            "`config.signal` is missing or begins with `_`",
        ),
    ] {
        let workflow = orders(json!([processor]), json!([]));
        let import = json!({"model": model, "workflows": [workflow]});
        let refused = connection.call("EntityWorkflowImportRequest", import).await;
        let message = refused["error"]["message"].as_str().expect("a text");
        assert!(message.starts_with("VALIDATION_FAILED"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let start = starts(json!({"definition": "d", "version": "2", "namespace": "n",
        "inputMapping": {"a": "$.entity.data.b", "c": 1.50}, "idempotencyKey": "$.entity.id"}));
    let tell = signals(json!({"signal": "go", "payload": [1, "$.transition"]}));
    let foreign = json!({"type": "EXTERNAL", "name": "p", "executionMode": "SYNC",
        "config": {"attachEntity": true, "payload": 1}});
    let workflow = orders(json!([start]), json!([tell, foreign]));
    let import = json!({"model": model, "workflows": [workflow]});
    let imported = connection.ok("EntityWorkflowImportRequest", import).await;
    let warning = "states.PAID.transitions.0.processors.1.config.payload";
    let warnings = imported["warnings"].to_string();
    assert!(warnings.contains(warning), "{warnings}");
    let exported = connection
        .ok("EntityWorkflowExportRequest", json!({"model": model}))
        .await;
    let states = &exported["workflows"][0]["states"];
    assert_eq!(
        states["OPEN"]["transitions"][0]["processors"],
        json!([start])
    );
    let mut foreign = foreign;
    foreign["config"] = json!({"attachEntity": true});
    assert_eq!(
        states["PAID"]["transitions"][0]["processors"],
        json!([tell, foreign])
    );
}

#[tokio::test]
async fn audit_and_explanations_show_these_processors() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, FULFILMENT).await;
    let workflow = orders(
        json!([starts(json!({"definition": "fulfilment"}))]),
        json!([signals(json!({"signal": "go"}))]),
    );
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    take(&connection, &id, "pay").await;
    let paid = transaction(&connection, &id).await;
    let past = json!({"entityId": id, "transactionId": paid});
    let reported = connection.ok("WorkflowExplainRequest", past).await;
    assert_eq!(
        reported["runs"][0]["steps"][0]["calls"],
        json!(["a run started by processor fulfil"]),
        "{reported}"
    );
    take(&connection, &id, "ship").await;
    let audit = json!({"entityId": id, "limit": 1000});
    let trail = connection.ok("EntityAuditGetRequest", audit).await;
    let items = trail["items"].as_array().expect("a list").iter().rev();
    let execution_modes: Vec<_> = items
        .filter(|item| item["eventType"] == "STATE_PROCESS_RESULT")
        .map(|item| (item["details"].clone(), item["data"]["mode"].clone()))
        .collect();
    assert_eq!(
        execution_modes,
        [
            (json!("processor fulfil succeeded"), json!("RUN")),
            (json!("processor tell succeeded"), json!("SIGNAL"))
        ]
    );
    let start = starts(json!({"definition": "fulfilment"}));
    let workflow = json!({"version": "1", "name": "auto", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "go", "next": "DONE", "manual": false, "processors": [start]}]},
        "DONE": {}}});
    let model = governed_model(&connection, "auto", json!({"n": 1}), workflow).await;
    let supposed = json!({"model": model, "data": {"n": 1}});
    let reported = connection.ok("WorkflowExplainRequest", supposed).await;
    assert_eq!(reported["runs"][0]["settled"], "DONE", "{reported}");
    assert_eq!(
        reported["runs"][0]["steps"][0]["calls"],
        json!(["a run started by processor fulfil"]),
        "{reported}"
    );
    let page = connection.ok("RunsGetRequest", json!({})).await;
    let count = page["items"].as_array().map(Vec::len);
    assert_eq!(count, Some(1), "an explanation starts nothing");
}
