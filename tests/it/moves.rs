//! How entities move, beyond the checklist (`workflow-engine.md` §2.9 and §7).

use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server, new_entity,
    scene::{automated, count, manual, ok, processor, simple, states},
    state,
};

fn function(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name}})
}

#[tokio::test]
async fn an_entity_in_a_state_that_no_workflow_has_can_be_saved_and_not_moved() {
    let scene = Scene::of(states(json!({"A": [manual("M", "A", json!({}))]}))).await;
    let id = scene.create(json!({"n": 1})).await;
    let mut other = states(json!({"Z": [manual("M", "Z", json!({}))]}));
    other["initialState"] = json!("Z");
    scene.import("REPLACE", json!([other])).await.ok();
    scene.put(&id, "", json!({"n": 2})).await.ok();
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("A", &json!({"n": 2})));
    let problem = scene
        .put(&id, "M", json!({"n": 3}))
        .await
        .refused(400, "WORKFLOW_FAILED");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains("no workflow contains state `A`"),
        "{detail}"
    );
    let path = format!("/api/entity/{id}/transitions");
    assert_eq!(scene.rest.get(&path).await.ok(), json!([]));
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "FORCE_SUCCESS"), 1);
}

#[tokio::test]
async fn an_entity_that_no_workflow_is_for_gets_the_built_in_one_and_a_warning() {
    let mut picky = states(json!({"A": []}));
    picky["criterion"] = ok()["criterion"].clone();
    let scene = Scene::of(picky).await;
    let new = new_entity(&Scene::model(), &json!({"ok": false}));
    let made = scene.connection.ok("EntityCreateRequest", new).await;
    let warning = made["warnings"][0].as_str().expect("a warning");
    assert!(
        warning.starts_with("no imported workflow matched entity "),
        "{warning}"
    );
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    assert_eq!(scene.state(id).await, "CREATED");
    scene.put(id, "DELETE", json!({"ok": true})).await.ok();
    assert_eq!(scene.state(id).await, "DELETED", "which is but a state");
}

#[tokio::test]
async fn an_automated_transition_may_be_asked_for_and_others_say_why_not() {
    let scene = Scene::of(states(json!({
        "A": [
            automated("WHEN_OK", "B", ok()),
            automated("LATER", "B", json!({"schedule": {"delayMs": 60_000}})),
            manual("NEVER", "B", json!({"disabled": true})),
            manual("ANYWAY", "B", json!({}))],
        "B": []})))
    .await;
    let id = scene.create(json!({"ok": false})).await;
    for (name, reported) in [
        ("NEVER", "is disabled"),
        ("LATER", "fires automatically"),
        (
            "NOPE",
            "is not defined in state `A`; available are WHEN_OK, ANYWAY",
        ),
    ] {
        let refused = scene.put(&id, name, json!({"ok": true})).await;
        let problem = refused.refused(404, "TRANSITION_NOT_FOUND");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains(reported), "{detail}");
    }
    assert_eq!(scene.get(&id).await["data"], json!({"ok": false}));
    scene.put(&id, "WHEN_OK", json!({"ok": true})).await.ok();
    let moved = scene.get(&id).await;
    assert_eq!(state(&moved), "B");
    assert_eq!(moved["meta"]["transitionForLatestSave"], "WHEN_OK");
    let refused = scene.put(&id, "ANYWAY", json!({})).await;
    refused.refused(404, "TRANSITION_NOT_FOUND");
}

#[tokio::test]
async fn a_transition_to_the_same_state_is_left_again_by_automated_ones() {
    let mut again = processor("SYNC", json!({}));
    again["criterion"] = simple("$.n", "GREATER_THAN", json!(0));
    let scene = Scene::of(states(json!({
        "A": [automated("DONE", "B", ok()), manual("AGAIN", "A", again)], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Data(json!({"n": 1, "ok": true})));
    let id = scene.create(json!({"n": 1, "ok": false})).await;
    scene
        .put(&id, "AGAIN", json!({"n": 1, "ok": false}))
        .await
        .ok();
    let moved = scene.get(&id).await;
    assert_eq!(state(&moved), "B");
    assert_eq!(moved["meta"]["transitionForLatestSave"], "AGAIN");
    let call = calls.recv().await.expect("a call");
    assert_eq!(call.payload["payload"]["meta"]["state"], "A");
    assert_eq!(
        (
            &call.payload["transition"]["stateFrom"],
            &call.payload["transition"]["stateTo"]
        ),
        (&json!("A"), &json!("A"))
    );
}

#[tokio::test]
async fn a_criterion_that_cannot_be_evaluated_fails_the_request() {
    let server = Server::with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "0s")]);
    let asked = json!({"criterion": function("f")});
    let scene = Scene::on(
        server,
        states(
            json!({"A": [automated("T", "B", asked.clone()), manual("M", "B", asked)], "B": []}),
        ),
    )
    .await;
    let alone = scene.post(json!({"n": 1})).await;
    alone.refused_for_now(503, "NO_COMPUTE_MEMBER_FOR_TAG");
    let member = Member::join(&scene.server, &[]).await;
    let answering = async |reply: Value| {
        let call = member.next().await;
        member.reply(&call, Reply::Raw(reply)).await;
    };
    let broken = json!({"success": false, "error": {"message": "out of order"}});
    let (said, ()) = tokio::join!(scene.post(json!({"n": 1})), answering(broken));
    let problem = said.refused(400, "WORKFLOW_FAILED");
    assert!(
        problem["detail"]
            .as_str()
            .expect("a text")
            .contains("out of order"),
        "{problem}"
    );
    assert!(scene.entities().await.is_empty());
    // What does not say that it matches does not.
    let (id, ()) = tokio::join!(
        scene.create(json!({"n": 1})),
        answering(json!({"success": true}))
    );
    assert_eq!(scene.state(&id).await, "A");
    let no = json!({"matches": false, "reason": "too small"});
    let (said, ()) = tokio::join!(scene.put(&id, "M", json!({"n": 1})), answering(no));
    assert_eq!(
        said.refused(400, "WORKFLOW_FAILED")["detail"],
        "WORKFLOW_FAILED: transition \"M\" criterion not matched: too small"
    );
}

