//! Runs of step workflows through the public surface (`runs.md` §3 to §6).

use std::time::Duration;

use interlock::event::EventType;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, Server, between_looks, code, create, governed_model, locked_model, new_entity,
    payload_of, processed_by, request,
};

const PATIENCE: Duration = Duration::from_secs(30);

async fn define(connection: &Connection, document: &str) {
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn start(connection: &Connection, payload: Value) -> String {
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

async fn run(connection: &Connection, id: &str) -> Value {
    let payload = json!({"runId": id});
    connection.ok("RunGetRequest", payload).await["run"].take()
}

/// Waits for the end of a run.
async fn ended(connection: &Connection, id: &str) -> Value {
    let follow = json!({"runId": id, "fromSequence": 0});
    connection.all("RunHistorySubscribeRequest", follow).await;
    run(connection, id).await
}

/// Waits until a run waits for something.
async fn waits(connection: &Connection, id: &str) -> Value {
    let look = async {
        loop {
            let run = run(connection, id).await;
            if run["status"] == "waiting" {
                return run;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, look).await.expect("it waits")
}

async fn signal(connection: &Connection, id: &str, kind: &str, payload: Value) -> Value {
    let payload = json!({"runId": id, "type": kind, "payload": payload});
    connection.ok("RunSignalRequest", payload).await
}

/// The types and details of a history.
async fn history(connection: &Connection, id: &str) -> Vec<String> {
    let payload = json!({"runId": id, "limit": 1000});
    let page = connection.ok("RunHistoryGetRequest", payload).await;
    let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
    let items = page["items"].as_array().expect("a list").iter();
    items
        .map(|item| format!("{} {}", text(item, "eventType"), text(item, "detail")))
        .collect()
}

const APPROVAL: &str = r#"
kind: Workflow
name: approval
version: "1"
idempotency: optional
searchAttributes:
  - {name: customer, from: input.customer}
  - {name: amount, from: input.amount, type: number}
output: '{"by": "$.steps._start.output.by", "amount": "$.input.amount"}'
start:
  waitForSignal: {type: approval, timeoutMs: 3600000, onTimeout: flo.TimedOut}
  transitions: {success: flo.Completed}
"#;

#[tokio::test]
async fn a_signal_ends_a_wait_and_the_output_is_mapped() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let input = json!({"customer": "c1", "amount": 1.5});
    let id = start(
        &connection,
        json!({"definition": "approval", "input": input}),
    )
    .await;
    let waiting = waits(&connection, &id).await;
    assert_eq!(waiting["waiting"]["for"], "signal");
    assert_eq!(waiting["waiting"]["name"], "approval");
    assert_eq!(waiting["currentStep"], "start");
    let signalled = signal(&connection, &id, "approval", json!({"by": "me"})).await;
    assert_eq!(signalled["matched"], true);
    assert_eq!(signalled["status"], "completed");
    let ended = run(&connection, &id).await;
    assert_eq!(ended["output"], json!({"by": "me", "amount": 1.5}));
    assert_eq!(ended["signals"][0]["consumed"], true);
    assert_eq!(
        history(&connection, &id).await[1..],
        [
            "step_started start",
            "waiting_for_signal approval",
            "signal_received approval",
            "signal_matched approval",
            "step_completed start",
            "workflow_completed flo.Completed"
        ]
    );
}

#[tokio::test]
async fn a_signal_to_a_run_that_has_ended_is_refused_with_its_status() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let id = start(&connection, json!({"definition": "approval"})).await;
    waits(&connection, &id).await;
    let cancelled = connection
        .ok("RunCancelRequest", json!({"runId": id}))
        .await;
    assert_eq!(cancelled["status"], "cancelled");
    let again = json!({"runId": id, "type": "approval"});
    let refused = connection.call("RunSignalRequest", again).await;
    assert_eq!(refused["success"], false);
    let message = refused["error"]["message"].as_str().expect("a text");
    assert_eq!(message, format!("RUN_FINISHED: run {id} is cancelled"));
    assert_eq!(refused["error"]["properties"]["status"], "cancelled");
    assert_eq!(refused["matched"], false);
    assert_eq!(refused["status"], "cancelled");
    for unknown in ["wfrun-7", "nobody", ""] {
        let payload = json!({"runId": unknown, "type": "approval"});
        let refused = connection.call("RunSignalRequest", payload).await;
        let message = refused["error"]["message"].as_str().expect("a text");
        assert!(message.starts_with("RUN_NOT_FOUND"), "{message}");
    }
}

#[tokio::test]
async fn starts_with_one_key_create_one_run_however_many_come_at_once() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let payload = json!({"definition": "approval", "idempotencyKey": "k"});
    let starts = (0..16).map(|_| connection.ok("RunStartRequest", payload.clone()));
    let started = futures_util::future::join_all(starts).await;
    let created = started.iter().filter(|start| start["created"] == true);
    assert_eq!(created.count(), 1);
    assert!(
        started
            .iter()
            .all(|start| start["runId"] == started[0]["runId"])
    );
}

#[tokio::test]
async fn a_key_that_the_definition_ignores_is_a_warning() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, &APPROVAL.replace("optional", "none")).await;
    let payload = json!({"definition": "approval", "idempotencyKey": "k"});
    let first = connection.ok("RunStartRequest", payload.clone()).await;
    let second = connection.ok("RunStartRequest", payload).await;
    assert_ne!(first["runId"], second["runId"]);
    let warning = second["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("idempotency: optional"), "{warning}");
    let without = json!({"definition": "approval"});
    let third = connection.ok("RunStartRequest", without).await;
    assert!(third.get("warnings").is_none(), "{third}");
}

