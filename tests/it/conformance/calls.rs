//! Rows about members: what they are sent, and what becomes of what they do.

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Scene, Server, code, create, get, governed_model, locked_model,
    new_entity, processed_by, request,
    scene::{automated, manual, ok, processor, put, simple, states},
    state, sync_processor,
};

/// A new entity goes from `A` to `B` through one processor.
fn through(mode: &str, config: Value) -> Value {
    states(json!({"A": [automated("GO", "B", processor(mode, config))], "B": []}))
}

/// A new entity stays in `A` until `GO` is asked for, which has one processor.
fn through_on_demand(mode: &str, config: Value) -> Value {
    states(json!({"A": [manual("GO", "B", processor(mode, config))], "B": []}))
}

/// Makes a request in the transaction of a call.
async fn joined(connection: &Connection, token: &str, kind: &str, payload: Value) -> Value {
    let attributes = [("cyodatxtoken", token)];
    connection.call_with(kind, payload, &attributes).await
}

/// A scene with a second model, `note`, whose entities nobody processes.
async fn with_notes(workflow: Value) -> (Scene, Value) {
    let scene = Scene::of(workflow).await;
    let note = locked_model(&scene.connection, "note", json!({"n": 1})).await;
    (scene, note)
}

async fn all(connection: &Connection, model: &Value) -> Vec<Value> {
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": model}))
        .await;
    entities
}

