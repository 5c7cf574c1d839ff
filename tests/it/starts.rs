//! Starts, keys, children and bounds of runs, rule by rule (`orchestration.md` 1.10, 1.12, 1.13).

use serde_json::{Value, json};

use crate::support::flow::{Flow, workflow};

fn echo(name: &str) -> Value {
    let start = json!({"run": "@actions/echo", "transitions": {"success": "flo.Completed"}});
    workflow(name, start, json!({}))
}

fn parent(name: &str, child: &str) -> Value {
    let ways = json!({"success": "flo.Completed", "failure": "flo.Failed",
        "target_not_found": "flo.Cancelled", "target_disabled": "flo.TimedOut"});
    workflow(
        name,
        json!({"run": format!("@workflow/{child}"), "transitions": ways}),
        json!({}),
    )
}

/// 1.10: what keys mean in the three modes.
#[tokio::test]
async fn a_key_creates_one_run_where_the_mode_knows_keys() {
    let flow = Flow::new().await;
    for (mode, same_run) in [("none", false), ("optional", true), ("required", true)] {
        let mut document = echo(mode);
        document["idempotency"] = json!(mode);
        flow.define(document.clone()).await;
        let keyed = json!({"definition": mode, "idempotencyKey": "k", "input": {"n": 1}});
        let first = flow.connection.ok("RunStartRequest", keyed.clone()).await;
        assert_eq!(first["created"], true, "{mode}");
        // Whatever became of the first run, of any version, and whatever the input is now.
        flow.ended(first["runId"].as_str().expect("an id")).await;
        document["version"] = json!("2");
        flow.define(document).await;
        let mut other = keyed.clone();
        other["input"] = json!({"n": 2});
        let second = flow.connection.ok("RunStartRequest", other).await;
        assert_eq!(second["runId"] == first["runId"], same_run, "{mode}");
        assert_eq!(second["created"], json!(!same_run), "{mode}");
        if same_run {
            assert_eq!(second["status"], "completed", "{mode}");
            assert_eq!(second["definition"]["version"], "1", "{mode}");
        }
        // An empty key is none.
        let empty = json!({"definition": mode, "idempotencyKey": ""});
        let answer = flow.connection.call("RunStartRequest", empty).await;
        assert_eq!(
            answer["success"],
            json!(mode != "required"),
            "{mode}: {answer}"
        );
    }
}

/// 1.10 and `runs.md` §11: the order of the checks of a start.
#[tokio::test]
async fn a_start_is_checked_in_the_documented_order() {
    let flow = Flow::new().await;
    let mut document = echo("strict");
    document["idempotency"] = json!("required");
    flow.define(document).await;
    let taken = json!({"definition": "strict", "idempotencyKey": "k", "runId": "mine"});
    flow.connection.ok("RunStartRequest", taken).await;
    let refused = async |payload: Value| flow.connection.fails("RunStartRequest", payload).await;
    let unknown = json!({"definition": "nowhere", "runId": "mine"});
    assert_eq!(refused(unknown).await, "RUN_DEFINITION_NOT_FOUND");
    let version = json!({"definition": "strict", "version": "9", "idempotencyKey": "k"});
    assert_eq!(refused(version).await, "RUN_DEFINITION_NOT_FOUND");
    // Without the key it is refused, also if the run identifier is taken.
    let keyless = json!({"definition": "strict", "runId": "mine"});
    assert_eq!(refused(keyless.clone()).await, "BAD_REQUEST");
    // A known key answers before the identifier is looked at.
    let known = json!({"definition": "strict", "idempotencyKey": "k", "runId": "mine"});
    let answer = flow.connection.ok("RunStartRequest", known).await;
    assert_eq!(
        (&answer["created"], &answer["runId"]),
        (&json!(false), &json!("mine"))
    );
    let other = json!({"definition": "strict", "idempotencyKey": "other", "runId": "mine"});
    assert_eq!(refused(other).await, "RUN_EXISTS");
    let off = json!({"name": "strict", "enabled": false});
    flow.connection
        .ok("RunDefinitionSetEnabledRequest", off)
        .await;
    assert_eq!(refused(keyless).await, "RUN_DEFINITION_DISABLED");
    for bad in [
        json!({"definition": "strict", "idempotencyKey": "k".repeat(256)}),
        json!({"definition": "strict", "waitMs": 30_001}),
        json!({"definition": "strict", "waitMs": -1}),
        json!({"definition": 7}),
        json!({}),
        json!({"definition": "strict", "runId": "r".repeat(129)}),
        json!({"definition": "strict", "namespace": "a b"}),
    ] {
        let code = refused(bad.clone()).await;
        assert!(
            ["BAD_REQUEST", "RUN_DEFINITION_DISABLED"].contains(&&*code),
            "{bad}: {code}"
        );
    }
}