#[tokio::test]
async fn a_chosen_identifier_belongs_to_one_run() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let payload = json!({"definition": "approval", "runId": "order:7"});
    assert_eq!(start(&connection, payload.clone()).await, "order:7");
    assert_eq!(run(&connection, "order:7").await["runId"], "order:7");
    let refused = connection.call("RunStartRequest", payload).await;
    let message = refused["error"]["message"].as_str().expect("a text");
    assert!(message.starts_with("RUN_EXISTS"), "{message}");
    for bad in ["wfrun-1", "wf_1", "stream", "a b", "", ".", "..", "a\0"] {
        let payload = json!({"definition": "approval", "runId": bad});
        let refused = connection.call("RunStartRequest", payload).await;
        let message = refused["error"]["message"].as_str().expect("a text");
        assert!(message.starts_with("BAD_REQUEST"), "{bad}: {message}");
    }
}

#[tokio::test]
async fn runs_and_their_timers_outlive_a_crash() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let short = APPROVAL
        .replace("name: approval", "name: short")
        .replace("3600000", "300");
    define(&connection, &short).await;
    let waiting = start(&connection, json!({"definition": "approval"})).await;
    let timed = start(&connection, json!({"definition": "short"})).await;
    waits(&connection, &waiting).await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(ended(&connection, &timed).await["status"], "timed_out");
    assert_eq!(run(&connection, &waiting).await["status"], "waiting");
    let signalled = signal(&connection, &waiting, "approval", json!({"by": "me"})).await;
    assert_eq!(signalled["status"], "completed");
}

