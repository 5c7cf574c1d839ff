//! How calls stand to transactions, beyond the checklist (`workflow-engine.md` §6).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server, code, locked_model, new_entity, payload_of, request,
    scene::{automated, count, manual, processor, simple, states},
    state,
    wait::until,
};

/// The mode that commits what was done so far before it calls.
const SEGMENTED: &str = "COMMIT_BEFORE_DISPATCH";

/// A new entity goes from `A` to `B` through one processor.
fn through(mode: &str, config: Value) -> Value {
    states(json!({"A": [automated("GO", "B", processor(mode, config))], "B": []}))
}

fn named(name: &str, mode: &str, config: Value) -> Value {
    json!({"type": "EXTERNAL", "name": name, "executionMode": mode, "config": config})
}

#[tokio::test]
async fn a_mode_that_is_not_given_is_detached_and_one_that_is_unknown_is_not() {
    let processors = |mode: Value| {
        let mut processor = json!({"type": "EXTERNAL", "name": "p"});
        if !mode.is_null() {
            processor["executionMode"] = mode;
        }
        states(json!({"A": [automated("GO", "B", json!({"processors": [processor]}))], "B": []}))
    };
    let scene = Scene::of(states(json!({"A": []}))).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Data(json!({"n": 2})) });
    for (mode, n) in [
        (Value::Null, 1),
        (json!("ASYNC_NEW_TX"), 1),
        (json!(""), 2),
        (json!("WHENEVER"), 2),
        (json!("ASYNC_SAME_TX"), 2),
    ] {
        scene
            .import("REPLACE", json!([processors(mode.clone())]))
            .await
            .ok();
        let id = scene.create(json!({"n": 1})).await;
        assert_eq!(scene.get(&id).await["data"], json!({"n": n}), "{mode}");
    }
}

#[tokio::test]
async fn what_fails_after_a_segment_leaves_the_entity_as_it_was_committed() {
    let two = json!({"processors": [named("first", SEGMENTED, json!({})), named("second", "SYNC", json!({}))]});
    let always = json!({"criterion": simple("$.n", "NOT_NULL", Value::Null)});
    let rejected = states(json!({"A": [automated("GO", "B", two)], "B": []}));
    let endless = states(json!({
        "A": [automated("GO", "B", processor(SEGMENTED, json!({})))],
        "B": [automated("ROUND", "B", always)]}));
    for workflow in [rejected, endless] {
        let scene = Scene::of(workflow.clone()).await;
        let member = Member::join(&scene.server, &[]).await;
        member.serve(|call, _| async move {
            if call.processor() == "second" {
                assert_eq!(call.data(), &json!({"n": 2}), "as the first one left it");
                Reply::Failure("no")
            } else {
                Reply::Data(json!({"n": 2}))
            }
        });
        let refused = scene.post(json!({"n": 1})).await;
        let problem = refused.refused(400, "WORKFLOW_FAILED");
        let entities = scene.entities().await;
        assert_eq!(entities.len(), 1, "{workflow}");
        let entity = &entities[0]["payload"];
        let named = &problem["properties"]["entityId"];
        assert_eq!(named, &entity["meta"]["id"], "{problem}");
        assert_eq!(
            (state(entity), &entity["data"]),
            ("A", &json!({"n": 1})),
            "{workflow}"
        );
    }
}

