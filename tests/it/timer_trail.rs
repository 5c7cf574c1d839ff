//! What the audit says of timers: rows of group 1 of the corrections.

use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server,
    scene::{automated, manual, processor, states},
    wait::found,
};

/// A transition with a delay.
fn after(delay_ms: u64, name: &str, next: &str, mut more: Value) -> Value {
    more["schedule"] = json!({"delayMs": delay_ms});
    automated(name, next, more)
}

/// A transition whose time a member computes.
fn asked(name: &str, next: &str) -> Value {
    let function =
        json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "clock"});
    automated(name, next, json!({"schedule": {"function": function}}))
}

/// A processor that sets a timer, as a member of a transition.
fn sets(delay_ms: u64, transition: &str) -> Value {
    let config = json!({"delayMs": delay_ms, "transition": transition});
    json!({"processors": [{"type": "scheduled", "name": "later", "config": config}]})
}

fn member<'a>(event: &'a Value, name: &str) -> &'a str {
    event[name].as_str().unwrap_or("-")
}

/// `TYPE state` of each event, or `TYPE -` of one without a state.
fn reported(events: &[Value]) -> Vec<String> {
    let line = |event: &Value| format!("{} {}", member(event, "eventType"), member(event, "state"));
    events.iter().map(line).collect()
}

/// The events of the transaction that wrote the newest version.
async fn newest(scene: &Scene, id: &str) -> Vec<Value> {
    let newest = scene.changes(id).await[0]["transactionId"].clone();
    let mut events = scene.audited(id).await;
    events.retain(|event| event["transactionId"] == newest);
    events
}

/// The only event of a type.
fn only<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let mut found = events.iter().filter(|event| event["eventType"] == kind);
    let first = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "more than one {kind}");
    first
}

/// Waits until the audit has an event of a type; all events.
async fn until(scene: &Scene, id: &str, kind: &str) -> Vec<Value> {
    found(&format!("{kind} of {id}"), async || {
        let is_there = |events: &Vec<Value>| events.iter().any(|it| it["eventType"] == kind);
        Some(scene.audited(id).await).filter(is_there)
    })
    .await
}

