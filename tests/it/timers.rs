//! Timers, beyond their rows in the checklist (`workflow-engine.md` §9).

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server,
    scene::{automated, count, manual, processor, put, simple, states},
    state,
};

/// A transition that is taken some time later.
fn after(delay_ms: u64, name: &str, next: &str, mut more: Value) -> Value {
    more["schedule"] = json!({"delayMs": delay_ms});
    automated(name, next, more)
}

/// A processor that sets a timer, as a member of a transition.
fn sets(delay_ms: u64, transition: &str) -> Value {
    let config = json!({"delayMs": delay_ms, "transition": transition});
    json!({"processors": [{"type": "scheduled", "name": "later", "config": config}]})
}

/// A new entity goes from `A` to `B` some time later, or to `OUT` when it is asked to.
fn later(delay_ms: u64, more: Value) -> Value {
    let out = manual("LEAVE", "OUT", json!({}));
    states(json!({"A": [after(delay_ms, "GO", "B", more), out], "B": [], "OUT": []}))
}

/// Waits until every timer that is armed now would have fired: one that is armed after it does.
async fn pass(scene: &Scene) {
    let marker = scene.create(json!({"n": 0})).await;
    scene.reaches(&marker, "B").await;
}

fn has_warned(scene: &Scene, reported: &str) -> bool {
    let log = scene.server.log.lock().expect("no panic");
    log.iter().any(|line| line.contains(reported))
}

#[tokio::test]
async fn a_timer_is_fired_by_the_system_for_whoever_armed_it() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let scene = Scene::on(server, later(100, processor("SYNC", json!({})))).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let id = scene.create(json!({"n": 1})).await;
    // The last writer has armed it.
    let ann = scene.rest.with("x-mock-user", "ann");
    put(&ann, &id, "", json!({"n": 2})).await.ok();
    scene.reaches(&id, "B").await;
    let call = calls.recv().await.expect("a call");
    assert_eq!(call.event.attribute("authtype"), Some("system"));
    assert_eq!(call.event.attribute("authid"), Some("system"));
    assert_eq!(call.event.attribute("authclaims"), None);
    let fired = &scene.changes(&id).await[0];
    assert_eq!(
        (&fired["user"], &fired["attributedKind"]),
        (&json!("ann"), &json!("user"))
    );
    assert_eq!(
        fired["executedBy"],
        json!({"id": "system", "kind": "system"})
    );
}

#[tokio::test]
async fn a_timer_of_a_deleted_entity_is_dropped_in_silence() {
    let scene = Scene::of(later(200, json!({}))).await;
    let id = scene.create(json!({"n": 1})).await;
    scene.rest.delete(&format!("/api/entity/{id}")).await.ok();
    pass(&scene).await;
    let gone = scene.rest.get(&format!("/api/entity/{id}")).await;
    gone.refused(404, "ENTITY_NOT_FOUND");
    assert!(!has_warned(&scene, "task"), "nothing is wrong");
}

#[tokio::test]
async fn a_timer_whose_transition_has_gone_from_the_definition_is_dropped() {
    let gone = states(json!({"A": [after(200, "OTHER", "B", json!({}))], "B": []}));
    let disabled = states(json!({
        "A": [after(200, "GO", "X", json!({"disabled": true})), after(200, "OTHER", "B", json!({}))],
        "B": [], "X": []}));
    let unscheduled = states(json!({
        "A": [manual("GO", "X", json!({})), after(200, "OTHER", "B", json!({}))], "B": [], "X": []}));
    let mut stateless = states(json!({"C": [after(200, "OTHER", "B", json!({}))], "B": []}));
    stateless["initialState"] = json!("C");
    for definition in [gone, disabled, unscheduled, stateless] {
        let scene = Scene::of(later(200, json!({}))).await;
        let id = scene.create(json!({"n": 1})).await;
        let before = scene.get(&id).await;
        scene.import("REPLACE", json!([definition])).await.ok();
        pass(&scene).await;
        assert_eq!(scene.get(&id).await, before, "{definition}");
        assert!(!has_warned(&scene, "task"), "nothing is wrong");
    }
}