#[tokio::test]
async fn runs_are_found_by_definition_status_attributes_and_text() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    for (customer, amount) in [("c1", 5), ("c2", 50), ("c2", 500)] {
        let input = json!({"customer": customer, "amount": amount});
        let payload = json!({"definition": "approval", "input": input});
        let id = start(&connection, payload).await;
        waits(&connection, &id).await;
    }
    for (filter, found) in [
        (json!({"definition": "approval"}), 3),
        (json!({"definition": "other"}), 0),
        (json!({"status": ["waiting"]}), 3),
        (json!({"status": ["completed", "failed"]}), 0),
        (json!({"attributes": ["customer=c2"]}), 2),
        (json!({"attributes": ["customer=c2", "amount>50"]}), 1),
        (json!({"attributes": ["amount<51"]}), 2),
        (json!({"search": "C1"}), 1),
        (json!({"kind": "saga"}), 0),
        (json!({"namespace": "elsewhere"}), 0),
    ] {
        let page = connection.ok("RunsGetRequest", filter.clone()).await;
        let items = page["items"].as_array().expect("a list");
        assert_eq!(items.len(), found, "{filter}");
        assert!(items.iter().all(|run| run.get("input").is_none()));
    }
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut payload = json!({"limit": 2});
        if cursor.is_string() {
            payload["cursor"] = cursor;
        }
        let page = connection.ok("RunsGetRequest", payload).await;
        let items = page["items"].as_array().expect("a list").iter();
        seen.extend(items.map(|run| run["createdAt"].as_str().expect("a time").to_owned()));
        cursor = page["pagination"]["nextCursor"].clone();
        if page["pagination"]["hasNext"] == false {
            break;
        }
    }
    assert_eq!(seen.len(), 3);
    assert!(seen.is_sorted_by(|one, next| one > next), "newest first");
}

#[tokio::test]
async fn a_run_waits_for_its_child_and_a_cancel_takes_both() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let parent = "kind: Workflow\nname: parent\nversion: \"1\"\noutput: \"$.steps._start.output\"\nstart:\n  run: \"@workflow/approval\"\n  transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(&connection, parent).await;
    for cancels in [false, true] {
        let payload = json!({"definition": "parent", "input": {"amount": 7}});
        let id = start(&connection, payload).await;
        let waiting = waits(&connection, &id).await;
        assert_eq!(waiting["waiting"]["for"], "child");
        let child = waiting["waiting"]["name"]
            .as_str()
            .expect("an id")
            .to_owned();
        let of_parent = json!({"parentRunId": id});
        let page = connection.ok("RunsGetRequest", of_parent).await;
        assert_eq!(page["items"][0]["runId"], *child);
        assert_eq!(page["items"][0]["startedBy"], "parent");
        waits(&connection, &child).await;
        if cancels {
            let cancel = json!({"runId": id, "reason": "no more"});
            connection.ok("RunCancelRequest", cancel).await;
            assert_eq!(run(&connection, &child).await["status"], "cancelled");
            assert_eq!(run(&connection, &id).await["status"], "cancelled");
        } else {
            signal(&connection, &child, "approval", json!({"by": "me"})).await;
            let ended = ended(&connection, &id).await;
            assert_eq!(ended["output"], json!({"by": "me", "amount": 7}));
        }
    }
}