#[tokio::test]
async fn row_10_what_a_sync_processor_returns_replaces_the_whole_document() {
    let scene = Scene::of(through("SYNC", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    member.serve(|_, _| async { Reply::Data(json!({"s": "new", "extra": [1]})) });
    let id = scene.create(json!({"n": 1, "ok": true})).await;
    let entity = scene.get(&id).await;
    assert_eq!(state(&entity), "B");
    assert_eq!(entity["data"], json!({"s": "new", "extra": [1]}));
}

#[tokio::test]
async fn row_11_what_an_async_new_tx_processor_returns_or_fails_with_changes_nothing() {
    let (scene, note) = with_notes(through("ASYNC_NEW_TX", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let model = note.clone();
    member.serve(move |call, connection| {
        let note = new_entity(&model, &json!({"n": call.data()["n"]}));
        async move {
            let made = joined(&connection, call.token(), "EntityCreateRequest", note).await;
            assert_eq!(made["success"], true, "{made}");
            if call.data()["n"] == 1 {
                Reply::Data(json!({"n": 100}))
            } else {
                Reply::Failure("no")
            }
        }
    });
    for n in [1, 2] {
        let id = scene.create(json!({"n": n})).await;
        let entity = scene.get(&id).await;
        assert_eq!((state(&entity), &entity["data"]), ("B", &json!({"n": n})));
    }
    let notes = all(&scene.connection, &note).await;
    assert_eq!(notes.len(), 1, "what the failing one wrote is undone");
    assert_eq!(notes[0]["payload"]["data"], json!({"n": 1}));
}

#[tokio::test]
async fn row_12_what_is_committed_before_the_call_is_seen_during_it() {
    let scene = Scene::of(through("COMMIT_BEFORE_DISPATCH", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let slow = async {
        let call = member.next().await;
        let id = call.payload["entityId"].as_str().expect("an id");
        let seen = scene.get(id).await;
        assert_eq!((state(&seen), &seen["data"]), ("A", &json!({"n": 1})));
        member.reply(&call, Reply::Nothing).await;
    };
    let (id, ()) = tokio::join!(scene.create(json!({"n": 1})), slow);
    assert_eq!(scene.state(&id).await, "B");
}

#[tokio::test]
async fn row_13_an_answer_after_another_clients_update_is_a_conflict() {
    let scene = Scene::of(through_on_demand("COMMIT_BEFORE_DISPATCH", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let id = scene.create(json!({"n": 1})).await;
    let meanwhile = async {
        let call = member.next().await;
        scene.put(&id, "", json!({"n": 3})).await.ok();
        member.reply(&call, Reply::Data(json!({"n": 4}))).await;
    };
    let (put, ()) = tokio::join!(scene.put(&id, "GO", json!({"n": 2})), meanwhile);
    put.refused_for_now(409, "CONFLICT");
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]), ("A", &json!({"n": 3})));
}

#[tokio::test]
async fn row_14_a_stale_if_match_is_refused_before_the_member_is_called() {
    let scene = Scene::of(through_on_demand("COMMIT_BEFORE_DISPATCH", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let id = scene.create(json!({"n": 1})).await;
    let stale = scene.get(&id).await["meta"]["transactionId"].clone();
    scene.put(&id, "", json!({"n": 2})).await.ok();
    let rest = scene.rest.with("If-Match", stale.as_str().expect("an id"));
    let refused = put(&rest, &id, "GO", json!({"n": 3})).await;
    refused.refused(412, "ENTITY_MODIFIED");
    assert_eq!(scene.get(&id).await["data"], json!({"n": 2}));
    scene.put(&id, "GO", json!({"n": 4})).await.ok();
    let first = calls.recv().await.expect("a call");
    assert_eq!(first.data(), &json!({"n": 4}));
}

#[tokio::test]
async fn row_15_a_call_outside_any_transaction_names_none() {
    let scene = Scene::of(through("COMMIT_BEFORE_DISPATCH", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    scene.create(json!({"n": 1})).await;
    let call = calls.recv().await.expect("a call");
    assert_eq!(call.event.attribute("cyodatxtoken"), None);
    assert_eq!(call.payload["transactionId"], "");
}

#[tokio::test]
async fn row_16_what_a_failing_sync_processor_wrote_is_gone_with_its_entity() {
    let (scene, note) = with_notes(through("SYNC", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let model = note.clone();
    member.serve(move |call, connection| {
        let note = new_entity(&model, &json!({"n": 7}));
        async move {
            let made = joined(&connection, call.token(), "EntityCreateRequest", note).await;
            assert_eq!(made["success"], true, "{made}");
            Reply::Failure("no stock")
        }
    });
    let problem = scene
        .post(json!({"n": 1}))
        .await
        .refused(400, "WORKFLOW_FAILED");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains("p failed") && detail.contains("no stock"),
        "{detail}"
    );
    assert!(scene.entities().await.is_empty());
    assert!(all(&scene.connection, &note).await.is_empty());
}

#[tokio::test]
async fn row_17_a_sync_processor_finds_what_it_has_not_committed_yet() {
    let (scene, note) = with_notes(through("SYNC", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let model = note.clone();
    member.serve(move |call, connection| {
        let (new, model) = (new_entity(&model, &json!({"n": 7})), model.clone());
        async move {
            joined(&connection, call.token(), "EntityCreateRequest", new).await;
            let condition = simple("$.n", "EQUALS", json!(7));
            let search = request(
                "EntitySearchRequest",
                &connection.fresh_id(),
                json!({"model": model, "condition": condition}),
            );
            let token = interlock::event::AttributeValue::String(call.token().into());
            let mine = connection
                .ask(search.clone().with("cyodatxtoken", token))
                .await;
            let mut others = search;
            others.id = connection.fresh_id().into();
            let others = connection.ask(others).await;
            Reply::Data(json!({"mine": mine.len() - 1, "others": others.len() - 1}))
        }
    });
    let id = scene.create(json!({"n": 1})).await;
    assert_eq!(
        scene.get(&id).await["data"],
        json!({"mine": 1, "others": 0})
    );
}

#[tokio::test]
async fn row_18_a_token_is_worth_nothing_after_the_commit() {
    let (scene, note) = with_notes(through("SYNC", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let id = scene.create(json!({"n": 1})).await;
    let call = calls.recv().await.expect("a call");
    let rest = scene.rest.with("X-Tx-Token", call.token());
    for said in [
        rest.get(&format!("/api/entity/{id}")).await,
        rest.post("/api/entity/JSON/note/1", "{\"n\":1}").await,
        put(&rest, &id, "", json!({"n": 2})).await,
        rest.delete(&format!("/api/entity/{id}")).await,
    ] {
        said.refused(404, "TRANSACTION_NOT_FOUND");
    }
    let new = new_entity(&note, &json!({"n": 1}));
    let answer = joined(&scene.connection, call.token(), "EntityCreateRequest", new).await;
    assert_eq!(code(&answer), "TRANSACTION_NOT_FOUND");
    assert_eq!(scene.get(&id).await["data"], json!({"n": 1}));
}

#[tokio::test]
async fn row_19_only_a_member_with_every_tag_is_called() {
    let scene = Scene::of(through("SYNC", json!({"calculationNodesTags": "a,b"}))).await;
    let partly = Member::join(&scene.server, &["a"]).await;
    let fully = Member::join(&scene.server, &["a", "b"]).await;
    let mut calls = [&partly, &fully].map(|member| member.record(|_| Reply::Nothing));
    for n in 0..5 {
        scene.create(json!({"n": n})).await;
    }
    let counts = calls
        .each_mut()
        .map(|calls| std::iter::from_fn(|| calls.try_recv().ok()).count());
    assert_eq!(counts, [0, 5]);
}

#[tokio::test]
async fn row_20_without_a_member_the_request_fails_for_now() {
    let server = Server::with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "0s")]);
    let scene = Scene::on(
        server,
        through("SYNC", json!({"calculationNodesTags": "a"})),
    )
    .await;
    let refused = scene.post(json!({"n": 1})).await;
    refused.refused_for_now(503, "NO_COMPUTE_MEMBER_FOR_TAG");
    assert!(scene.entities().await.is_empty());
}

#[tokio::test]
async fn row_21_a_member_that_closes_its_stream_during_a_call_fails_it_for_now() {
    let scene = Scene::of(through("SYNC", json!({}))).await;
    let member = Member::join(&scene.server, &[]).await;
    let closes = async {
        member.next().await;
        drop(member);
    };
    let (refused, ()) = tokio::join!(scene.post(json!({"n": 1})), closes);
    refused.refused_for_now(503, "COMPUTE_MEMBER_DISCONNECTED");
    assert!(scene.entities().await.is_empty());
}

#[tokio::test]
async fn row_22_only_members_of_the_own_tenant_are_called() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let of = async |tenant: &str| server.connect_as(&[("x-mock-tenant", tenant)]).await;
    let tenants = ["ours", "theirs"];
    let mut calls = Vec::new();
    let mut members = Vec::new();
    for tenant in tenants {
        let member = Member::join_on(of(tenant).await, &["a"]).await;
        calls.push(member.record(|_| Reply::Nothing));
        members.push(member);
    }
    let connection = of("ours").await;
    let workflow = through("SYNC", json!({"calculationNodesTags": "a"}));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    for n in 0..5 {
        create(&connection, &model, json!({"n": n})).await;
    }
    let counts = calls
        .iter_mut()
        .map(|calls| std::iter::from_fn(|| calls.try_recv().ok()).count());
    assert_eq!(counts.collect::<Vec<_>>(), [5, 0]);
}

#[tokio::test]
async fn row_37_a_function_whose_quick_exit_is_false_is_not_called() {
    let mut criterion = json!({"type": "function", "function": {"name": "f"}});
    criterion["function"]["criterion"] = ok()["criterion"].clone();
    let scene = Scene::of(states(json!({
        "A": [automated("T", "B", json!({"criterion": criterion}))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let mut calls = member.record(|_| Reply::Matches(true));
    let id = scene.create(json!({"ok": false})).await;
    assert_eq!(scene.state(&id).await, "A");
    let id = scene.create(json!({"ok": true})).await;
    assert_eq!(scene.state(&id).await, "B");
    let first = calls.recv().await.expect("a call");
    assert_eq!(first.payload["entityId"], id.as_str());
}

#[tokio::test]
async fn row_39_a_crash_during_a_sync_call_leaves_no_trace_of_the_transaction() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let note = locked_model(&connection, "note", json!({"n": 1})).await;
    let answering = async {
        let call = member.next().await;
        member.reply(&call, Reply::Nothing).await;
    };
    let (id, ()) = tokio::join!(create(&connection, &model, json!({"n": 1})), answering);
    let before = get(&connection, &id).await;
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 2}, "transition": "AGAIN"}});
    let _open = connection
        .begin(request("EntityUpdateRequest", "open", update))
        .await;
    let call = member.next().await;
    let new = new_entity(&note, &json!({"n": 1}));
    let made = joined(&member.connection, call.token(), "EntityCreateRequest", new).await;
    assert_eq!(made["success"], true, "{made}");
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(get(&connection, &id).await, before);
    assert!(all(&connection, &note).await.is_empty());
    let asked = json!({"entityId": id});
    let (changes, _) = connection
        .all("EntityChangesMetadataGetRequest", asked)
        .await;
    assert_eq!(changes.len(), 1);
}