#[tokio::test]
async fn a_member_that_leaves_during_a_segment_fails_the_run_for_good() {
    for joins in [false, true] {
        let config = json!({"startNewTxOnDispatch": joins});
        let scene = Scene::of(through(SEGMENTED, config)).await;
        let member = Member::join(&scene.server, &[]).await;
        let leaves = async {
            member.next().await;
            drop(member);
        };
        let (refused, ()) = tokio::join!(scene.post(json!({"n": 1})), leaves);
        let problem = refused.refused(400, "WORKFLOW_FAILED");
        let cause = &problem["properties"]["cause"];
        assert_eq!(cause, "COMPUTE_MEMBER_DISCONNECTED");
        let entities = scene.entities().await;
        assert_eq!(state(&entities[0]["payload"]), "A");
        // The caller has the answer, so nobody resumes it.
        let member = Member::join(&scene.server, &[]).await;
        let mut calls = member.record(|_| Reply::Nothing);
        let id = scene.create(json!({"n": 2})).await;
        let first = calls.recv().await.expect("a call");
        assert_eq!(first.payload["entityId"], id.as_str());
        assert!(calls.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_request_that_joined_a_transaction_cannot_commit_it() {
    let scene = Scene::of(through("SYNC", json!({}))).await;
    let inner = through(SEGMENTED, json!({"calculationNodesTags": "inner"}));
    let inner =
        crate::support::governed_model(&scene.connection, "inner", json!({"n": 1}), inner).await;
    let member = Member::join(&scene.server, &["inner"]).await;
    let new = new_entity(&inner, &json!({"n": 1}));
    let serving = async {
        let call = member.next().await;
        let attributes = [("cyodatxtoken", call.token())];
        let kind = "EntityCreateRequest";
        let answer = scene.connection.call_with(kind, new, &attributes).await;
        assert_eq!(code(&answer), "WORKFLOW_FAILED");
        member.reply(&call, Reply::Data(json!({"n": 2}))).await;
    };
    // The member is not asked for the inner one: it answers the next call only after this.
    let (id, ()) = tokio::join!(scene.create(json!({"n": 1})), serving);
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 2})));
    let all = json!({"model": inner});
    let (made, _) = scene.connection.all("EntityGetAllRequest", all).await;
    assert!(made.is_empty());
}

#[tokio::test]
async fn a_segment_commits_what_came_before_it_in_the_batch() {
    let scene = Scene::of(through(SEGMENTED, json!({}))).await;
    let note = locked_model(&scene.connection, "note", json!({"n": 1})).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Failure("no") });
    let item = |model: &Value, n: i64| json!({"model": model, "data": {"n": n}});
    let payloads = [item(&note, 1), item(&Scene::model(), 2), item(&note, 3)];
    let batch = json!({"dataFormat": "JSON", "payloads": payloads});
    let failed = scene
        .connection
        .fails("EntityCreateCollectionRequest", batch)
        .await;
    assert_eq!(failed, "WORKFLOW_FAILED");
    let (notes, _) = scene
        .connection
        .all("EntityGetAllRequest", json!({"model": note}))
        .await;
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["payload"]["data"], json!({"n": 1}));
    assert_eq!(state(&scene.entities().await[0]["payload"]), "A");
}

#[tokio::test]
async fn a_request_that_is_cancelled_after_a_segment_runs_to_its_end() {
    for joins in [false, true] {
        let scene = Scene::of(through(SEGMENTED, json!({"startNewTxOnDispatch": joins}))).await;
        let member = Member::join(&scene.server, &[]).await;
        let new = new_entity(&Scene::model(), &json!({"n": 1}));
        let mut answers = scene
            .connection
            .begin(request("EntityCreateRequest", "doomed", new))
            .await;
        let call = member.next().await;
        let cancel = request(
            "EventCancelRequest",
            "cancel",
            json!({"requestId": "doomed"}),
        );
        scene.connection.send(cancel).await;
        // Acknowledged before the call is answered, and without an effect.
        let acknowledged = scene.connection.unasked().await.expect("an event");
        assert_eq!(payload_of(&acknowledged)["success"], true);
        member.reply(&call, Reply::Data(json!({"n": 2}))).await;
        let answer = payload_of(&answers.recv().await.expect("an answer"));
        assert_eq!(answer["success"], true, "{answer}");
        let id = call.payload["entityId"].as_str().expect("an id");
        let entity = scene.get(id).await;
        assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 2})));
    }
}