#[tokio::test]
async fn entity_steps_are_committed_with_the_run_and_await_resumes_it() {
    let server = Server::start();
    let connection = server.connect().await;
    locked_model(&connection, "orders", json!({"n": 1})).await;
    let document = r#"
kind: Workflow
name: makes
version: "1"
output: "$.steps.moved.output.state"
start:
  run: "@entity/create"
  inputMapping: {"model": {"name": "orders", "version": 1}, "data": "$.input.order"}
  transitions: {success: moved, failure: flo.Failed}
steps:
  moved:
    run: "@entity/await"
    inputMapping: {"entityId": "$.steps._start.output.entityId", "states": ["DELETED"]}
    transitions: {success: flo.Completed, entity_not_found: flo.Failed}
"#;
    define(&connection, document).await;
    let order = json!({"order": {"n": 1}});
    let id = start(&connection, json!({"definition": "makes", "input": order})).await;
    let waiting = waits(&connection, &id).await;
    assert_eq!(waiting["waiting"]["for"], "entity");
    let entity = waiting["steps"]["start"]["output"]["entityId"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(waiting["waiting"]["name"], *entity);
    let deleted = connection
        .ok("EntityDeleteRequest", json!({"entityId": entity}))
        .await;
    assert_eq!(deleted["success"], true);
    assert_eq!(ended(&connection, &id).await["status"], "failed");
    let bad = json!({"definition": "makes", "input": {"order": "no object"}});
    let id = start(&connection, bad).await;
    let failed = ended(&connection, &id).await;
    assert_eq!(failed["steps"]["start"]["outcome"], "failure");
    assert!(
        failed["steps"]["start"]["output"]["code"].is_string(),
        "{failed}"
    );
}

#[tokio::test]
async fn a_wait_for_states_that_no_workflow_has_is_refused_unless_it_has_a_time_limit() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = governed_model(
        &connection,
        "orders",
        json!({"n": 1}),
        json!({"version": "1", "name": "w", "initialState": "NEW",
            "states": {"NEW": {"transitions": [{"name": "GO", "next": "DONE", "manual": true}]}, "DONE": {}}}),
    )
    .await;
    let entity = create(&connection, &model, json!({"n": 1})).await;
    let document = r#"
kind: Workflow
name: awaits
version: "1"
start:
  run: "@entity/await"
  transitions: {success: flo.Completed, failure: flo.Failed, timeout: flo.TimedOut}
"#;
    define(&connection, document).await;
    for (states, limit, expected) in [
        (json!([]), None, "failed"),
        (json!(["DOEN", "GONE"]), None, "failed"),
        (json!(["GONE"]), Some(20), "timed_out"),
        (json!(["GONE", "NEW"]), None, "completed"),
        (json!(["GONE", "DONE"]), None, "waiting"),
        (json!(["DELETED"]), None, "waiting"),
    ] {
        let mut input = json!({"entityId": entity, "states": states});
        if let Some(limit) = limit {
            input["timeoutMs"] = json!(limit);
        }
        let id = start(&connection, json!({"definition": "awaits", "input": input})).await;
        let found = if expected == "waiting" {
            waits(&connection, &id).await
        } else {
            ended(&connection, &id).await
        };
        assert_eq!(found["status"], expected, "{states}: {found}");
        if expected == "failed" {
            let output = &found["steps"]["start"]["output"];
            assert_eq!(output["code"], "BAD_REQUEST", "{states}");
        }
    }
}

#[tokio::test]
async fn a_run_that_a_transaction_starts_can_be_signalled_and_cancelled_in_it() {
    let server = Server::start();
    let connection = server.connect().await;
    let action = json!({"name": "plan", "maxRetries": 0});
    connection.ok("ActionRegisterRequest", action).await;
    define(&connection, APPROVAL).await;
    let document = "kind: Workflow\nname: plans\nversion: \"1\"\nstart:\n  run: \"@actions/plan\"\n  transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(&connection, document).await;
    let member = server.connect().await;
    let join = json!({"actions": ["plan"]});
    let join = request("CalculationMemberJoinEvent", "join", join);
    member.send(join).await;
    for success in [true, false] {
        let id = start(&connection, json!({"definition": "plans"})).await;
        let event = loop {
            let event = member.unasked().await.expect("a task");
            if event.kind == EventType::TaskCalculationRequest {
                break event;
            }
        };
        let token = event.attribute("cyodatxtoken").expect("a token").to_owned();
        let quoted = [("cyodatxtoken", token.as_str())];
        let chosen = format!("chosen-{success}");
        let mut runs = Vec::new();
        for payload in [
            json!({"definition": "approval"}),
            json!({"definition": "approval", "runId": chosen}),
        ] {
            let begun = member.call_with("RunStartRequest", payload, &quoted).await;
            assert_eq!(begun["success"], true, "{begun}");
            runs.push(begun["runId"].as_str().expect("an id").to_owned());
        }
        let again = json!({"definition": "approval", "runId": chosen});
        let again = member.call_with("RunStartRequest", again, &quoted).await;
        assert_eq!(code(&again), "RUN_EXISTS", "{again}");
        let [first, second] = &runs[..] else {
            panic!("{runs:?}");
        };
        let approval = json!({"runId": first, "type": "approval", "payload": {"by": "me"}});
        let kept = member
            .call_with("RunSignalRequest", approval, &quoted)
            .await;
        assert_eq!(
            (&kept["success"], &kept["matched"]),
            (&json!(true), &json!(false))
        );
        let cancel = json!({"runId": second});
        let gone = member.call_with("RunCancelRequest", cancel, &quoted).await;
        assert_eq!(gone["status"], "cancelled", "{gone}");
        let seen = connection
            .fails("RunGetRequest", json!({"runId": first}))
            .await;
        assert_eq!(seen, "RUN_NOT_FOUND", "nobody else sees it yet");
        let answer = json!({"requestId": payload_of(&event)["requestId"], "success": success,
            "error": {"message": "no"}});
        let answer = request("TaskCalculationResponse", &member.fresh_id(), answer);
        member.send(answer).await;
        ended(&connection, &id).await;
        if success {
            let first = ended(&connection, first).await;
            assert_eq!(first["output"]["by"], "me", "{first}");
            assert_eq!(run(&connection, second).await["status"], "cancelled");
        } else {
            for id in &runs {
                let failed = connection
                    .fails("RunGetRequest", json!({"runId": id}))
                    .await;
                assert_eq!(failed, "RUN_NOT_FOUND");
            }
        }
    }
}

