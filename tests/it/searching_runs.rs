//! Steps that search for entities (`runs.md` §6).

use serde_json::{Value, json};

use crate::support::{Connection, Server, create, locked_model};

/// A workflow that makes an order and searches for orders, both in one commit.
const DOCUMENT: &str = r#"
kind: Workflow
name: finds
version: "1"
output: "$.steps.found.output"
start:
  run: "@entity/create"
  inputMapping: {"model": {"name": "orders", "version": 1}, "data": "$.input.order"}
  transitions: {success: found, failure: flo.Failed}
steps:
  found:
    run: "@entity/search"
    inputMapping:
      model: "$.input.search.model"
      condition: "$.input.search.condition"
      limit: "$.input.search.limit"
      orderBy: "$.input.search.orderBy"
    transitions: {success: flo.Completed, model_not_found: unknown, failure: flo.Failed}
  unknown:
    run: "@entity/search"
    inputMapping: {"model": {"name": "orders", "version": 1}, "condition": {"type": "group", "operator": "AND", "conditions": []}}
    transitions: {success: flo.Cancelled}
"#;

async fn stage(server: &Server) -> Connection {
    let connection = server.connect().await;
    prepare(&connection).await;
    connection
}

/// Makes three orders, and defines the workflow.
async fn prepare(connection: &Connection) {
    let sample = json!({"n": 1, "name": "a", "price": 1.5, "tags": ["a"]});
    let model = locked_model(connection, "orders", sample).await;
    for (n, name) in [(1, "ann"), (2, "bob"), (3, "cyd")] {
        let data = json!({"n": n, "name": name, "price": 1.50, "tags": [name]});
        create(connection, &model, data).await;
    }
    let payload = json!({"document": DOCUMENT});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

/// The run that searches so, at its end.
async fn search(connection: &Connection, search: &Value) -> Value {
    let order = json!({"n": 9, "name": "new", "price": 1, "tags": []});
    let input = json!({"order": order, "search": search});
    let payload = json!({"definition": "finds", "input": input, "waitMs": 30_000});
    let started = connection.ok("RunStartRequest", payload).await;
    started["run"].clone()
}

fn everything() -> Value {
    json!({"type": "group", "operator": "AND", "conditions": []})
}

fn simple(path: &str, operator: &str, value: impl Into<Value>) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value.into()})
}

fn numbers(found: &Value) -> Vec<i64> {
    let entities = found["entities"].as_array().expect("a list").iter();
    let number = |entity: &Value| entity["data"]["n"].as_i64().expect("a number");
    entities.map(number).collect()
}

#[tokio::test]
async fn a_step_finds_what_is_committed_and_what_its_run_has_just_written() {
    let server = Server::start();
    let connection = stage(&server).await;
    let model = json!({"name": "orders", "version": 1});
    // Each run leaves another order with the number 9.
    for (round, (condition, more, expected)) in [
        (simple("n", "LESS_THAN", 9), json!({}), vec![3, 2, 1]),
        (simple("$.name", "EQUALS", "bob"), json!({}), vec![2]),
        (simple("n", "EQUALS", 9), json!({}), vec![9, 9, 9]),
        (everything(), json!({"limit": 2}), vec![9, 9]),
        (
            simple("n", "LESS_THAN", 9),
            json!({"orderBy": ["n"]}),
            vec![1, 2, 3],
        ),
        (
            simple("n", "LESS_THAN", 9),
            json!({"orderBy": [{"path": "name", "desc": true}, {"path": "creationDate", "source": "meta"}], "limit": 1}),
            vec![3],
        ),
        (simple("n", "LESS_THAN", 0), json!({}), vec![]),
        (everything(), json!({"limit": null, "orderBy": null}), vec![9; 8]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut wanted = json!({"model": model, "condition": condition, "orderBy": ["n:desc"]});
        for (name, value) in more.as_object().expect("members") {
            wanted[name] = value.clone();
        }
        let run = search(&connection, &wanted).await;
        assert_eq!(run["status"], "completed", "{run}");
        let found = &run["output"];
        let mut seen = numbers(found);
        if round == 7 {
            seen.retain(|number| *number == 9);
        }
        assert_eq!(seen, expected, "{wanted}");
        let listed = found["entities"].as_array().map(Vec::len);
        assert_eq!(found["count"], json!(listed));
    }
    let wanted = json!({"model": model, "condition": simple("n", "EQUALS", 1)});
    let found = search(&connection, &wanted).await["output"]["entities"][0].take();
    let id = found["entityId"].as_str().expect("an id");
    let get = json!({"entityId": id});
    let got = connection.ok("EntityGetRequest", get).await;
    assert_eq!(found["model"], model);
    assert_eq!(
        found["data"].to_string(),
        got["payload"]["data"].to_string()
    );
    assert_eq!(found["state"], got["payload"]["meta"]["state"]);
    assert_eq!(
        found["transactionId"],
        got["payload"]["meta"]["transactionId"]
    );
}

#[tokio::test]
async fn a_search_that_is_refused_is_an_outcome_with_its_code() {
    let server = Server::start();
    let connection = stage(&server).await;
    let model = json!({"name": "orders", "version": 1});
    for (wanted, code) in [
        (json!({"model": model}), "BAD_REQUEST"),
        (json!({"model": model, "condition": {}}), "BAD_REQUEST"),
        (json!({"model": model, "condition": 7}), "BAD_REQUEST"),
        (
            json!({"model": "orders", "condition": everything()}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": model, "condition": everything(), "limit": 0}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": model, "condition": everything(), "limit": 1_001}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": model, "condition": everything(), "limit": "7"}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": model, "condition": everything(), "orderBy": [7]}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": model, "condition": everything(), "orderBy": ["n:up"]}),
            "INVALID_FIELD_PATH",
        ),
        (
            json!({"model": model, "condition": everything(), "orderBy": ["nowhere"]}),
            "INVALID_FIELD_PATH",
        ),
        (
            json!({"model": model, "condition": simple("nowhere", "EQUALS", 1)}),
            "INVALID_FIELD_PATH",
        ),
        (
            json!({"model": model, "condition": simple("n", "GREATER_THAN", "x")}),
            "CONDITION_TYPE_MISMATCH",
        ),
        (
            json!({"model": model, "condition": simple("name", "MATCHES_PATTERN", "(")}),
            "INVALID_CONDITION",
        ),
        (
            json!({"model": model, "condition": {"type": "function", "function": {"name": "f"}}}),
            "INVALID_CONDITION",
        ),
    ] {
        let run = search(&connection, &wanted).await;
        let step = &run["steps"]["found"];
        assert_eq!(step["outcome"], "failure", "{wanted}: {run}");
        assert_eq!(step["output"]["code"], code, "{wanted}: {step}");
        assert_eq!(run["status"], "failed");
    }
    // An outcome with the code as its name is followed.
    let elsewhere = json!({"name": "nothing", "version": 1});
    let wanted = json!({"model": elsewhere, "condition": everything()});
    let run = search(&connection, &wanted).await;
    assert_eq!(run["steps"]["found"]["outcome"], "model_not_found");
    assert_eq!(run["steps"]["unknown"]["outcome"], "success");
    assert_eq!(run["status"], "cancelled");
}

