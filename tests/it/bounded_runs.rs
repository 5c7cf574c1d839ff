//! What runs take and show: how much of it, and in one spelling.

use serde_json::{Value, json};

use crate::support::{
    Connection, Server, between_looks, code,
    flow::{Flow, workflow},
};

/// Three steps that echo.
fn three_steps(name: &str) -> Value {
    let step = |next: &str| json!({"run": "@actions/echo", "transitions": {"success": next}});
    let mut start = step("two");
    start["inputMapping"] = json!({"n": "$.input.n"});
    let steps = json!({"two": step("three"), "three": step("flo.Completed")});
    workflow(name, start, steps)
}

/// All tasks, page by page.
async fn pages(connection: &Connection, asked: Value, limit: usize) -> Vec<Value> {
    let (mut all, mut asked) = (Vec::new(), asked);
    asked["limit"] = json!(limit);
    loop {
        let mut page = connection.ok("TasksGetRequest", asked.clone()).await;
        let items = page["items"].as_array().expect("a list");
        assert!(items.len() <= limit, "{page}");
        all.extend(items.iter().map(|task| task["taskId"].clone()));
        asked["cursor"] = page["pagination"]["nextCursor"].take();
        if asked["cursor"].is_null() {
            return all;
        }
    }
}

#[tokio::test]
async fn pages_of_tasks_end_within_runs_and_lose_none() {
    let flow = Flow::new().await;
    let mut ids = Vec::new();
    for name in ["first", "second"] {
        let ended = flow.run(three_steps(name), json!({"n": 1})).await;
        ids.insert(0, ended.run["runId"].as_str().expect("an id").to_owned());
    }
    let of = |run: &String| {
        (1..=3)
            .rev()
            .map(|n| json!(format!("{run}.{n}")))
            .collect::<Vec<_>>()
    };
    let expected: Vec<Value> = ids.iter().flat_map(of).collect();
    for limit in [1, 2, 3, 5, 100] {
        let all = pages(&flow.connection, json!({}), limit).await;
        assert_eq!(all, expected, "{limit}");
        let of_run = pages(&flow.connection, json!({"runId": ids[1]}), limit).await;
        assert_eq!(of_run, of(&ids[1]), "{limit}");
    }
}

#[tokio::test]
async fn a_task_has_one_spelling_and_a_repeated_invocation_is_shown_as_it_is() {
    let flow = Flow::new().await;
    let invoke = |n: u32| json!({"name": "silent", "idempotencyKey": "k", "input": {"n": n}});
    let first = flow.connection.ok("ActionInvokeRequest", invoke(1)).await;
    let id = first["task"]["taskId"].as_str().expect("an id").to_owned();
    let respelled = id.replace(".1", ".01");
    let output = json!({"by": "someone"});
    let complete = json!({"taskId": respelled, "output": output});
    let answer = flow.connection.call("TaskCompleteRequest", complete).await;
    assert_ne!(answer["applied"], true, "{answer}");
    let complete = json!({"taskId": id, "output": output});
    let answer = flow.connection.ok("TaskCompleteRequest", complete).await;
    assert_eq!(answer["applied"], true);
    let again = flow.connection.ok("ActionInvokeRequest", invoke(2)).await;
    let task = &again["task"];
    assert_eq!(
        (&task["taskId"], &task["input"]),
        (&json!(id), &json!({"n": 1}))
    );
    assert_eq!(
        (&task["status"], &task["output"]),
        (&json!("completed"), &output)
    );
}