#[tokio::test]
async fn a_run_says_how_many_of_its_signals_are_left_out() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    let id = start(&connection, json!({"definition": "approval"})).await;
    let large = "x".repeat(1_000_000);
    for _ in 0..5 {
        signal(&connection, &id, "noise", json!(large)).await;
    }
    let all = run(&connection, &id).await;
    assert_eq!(all["signals"].as_array().map(Vec::len), Some(5));
    assert_eq!(all.get("signalsOmitted"), None);
    for _ in 0..2 {
        signal(&connection, &id, "noise", json!(large)).await;
    }
    let some = run(&connection, &id).await;
    assert_eq!(some["signals"].as_array().map(Vec::len), Some(5));
    assert_eq!(some["signalsOmitted"], 2);
}

#[tokio::test]
async fn attributes_are_compared_digit_by_digit() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    for amount in [9_007_199_254_740_992_u64, 9_007_199_254_740_993] {
        let input = json!({"amount": amount});
        start(
            &connection,
            json!({"definition": "approval", "input": input}),
        )
        .await;
    }
    for (filter, count) in [
        ("amount=9007199254740992", 1),
        ("amount=9007199254740993.0", 1),
        ("amount=9007199254740994", 0),
        ("amount>9007199254740992", 1),
        ("amount<9007199254740993", 1),
    ] {
        let payload = json!({"definition": "approval", "attributes": [filter]});
        let found = connection.ok("RunsGetRequest", payload).await;
        let items = found["items"].as_array().map(Vec::len);
        assert_eq!(items, Some(count), "{filter}: {found}");
    }
}

#[tokio::test]
async fn what_a_member_writes_is_committed_with_its_answer_or_not_at_all() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "charges", json!({"n": 1})).await;
    let action = json!({"name": "charge", "maxRetries": 0});
    connection.ok("ActionRegisterRequest", action).await;
    let document = "kind: Workflow\nname: charges\nversion: \"1\"\nstart:\n  run: \"@actions/charge\"\n  transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(&connection, document).await;
    let member = server.connect().await;
    let join = request(
        "CalculationMemberJoinEvent",
        "join",
        json!({"actions": ["charge"]}),
    );
    member.send(join).await;
    for success in [true, false] {
        let id = start(&connection, json!({"definition": "charges"})).await;
        let event = loop {
            let event = member.unasked().await.expect("a task");
            if event.kind == EventType::TaskCalculationRequest {
                break event;
            }
        };
        let token = event.attribute("cyodatxtoken").expect("a token").to_owned();
        let data = new_entity(&model, &json!({"n": 1}));
        let quoted = [("cyodatxtoken", token.as_str())];
        let written = member.call_with("EntityCreateRequest", data, &quoted).await;
        assert_eq!(written["success"], true, "{written}");
        let entity = written["transactionInfo"]["entityIds"][0]
            .as_str()
            .expect("an id")
            .to_owned();
        let get = json!({"entityId": entity});
        let before = connection.call("EntityGetRequest", get.clone()).await;
        assert_eq!(before["success"], false, "nobody else sees it yet");
        let answer = json!({"requestId": payload_of(&event)["requestId"], "success": success,
            "error": {"message": "no"}});
        let answer = request("TaskCalculationResponse", &member.fresh_id(), answer);
        member.send(answer).await;
        let ended = ended(&connection, &id).await;
        let status = if success { "completed" } else { "failed" };
        assert_eq!(ended["status"], status);
        let after = connection.call("EntityGetRequest", get).await;
        assert_eq!(after["success"], success, "{after}");
    }
}