#[tokio::test]
async fn a_member_may_choose_the_workflow_before_there_is_a_state() {
    let mut asked = states(json!({"A": []}));
    asked["criterion"] = json!({"type": "group", "operator": "OR", "conditions": [
        simple("$.n", "EQUALS", json!(1)), function("is-ours"), function("not-asked-when-the-first-holds")]});
    let scene = Scene::of(asked).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Matches(true));
    scene.create(json!({"n": 1})).await;
    let id = scene.create(json!({"n": 2})).await;
    assert_eq!(scene.state(&id).await, "A");
    let call = calls.recv().await.expect("a call");
    assert_eq!(call.criterion(), Some("is-ours"));
    assert_eq!(call.payload["target"], "WORKFLOW");
    assert_eq!(call.payload.get("transition"), None);
    assert_eq!(call.payload["payload"]["meta"]["state"], "");
    assert!(
        calls.try_recv().is_err(),
        "from left to right, no further than needed"
    );
}

#[tokio::test]
async fn a_guard_sees_what_has_changed_since_the_last_commit() {
    let changed =
        json!({"criterion": {"type": "simple", "jsonPath": "$.n", "operatorType": "IS_CHANGED"}});
    let unchanged =
        json!({"criterion": {"type": "simple", "jsonPath": "$.n", "operatorType": "IS_UNCHANGED"}});
    let scene = Scene::of(states(json!({
        "A": [manual("CHANGED", "A", changed), manual("UNCHANGED", "A", unchanged)]})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    for (given, has_changed) in [
        ("1", false),
        ("1.0", false),
        ("2", true),
        ("null", true),
        ("null", false),
        ("2", true),
        ("20e-1", false),
    ] {
        let path = |name: &str| format!("/api/entity/JSON/{id}/{name}");
        let (holds, fails) = if has_changed {
            ("CHANGED", "UNCHANGED")
        } else {
            ("UNCHANGED", "CHANGED")
        };
        let body = format!("{{\"n\":{given}}}");
        let refused = scene.rest.put(&path(fails), body.clone()).await;
        refused.refused(400, "WORKFLOW_FAILED");
        scene.rest.put(&path(holds), body).await.ok();
    }
}

#[tokio::test]
async fn one_item_that_fails_fails_the_batch_and_is_named() {
    let scene = Scene::of(states(json!({
        "A": [automated("T", "B", processor("SYNC", json!({})))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|call, _| async move {
        if call.data()["n"] == 2 {
            Reply::Failure("no")
        } else {
            Reply::Nothing
        }
    });
    let said = scene
        .rest
        .post("/api/entity/JSON/doc/1", "[{\"n\":1},{\"n\":2},{\"n\":3}]")
        .await;
    let problem = said.refused(400, "WORKFLOW_FAILED");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(detail.contains("item 1"), "{detail}");
    assert!(scene.entities().await.is_empty());
}

#[tokio::test]
async fn a_guard_receives_the_transition_of_the_last_commit_and_not_its_own() {
    let after = |name: &str| {
        let criterion = json!({"type": "lifecycle", "field": "previousTransition", "operatorType": "EQUALS", "value": name});
        json!({"criterion": criterion})
    };
    let scene = Scene::of(states(json!({
        "A": [
            manual("FIRST", "A", after("loopback")),
            manual("SECOND", "A", after("FIRST")),
            manual("THIRD", "A", after("THIRD"))]})))
    .await;
    let id = scene.create(json!({"n": 1})).await;
    for (name, taken) in [
        ("SECOND", false),
        ("THIRD", false),
        ("FIRST", true),
        ("FIRST", false),
        ("SECOND", true),
        ("", true),
        ("SECOND", false),
        ("FIRST", true),
    ] {
        let said = scene.put(&id, name, json!({"n": 1})).await;
        if taken {
            said.ok();
        } else {
            said.refused(400, "WORKFLOW_FAILED");
        }
    }
}