#[tokio::test]
async fn every_segment_is_seen_and_all_of_them_are_reported_as_one() {
    let mut second = processor(SEGMENTED, json!({}));
    second["processors"][0]["name"] = json!("second");
    let scene = Scene::of(states(json!({
        "A": [automated("ONE", "B", processor(SEGMENTED, json!({})))],
        "B": [automated("TWO", "C", second)],
        "C": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let serving = async {
        let one = member.next().await;
        member.reply(&one, Reply::Data(json!({"n": 2}))).await;
        let two = member.next().await;
        let id = two.payload["entityId"].as_str().expect("an id");
        let seen = scene.get(id).await;
        assert_eq!((state(&seen), &seen["data"]), ("B", &json!({"n": 2})));
        member.reply(&two, Reply::Data(json!({"n": 3}))).await;
        [one, two].map(|call| call.event.attribute("dispatchkey").map(str::to_owned))
    };
    let (said, keys) = tokio::join!(scene.post(json!({"n": 1})), serving);
    assert_ne!(keys[0], keys[1]);
    let made = said.ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id");
    let entity = scene.get(id).await;
    assert_eq!((state(&entity), &entity["data"]), ("C", &json!({"n": 3})));
    let events = scene.audited(id).await;
    let transactions = events.iter().map(|event| &event["transactionId"]);
    assert!(
        transactions
            .into_iter()
            .all(|reported| *reported == made[0]["transactionId"]),
        "{events:?}"
    );
    assert_eq!(count(&events, "TRANSITION_MAKE"), 2);
    assert_eq!(count(&events, "STATE_MACHINE_FINISH"), 1);
    assert_eq!(scene.changes(id).await.len(), 3);
}

#[tokio::test]
async fn a_run_that_was_killed_is_not_gone_on_with_when_the_entity_has_moved() {
    let server = Server::on_disk(&[
        ("CYODA_DISPATCH_WAIT_TIMEOUT", "0s"),
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "100ms"),
    ]);
    let mut scene = Scene::on(
        server,
        states(json!({
            "A": [
                manual("GO", "B", processor(SEGMENTED, json!({}))),
                manual("LEAVE", "OUT", json!({}))],
            "B": [], "OUT": []})),
    )
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let id = scene.create(json!({"n": 1})).await;
    let go = json!({"entityId": id, "transition": "GO"});
    let begun = request("EntityTransitionRequest", "go", go);
    let _open = scene.connection.begin(begun).await;
    member.next().await;
    scene.server.kill();
    scene.restart().await;
    scene.put(&id, "LEAVE", json!({"n": 2})).await.ok();
    let member = Member::join(&scene.server, &[]).await;
    let other = scene.create(json!({"n": 3})).await;
    // An attempt that began before the entity moved may still call; what comes of it is nothing.
    let answering = async {
        loop {
            let call = member.next().await;
            if call.payload["entityId"] == other.as_str() {
                return member.reply(&call, Reply::Nothing).await;
            }
            member.reply(&call, Reply::Data(json!({"n": 99}))).await;
        }
    };
    let (said, ()) = tokio::join!(scene.put(&other, "GO", json!({"n": 3})), answering);
    said.ok();
    let left = scene.get(&id).await;
    assert_eq!((state(&left), &left["data"]), ("OUT", &json!({"n": 2})));
}

#[tokio::test]
async fn a_delay_before_going_on_alone_means_nothing_without_an_asynchronous_result() {
    let config = json!({"crossoverToAsyncMs": 0, "asyncResult": false});
    let scene = Scene::of(through("SYNC", config)).await;
    let member = Member::join(&scene.server, &[]).await;
    let serving = async {
        let call = member.next().await;
        let asked = json!({"entityId": call.payload["entityId"]});
        let seen = scene.connection.fails("EntityGetRequest", asked).await;
        assert_eq!(seen, "ENTITY_NOT_FOUND");
        assert!(call.event.attribute("cyodatxtoken").is_some());
        member.reply(&call, Reply::Failure("no")).await;
    };
    let (said, ()) = tokio::join!(scene.post(json!({"n": 1})), serving);
    said.refused(400, "WORKFLOW_FAILED");
    assert!(scene.entities().await.is_empty());
}

#[tokio::test]
async fn a_detached_processor_that_cannot_be_called_holds_nothing_up() {
    let server = Server::with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "0s")]);
    let two = json!({"processors": [
        named("gone", "ASYNC_NEW_TX", json!({"calculationNodesTags": "nobody"})),
        named("slow", "ASYNC_NEW_TX", json!({"responseTimeoutMs": 100})),
        named("last", "SYNC", json!({}))]});
    let workflow = states(json!({"A": [automated("GO", "B", two)], "B": []}));
    let scene = Scene::on(server, workflow).await;
    let member = Member::join(&scene.server, &[]).await;
    let new = new_entity(&Scene::model(), &json!({"n": 1}));
    let serving = async {
        let slow = member.next().await;
        assert_eq!(slow.processor(), "slow");
        let last = member.next().await;
        assert_eq!(last.processor(), "last");
        member.reply(&last, Reply::Data(json!({"n": 2}))).await;
    };
    let (made, ()) = tokio::join!(scene.connection.ok("EntityCreateRequest", new), serving);
    let warnings = made["warnings"].to_string();
    for reported in [
        "processor gone: no compute member with the tags [nobody]",
        "processor slow: DISPATCH_TIMEOUT",
    ] {
        assert!(warnings.contains(reported), "{warnings}");
    }
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let entity = scene.get(id).await;
    assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 2})));
}

