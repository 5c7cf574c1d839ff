//! Warnings of requests that fail: rows of group 5 of the corrections.

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, create, governed_model, locked_model, new_entity,
    payload_of, processed_by, request,
    scene::{automated, manual, states},
    sync_processor,
};

/// The beginning of the warning about a model without workflows.
const BUILT_IN: &str = "no workflows imported for model plain:1";

/// A failure, with warnings.
fn no(warnings: Value) -> Reply {
    let error = json!({"code": "X", "message": "no"});
    Reply::Raw(json!({"success": false, "error": error, "warnings": warnings}))
}

/// Success, with warnings.
fn yes(warnings: Value) -> Reply {
    Reply::Raw(json!({"success": true, "matches": true, "warnings": warnings}))
}

fn asked(name: &str) -> Value {
    let function = json!({"name": name, "config": {"calculationNodesTags": ""}});
    json!({"criterion": {"type": "function", "function": function}})
}

/// The code of a failure, and its warnings with what is the same each time.
fn reported(answer: &Value) -> (String, Vec<String>) {
    assert_eq!(answer["success"], false, "{answer}");
    let warnings = answer["warnings"].as_array();
    let text = |warning: &Value| {
        let text = warning.as_str().expect("a text");
        text.split("; the built-in")
            .next()
            .unwrap_or(text)
            .to_owned()
    };
    let warnings = warnings.map_or_else(Vec::new, |all| all.iter().map(text).collect());
    (crate::support::code(answer), warnings)
}

fn failed(code: &str, warnings: &[&str]) -> (String, Vec<String>) {
    let warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
    (code.to_owned(), warnings)
}

/// A model `doc` with two processors at its creation, of which the second fails; both warn.
async fn stage() -> (Server, Connection, Member, Value) {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let processors = json!([
        sync_processor("first", json!({})),
        sync_processor("second", json!({}))
    ]);
    let workflow = processed_by(processors);
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    drop(
        member.record(|call| match (call.processor(), call.data()["n"].as_i64()) {
            ("second", Some(0)) => no(json!(["late", "odd"])),
            ("second", _) => Reply::Nothing,
            _ => yes(json!(["careful"])),
        }),
    );
    (server, connection, member, model)
}

const OF_STAGE: &[&str] = &[
    "processor first: careful",
    "processor second: late",
    "processor second: odd",
];

#[tokio::test]
async fn a_failing_processor_and_those_before_it_warn_on_every_in_band_api() {
    let (server, connection, _member, model) = stage().await;
    let new = new_entity(&model, &json!({"n": 0}));
    let expected = failed("WORKFLOW_FAILED", OF_STAGE);
    let kind = "EntityCreateRequest";
    assert_eq!(
        reported(&connection.call(kind, new.clone()).await),
        expected
    );

    let event = request(kind, "r1", new.clone());
    let answered = connection.unary("entityManage", event, &[]).await;
    assert_eq!(
        reported(&payload_of(&answered.expect("an event"))),
        expected
    );

    let many = json!({"dataFormat": "JSON", "payloads": [new["payload"]]});
    let event = request("EntityCreateCollectionRequest", "r2", many);
    let answered = connection.streaming("entityManageCollection", event, &[]);
    let answered = answered.await.expect("events");
    assert_eq!(answered.len(), 1);
    assert_eq!(reported(&payload_of(&answered[0])), expected);

    let mut data = new.clone();
    data["id"] = json!("r3");
    let event =
        json!({"specversion": "1.0", "id": "r3", "source": "/test", "type": kind, "data": data});
    let rest = server.rest();
    let structured = rest.with("content-type", "application/cloudevents+json");
    let said = structured.post("/api/events", event.to_string()).await;
    assert_eq!(reported(&said.json()["data"]), expected);

    // The answers of REST stay without.
    let said = rest.post("/api/entity/JSON/doc/1", "{\"n\":0}").await;
    let problem = said.refused(400, "WORKFLOW_FAILED");
    assert!(problem.get("warnings").is_none(), "{problem}");
    assert!(!problem.to_string().contains("careful"), "{problem}");
}

