//! What criteria and schedule functions write with the token of their call (`grpc.md` §10).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::support::{
    Call, Connection, Member, Reply, Scene, locked_model, new_entity,
    scene::{automated, manual, states},
    state,
    wait::found,
};

/// A criterion that a member evaluates.
fn asks() -> Value {
    json!({"criterion": {"type": "function", "function": {"name": "may", "config": {"calculationNodesTags": ""}}}})
}

/// Writes within the call's transaction.
async fn joined(connection: &Connection, call: &Call, kind: &str, payload: Value) {
    let attributes = [("cyodatxtoken", call.token())];
    let done = connection.call_with(kind, payload, &attributes).await;
    assert_eq!(done["success"], true, "{done}");
}

/// Gives the entity of a call another document.
async fn change(connection: &Connection, call: &Call, n: i64) {
    let entity = json!({"entityId": call.payload["entityId"], "data": {"n": n}});
    let update = json!({"dataFormat": "JSON", "payload": entity});
    joined(connection, call, "EntityUpdateRequest", update).await;
}

#[tokio::test]
async fn what_a_criterion_writes_to_its_entity_commits_with_the_transition() {
    let scene = Scene::of(states(json!({"A": [manual("GO", "B", asks())], "B": []}))).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|call, connection| async move {
        change(&connection, &call, 7).await;
        Reply::Matches(true)
    });
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "GO", json!({"n": 2})).await.ok();
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 7})));
}

#[tokio::test]
async fn a_criterion_that_deletes_its_entity_fails() {
    let scene = Scene::of(states(json!({"A": [manual("GO", "B", asks())], "B": []}))).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|call, connection| async move {
        let entity = json!({"entityId": call.payload["entityId"]});
        joined(&connection, &call, "EntityDeleteRequest", entity).await;
        Reply::Matches(true)
    });
    let id = scene.create(json!({"n": 1})).await;
    let refused = scene.put(&id, "GO", json!({"n": 2})).await;
    let problem = refused.refused(400, "WORKFLOW_FAILED");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("was deleted"), "{detail}");
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("A", &json!({"n": 1})));
}

#[tokio::test]
async fn what_a_schedule_function_writes_to_its_entity_is_kept() {
    let function =
        json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "clock"});
    let late = automated("LATE", "C", json!({"schedule": {"function": function}}));
    let ways = json!({"A": [manual("GO", "B", json!({}))], "B": [late], "C": []});
    let scene = Scene::of(states(ways)).await;
    let member = Member::join(&scene.server, &["clock"]).await;
    let calls = Arc::new(AtomicUsize::new(0));
    member.serve(move |call, connection| {
        let is_first = calls.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            // Its own write settles in the state, too, and so asks a second time.
            if is_first {
                change(&connection, &call, 8).await;
            }
            Reply::Schedule(json!({"fireAfterMs": 60_000}))
        }
    });
    let id = scene.create(json!({"n": 1})).await;
    scene.put(&id, "GO", json!({"n": 2})).await.ok();
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 8})));
}

#[tokio::test]
async fn what_the_criterion_of_a_declined_timer_writes_is_rolled_back() {
    let mut late = automated("LATE", "B", asks());
    late["schedule"] = json!({"delayMs": 1});
    let scene = Scene::of(states(json!({"A": [late], "B": []}))).await;
    let note = locked_model(&scene.connection, "note", json!({"n": 1})).await;
    let member = Member::join(&scene.server, &[]).await;
    let new = new_entity(&note, &json!({"n": 1}));
    member.serve(move |call, connection| {
        let new = new.clone();
        async move {
            joined(&connection, &call, "EntityCreateRequest", new).await;
            change(&connection, &call, 9).await;
            Reply::Matches(false)
        }
    });
    let id = scene.create(json!({"n": 1})).await;
    found("the timer is declined", async || {
        let kind = "TRANSITION_NOT_MATCH_CRITERION";
        let events = scene.audited(&id).await;
        events.into_iter().find(|event| event["eventType"] == kind)
    })
    .await;
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("A", &json!({"n": 1})));
    let all = json!({"model": note});
    let (notes, _) = scene.connection.all("EntityGetAllRequest", all).await;
    assert!(notes.is_empty());
}
