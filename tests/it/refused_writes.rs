//! What the audit says of writes that were refused: rows of group 6 of the corrections.

use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server,
    scene::{count, manual, processor, put, states},
};

const STALE: &str = "00000000-0000-0000-0000-000000000000";
const PROFILE: (&str, &str) = ("INTERLOCK_COMPAT", "cyoda-0.8");

fn workflow() -> Value {
    let mut workflow = states(json!({
        "A": [
            manual("STAY", "A", json!({})),
            manual("GO", "B", processor("COMMIT_BEFORE_DISPATCH", json!({})))],
        "B": []}));
    workflow["version"] = json!("1.1");
    workflow
}

async fn scenes() -> [(Scene, bool); 3] {
    [
        (Scene::of(workflow()).await, false),
        (Scene::on(Server::with(&[PROFILE]), workflow()).await, true),
        (
            Scene::on(Server::on_disk(&[PROFILE]), workflow()).await,
            true,
        ),
    ]
}

/// Changes entities as one collection; the answer's only chunk.
async fn put_all(scene: &Scene, items: Value) -> Value {
    let path = "/api/entity/JSON?transactionWindow=100";
    let said = scene.rest.put(path, items.to_string()).await.ok();
    assert_eq!(said.as_array().map(Vec::len), Some(1), "{said}");
    said[0].clone()
}

fn item(id: &str, n: i32, transition: Option<&str>, if_match: Option<&str>) -> Value {
    let mut item = json!({"id": id, "payload": json!({"n": n}).to_string()});
    if let Some(transition) = transition {
        item["transition"] = json!(transition);
    }
    if let Some(if_match) = if_match {
        item["ifMatch"] = json!(if_match);
    }
    item
}

/// The events of a transaction on an entity, oldest first.
async fn reported(scene: &Scene, id: &str, transaction: &Value) -> Vec<Value> {
    let mut events = scene.audited(id).await;
    events.retain(|event| event["transactionId"] == *transaction);
    events
}

/// That these events tell of a refused write, and of nothing else.
fn assert_aborted(events: &[Value], name: &str, expected: &str, actual: &Value) {
    let kinds: Vec<_> = events.iter().map(|event| &event["eventType"]).collect();
    assert_eq!(
        kinds,
        ["STATE_MACHINE_START", "TRANSITION_ABORTED"],
        "{name}"
    );
    for event in events {
        assert_eq!(event["state"], "A", "{event}");
    }
    assert_eq!(
        events[1]["data"],
        json!({"reason": "ENTITY_MODIFIED", "transitionName": name,
            "expectedTxId": expected, "actualTxId": actual})
    );
}

#[tokio::test]
async fn a_stale_item_of_a_collection_is_reported_as_aborted_in_the_transaction_of_its_chunk() {
    for (scene, _) in scenes().await {
        let good = scene.create(json!({"n": 1})).await;
        let plain = scene.create(json!({"n": 1})).await;
        let named = scene.create(json!({"n": 1})).await;
        let before = (scene.get(&plain).await, scene.get(&named).await);
        let written = &before.0["meta"]["transactionId"];
        let chunk = put_all(
            &scene,
            json!([
                item(&plain, 2, None, Some(STALE)),
                item(&good, 2, None, None),
                item(&named, 2, Some("STAY"), Some("not even an id"))
            ]),
        )
        .await;
        assert_eq!(chunk["entityIds"], json!([good]));
        let failed = chunk["failed"].as_array().expect("failed items");
        assert_eq!(failed.len(), 2);
        assert_eq!(failed[0]["error"]["code"], "ENTITY_MODIFIED");
        let transaction = &chunk["transactionId"];
        let events = reported(&scene, &plain, transaction).await;
        assert_aborted(&events, "loopback", STALE, written);
        let events = reported(&scene, &named, transaction).await;
        let written = &before.1["meta"]["transactionId"];
        assert_aborted(&events, "STAY", "not even an id", written);
        // No version, and no row in the history.
        assert_eq!((scene.get(&plain).await, scene.get(&named).await), before);
        assert_eq!(scene.changes(&plain).await.len(), 1);
        assert_eq!(scene.changes(&named).await.len(), 1);
        assert_eq!(reported(&scene, &good, transaction).await.len(), 2);
        let last = scene.audited(&plain).await.pop().expect("an event");
        assert_eq!(last["eventType"], "TRANSITION_ABORTED");
    }
}