/// 1.12: which version a child follows, and what becomes of its end.
#[tokio::test]
async fn a_child_follows_the_version_that_is_named_or_the_latest() {
    let flow = Flow::new().await;
    for version in ["1", "2"] {
        let mut document = echo("child");
        document["version"] = json!(version);
        document["output"] = json!({"of": version, "n": "$.input.n"});
        flow.define(document).await;
    }
    // A name with a colon is tried whole first.
    let mut whole = echo("child:odd");
    whole["output"] = json!({"of": "whole"});
    flow.define(whole).await;
    for (child, of) in [
        ("child", "2"),
        ("child:1", "1"),
        ("child:2", "2"),
        ("child:odd", "whole"),
    ] {
        let ended = flow.run(parent("parent", child), json!({"n": 7})).await;
        let output = &ended.run["steps"]["start"]["output"];
        assert_eq!(output["of"], of, "{child}: {:?}", ended.events());
        let events = ended.events();
        assert!(events[1].starts_with("awaiting_child wfrun-"), "{events:?}");
        assert_eq!(events[2], "child_completed success");
    }
    let ended = flow.run(parent("parent", "child:3"), json!({})).await;
    assert_eq!(ended.status(), "cancelled");
    assert_eq!(ended.events()[1], "child_not_found child:3");
    // Any other end is a failure; without an output it is `{}`.
    let mut fails = echo("fails");
    fails["start"]["transitions"]["success"] = json!("flo.TimedOut");
    flow.define(fails).await;
    let ended = flow.run(parent("parent", "fails"), json!({})).await;
    assert_eq!(ended.status(), "failed");
    assert_eq!(ended.run["steps"]["start"]["output"], json!({}));
    assert_eq!(ended.events()[2], "child_completed failure");
    let off = json!({"name": "child", "version": "1", "enabled": false});
    flow.connection
        .ok("RunDefinitionSetEnabledRequest", off)
        .await;
    assert_eq!(
        flow.run(parent("parent", "child:1"), json!({}))
            .await
            .status(),
        "timed_out"
    );
    assert_eq!(
        flow.run(parent("parent", "child"), json!({}))
            .await
            .status(),
        "completed"
    );
}

/// 1.12: runs keep the document that they started with.
#[tokio::test]
async fn a_run_keeps_its_document_when_the_version_is_replaced_or_deleted() {
    let flow = Flow::new().await;
    let waits = |terminal: &str| {
        let start = json!({"waitForSignal": {"type": "go"}, "transitions": {"success": "then"}});
        let then = json!({"run": "@actions/echo", "transitions": {"success": terminal}});
        workflow("pinned", start, json!({"then": then}))
    };
    flow.define(waits("flo.Completed")).await;
    let first = flow.start("pinned", json!({})).await;
    flow.waits(&first, "signal").await;
    flow.define(waits("flo.Cancelled")).await;
    let second = flow.start("pinned", json!({})).await;
    flow.waits(&second, "signal").await;
    let gone = json!({"name": "pinned"});
    flow.connection.ok("RunDefinitionDeleteRequest", gone).await;
    for (id, status) in [(first, "completed"), (second, "cancelled")] {
        flow.signal(&id, "go", Value::Null).await;
        assert_eq!(flow.ended(&id).await.status(), status);
    }
}