#[tokio::test]
async fn a_signal_and_a_reason_are_bounded_and_so_is_a_history() {
    let flow = Flow::new().await;
    let start =
        json!({"waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}});
    flow.define(workflow("waits", start, json!({}))).await;
    let run = flow.start("waits", json!({})).await;
    let long = "x".repeat(5_000);
    for (kind, refused) in [
        ("RunSignalRequest", json!({"runId": run, "type": long})),
        ("RunCancelRequest", json!({"runId": run, "reason": long})),
    ] {
        assert_eq!(flow.connection.fails(kind, refused).await, "BAD_REQUEST");
    }
    let large = "x".repeat(1_000_000);
    let signal = json!({"runId": run, "type": "early", "payload": large});
    let mut taken = 0;
    let refused = loop {
        let answer = flow
            .connection
            .call("RunSignalRequest", signal.clone())
            .await;
        if answer["success"] == false {
            break answer;
        }
        taken += 1;
        assert!(taken < 100, "a history has no end");
    };
    assert_eq!(code(&refused), "BAD_REQUEST");
    let shown = flow
        .connection
        .ok("RunGetRequest", json!({"runId": run}))
        .await;
    let signals = shown["run"]["signals"].as_array().expect("a list").len();
    assert!((1..10).contains(&signals), "{signals} of {taken}");
    let history = json!({"runId": run, "limit": 1_000});
    let page = flow.connection.ok("RunHistoryGetRequest", history).await;
    assert_eq!(page["pagination"]["hasNext"], true);
    let go = json!({"runId": run, "type": "go"});
    flow.connection.ok("RunSignalRequest", go).await;
    assert_eq!(flow.ended(&run).await.run["status"], "completed");
}

#[tokio::test]
async fn what_is_not_text_is_refused() {
    let flow = Flow::new().await;
    flow.define(three_steps("echoes")).await;
    for input in [r#"{"a": 1, "\ud800": 2}"#, r#"{"a": "\udc00\ud800"}"#] {
        let body = format!(r#"{{"definition": "echoes", "input": {input}}}"#);
        let said = flow.server.rest().post("/api/runs", body).await;
        assert_eq!(said.status, 400, "{}", said.text);
        assert!(said.text.contains("surrogate"), "{}", said.text);
    }
    let body = r#"{"definition": "echoes", "input": {"n": "\ud83d\ude00 \\ud800"}}"#;
    let said = flow.server.rest().post("/api/runs", body).await;
    assert_eq!(said.status, 200, "{}", said.text);
}

#[tokio::test]
async fn paths_into_a_large_deep_input_end_the_run_and_nobody_waits() {
    const DEPTH: usize = 100;
    let flow = Flow::new().await;
    let path = format!("$.input{}", ".a".repeat(DEPTH));
    let mapping: serde_json::Map<String, Value> =
        (0..60).map(|n| (format!("m{n}"), json!(path))).collect();
    let start = json!({"run": "@actions/echo", "inputMapping": mapping,
        "transitions": {"success": "flo.Completed"}});
    let mut document = workflow("deep", start, json!({}));
    let from = format!("input{}", ".a".repeat(DEPTH));
    let attribute = |n: u32| json!({"name": format!("a{n}"), "type": "string", "from": from});
    document["searchAttributes"] = (0..60).map(attribute).collect();
    flow.define(document).await;
    let text = "x".repeat(900_000);
    let input = format!(
        "{}\"{text}\"{}",
        r#"{"a":"#.repeat(DEPTH),
        "}".repeat(DEPTH)
    );
    let body = format!(r#"{{"definition": "deep", "input": {input}}}"#);
    let said = flow.server.rest().post("/api/runs", body).await;
    assert_eq!(said.status, 200, "{}", said.text);
    let started: Value = serde_json::from_str(&said.text).expect("JSON");
    let ended = flow.ended(started["runId"].as_str().expect("an id")).await;
    assert_eq!(ended.run["status"], "failed", "{}", ended.run["error"]);
}

#[tokio::test]
async fn large_attributes_are_not_kept_and_do_not_hold_up_the_end() {
    let flow = Flow::new().await;
    let mut document = three_steps("attributed");
    let attribute = |n: u32| json!({"name": format!("a{n}"), "from": "input"});
    document["searchAttributes"] = (0..65).map(attribute).collect();
    let refused = json!({"document": document});
    let refused = flow
        .connection
        .fails("RunDefinitionCreateRequest", refused)
        .await;
    assert_eq!(refused, "VALIDATION_FAILED");
    document["searchAttributes"] = (0..64).map(attribute).collect();
    let input = json!({"n": 1, "text": "x".repeat(1_000_000)});
    let ended = flow.run(document, input).await;
    assert_eq!(ended.status(), "completed", "{}", ended.run["error"]);
    assert_eq!(ended.run["searchAttributes"]["a63"], Value::Null);
    let message = ended.run["error"]["message"].as_str().expect("a text");
    let expected = "the search attribute \"a0\" has ";
    assert!(message.starts_with(expected), "{message}");
}

#[tokio::test]
async fn attributes_are_compared_as_what_they_are() {
    let flow = Flow::new().await;
    let mut document = three_steps("attributed");
    document["searchAttributes"] = json!([
        {"name": "n", "type": "number", "from": "input.n"},
        {"name": "t", "type": "timestamp", "from": "input.t"},
        {"name": "s", "type": "string", "from": "input.s"},
    ]);
    let input = json!({"n": 1.5, "t": "2026-01-02T03:04:05Z", "s": "1.5"});
    flow.run(document, input).await;
    for (filter, count) in [
        ("n=1.50", 1),
        ("n=1.5", 1),
        ("n>1", 1),
        ("n>1.5", 0),
        ("t=2026-01-02T03:04:05Z", 1),
        ("t>2026-01-01T00:00:00Z", 1),
        ("t<2026-01-01T00:00:00Z", 0),
        ("s=1.5", 1),
        ("s=1.50", 0),
    ] {
        let asked = json!({"attributes": [filter]});
        let found = flow.connection.ok("RunsGetRequest", asked).await;
        let items = found["items"].as_array().expect("a list");
        assert_eq!(items.len(), count, "{filter}");
    }
    for filter in ["n<abc", "n>", "n>=1", "=1"] {
        let asked = json!({"attributes": [filter]});
        let refused = flow.connection.fails("RunsGetRequest", asked).await;
        assert_eq!(refused, "BAD_REQUEST", "{filter}");
    }
}

#[tokio::test]
async fn calls_of_members_are_tasks_with_the_numbers_they_have() {
    const BUNDLE: &str = r#"connector "db" {
  type     = "database"
  driver   = "sqlite"
  database = "PATH"
}
saga "mixed" {
  step "one" {
    action {
      connector = "db"
      operation = "INSERT"
      target    = "orders"
      data      = { id = "input.a" }
    }
    compensate {
      connector = "crm"
      operation = "POST /undo"
      body      = { b = "input.a" }
    }
  }
  step "two" {
    action {
      connector = "crm"
      operation = "POST /two"
      body      = { z = "input.a" }
    }
  }
}
"#;
    let server = Server::start();
    let connection = server.connect().await;
    let path = server.folder().join("orders.db");
    rusqlite::Connection::open(&path)
        .expect("opens")
        .execute_batch("create table orders(id integer)")
        .expect("a table");
    let text = BUNDLE.replace("PATH", path.to_str().expect("text"));
    let apply = json!({"bundle": "b", "files": [{"path": "a.hcl", "text": text}]});
    connection.ok("BundleApplyRequest", apply).await;
    let start = json!({"definition": "mixed", "input": {"a": 5}, "waitMs": 0});
    let started = connection.ok("RunStartRequest", start).await;
    let run = started["runId"].as_str().expect("an id").to_owned();
    let listed = async |count: usize| loop {
        let mut found = connection
            .ok("TasksGetRequest", json!({"runId": run}))
            .await;
        let items = found["items"].take();
        if items.as_array().expect("a list").len() == count {
            return items;
        }
        between_looks().await;
    };
    let out = listed(1).await[0].clone();
    assert_eq!(
        (&out["taskId"], &out["kind"]),
        (&json!(format!("{run}.2")), &json!("connector"))
    );
    assert_eq!(out["input"]["payload"], json!({"z": 5}));
    let failed = json!({"taskId": out["taskId"], "outcome": "failure", "output": {}});
    connection.ok("TaskCompleteRequest", failed).await;
    let tasks = listed(2).await;
    let undo = &tasks[0];
    assert_eq!(
        (&undo["taskId"], &undo["step"]),
        (&json!(format!("{run}.3")), &json!("one"))
    );
    assert_eq!(undo["input"]["payload"], json!({"b": 5}));
    let done = json!({"taskId": undo["taskId"], "output": {}});
    let answer = connection.ok("TaskCompleteRequest", done).await;
    assert_eq!(answer["applied"], true);
    assert_eq!(tasks[1]["status"], "failed");
}