#[tokio::test]
async fn a_failing_update_and_a_failing_transition_warn() {
    let (_server, connection, _member, model) = stage().await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let change = json!({"entityId": id, "data": {"n": 0}, "transition": "AGAIN"});
    let update = json!({"dataFormat": "JSON", "payload": change});
    let expected = failed("WORKFLOW_FAILED", OF_STAGE);
    let answer = connection.call("EntityUpdateRequest", update).await;
    assert_eq!(reported(&answer), expected);
    let payload = json!({"entityId": id, "patch": {"n": 0}, "transition": "AGAIN", "ifMatch": "*"});
    let patch = json!({"patchFormat": "MERGE_PATCH", "payload": payload});
    let answer = connection.call("EntityPatchRequest", patch).await;
    assert_eq!(reported(&answer), expected);
    let plain = locked_model(&connection, "plain", json!({"n": 1})).await;
    let other = create(&connection, &plain, json!({"n": 1})).await;
    let nowhere = json!({"entityId": other, "transition": "NOWHERE"});
    let answer = connection.call("EntityTransitionRequest", nowhere).await;
    assert_eq!(reported(&answer), failed("TRANSITION_NOT_FOUND", &[]));
}

#[tokio::test]
async fn a_member_that_does_not_answer_leaves_the_warnings_of_those_before_it() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let processors = json!([
        sync_processor("first", json!({})),
        sync_processor("silent", json!({"responseTimeoutMs": 50}))
    ]);
    let workflow = processed_by(processors);
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let serving = async {
        let first = member.next().await;
        member.reply(&first, yes(json!(["careful"]))).await;
    };
    let new = new_entity(&model, &json!({"n": 1}));
    let (answer, ()) = tokio::join!(connection.call("EntityCreateRequest", new), serving);
    assert_eq!(
        reported(&answer),
        failed("WORKFLOW_FAILED", &["processor first: careful"])
    );
}

#[tokio::test]
async fn a_failing_criterion_warns_and_so_does_one_that_says_no() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = states(json!({"A": [manual("GO", "B", asked("big"))], "B": []}));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    drop(member.record(|call| match call.data()["n"].as_i64() {
        Some(0) => no(json!(["broken"])),
        _ => Reply::Raw(json!({"success": true, "matches": false, "warnings": ["small"]})),
    }));
    let id = create(&connection, &model, json!({"n": 1})).await;
    for (n, warning) in [(0, "criteria big: broken"), (1, "criteria big: small")] {
        let change = json!({"entityId": id, "data": {"n": n}, "transition": "GO"});
        let update = json!({"dataFormat": "JSON", "payload": change});
        let answer = connection.call("EntityUpdateRequest", update).await;
        assert_eq!(reported(&answer), failed("WORKFLOW_FAILED", &[warning]));
    }
}

#[tokio::test]
async fn a_failing_function_warns_and_so_does_one_whose_answer_is_no_schedule() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &["clock"]).await;
    let function =
        json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "clock"});
    let schedule = json!({"schedule": {"function": function}});
    let workflow = states(json!({"A": [automated("GO", "B", schedule)], "B": []}));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    drop(member.record(|call| match call.data()["n"].as_i64() {
        Some(0) => no(json!(["broken"])),
        _ => Reply::Raw(json!({"success": true, "resultKind": "Other", "warnings": ["odd"]})),
    }));
    for (n, code, warning) in [
        (0, "WORKFLOW_FAILED", "function when: broken"),
        (1, "SCHEDULE_FUNCTION_INVALID_RESULT", "function when: odd"),
    ] {
        let new = new_entity(&model, &json!({"n": n}));
        let answer = connection.call("EntityCreateRequest", new).await;
        assert_eq!(answer["success"], false, "{answer}");
        assert_eq!(answer["warnings"], json!([warning]), "{code}: {answer}");
    }
}