/// 1.13: the bounds of a run.
#[tokio::test]
async fn a_run_that_never_ends_by_itself_is_ended() {
    let flow = Flow::with(&[
        ("INTERLOCK_RUNS_MAX_STEPS", "300"),
        ("INTERLOCK_RUNS_MAX_CHILD_DEPTH", "2"),
        ("INTERLOCK_RUNS_MAX_INPUT_BYTES", "2000"),
    ])
    .await;
    // 256 without parking.
    let start = json!({"run": "@actions/none", "transitions": {"failure": "again"}});
    let again = json!({"run": "@actions/none", "transitions": {"failure": "again"}});
    let ended = flow
        .run(workflow("spins", start, json!({"again": again})), json!({}))
        .await;
    assert_eq!(ended.last(), "workflow_failed max step limit reached");
    assert_eq!(ended.count("step_completed"), 256);
    // So many in all, of which each is a commit.
    let few = Flow::with(&[("INTERLOCK_RUNS_MAX_STEPS", "40")]).await;
    let start = json!({"run": "@actions/echo", "transitions": {"success": "again"}});
    let again = json!({"run": "@actions/echo", "transitions": {"success": "again"}});
    let ping = || workflow("ping", start.clone(), json!({"again": again.clone()}));
    let ended = few.run(ping(), json!({})).await;
    assert_eq!(ended.last(), "workflow_failed max step limit reached");
    assert_eq!(ended.count("step_completed"), 40);
    // A child of a child of a child.
    let mut nested = parent("nested", "nested");
    nested["start"]["transitions"]["execution_failure"] = json!("flo.Completed");
    let ended = flow.run(nested, json!({})).await;
    assert_eq!(ended.status(), "completed");
    let page = flow
        .connection
        .ok("RunsGetRequest", json!({"definition": "nested"}))
        .await;
    assert_eq!(page["items"].as_array().map(Vec::len), Some(3));
    flow.define(ping()).await;
    let large = json!({"definition": "ping", "input": {"x": "x".repeat(2_000)}});
    let refused = flow.connection.fails("RunStartRequest", large).await;
    assert_eq!(refused, "BAD_REQUEST");
    let mut doubles = echo("doubles");
    doubles["start"]["inputMapping"] = json!({"a": "$.input", "b": "$.input"});
    doubles["start"]["transitions"]["execution_failure"] = json!("flo.Cancelled");
    let ended = flow.run(doubles, json!({"x": "x".repeat(1_500)})).await;
    assert_eq!(ended.status(), "cancelled", "{:?}", ended.events());
}

/// A child that ends in its first step finds its parent waiting, however soon it is looked at.
#[tokio::test]
async fn children_that_end_at_once_end_their_parents() {
    let flow = Flow::with(&[("INTERLOCK_RUNS_MAX_CHILD_DEPTH", "2")]).await;
    let mut nested = parent("nested", "nested");
    nested["start"]["transitions"]["execution_failure"] = json!("flo.Completed");
    flow.define(nested).await;
    for _ in 0..150 {
        let id = flow.start("nested", json!({})).await;
        assert_eq!(flow.ended(&id).await.status(), "completed");
    }
}

