//! What becomes of work of which a part was committed before a call, if the rest fails
//! (`workflow-engine.md` §6.4 and §6.6).

use interlock::event::{AttributeValue, Event};
use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server, code, locked_model, new_entity, request,
    scene::{automated, count, manual, processor, simple, states},
    state,
};

/// The mode that commits what was done so far before it calls.
const SEGMENTED: &str = "COMMIT_BEFORE_DISPATCH";

const CREATE_MANY: &str = "EntityCreateCollectionRequest";
const UPDATE_MANY: &str = "EntityUpdateCollectionRequest";

fn named(name: &str, mode: &str) -> Value {
    json!({"type": "EXTERNAL", "name": name, "executionMode": mode})
}

fn item(model: &Value, n: i64) -> Value {
    json!({"model": model, "data": {"n": n}})
}

fn many(payloads: Value) -> Value {
    json!({"dataFormat": "JSON", "payloads": payloads})
}

fn with_key(event: Event) -> Event {
    event.with("idempotencykey", AttributeValue::String("k".into()))
}

/// Asks with the same key every time.
async fn keyed(scene: &Scene, kind: &str, payload: Value) -> Value {
    let attributes = [("idempotencykey", "k")];
    scene.connection.call_with(kind, payload, &attributes).await
}

/// A later attempt may succeed.
fn later() -> Reply {
    let error = json!({"code": "X", "message": "later", "retryable": true});
    Reply::Raw(json!({"success": false, "error": error}))
}

#[tokio::test]
async fn a_collection_that_fails_behind_a_committed_part_fails_again_when_it_is_repeated() {
    let ways = json!({"A": [manual("GO", "B", processor(SEGMENTED, json!({})))], "B": []});
    let scene = Scene::of(states(ways)).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let id = scene.create(json!({"n": 1})).await;
    let nobody = "00000000-0000-1000-8000-000000000000";
    let batch = many(json!([
        {"entityId": id, "data": {"n": 2}, "transition": "GO"},
        {"entityId": nobody, "data": {"n": 3}}]));
    for _ in 0..2 {
        let failed = keyed(&scene, UPDATE_MANY, batch.clone()).await;
        assert_eq!(code(&failed), "ENTITY_NOT_FOUND", "{failed}");
        assert_eq!(failed["error"]["properties"]["entityId"], id.as_str());
        assert_eq!(scene.state(&id).await, "A", "it does not run on");
    }
    let made = std::iter::from_fn(|| calls.try_recv().ok()).count();
    assert_eq!(made, 2, "one of each attempt");
}

#[tokio::test]
async fn a_collection_of_which_a_part_was_committed_is_done_whole_after_a_repair() {
    let ways = json!({"A": [automated("GO", "B", processor(SEGMENTED, json!({})))], "B": []});
    let scene = Scene::of(states(ways)).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Nothing });
    let note = json!({"name": "note", "version": 1});
    let batch = many(json!([item(&Scene::model(), 1), item(&note, 2)]));
    let failed = keyed(&scene, CREATE_MANY, batch.clone()).await;
    assert_eq!(code(&failed), "MODEL_NOT_FOUND", "{failed}");
    locked_model(&scene.connection, "note", json!({"n": 1})).await;
    let done = keyed(&scene, CREATE_MANY, batch).await;
    let ids = done["transactionInfo"]["entityIds"].as_array();
    assert_eq!(ids.map(Vec::len), Some(2), "{done}");
}

#[tokio::test]
async fn a_collection_that_was_killed_between_its_items_is_done_whole_by_a_repeat() {
    let ways = json!({"A": [automated("GO", "B", processor(SEGMENTED, json!({})))], "B": []});
    let mut scene = Scene::on(Server::on_disk(&[]), states(ways)).await;
    let member = Member::join(&scene.server, &[]).await;
    let model = Scene::model();
    let batch = many(json!([item(&model, 1), item(&model, 2)]));
    let doomed = with_key(request(CREATE_MANY, "doomed", batch.clone()));
    let _lost = scene.connection.begin(doomed).await;
    member.next().await;
    scene.server.kill();
    scene.restart().await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Nothing });
    let done = keyed(&scene, CREATE_MANY, batch).await;
    let ids = done["transactionInfo"]["entityIds"].as_array();
    assert_eq!(ids.map(Vec::len), Some(2), "{done}");
}

#[tokio::test]
async fn what_an_attempt_wrote_is_rolled_back_while_an_asynchronous_result_is_awaited() {
    let config = json!({"asyncResult": true, "crossoverToAsyncMs": 60_000, "retryPolicy": "FIXED"});
    let ways = json!({"A": [automated("GO", "B", processor("SYNC", config))], "B": []});
    let scene = Scene::of(states(ways)).await;
    let note = locked_model(&scene.connection, "note", json!({"n": 1})).await;
    let member = Member::join(&scene.server, &[]).await;
    let write = async |token: &str| {
        let new = new_entity(&note, &json!({"n": 1}));
        let attributes = [("cyodatxtoken", token)];
        let kind = "EntityCreateRequest";
        scene.connection.call_with(kind, new, &attributes).await
    };
    let serving = async {
        let first = member.next().await;
        assert_eq!(write(first.token()).await["success"], true);
        member.reply(&first, later()).await;
        let second = member.next().await;
        let late = write(first.token()).await;
        assert_eq!(code(&late), "TRANSACTION_NOT_FOUND");
        assert_eq!(write(second.token()).await["success"], true);
        member.reply(&second, Reply::Nothing).await;
    };
    let (id, ()) = tokio::join!(scene.create(json!({"n": 1})), serving);
    assert_eq!(scene.state(&id).await, "B");
    let all = json!({"model": note});
    let (notes, _) = scene.connection.all("EntityGetAllRequest", all).await;
    assert_eq!(notes.len(), 1);
}