#[tokio::test]
async fn a_chunk_of_which_every_item_is_stale_is_reported_too() {
    for (scene, _) in scenes().await {
        let one = scene.create(json!({"n": 1})).await;
        let two = scene.create(json!({"n": 1})).await;
        let items = json!([
            item(&one, 2, None, Some(STALE)),
            item(&two, 2, None, Some(STALE))
        ]);
        let chunk = put_all(&scene, items).await;
        assert_eq!(chunk["entityIds"], json!([]));
        for id in [&one, &two] {
            let written = scene.get(id).await["meta"]["transactionId"].clone();
            let events = reported(&scene, id, &chunk["transactionId"]).await;
            assert_aborted(&events, "loopback", STALE, &written);
            assert_eq!(scene.changes(id).await.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_stale_item_calls_no_processor_that_would_be_called_after_a_commit() {
    for (scene, _) in scenes().await {
        let member = Member::join(&scene.server, &[]).await;
        let mut calls = member.record(|_| Reply::Nothing);
        let stale = scene.create(json!({"n": 1})).await;
        let good = scene.create(json!({"n": 2})).await;
        let written = scene.get(&stale).await["meta"]["transactionId"].clone();
        let items = json!([
            item(&stale, 1, Some("GO"), Some(STALE)),
            item(&good, 2, Some("GO"), None)
        ]);
        let chunk = put_all(&scene, items).await;
        let call = calls.recv().await.expect("the call of the good one");
        assert_eq!(call.data()["n"], 2);
        assert!(calls.try_recv().is_err(), "and no other");
        let events = reported(&scene, &stale, &chunk["transactionId"]).await;
        assert_aborted(&events, "GO", STALE, &written);
        assert_eq!(scene.state(&stale).await, "A");
        assert_eq!(scene.state(&good).await, "B");
    }
}

#[tokio::test]
async fn an_item_that_became_stale_within_its_chunk_is_reported_after_what_was_written() {
    let scene = Scene::of(workflow()).await;
    let id = scene.create(json!({"n": 1})).await;
    let read = scene.get(&id).await["meta"]["transactionId"].clone();
    let read = read.as_str().expect("an id");
    let items = json!([
        item(&id, 2, None, Some(read)),
        item(&id, 3, None, Some(read))
    ]);
    let chunk = put_all(&scene, items).await;
    let transaction = &chunk["transactionId"];
    let events = reported(&scene, &id, transaction).await;
    assert_aborted(&events[2..], "loopback", read, transaction);
    assert_eq!(scene.changes(&id).await.len(), 2);
    assert_eq!(scene.get(&id).await["data"]["n"], 2);
}

#[tokio::test]
async fn a_stale_single_write_is_reported_in_the_profile_cyoda_only() {
    for (scene, is_reported) in scenes().await {
        let id = scene.create(json!({"n": 1})).await;
        let written = scene.get(&id).await["meta"]["transactionId"].clone();
        let before = scene.audited(&id).await.len();
        let stale = scene.rest.with("if-match", STALE);
        let said = put(&stale, &id, "STAY", json!({"n": 2})).await;
        said.refused(412, "ENTITY_MODIFIED");
        let merge = stale.with("content-type", "application/merge-patch+json");
        let path = format!("/api/entity/JSON/{id}");
        let said = merge.send("PATCH", &path, "{\"n\":2}").await;
        said.refused(412, "ENTITY_MODIFIED");
        let events = scene.audited(&id).await.split_off(before);
        if is_reported {
            assert_eq!(events.len(), 4, "{events:?}");
            assert_aborted(&events[..2], "STAY", STALE, &written);
            assert_aborted(&events[2..], "loopback", STALE, &written);
            let own = |at: usize| &events[at]["transactionId"];
            assert_eq!((own(0), own(2)), (own(1), own(3)));
            assert_ne!(own(0), own(2));
            assert_ne!(*own(0), written);
        } else {
            assert_eq!(events, Vec::<Value>::new());
        }
        assert_eq!(scene.changes(&id).await.len(), 1);
        assert_eq!(scene.get(&id).await["meta"]["transactionId"], written);
        assert_eq!(count(&scene.audited(&id).await, "STATE_MACHINE_FINISH"), 1);
    }
}