#[tokio::test]
async fn a_search_has_the_budgets_of_direct_searches_and_the_size_of_an_output() {
    let server = Server::with(&[
        ("CYODA_SQLITE_SEARCH_SCAN_LIMIT", "2"),
        ("INTERLOCK_RUNS_MAX_INPUT_BYTES", "1000"),
    ]);
    let connection = stage(&server).await;
    let model = json!({"name": "orders", "version": 1});
    let pattern = simple("name", "MATCHES_PATTERN", ".*");
    let wanted = json!({"model": model, "condition": pattern});
    let run = search(&connection, &wanted).await;
    assert_eq!(
        run["steps"]["found"]["output"]["code"],
        "SCAN_BUDGET_EXHAUSTED"
    );
    let wanted = json!({"model": model, "condition": everything()});
    for _ in 0..3 {
        search(&connection, &wanted).await;
    }
    let run = search(&connection, &wanted).await;
    let output = &run["steps"]["found"]["output"];
    assert_eq!(output["code"], "SEARCH_RESULT_LIMIT", "{run}");
    let wanted = json!({"model": model, "condition": everything(), "limit": 1});
    assert_eq!(search(&connection, &wanted).await["status"], "completed");
}

#[tokio::test]
async fn a_step_does_not_find_entities_of_another_tenant() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let model = json!({"name": "orders", "version": 1});
    let wanted = json!({"model": model, "condition": everything()});
    for tenant in ["ours", "theirs"] {
        let connection = server.connect_as(&[("x-mock-tenant", tenant)]).await;
        prepare(&connection).await;
        let run = search(&connection, &wanted).await;
        assert_eq!(run["output"]["count"], 4, "{tenant}: {run}");
    }
}

#[tokio::test]
async fn a_run_that_loops_over_large_outputs_is_committed_as_it_goes_and_ends_at_its_limits() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "orders", json!({"text": "a"})).await;
    for _ in 0..9 {
        create(&connection, &model, json!({"text": "x".repeat(100_000)})).await;
    }
    let looping = || {
        json!({
            "run": "@entity/search",
            "inputMapping": {"model": {"name": "orders", "version": 1}, "condition": everything()},
            "transitions": {"success": "again", "failure": "flo.Cancelled"},
        })
    };
    let document = json!({
        "kind": "Workflow", "name": "loops", "version": "1",
        "start": looping(), "steps": {"again": looping()},
    });
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    let payload = json!({"definition": "loops", "input": {}, "waitMs": 30_000});
    // All of its history would be more than one transaction holds.
    let run = connection.ok("RunStartRequest", payload).await["run"].take();
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(
        run["error"]["message"], "the history of the run has more than 64 MiB",
        "{run}"
    );
}