#[tokio::test]
async fn what_a_detached_processor_makes_of_its_entity_is_kept_unless_it_fails() {
    let scene = Scene::of(states(json!({
        "A": [manual("GO", "B", processor("ASYNC_NEW_TX", json!({})))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|call, connection| async move {
        let entity = json!({"entityId": call.payload["entityId"], "data": {"n": 50}});
        let update = json!({"dataFormat": "JSON", "payload": entity});
        let attributes = [("cyodatxtoken", call.token())];
        let written = connection
            .call_with("EntityUpdateRequest", update, &attributes)
            .await;
        assert_eq!(written["success"], true, "{written}");
        if call.data()["n"] == 1 {
            Reply::Data(json!({"n": 100}))
        } else {
            Reply::Failure("no")
        }
    });
    for (n, kept) in [(1, 50), (2, 2)] {
        let id = scene.create(json!({"n": 0})).await;
        scene.put(&id, "GO", json!({"n": n})).await.ok();
        let entity = scene.get(&id).await;
        assert_eq!(
            (state(&entity), &entity["data"]),
            ("B", &json!({"n": kept}))
        );
        assert_eq!(entity["meta"]["transitionForLatestSave"], "GO");
    }
}

#[tokio::test]
async fn an_entity_that_is_deleted_during_its_call_stays_deleted() {
    for mode in ["SYNC", SEGMENTED] {
        let scene = Scene::of(states(json!({
            "A": [manual("GO", "B", processor(mode, json!({})))], "B": []})))
        .await;
        let member = Member::join(&scene.server, &[]).await;
        let id = scene.create(json!({"n": 1})).await;
        let path = format!("/api/entity/{id}");
        let deleting = async {
            let call = member.next().await;
            scene.rest.delete(&path).await.ok();
            member.reply(&call, Reply::Data(json!({"n": 2}))).await;
        };
        let (said, ()) = tokio::join!(scene.put(&id, "GO", json!({"n": 2})), deleting);
        said.refused_for_now(409, "CONFLICT");
        scene.rest.get(&path).await.refused(404, "ENTITY_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_processor_that_deletes_its_own_entity_fails_unless_it_returns_one() {
    let scene = Scene::of(states(json!({
        "A": [manual("GO", "B", processor("SYNC", json!({})))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|call, connection| async move {
        let entity = json!({"entityId": call.payload["entityId"]});
        let attributes = [("cyodatxtoken", call.token())];
        let kind = "EntityDeleteRequest";
        let deleted = connection.call_with(kind, entity, &attributes).await;
        assert_eq!(deleted["success"], true, "{deleted}");
        if call.data()["n"] == 2 {
            Reply::Nothing
        } else {
            Reply::Data(json!({"n": 9}))
        }
    });
    let id = scene.create(json!({"n": 1})).await;
    let refused = scene.put(&id, "GO", json!({"n": 2})).await;
    refused.refused(400, "WORKFLOW_FAILED");
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("A", &json!({"n": 1})));
    scene.put(&id, "GO", json!({"n": 3})).await.ok();
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 9})));
    let changes = scene.changes(&id).await;
    assert_eq!(changes[0]["changeType"], "UPDATE");
}

#[tokio::test]
async fn a_member_that_fails_says_more_than_that_the_entity_has_moved() {
    let next = json!({"A": [automated("GO", "B", processor(SEGMENTED, json!({}))), manual("LEAVE", "C", json!({}))], "B": [], "C": []});
    let scene = Scene::of(states(next)).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|call, connection| async move {
        let id = call.payload["entityId"].as_str().expect("an id").to_owned();
        let leave = json!({"entityId": id, "transition": "LEAVE"});
        connection.ok("EntityTransitionRequest", leave).await;
        Reply::Failure("card declined")
    });
    let refused = scene.post(json!({"n": 1})).await;
    let problem = refused.refused(400, "WORKFLOW_FAILED");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("card declined"), "{detail}");
}

#[tokio::test]
async fn a_conflict_after_a_segment_says_what_is_stored_and_what_the_member_warned_of() {
    for joins in [false, true] {
        let config = json!({"startNewTxOnDispatch": joins});
        let ways = json!({"A": [manual("GO", "B", processor(SEGMENTED, config))], "B": []});
        let scene = Scene::of(states(ways)).await;
        let member = Member::join(&scene.server, &[]).await;
        member.serve(|call, connection| async move {
            // Without the token: a transaction of its own.
            let entity = json!({"entityId": call.payload["entityId"], "data": {"n": 99}});
            let update = json!({"dataFormat": "JSON", "payload": entity});
            connection.ok("EntityUpdateRequest", update).await;
            let payload = json!({"type": "JSON", "data": {"n": 5}});
            Reply::Raw(json!({"success": true, "payload": payload, "warnings": ["careful"]}))
        });
        let id = scene.create(json!({"n": 1})).await;
        let entity = json!({"entityId": id, "data": {"n": 2}, "transition": "GO"});
        let update = json!({"dataFormat": "JSON", "payload": entity});
        let failed = scene.connection.call("EntityUpdateRequest", update).await;
        assert_eq!(code(&failed), "CONFLICT", "{failed}");
        assert_eq!(
            failed["warnings"],
            json!(["processor p: careful"]),
            "{failed}"
        );
        let properties = &failed["error"]["properties"];
        assert_eq!(properties["entityId"], id.as_str(), "{failed}");
        let changes = scene.changes(&id).await;
        let committed = &properties["committedTransactionId"];
        let transactions: Vec<_> = changes
            .iter()
            .map(|change| &change["transactionId"])
            .collect();
        assert!(transactions.contains(&committed), "{failed} {changes:?}");
        assert_eq!(changes.len(), 3);
    }
}

#[tokio::test]
async fn a_run_is_resumed_whose_caller_leaves_at_the_commit_of_a_part() {
    let scene = Scene::of(through(SEGMENTED, json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Nothing });
    for patience in (0..80).map(|tick| Duration::from_micros(tick * 250)) {
        let create = new_entity(&Scene::model(), &json!({"n": 1}));
        let create = request("EntityCreateRequest", "c", create);
        let created = scene.connection.unary("entityManage", create, &[]);
        let _ = tokio::time::timeout(patience, created).await;
    }
    // Those whose callers left before the commit are not there at all.
    until("nothing rests in A", async || {
        let entities = scene.entities().await;
        let mut states = entities.iter().map(|entity| state(&entity["payload"]));
        states.all(|state| state == "B")
    })
    .await;
}