#[tokio::test]
async fn a_start_that_waits_is_answered_with_the_run_that_has_ended() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = "kind: Workflow\nname: short\nversion: \"1\"\nstart:\n  run: \"@actions/none\"\n  transitions: {failure: flo.Failed}\n";
    define(&connection, document).await;
    for _ in 0..20 {
        let payload = json!({"definition": "short", "waitMs": 30_000});
        let started = connection.ok("RunStartRequest", payload).await;
        assert_eq!(started["status"], "failed", "{started}");
        assert_eq!(
            started["run"]["steps"]["start"]["outcome"],
            "target_not_found"
        );
    }
    define(&connection, APPROVAL).await;
    let payload = json!({"definition": "approval", "waitMs": 50});
    let started = connection.ok("RunStartRequest", payload).await;
    assert_eq!(started["status"], "waiting");
    assert!(started.get("run").is_none());
}

#[tokio::test]
async fn a_processor_that_commits_before_its_call_is_refused_within_a_step() {
    let server = Server::start();
    let connection = server.connect().await;
    let processor =
        json!({"type": "EXTERNAL", "name": "p", "executionMode": "COMMIT_BEFORE_DISPATCH"});
    let workflow = processed_by(json!([processor]));
    governed_model(&connection, "parted", json!({"n": 1}), workflow).await;
    let document = "kind: Workflow\nname: parted\nversion: \"1\"\nstart:\n  run: \"@entity/create\"\n  inputMapping: {\"model\": {\"name\": \"parted\", \"version\": 1}, \"data\": {\"n\": 1}}\n  transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(&connection, document).await;
    let id = start(&connection, json!({"definition": "parted"})).await;
    let failed = ended(&connection, &id).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(
        failed["steps"]["start"]["output"]["code"],
        "WORKFLOW_FAILED"
    );
    let model = json!({"model": {"name": "parted", "version": 1}});
    let (entities, _) = connection.all("EntityGetAllRequest", model).await;
    assert!(entities.is_empty(), "{entities:?}");
}

#[tokio::test]
async fn a_text_is_found_in_an_input_however_it_is_written() {
    let server = Server::start();
    let connection = server.connect().await;
    define(&connection, APPROVAL).await;
    for input in [
        r#"{"customer": "zz\u00fcn\u00ef", "d": "1\/2", "e": "say \"hi\""}"#,
        r#"{"customer": "zzünï", "d": "1/2", "e": "say \u0022hi\u0022"}"#,
    ] {
        let start = format!(r#"{{"definition": "approval", "input": {input}}}"#);
        server.rest().post("/api/runs", start).await.ok();
    }
    for (search, found) in [
        ("ZZÜN", 2),
        ("1/2", 2),
        ("say \"hi\"", 2),
        ("\\u00fc", 0),
        ("\\", 0),
    ] {
        let page = connection
            .ok("RunsGetRequest", json!({"search": search}))
            .await;
        let items = page["items"].as_array().expect("a list");
        assert_eq!(items.len(), found, "{search}");
    }
}