#[tokio::test]
async fn a_failing_detached_processor_warns_with_its_own_words_too() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let mut detached = sync_processor("aside", json!({}));
    detached["executionMode"] = json!("ASYNC_NEW_TX");
    let workflow = processed_by(json!([detached, sync_processor("last", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    drop(member.record(|call| match call.processor() {
        "aside" => no(json!(["odd"])),
        _ => no(json!([])),
    }));
    let new = new_entity(&model, &json!({"n": 1}));
    let answer = connection.call("EntityCreateRequest", new).await;
    let (_, warnings) = reported(&answer);
    assert_eq!(warnings.len(), 2, "{answer}");
    assert_eq!(warnings[0], "processor aside: odd");
    assert!(warnings[1].contains("aside failed"), "{answer}");
}

#[tokio::test]
async fn a_call_that_is_repeated_warns_of_every_attempt() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let config = json!({"retryPolicy": "FIXED"});
    let workflow = processed_by(json!([sync_processor("p", config)]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let attempts = std::sync::atomic::AtomicU32::new(0);
    drop(member.record(move |_| {
        let attempt = attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let error = json!({"message": "busy", "retryable": true});
        let warnings = json!([format!("attempt {attempt}")]);
        if attempt == 2 {
            yes(warnings)
        } else {
            Reply::Raw(json!({"success": false, "error": error, "warnings": warnings}))
        }
    }));
    let new = new_entity(&model, &json!({"n": 1}));
    let answer = connection.ok("EntityCreateRequest", new.clone()).await;
    let first = ["processor p: attempt 1", "processor p: attempt 2"];
    assert_eq!(answer["warnings"], json!(first), "{answer}");
    let answer = connection.call("EntityCreateRequest", new).await;
    let all: Vec<_> = (3..7)
        .map(|n| format!("processor p: attempt {n}"))
        .collect();
    assert_eq!(reported(&answer).1, all, "{answer}");
}

#[tokio::test]
async fn the_items_of_a_collection_warn_up_to_the_one_that_failed() {
    let (_server, connection, _member, model) = stage().await;
    let plain = locked_model(&connection, "plain", json!({"n": 1})).await;
    let item = |model: &Value, n: i32| new_entity(model, &json!({"n": n}))["payload"].clone();
    let payloads = json!([
        item(&plain, 1),
        item(&model, 1),
        item(&model, 0),
        item(&model, 1)
    ]);
    let mut request = json!({"dataFormat": "JSON", "payloads": payloads});
    let kind = "EntityCreateCollectionRequest";
    let expected = [&[BUILT_IN], OF_STAGE].concat();
    let answer = connection.call(kind, request.clone()).await;
    assert_eq!(reported(&answer), failed("WORKFLOW_FAILED", &expected));

    // With windows, those before the failing one are committed, and the answer is of all.
    request["chunkSize"] = json!(2);
    let answer = connection.ok(kind, request).await;
    let warnings = answer["warnings"].to_string();
    for warning in &expected {
        assert!(warnings.contains(warning), "{warning}: {answer}");
    }
    assert_eq!(answer["chunks"][1]["error"]["code"], "WORKFLOW_FAILED");

    let one = create(&connection, &model, json!({"n": 1})).await;
    let two = create(&connection, &model, json!({"n": 1})).await;
    let change =
        |id: &str, n: i32| json!({"entityId": id, "data": {"n": n}, "transition": "AGAIN"});
    let payloads = json!([change(&one, 1), change(&two, 0)]);
    let request = json!({"dataFormat": "JSON", "payloads": payloads});
    let answer = connection
        .call("EntityUpdateCollectionRequest", request)
        .await;
    assert_eq!(reported(&answer), failed("WORKFLOW_FAILED", OF_STAGE));
}

#[tokio::test]
async fn a_write_that_fails_at_its_commit_warns_of_the_built_in_workflow() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let import = json!({"model": {"name": "plain", "version": 1}, "dataFormat": "JSON",
        "converter": "SAMPLE_DATA", "payload": {"n": 1}});
    connection.ok("EntityModelImportRequest", import).await;
    let keys = json!({"uniqueKeys": [{"id": "by-n", "fields": ["$.n"]}]});
    let path = "/api/model/plain/1/unique-keys";
    rest.put(path, keys.to_string()).await.ok();
    rest.put("/api/model/plain/1/lock", "").await.ok();
    let model = json!({"name": "plain", "version": 1});
    create(&connection, &model, json!({"n": 1})).await;
    let new = new_entity(&model, &json!({"n": 1}));
    let answer = connection.call("EntityCreateRequest", new.clone()).await;
    assert_eq!(reported(&answer), failed("UNIQUE_VIOLATION", &[BUILT_IN]));
    let many = json!({"dataFormat": "JSON", "payloads": [new["payload"]]});
    let answer = connection.call("EntityCreateCollectionRequest", many).await;
    assert_eq!(reported(&answer), failed("UNIQUE_VIOLATION", &[BUILT_IN]));
}
