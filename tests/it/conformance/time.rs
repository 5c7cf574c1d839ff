//! Rows about what happens by itself, later.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{
    Member, Reply, Scene, Server,
    scene::{automated, count, manual, states},
    state,
};

/// A new entity goes from `A` to `B` some time later, or to `OUT` when it is asked to.
fn later(schedule: Value) -> Value {
    let schedule = json!({"schedule": schedule});
    let out = manual("LEAVE", "OUT", json!({}));
    states(json!({"A": [automated("GO", "B", schedule), out], "B": [], "OUT": []}))
}

/// Waits until every timer that is armed now would have fired: one that is armed after it does.
async fn pass(scene: &Scene) {
    let marker = scene.create(json!({"n": 0})).await;
    scene.reaches(&marker, "B").await;
}

#[tokio::test]
async fn row_27_a_scheduled_transition_fires_by_itself() {
    let scene = Scene::of(later(json!({"delayMs": 500}))).await;
    let armed = Instant::now();
    let id = scene.create(json!({"n": 1})).await;
    let entity = scene.reaches(&id, "B").await;
    assert!(armed.elapsed() >= Duration::from_millis(500), "not early");
    assert_eq!(entity["meta"]["transitionForLatestSave"], "GO");
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_ARM"), 1);
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_FIRE"), 1);
    let armed = events
        .iter()
        .find(|event| event["eventType"] == "SCHEDULED_TRANSITION_ARM");
    let data = &armed.expect("one")["data"];
    assert_eq!(
        (&data["transition"], &data["sourceState"]),
        (&json!("GO"), &json!("A"))
    );
}

#[tokio::test]
async fn row_28_a_timer_does_not_fire_while_the_entity_is_updated_more_often() {
    // Of one second, not of half of one: a busy machine may take its time over an update.
    let scene = Scene::of(later(json!({"delayMs": 1_000}))).await;
    let id = scene.create(json!({"n": 0})).await;
    for n in 1..=8 {
        // The subject is time: three updates within the delay, for more than two of it.
        tokio::time::sleep(Duration::from_millis(300)).await;
        scene.put(&id, "", json!({"n": n})).await.ok();
        let entity = scene.get(&id).await;
        assert_eq!((state(&entity), &entity["data"]["n"]), ("A", &json!(n)));
    }
    scene.reaches(&id, "B").await;
}

#[tokio::test]
async fn row_29_a_timer_is_cancelled_when_the_entity_leaves_the_state() {
    let scene = Scene::of(later(json!({"delayMs": 300}))).await;
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "LEAVE", json!({"n": 2})).await.ok();
    let left = scene.get(&id).await;
    pass(&scene).await;
    assert_eq!(scene.get(&id).await, left);
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_FIRE"), 0);
    let cancelled = events
        .iter()
        .find(|event| event["eventType"] == "SCHEDULED_TRANSITION_CANCEL");
    let data = &cancelled.expect("one")["data"];
    assert_eq!(
        (&data["transition"], &data["sourceState"]),
        (&json!("GO"), &json!("A"))
    );
}

#[tokio::test]
async fn row_30_a_timer_whose_criterion_is_false_does_nothing_and_is_not_tried_again() {
    let server = Server::with(&[("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "20ms")]);
    let mut workflow = later(json!({"delayMs": 300}));
    workflow["states"]["A"]["transitions"][0]["criterion"] =
        json!({"type": "function", "function": {"name": "f"}});
    let scene = Scene::on(server, workflow).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|call| Reply::Matches(call.data()["n"] == 0));
    let id = scene.create(json!({"n": 1})).await;
    let before = scene.get(&id).await;
    calls.recv().await.expect("it is asked when it is due");
    pass(&scene).await;
    assert_eq!(scene.get(&id).await, before);
    let marker = calls.recv().await.expect("the one that fired");
    assert_eq!(marker.data()["n"], 0);
    assert!(calls.try_recv().is_err(), "asked once");
}

#[tokio::test]
async fn row_31_a_timer_that_a_processor_set_takes_its_transition() {
    let timer = json!({"processors": [{"type": "scheduled", "name": "later", "config": {"delayMs": 500, "transition": "timeout"}}]});
    let scene = Scene::of(states(json!({
        "A": [manual("GO", "B", timer)],
        "B": [manual("timeout", "C", json!({}))],
        "C": []})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    let armed = Instant::now();
    scene.put(&id, "GO", json!({"n": 2})).await.ok();
    assert_eq!(scene.state(&id).await, "B");
    let entity = scene.reaches(&id, "C").await;
    assert!(armed.elapsed() >= Duration::from_millis(500), "not early");
    assert_eq!(entity["meta"]["transitionForLatestSave"], "timeout");
    assert_eq!(entity["data"], json!({"n": 2}));
}

#[tokio::test]
async fn row_40_a_timer_that_became_overdue_while_the_process_was_dead_fires_or_expires() {
    let server = Server::on_disk(&[]);
    let mut scene = Scene::on(server, later(json!({"delayMs": 600}))).await;
    let patient = scene.create(json!({"n": 1})).await;
    let strict = json!([later(json!({"delayMs": 600, "timeoutMs": 50}))]);
    scene.import("REPLACE", strict).await.ok();
    let impatient = scene.create(json!({"n": 2})).await;
    let before = scene.get(&impatient).await;
    scene.server.kill();
    // Longer than the delay, the time allowed and the grace of 100 ms together.
    tokio::time::sleep(Duration::from_millis(900)).await;
    scene.restart().await;
    scene.reaches(&patient, "B").await;
    pass(&scene).await;
    assert_eq!(scene.get(&impatient).await, before);
}