#[tokio::test]
async fn attempts_after_the_crossover_are_outside_of_the_transaction() {
    let config = json!({"asyncResult": true, "crossoverToAsyncMs": 0, "retryPolicy": "FIXED"});
    let ways = json!({"A": [automated("GO", "B", processor("SYNC", config))], "B": []});
    let scene = Scene::of(states(ways)).await;
    let member = Member::join(&scene.server, &[]).await;
    let serving = async {
        let first = member.next().await;
        let id = first.payload["entityId"].as_str().expect("an id");
        let is_there = async || {
            let asked = json!({"entityId": id});
            scene.connection.call("EntityGetRequest", asked).await["success"] == true
        };
        crate::support::wait::until("it has crossed over", is_there).await;
        member.reply(&first, later()).await;
        let second = member.next().await;
        assert_eq!(second.event.attribute("cyodatxtoken"), None);
        let key =
            |call: &crate::support::Call| call.event.attribute("dispatchkey").map(str::to_owned);
        assert_eq!(key(&second), key(&first));
        member.reply(&second, Reply::Data(json!({"n": 2}))).await;
    };
    let (id, ()) = tokio::join!(scene.create(json!({"n": 1})), serving);
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": 2})));
}

#[tokio::test]
async fn the_timers_of_a_state_in_which_a_failed_run_leaves_its_entity_are_armed() {
    let after = |delay_ms: u64, name: &str| {
        automated(name, "L", json!({"schedule": {"delayMs": delay_ms}}))
    };
    let scene = Scene::of(states(json!({
        "A": [manual("IN", "W", json!({})), after(60_000, "OLD")],
        "W": [automated("GO", "B", processor(SEGMENTED, json!({}))), after(1, "LATE")],
        "B": [], "L": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Failure("no") });
    let id = scene.create(json!({"n": 1})).await;
    let refused = scene.put(&id, "IN", json!({"n": 2})).await;
    refused.refused(400, "WORKFLOW_FAILED");
    scene.reaches(&id, "L").await;
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "SCHEDULED_TRANSITION_ARM"), 2, "{events:?}");
    assert_eq!(
        count(&events, "SCHEDULED_TRANSITION_CANCEL"),
        1,
        "{events:?}"
    );
}

#[tokio::test]
async fn a_run_that_was_killed_is_not_resumed_where_its_processor_is_not_any_more() {
    let server = Server::on_disk(&[
        ("CYODA_DISPATCH_WAIT_TIMEOUT", "0s"),
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "100ms"),
    ]);
    let of = |processors: Value| {
        let go = manual("GO", "B", json!({"processors": processors}));
        states(json!({"A": [go], "B": []}))
    };
    let two = json!([named("prepare", "SYNC"), named("pay", SEGMENTED)]);
    let mut scene = Scene::on(server, of(two)).await;
    let member = Member::join(&scene.server, &[]).await;
    let id = scene.create(json!({"n": 1})).await;
    let kind = "EntityTransitionRequest";
    let go = json!({"entityId": id, "transition": "GO"});
    let doomed = with_key(request(kind, "doomed", go.clone()));
    let _lost = scene.connection.begin(doomed).await;
    let prepare = member.next().await;
    member.reply(&prepare, Reply::Nothing).await;
    assert_eq!(member.next().await.processor(), "pay");
    scene.server.kill();
    scene.restart().await;
    let one = of(json!([named("pay", SEGMENTED)]));
    scene.import("REPLACE", json!([one])).await.ok();
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    // It was not done, so the repeat does it.
    let done = keyed(&scene, kind, go).await;
    assert_eq!(done["success"], true, "{done}");
    assert_eq!(scene.state(&id).await, "B");
    let paid = calls.try_recv().expect("a call");
    assert_eq!(paid.processor(), "pay");
}

#[tokio::test]
async fn the_audit_names_the_workflow_in_the_rest_of_a_run_too() {
    let never = json!({"criterion": simple("$.n", "EQUALS", json!(9))});
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "B", processor(SEGMENTED, json!({})))],
        "B": [automated("ON", "C", never)], "C": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Nothing });
    let id = scene.create(json!({"n": 1})).await;
    let events = scene.audited(&id).await;
    let kind = "TRANSITION_NOT_MATCH_CRITERION";
    let found = events.iter().find(|event| event["eventType"] == kind);
    let found = found.expect("it did not match");
    assert_eq!(found["data"]["workflowName"], "w", "{found}");
}