#[tokio::test]
async fn an_armed_timer_has_the_settled_state_and_its_time_in_milliseconds() {
    let scene = Scene::of(states(json!({
        "A": [automated("ON", "B", json!({}))],
        "B": [after(60_000, "GO", "C", json!({}))], "C": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    let events = scene.audited(&id).await;
    assert_eq!(
        reported(&events),
        [
            "STATE_MACHINE_START -",
            "WORKFLOW_FOUND -",
            "TRANSITION_MAKE A",
            "SCHEDULED_TRANSITION_ARM B",
            "STATE_MACHINE_FINISH B"
        ]
    );
    let armed = only(&events, "SCHEDULED_TRANSITION_ARM");
    let time = armed["data"]["scheduledTime"].as_i64().expect("an integer");
    let begun = events[0]["microsTime"].as_i64().expect("an integer") / 1_000;
    assert!((begun + 60_000..begun + 90_000).contains(&time), "{time}");
    assert_eq!(
        armed["data"],
        json!({"transition": "GO", "sourceState": "B", "scheduledTime": time})
    );
}

#[tokio::test]
async fn a_timer_with_a_delay_is_reported_as_fired_where_the_cascade_has_settled() {
    let scene = Scene::of(states(json!({
        "A": [after(100, "GO", "B", json!({})), after(60_000, "OTHER", "X", json!({}))],
        "B": [automated("ON", "C", json!({}))],
        "C": [after(60_000, "NEXT", "X", json!({}))], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    scene.reaches(&id, "C").await;
    let events = newest(&scene, &id).await;
    assert_eq!(
        reported(&events),
        [
            "STATE_MACHINE_START A",
            "TRANSITION_MAKE A",
            "TRANSITION_MAKE B",
            "SCHEDULED_TRANSITION_CANCEL A",
            "SCHEDULED_TRANSITION_ARM C",
            "SCHEDULED_TRANSITION_FIRE C",
            "STATE_MACHINE_FINISH C"
        ]
    );
    let fired = only(&events, "SCHEDULED_TRANSITION_FIRE");
    assert_eq!(fired["data"], Value::Null);
    let cancelled = only(&events, "SCHEDULED_TRANSITION_CANCEL");
    assert_eq!(
        cancelled["data"],
        json!({"transition": "OTHER", "sourceState": "A"})
    );
    let newest = &scene.changes(&id).await[0];
    assert_eq!(newest["changeType"], "UPDATE");
    let transaction = member(newest, "transactionId");
    let path = format!("/api/audit/entity/{id}/workflow/{transaction}/finished");
    assert_eq!(scene.rest.get(&path).await.ok()["state"], "C");
}

#[tokio::test]
async fn a_cancelled_timer_has_the_state_that_the_entity_left() {
    let scene = Scene::of(states(json!({
        "A": [after(60_000, "GO", "X", json!({})), manual("LEAVE", "B", json!({}))],
        "B": [automated("ON", "C", json!({}))], "C": [], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "LEAVE", json!({"n": 2})).await.ok();
    assert_eq!(
        reported(&newest(&scene, &id).await),
        [
            "STATE_MACHINE_START A",
            "TRANSITION_MAKE A",
            "TRANSITION_MAKE B",
            "SCHEDULED_TRANSITION_CANCEL A",
            "STATE_MACHINE_FINISH C"
        ]
    );
}

#[tokio::test]
async fn a_timer_whose_time_a_function_computes_is_reported_like_any_other() {
    let scene = Scene::of(states(json!({"A": [asked("GO", "B")], "B": []}))).await;
    let member = Member::join(&scene.server, &["clock"]).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = i64::try_from(now.expect("after 1970").as_millis()).expect("soon");
    member.serve(move |call, _| {
        let schedule = match call.data()["n"].as_i64() {
            Some(0) => json!({"fireAfterMs": 50}),
            Some(1) => json!({"fireAt": now}),
            Some(2) => json!({"fireAt": 1_000}),
            _ => json!({"fireAfterMs": 600_000}),
        };
        async move { Reply::Schedule(schedule) }
    });
    for (n, time) in [(0, None), (1, Some(now)), (2, Some(1_000))] {
        // The last write arms it again.
        let id = scene.create(json!({"n": 9})).await;
        scene.put(&id, "", json!({"n": n})).await.ok();
        scene.reaches(&id, "B").await;
        let events = scene.audited(&id).await;
        assert_eq!(
            reported(&events)[2..],
            [
                "SCHEDULED_TRANSITION_ARM A",
                "STATE_MACHINE_FINISH A",
                "STATE_MACHINE_START A",
                "SCHEDULED_TRANSITION_ARM A",
                "STATE_MACHINE_FINISH A",
                "STATE_MACHINE_START A",
                "TRANSITION_MAKE A",
                "SCHEDULED_TRANSITION_FIRE B",
                "STATE_MACHINE_FINISH B"
            ],
            "{n}"
        );
        let armed = events[5]["data"]["scheduledTime"].as_i64();
        assert!(armed.is_some(), "an integer");
        assert!(time.is_none() || armed == time, "{n}: {armed:?}");
    }
}

#[tokio::test]
async fn a_timer_that_a_processor_set_is_reported_like_any_other() {
    let scene = Scene::of(states(json!({
        "A": [manual("GO", "B", sets(50, "timeout"))],
        "B": [manual("timeout", "C", json!({})), manual("LEAVE", "X", json!({}))],
        "C": [], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "GO", json!({"n": 2})).await.ok();
    let set = newest(&scene, &id).await;
    scene.reaches(&id, "C").await;
    let armed = only(&set, "SCHEDULED_TRANSITION_ARM");
    assert_eq!(armed["state"], "B");
    assert!(armed["data"]["scheduledTime"].is_i64(), "{armed}");
    assert_eq!(
        reported(&newest(&scene, &id).await),
        [
            "STATE_MACHINE_START B",
            "TRANSITION_MAKE B",
            "SCHEDULED_TRANSITION_FIRE C",
            "STATE_MACHINE_FINISH C"
        ]
    );
}

#[tokio::test]
async fn a_fire_that_commits_a_part_before_a_call_is_reported_as_fired_at_its_end() {
    let scene = Scene::of(states(json!({
        "A": [after(50, "GO", "B", processor("COMMIT_BEFORE_DISPATCH", json!({})))],
        "B": [automated("ON", "C", processor("COMMIT_BEFORE_DISPATCH", json!({})))],
        "C": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let _calls = member.record(|_| Reply::Nothing);
    let id = scene.create(json!({"n": 1})).await;
    scene.reaches(&id, "C").await;
    let events = scene.audited(&id).await;
    let fire = &events[events.len() - 9..];
    assert_eq!(
        reported(fire),
        [
            "STATE_MACHINE_START A",
            "PAUSE_FOR_PROCESSING A",
            "STATE_PROCESS_RESULT A",
            "TRANSITION_MAKE A",
            "PAUSE_FOR_PROCESSING B",
            "STATE_PROCESS_RESULT B",
            "TRANSITION_MAKE B",
            "SCHEDULED_TRANSITION_FIRE C",
            "STATE_MACHINE_FINISH C"
        ]
    );
    let entry = &fire[0]["transactionId"];
    assert!(fire.iter().all(|event| event["transactionId"] == *entry));
}

#[tokio::test]
async fn a_fire_that_a_restart_completes_is_reported_as_fired_once() {
    let settings = [("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "50ms")];
    let workflow = states(json!({
        "A": [after(50, "GO", "B", processor("COMMIT_BEFORE_DISPATCH", json!({})))], "B": []}));
    let mut scene = Scene::on(Server::on_disk(&settings), workflow).await;
    let member = Member::join(&scene.server, &[]).await;
    let id = scene.create(json!({"n": 1})).await;
    let _ = member.next().await;
    scene.server.kill();
    scene.restart().await;
    let member = Member::join(&scene.server, &[]).await;
    let _calls = member.record(|_| Reply::Nothing);
    scene.reaches(&id, "B").await;
    let events = scene.audited(&id).await;
    let reported = reported(&events);
    assert_eq!(
        reported[reported.len() - 2..],
        ["SCHEDULED_TRANSITION_FIRE B", "STATE_MACHINE_FINISH B"]
    );
    only(&events, "SCHEDULED_TRANSITION_FIRE");
}

#[tokio::test]
async fn a_timer_whose_criterion_is_false_is_reported_by_one_event_with_the_state() {
    let mut workflow = states(json!({
        "A": [after(50, "GO", "B", json!({})), manual("LEAVE", "B", json!({}))], "B": []}));
    workflow["states"]["A"]["transitions"][0]["criterion"] =
        json!({"type": "function", "function": {"name": "f"}});
    let scene = Scene::of(workflow).await;
    let member = Member::join(&scene.server, &[]).await;
    let no = || json!({"success": true, "matches": false, "reason": "too small"});
    let _calls = member.record(move |_| Reply::Raw(no()));
    let id = scene.create(json!({"n": 1})).await;
    let events = until(&scene, &id, "TRANSITION_NOT_MATCH_CRITERION").await;
    assert_eq!(
        reported(&events),
        [
            "STATE_MACHINE_START -",
            "WORKFLOW_FOUND -",
            "SCHEDULED_TRANSITION_ARM A",
            "STATE_MACHINE_FINISH A",
            "TRANSITION_NOT_MATCH_CRITERION A"
        ]
    );
    assert_eq!(
        events[4]["data"],
        json!({"workflowName": "w", "transition": "GO", "criterion": "f", "reason": "too small"})
    );
    assert_eq!(scene.changes(&id).await.len(), 1, "nothing was written");
}

#[tokio::test]
async fn a_timer_that_expires_is_reported_by_one_event_with_the_state() {
    let mut late = states(json!({"A": [after(100, "GO", "B", json!({}))], "B": []}));
    late["states"]["A"]["transitions"][0]["schedule"]["timeoutMs"] = json!(0);
    let server = Server::on_disk(&[("CYODA_SCHEDULER_EXPIRY_GRACE", "0ms")]);
    let mut scene = Scene::on(server, late).await;
    let id = scene.create(json!({"n": 1})).await;
    scene.server.kill();
    scene.restart().await;
    let events = until(&scene, &id, "SCHEDULED_TRANSITION_EXPIRE").await;
    assert_eq!(
        reported(&events)[2..],
        [
            "SCHEDULED_TRANSITION_ARM A",
            "STATE_MACHINE_FINISH A",
            "SCHEDULED_TRANSITION_EXPIRE A"
        ]
    );
}

#[tokio::test]
async fn a_timer_that_is_over_before_it_begins_expires_in_the_run_that_would_arm_it() {
    let scene = Scene::of(states(json!({"A": [asked("GO", "B")], "B": []}))).await;
    let member = Member::join(&scene.server, &["clock"]).await;
    let over = || json!({"fireAfterMs": 1_000, "expireAfterMs": 0});
    member.serve(move |_, _| async move { Reply::Schedule(over()) });
    let id = scene.create(json!({"n": 1})).await;
    let events = scene.audited(&id).await;
    assert_eq!(
        reported(&events)[2..],
        ["SCHEDULED_TRANSITION_EXPIRE A", "STATE_MACHINE_FINISH A"]
    );
}

#[tokio::test]
async fn every_event_of_an_entity_that_exists_has_its_state_also_before_a_call_is_answered() {
    let scene = Scene::of(states(json!({
        "A": [manual("GO", "B", json!({"processors": [
            {"type": "EXTERNAL", "name": "first", "executionMode": "SYNC"},
            {"type": "EXTERNAL", "name": "second", "executionMode": "COMMIT_BEFORE_DISPATCH"}]}))],
        "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let _calls = member.record(|call| match call.processor() {
        "second" => Reply::Failure("no"),
        _ => Reply::Nothing,
    });
    let id = scene.create(json!({"n": 1})).await;
    let said = scene.put(&id, "GO", json!({"n": 2})).await;
    said.refused(400, "WORKFLOW_FAILED");
    let events = scene.audited(&id).await;
    assert_eq!(
        reported(&events)[3..],
        [
            "STATE_MACHINE_START A",
            "PAUSE_FOR_PROCESSING A",
            "STATE_PROCESS_RESULT A"
        ]
    );
}