/// 1.13: attributes are coerced, at the start and again at the end.
#[tokio::test]
async fn search_attributes_have_the_type_that_is_declared() {
    let flow = Flow::new().await;
    let mut document = echo("attributes");
    document["searchAttributes"] = json!([
        {"name": "plain", "from": "input.text"}, {"name": "path", "from": "$.input.text"},
        {"name": "number", "from": "input.number", "type": "number"},
        {"name": "numeric", "from": "input.numeric", "type": "number"},
        {"name": "wrong", "from": "input.text", "type": "number"},
        {"name": "at", "from": "input.at", "type": "timestamp"},
        {"name": "ms", "from": "input.ms", "type": "timestamp"},
        {"name": "none", "from": "input.none"},
        {"name": "outcome", "from": "$.steps._start.outcome"},
        {"name": "run", "from": "$.flo.run_id"},
    ]);
    let input = json!({"text": "t", "number": 1.5, "numeric": "20", "at": "2026-01-02T03:04:05Z", "ms": 1_767_323_045_000_i64});
    let ended = flow.run(document, input).await;
    let attributes = &ended.run["searchAttributes"];
    for (name, expected) in [
        ("plain", json!("t")),
        ("path", json!("t")),
        ("number", json!(1.5)),
        ("numeric", json!(20)),
        ("wrong", Value::Null),
        ("at", json!(1_767_323_045_000_i64)),
        ("ms", json!(1_767_323_045_000_i64)),
        ("none", Value::Null),
        ("outcome", json!("success")),
        ("run", ended.run["runId"].clone()),
    ] {
        assert_eq!(attributes[name], expected, "{name}: {attributes}");
    }
    for (filter, found) in [
        ("numeric>19", 1),
        ("numeric<20", 0),
        ("number=1.5", 1),
        ("plain=t", 1),
        ("plain=T", 0),
        ("outcome=success", 1),
        ("at>1767323044999", 1),
        ("nothing=1", 0),
    ] {
        let payload = json!({"definition": "attributes", "attributes": [filter]});
        let page = flow.connection.ok("RunsGetRequest", payload).await;
        assert_eq!(
            page["items"].as_array().map(Vec::len),
            Some(found),
            "{filter}"
        );
    }
}

/// The statuses and fields of a run while it moves (`runs.md` §3).
#[tokio::test]
async fn a_run_is_cancelled_with_its_reason_wherever_it_waits() {
    let flow = Flow::new().await;
    flow.define(echo("child")).await;
    let silent = json!({"run": "@actions/silent", "transitions": {"success": "flo.Completed"}});
    let wait =
        json!({"waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}});
    let retry = json!({"run": "@actions/fails", "retry": {"max_attempts": 2, "initial_delay_ms": 60_000, "max_delay_ms": 60_000},
        "transitions": {"success": "flo.Completed"}});
    for (name, start, what) in [
        ("task", silent, "task"),
        ("wait", wait, "signal"),
        ("retry", retry, "timer"),
    ] {
        flow.define(workflow(name, start, json!({}))).await;
        for reason in [None, Some("enough")] {
            let id = flow.start(name, json!({})).await;
            let waiting = flow.waits(&id, what).await;
            assert_eq!(waiting["status"], "waiting");
            let mut cancel = json!({"runId": id});
            if let Some(reason) = reason {
                cancel["reason"] = json!(reason);
            }
            let cancelled = flow.connection.ok("RunCancelRequest", cancel.clone()).await;
            assert_eq!(cancelled["status"], "cancelled");
            let ended = flow.ended(&id).await;
            let reason = reason.unwrap_or("cancelled by user");
            assert_eq!(ended.last(), format!("workflow_cancelled {reason}"));
            let again = flow.connection.fails("RunCancelRequest", cancel).await;
            assert_eq!(again, "RUN_FINISHED");
        }
    }
    let unknown = flow
        .connection
        .fails("RunCancelRequest", json!({"runId": "nobody"}))
        .await;
    assert_eq!(unknown, "RUN_NOT_FOUND");
}

#[tokio::test]
async fn a_run_that_its_child_ends_says_so() {
    let flow = Flow::new().await;
    let wait =
        json!({"waitForSignal": {"type": "go"}, "transitions": {"success": "flo.Completed"}});
    flow.define(workflow("child", wait, json!({}))).await;
    flow.define(parent("middle", "child")).await;
    flow.define(parent("top", "middle")).await;
    let top = flow.start("top", json!({})).await;
    let below = async |id: &str| {
        let waiting = flow.waits(id, "child").await;
        let name = &waiting["waiting"]["name"];
        name.as_str().expect("an id").to_owned()
    };
    let middle = below(&top).await;
    let child = below(&middle).await;
    let cancel = json!({"runId": child});
    flow.connection.ok("RunCancelRequest", cancel).await;
    let error = async |id: &str| flow.ended(id).await.run["error"]["message"].take();
    let of_middle = format!("step start: child {child} was cancelled");
    assert_eq!(error(&middle).await, of_middle);
    let of_top = format!("step start: child {middle} failed: {of_middle}");
    assert_eq!(error(&top).await, of_top);
}