#[tokio::test]
async fn a_timer_stays_armed_while_its_transition_means_something_new() {
    let scene = Scene::of(later(300, json!({}))).await;
    let id = scene.create(json!({"n": 1})).await;
    let elsewhere = states(json!({"A": [after(60_000, "GO", "C", json!({}))], "C": []}));
    scene.import("REPLACE", json!([elsewhere])).await.ok();
    scene.reaches(&id, "C").await;
}

#[tokio::test]
async fn what_a_timer_begins_goes_on_by_itself() {
    let scene = Scene::of(states(json!({
        "A": [after(100, "GO", "B", json!({}))],
        // Passed through: its timer is never armed.
        "B": [after(1, "STRAY", "X", json!({})), automated("ON", "C", json!({}))],
        "C": [after(100, "NEXT", "D", json!({}))],
        "D": [], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    let entity = scene.reaches(&id, "D").await;
    assert_eq!(entity["meta"]["transitionForLatestSave"], "NEXT");
    assert_eq!(scene.changes(&id).await.len(), 3, "made, and fired twice");
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_ARM"), 2);
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_FIRE"), 2);
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_CANCEL"), 0);
}

#[tokio::test]
async fn a_scheduled_transition_to_its_own_state_fires_again_and_again() {
    let always = json!({"criterion": simple("$.n", "NOT_NULL", Value::Null)});
    let scene = Scene::of(states(json!({"A": [after(30, "BEAT", "A", always)]}))).await;
    let id = scene.create(json!({"n": 1})).await;
    let beats = async {
        while scene.changes(&id).await.len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let beaten = tokio::time::timeout(Duration::from_secs(30), beats).await;
    beaten.expect("it fires again and again");
    assert_eq!(scene.state(&id).await, "A");
}

#[tokio::test]
async fn a_timer_of_the_same_name_in_the_next_state_is_another_one() {
    let scene = Scene::of(states(json!({
        "A": [after(60_000, "GO", "X", json!({})), manual("M", "AA", json!({}))],
        "AA": [after(100, "GO", "B", json!({}))],
        "B": [], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "M", json!({"n": 2})).await.ok();
    scene.reaches(&id, "B").await;
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_CANCEL"), 1);
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_ARM"), 2);
}

#[tokio::test]
async fn of_two_timers_the_first_takes_the_entity_and_ends_the_other() {
    let scene = Scene::of(states(json!({
        "A": [after(200, "SLOW", "X", json!({})), after(100, "FAST", "B", json!({}))],
        "B": [manual("SLOW", "X", json!({}))], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    let moved = scene.reaches(&id, "B").await;
    for _ in 0..2 {
        pass(&scene).await;
    }
    assert_eq!(scene.get(&id).await, moved);
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_CANCEL"), 1);
}

#[tokio::test]
async fn a_timer_whose_processor_fails_is_tried_again_after_a_pause() {
    for mode in ["SYNC", "COMMIT_BEFORE_DISPATCH"] {
        let server = Server::with(&[("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "50ms")]);
        let scene = Scene::on(server, later(50, processor(mode, json!({})))).await;
        let member = Member::join(&scene.server, &[]).await;
        let tries = AtomicUsize::new(0);
        let mut calls = member.record(move |_| {
            if tries.fetch_add(1, Ordering::Relaxed) < 2 {
                Reply::Failure("not yet")
            } else {
                Reply::Data(json!({"n": 2}))
            }
        });
        let id = scene.create(json!({"n": 1})).await;
        calls.recv().await.expect("a call");
        let waiting = scene.get(&id).await;
        assert_eq!(
            (state(&waiting), &waiting["data"]),
            ("A", &json!({"n": 1})),
            "{mode}"
        );
        let moved = scene.reaches(&id, "B").await;
        assert_eq!(moved["data"], json!({"n": 2}));
        let fired = &scene.changes(&id).await[0];
        assert_eq!(
            (&fired["user"], &fired["executedBy"]["id"]),
            (&json!("mock-user-001"), &json!("system")),
            "{mode}"
        );
        let more = std::iter::from_fn(|| calls.try_recv().ok()).count();
        assert_eq!(more, 2, "{mode}");
    }
}

#[tokio::test]
async fn a_timer_that_a_processor_set_is_not_set_back_by_updates() {
    let scene = Scene::of(states(json!({
        "A": [manual("GO", "B", sets(500, "timeout"))],
        "B": [manual("timeout", "C", json!({}))],
        "C": []})))
    .await;
    let id = scene.create(json!({"n": 0})).await;
    scene.put(&id, "GO", json!({"n": 0})).await.ok();
    let mut n = 0;
    while scene.state(&id).await == "B" {
        n += 1;
        scene.put(&id, "", json!({"n": n})).await;
    }
    assert_eq!(scene.state(&id).await, "C");
    assert!(n > 1, "it was updated while it waited");
}

#[tokio::test]
async fn a_timer_that_a_processor_set_is_set_again_by_its_transition_and_ended_by_leaving() {
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "B", sets(60_000, "timeout"))],
        "B": [
            manual("timeout", "X", json!({})),
            manual("AGAIN", "B", sets(100, "timeout")),
            manual("LEAVE", "C", json!({}))],
        "C": [manual("timeout", "X", json!({}))],
        "X": []})))
    .await;
    let sooner = scene.create(json!({"n": 1})).await;
    scene.put(&sooner, "AGAIN", json!({"n": 1})).await.ok();
    let left = scene.create(json!({"n": 2})).await;
    scene.put(&left, "AGAIN", json!({"n": 2})).await.ok();
    scene.put(&left, "LEAVE", json!({"n": 2})).await.ok();
    scene.reaches(&sooner, "X").await;
    let marker = scene.create(json!({"n": 3})).await;
    scene.put(&marker, "AGAIN", json!({"n": 3})).await.ok();
    scene.reaches(&marker, "X").await;
    assert_eq!(scene.state(&left).await, "C");
    let events = scene.audited(&left).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_CANCEL"), 1);
}

#[tokio::test]
async fn a_timer_that_a_processor_set_is_ended_by_leaving_for_the_length_of_a_cascade() {
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "B", sets(100, "timeout"))],
        "B": [manual("timeout", "X", json!({})), manual("AWAY", "C", json!({}))],
        "C": [automated("BACK", "B", json!({}))],
        "X": []})))
    .await;
    let left = scene.create(json!({"n": 1})).await;
    scene.put(&left, "AWAY", json!({"n": 1})).await.ok();
    let events = scene.audited(&left).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_CANCEL"), 1);
    let marker = scene.create(json!({"n": 2})).await;
    scene.reaches(&marker, "X").await;
    assert_eq!(scene.state(&left).await, "B");
}

#[tokio::test]
async fn a_timer_is_not_set_for_a_state_that_the_entity_only_passes_through() {
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "P", sets(1, "timeout"))],
        "P": [automated("ON", "C", json!({})), manual("timeout", "X", json!({}))],
        "C": [manual("timeout", "X", json!({})), after(100, "END", "B", json!({}))],
        "B": [], "X": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    scene.reaches(&id, "B").await;
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_ARM"), 1, "that of C");
}

#[tokio::test]
async fn a_timer_that_is_later_than_allowed_expires_and_says_so() {
    let mut late = later(60_000, json!({}));
    late["states"]["A"]["transitions"][0]["schedule"]["timeoutMs"] = json!(0);
    let server = Server::on_disk(&[("CYODA_SCHEDULER_EXPIRY_GRACE", "0ms")]);
    let mut scene = Scene::on(server, late).await;
    let id = scene.create(json!({"n": 1})).await;
    let before = scene.get(&id).await;
    scene.server.kill();
    // It became due long ago, while nobody was there to see it.
    let earlier = "update task set due = due - 60000000";
    scene.server.change_stored(earlier);
    scene.restart().await;
    let expires = async {
        while count(&scene.audited(&id).await, "SCHEDULED_TRANSITION_EXPIRE") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(30), expires).await;
    in_time.expect("it expires");
    assert_eq!(scene.get(&id).await, before, "and nothing else");
    // The next write arms it anew.
    scene.put(&id, "", json!({"n": 2})).await.ok();
    assert_eq!(
        count(&scene.audited(&id).await, "SCHEDULED_TRANSITION_ARM"),
        2
    );
}

#[tokio::test]
async fn a_schedule_that_nobody_can_tell_fails_the_write() {
    let server = Server::with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "0s")]);
    let function =
        json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "clock"});
    let asked = json!({"schedule": {"function": function}});
    let workflow = states(json!({"A": [automated("GO", "B", asked)], "B": []}));
    let scene = Scene::on(server, workflow).await;
    let refused = scene.post(json!({"n": 1})).await;
    refused.refused_for_now(503, "NO_COMPUTE_MEMBER_FOR_TAG");
    assert!(scene.entities().await.is_empty());
    // With someone to ask, every write that stays in the state asks.
    let member = Member::join(&scene.server, &["clock"]).await;
    let mut calls = member.record(|call| match call.data()["n"].as_i64() {
        Some(3) => Reply::Failure("no time"),
        _ => Reply::Schedule(json!({"fireAfterMs": 60_000})),
    });
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "", json!({"n": 2})).await.ok();
    let refused = scene.put(&id, "", json!({"n": 3})).await;
    refused.refused(400, "WORKFLOW_FAILED");
    assert_eq!(scene.get(&id).await["data"], json!({"n": 2}));
    let asked = std::iter::from_fn(|| calls.try_recv().ok()).count();
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn what_a_timer_began_before_a_crash_is_still_done_for_whoever_armed_it() {
    let settings = [
        ("INTERLOCK_IAM_MOCK_CALLER", "true"),
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "50ms"),
    ];
    let workflow = later(50, processor("COMMIT_BEFORE_DISPATCH", json!({})));
    let mut scene = Scene::on(Server::on_disk(&settings), workflow).await;
    let member = Member::join(&scene.server, &[]).await;
    let ann = scene.rest.with("x-mock-user", "ann");
    let made = ann.post("/api/entity/JSON/doc/1", "{\"n\":1}").await.ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id");
    let first = member.next().await;
    scene.server.kill();
    scene.restart().await;
    let member = Member::join(&scene.server, &[]).await;
    let again = member.next().await;
    assert_eq!(again.event.attribute("authtype"), Some("system"));
    assert_eq!(
        again.event.attribute("dispatchkey"),
        first.event.attribute("dispatchkey")
    );
    member.reply(&again, Reply::Nothing).await;
    scene.reaches(id, "B").await;
    for change in &scene.changes(id).await[..2] {
        assert_eq!(change["user"], "ann", "{change}");
        assert_eq!(change["executedBy"]["id"], "system", "{change}");
    }
}

#[tokio::test]
async fn a_time_may_be_long_ago_or_at_the_end_of_all_days() {
    let function =
        json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "clock"});
    let asked = json!({"schedule": {"function": function}});
    let scene = Scene::of(states(json!({
        "A": [
            automated("GO", "B", asked),
            after(u64::try_from(i64::MAX).expect("positive"), "NEVER", "X", json!({}))],
        "B": [], "X": []})))
    .await;
    let member = Member::join(&scene.server, &["clock"]).await;
    member.serve(|call, _| {
        let at = if call.data()["n"] == 0 { 0 } else { i64::MAX };
        async move { Reply::Schedule(json!({"fireAt": at})) }
    });
    let never = scene.create(json!({"n": 1})).await;
    let before = scene.get(&never).await;
    pass(&scene).await;
    assert_eq!(scene.get(&never).await, before);
    scene.put(&never, "", json!({"n": 0})).await.ok();
    scene.reaches(&never, "B").await;
}
