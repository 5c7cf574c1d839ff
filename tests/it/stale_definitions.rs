//! What a process creates while its definitions are those of a moment ago: another process has
//! changed a model and has acknowledged that.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::processes::Processes;
use crate::support::{
    Connection, Member, Reply, create, get, locked_model, new_entity, processed_by, state,
    sync_processor,
};

async fn import(connection: &Connection, model: &Value, workflow: Value) {
    let import = json!({"model": model, "importMode": "REPLACE", "workflows": [workflow]});
    connection.ok("EntityWorkflowImportRequest", import).await;
}

/// A workflow in which every entity stays where it begins.
fn begins_in(initial: &str) -> Value {
    json!({"version": "1", "name": "w", "initialState": initial, "states": {initial: {"transitions": []}}})
}

#[tokio::test]
async fn a_create_follows_the_workflow_that_another_process_has_just_imported() {
    let cluster = Processes::start(2).await;
    let (one, other) = cluster.both();
    let model = locked_model(one, "m", json!({"n": 1})).await;
    for n in 0..30 {
        let state_now = format!("S{n}");
        let (changer, creator) = if n % 2 == 0 {
            (one, other)
        } else {
            (other, one)
        };
        import(changer, &model, begins_in(&state_now)).await;
        // Several at once are committed together.
        let made = (0..6).map(|n| create(creator, &model, json!({"n": n})));
        for id in join_all(made).await {
            assert_eq!(state(&get(changer, &id).await), state_now);
        }
        let list = (0..3).map(|n| json!({"model": model, "data": {"n": n}}));
        let list = json!({"dataFormat": "JSON", "payloads": list.collect::<Vec<_>>()});
        let made = creator.ok("EntityCreateCollectionRequest", list).await;
        let id = made["transactionInfo"]["entityIds"][0].as_str();
        assert_eq!(state(&get(changer, id.expect("an id")).await), state_now);
    }
}

#[tokio::test]
async fn a_member_is_called_only_if_the_newest_workflow_says_so() {
    let cluster = Processes::start(2).await;
    let (one, other) = cluster.both();
    let model = locked_model(one, "m", json!({"n": 1})).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let served = Member::join(&cluster.servers[0], &["red"])
        .await
        .serve(move |call, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move { Reply::Data(json!({"n": call.data()["n"]})) }
        });
    let processor = sync_processor("p", json!({"calculationNodesTags": "red"}));
    let processed = processed_by(json!([processor]));
    for n in 1..=10 {
        import(other, &model, processed.clone()).await;
        let id = create(one, &model, json!({"n": n})).await;
        assert_eq!(state(&get(other, &id).await), "DONE");
        assert_eq!(calls.load(Ordering::Relaxed), n, "once for each");
        import(other, &model, begins_in("QUIET")).await;
        let id = create(one, &model, json!({"n": n})).await;
        assert_eq!(state(&get(other, &id).await), "QUIET");
        assert_eq!(
            calls.load(Ordering::Relaxed),
            n,
            "the processor was removed"
        );
    }
    assert!(!served.is_finished(), "the member failed");
}

#[tokio::test]
async fn a_create_follows_the_newest_lock_and_schema() {
    let cluster = Processes::start(2).await;
    let (one, other) = cluster.both();
    let model = locked_model(one, "m", json!({"n": 1})).await;
    let change = |transition: &str| json!({"model": model, "transition": transition});
    for _ in 0..5 {
        other
            .ok("EntityModelTransitionRequest", change("UNLOCK"))
            .await;
        let refused = one
            .fails("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
            .await;
        assert_eq!(refused, "MODEL_NOT_LOCKED");
        other
            .ok("EntityModelTransitionRequest", change("LOCK"))
            .await;
        let id = create(one, &model, json!({"n": 1})).await;
        other
            .ok("EntityDeleteRequest", json!({"entityId": id}))
            .await;
    }
    other
        .ok("EntityModelTransitionRequest", change("UNLOCK"))
        .await;
    other
        .ok("EntityModelDeleteRequest", json!({"model": model}))
        .await;
    let refused = one
        .fails("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    assert_eq!(refused, "MODEL_NOT_FOUND");
    // One of that name again, of another form.
    let again = locked_model(other, "m", json!({"text": "a"})).await;
    create(one, &again, json!({"text": "b"})).await;
}
