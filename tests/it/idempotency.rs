//! Requests that are done once: idempotency keys (`stream.md` §2).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use interlock::{
    event::{AttributeValue, Event},
    operation::{Access, ROUTES},
};
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Scene, Server, code, create, locked_model, new_entity, payload_of,
    request,
    scene::{automated, processor, states},
};

const KEY: &str = "idempotencykey";

/// Asks with a key.
async fn keyed(connection: &Connection, kind: &str, payload: Value, key: &str) -> Value {
    connection.call_with(kind, payload, &[(KEY, key)]).await
}

fn with_key(event: Event, key: &str) -> Event {
    event.with(KEY, AttributeValue::String(key.into()))
}

/// An answer but for what it quotes of its request.
fn unaddressed(mut answer: Value) -> Value {
    for quoted in ["id", "requestId"] {
        answer.as_object_mut().expect("an object").remove(quoted);
    }
    answer
}

async fn count(connection: &Connection, model: &Value) -> usize {
    let all = json!({"model": model, "pageSize": 10_000});
    connection.all("EntityGetAllRequest", all).await.0.len()
}

fn ids(answer: &Value) -> Vec<String> {
    let ids = answer["transactionInfo"]["entityIds"].as_array();
    let text = |id: &Value| id.as_str().expect("an id").to_owned();
    ids.expect("ids").iter().map(text).collect()
}

#[tokio::test]
async fn every_operation_that_writes_is_done_once() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let fresh = json!({"name": "fresh", "version": 1});
    let [one, two, gone] = [
        create(&connection, &model, json!({"n": 1})).await,
        create(&connection, &model, json!({"n": 2})).await,
        create(&connection, &model, json!({"n": 3})).await,
    ];
    let workflow = json!({"version": "1", "name": "w", "initialState": "CREATED", "states": {"CREATED": {"transitions": [{"name": "UPDATE", "next": "CREATED", "manual": true}]}}});
    let message = json!({"header": {"subject": "s", "contentType": "application/json", "contentLength": 1}, "payload": {"a": 1}});
    let steps = [
        (
            "EntityModelImportRequest",
            json!({"model": fresh, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"n": 1}}),
        ),
        (
            "EntityModelSetUniqueKeysRequest",
            json!({"model": fresh, "uniqueKeys": [{"id": "n", "fields": ["$.n"]}]}),
        ),
        (
            "EntityModelTransitionRequest",
            json!({"model": fresh, "transition": "LOCK"}),
        ),
        (
            "EntityModelTransitionRequest",
            json!({"model": fresh, "transition": "UNLOCK"}),
        ),
        ("EntityModelDeleteRequest", json!({"model": fresh})),
        (
            "EntityModelSetChangeLevelRequest",
            json!({"model": model, "changeLevel": "TYPE"}),
        ),
        (
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [workflow]}),
        ),
        ("EntityCreateRequest", new_entity(&model, &json!({"n": 4}))),
        (
            "EntityCreateRequest",
            new_entity(&model, &json!([{"n": 5}, {"n": 6}])),
        ),
        (
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "chunkSize": 1, "payloads": [{"model": model, "data": {"n": 7}}, {"model": model, "data": {"n": 8}}]}),
        ),
        (
            "EntityUpdateRequest",
            json!({"dataFormat": "JSON", "payload": {"entityId": one, "data": {"n": 9}}}),
        ),
        (
            "EntityUpdateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": [{"entityId": one, "data": {"n": 10}}, {"entityId": two, "data": {"n": 11}, "ifMatch": "none"}]}),
        ),
        (
            "EntityPatchRequest",
            json!({"patchFormat": "MERGE_PATCH", "payload": {"entityId": one, "patch": {"n": 12}, "ifMatch": "*"}}),
        ),
        (
            "EntityTransitionRequest",
            json!({"entityId": one, "transition": "UPDATE"}),
        ),
        ("EntityDeleteRequest", json!({"entityId": gone})),
        ("MessageCreateRequest", message),
        (
            "EntityDeleteAllRequest",
            json!({"model": model, "verbose": true}),
        ),
        ("MessageDeleteRequest", json!({"messageIds": [one]})),
        (
            "EntitySnapshotSearchRequest",
            json!({"model": model, "condition": {"type": "group", "operator": "AND", "conditions": []}}),
        ),
    ];
    let steps = steps.into_iter().chain(run_steps()).collect::<Vec<_>>();
    for (step, (kind, payload)) in steps.iter().enumerate() {
        let key = format!("key {step}");
        let first = keyed(&connection, kind, payload.clone(), &key).await;
        assert_eq!(first["success"], true, "{kind}: {first}");
        let before = connection.ok("EntityModelGetAllRequest", json!({})).await;
        let entities = count(&connection, &model).await;
        for _ in 0..2 {
            let again = keyed(&connection, kind, payload.clone(), &key).await;
            assert_ne!(again["id"], first["id"], "{kind}");
            assert_eq!(unaddressed(again), unaddressed(first.clone()), "{kind}");
        }
        let after = connection.ok("EntityModelGetAllRequest", json!({})).await;
        assert_eq!(unaddressed(after), unaddressed(before), "{kind}");
        assert_eq!(count(&connection, &model).await, entities, "{kind}");
        // The same key for something else.
        let mut other = payload.clone();
        other["more"] = json!(step);
        let refused = keyed(&connection, kind, other, &key).await;
        assert_eq!(code(&refused), "IDEMPOTENCY_CONFLICT", "{kind}");
    }
    let (changes, _) = connection
        .all("EntityChangesMetadataGetRequest", json!({"entityId": one}))
        .await;
    assert_eq!(changes.len(), 6, "made, four changes, deleted");
    for route in ROUTES.iter().filter(|route| route.access == Access::Write) {
        let kind = route.request.as_str();
        if !route.once {
            let refused = keyed(&connection, kind, json!({}), "any").await;
            let refusals = ["BAD_REQUEST", "FEATURE_DISABLED", "NOT_IMPLEMENTED"];
            assert!(refusals.contains(&&*code(&refused)), "{kind}: {refused}");
            continue;
        }
        let is_tried = steps.iter().any(|(tried, _)| *tried == kind);
        assert!(is_tried || NOT_STORED.contains(&kind), "{kind}");
    }
}

/// The operations about runs, in an order in which each of them succeeds.
fn run_steps() -> Vec<(&'static str, Value)> {
    let document = "kind: Workflow\nname: flow\nversion: 1\nstart:\n  waitForSignal: {type: go}\n  transitions: {success: flo.Completed}\n";
    let event = json!({"payload": 1, "id": "e"});
    vec![
        ("RunDefinitionCreateRequest", json!({"document": document})),
        (
            "RunStartRequest",
            json!({"definition": "flow", "runId": "signalled"}),
        ),
        (
            "RunStartRequest",
            json!({"definition": "flow", "runId": "cancelled"}),
        ),
        (
            "RunSignalRequest",
            json!({"runId": "signalled", "type": "other"}),
        ),
        ("RunCancelRequest", json!({"runId": "cancelled"})),
        (
            "RunDefinitionSetEnabledRequest",
            json!({"name": "flow", "enabled": false}),
        ),
        ("RunDefinitionDeleteRequest", json!({"name": "flow"})),
        (
            "BundleApplyRequest",
            json!({"bundle": "b", "files": [{"path": "a.hcl", "text": "service {}"}]}),
        ),
        ("BundleDeleteRequest", json!({"bundle": "b"})),
        ("ActionRegisterRequest", json!({"name": "act"})),
        ("ActionInvokeRequest", json!({"name": "act"})),
        (
            "ActionSetEnabledRequest",
            json!({"name": "act", "enabled": false}),
        ),
        ("ActionDeleteRequest", json!({"name": "act"})),
        (
            "WorkerRegisterRequest",
            json!({"workerId": "w", "actions": ["act"]}),
        ),
        ("WorkerHeartbeatRequest", json!({"workerId": "w"})),
        ("WorkerDrainRequest", json!({"workerId": "w"})),
        ("WorkerDeregisterRequest", json!({"workerId": "w"})),
        (
            "ManagerCreateRequest",
            json!({"document": {"configuration_code": "c", "user_code": "u", "workers": []}}),
        ),
        ("ManagerTickRequest", json!({})),
        (
            "FilePutRequest",
            json!({"path": "/states/managers/m.json", "content": {"status": "to-do", "workers": []}}),
        ),
        (
            "ManagerControlRequest",
            json!({"manager": "m.json", "do": "pause"}),
        ),
        (
            "FilePutRequest",
            json!({"path": "/a.json", "content": {"n": 1}}),
        ),
        ("FileDeleteRequest", json!({"path": "/a.json"})),
        (
            "TopicPublishRequest",
            json!({"topic": "said", "events": [event]}),
        ),
    ]
}

/// Of what commits nothing: settings of the process, and indexes, whose list a repeat replaces by
/// itself. What it takes to cancel a search is in [`crate::snapshots`].
const NOT_STORED: &[&str] = &[
    "EntityModelSetIndexesRequest",
    "SnapshotCancelRequest",
    "LogLevelSetRequest",
    "TraceSamplerSetRequest",
    // They need tasks, and are in [`crate::workers`].
    "TaskCompleteRequest",
    "TaskFailRequest",
    "TaskTouchRequest",
    // They need work that has stopped, and are in [`crate::incidents`].
    "IncidentCancelRequest",
    "IncidentRetryRequest",
    // It needs a row or an entity of a state machine, and is in [`crate::machines`].
    "MachineTransitionRequest",
];

#[tokio::test]
async fn a_key_is_known_at_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let path = "/api/entity/JSON/doc/1";
    // Over REST, where every request has an envelope of its own.
    let api = rest.with("idempotency-key", "rest");
    let first = api.post(path, r#"{"n":1}"#).await.ok();
    assert_eq!(api.post(path, r#"{"n":1}"#).await.ok(), first);
    let conflict = api.post(path, r#"{"n":2}"#).await;
    let problem = conflict.refused(409, "IDEMPOTENCY_CONFLICT");
    assert_eq!(problem["properties"]["retryable"], Value::Null);
    // By the unary method and then on the stream.
    let new = new_entity(&model, &json!({"n": 2}));
    let event = with_key(request("EntityCreateRequest", "u1", new.clone()), "grpc");
    let called = connection.unary("entityManage", event, &[]).await;
    let called = payload_of(&called.expect("an answer"));
    assert_eq!(called["id"], "u1");
    let streamed = keyed(&connection, "EntityCreateRequest", new.clone(), "grpc").await;
    assert_eq!(unaddressed(streamed), unaddressed(called));
    let event = with_key(request("EntityCreateRequest", "u2", new.clone()), "grpc");
    let many = connection
        .streaming("entityManageCollection", event, &[])
        .await
        .expect("answers");
    assert_eq!(payload_of(&many[0])["id"], "u2");
    // CloudEvents over HTTP: as an attribute in each mode, as a header with one event.
    let envelope = |id: &str, key: Option<&str>| {
        let mut data = new_entity(&model, &json!({"n": 3}));
        data["id"] = json!(id);
        let mut event = json!({"specversion": "1.0", "id": id, "source": "/", "type": "EntityCreateRequest", "data": data});
        if let Some(key) = key {
            event[KEY] = json!(key);
        }
        event
    };
    let structured = rest.with("content-type", "application/cloudevents+json");
    let batched = rest.with("content-type", "application/cloudevents-batch+json");
    let made = structured
        .post("/api/events", envelope("h1", Some("http")).to_string())
        .await
        .ok();
    let wanted = unaddressed(made["data"].clone());
    let by_header = structured
        .with("idempotency-key", "http")
        .post("/api/events", envelope("h2", None).to_string())
        .await
        .ok();
    assert_eq!(unaddressed(by_header["data"].clone()), wanted);
    let binary = rest
        .with("content-type", "application/json")
        .with("ce-specversion", "1.0")
        .with("ce-id", "h3")
        .with("ce-source", "/")
        .with("ce-type", "EntityCreateRequest")
        .with("ce-idempotencykey", "http")
        .post("/api/events", envelope("h3", None)["data"].to_string())
        .await
        .ok();
    assert_eq!(unaddressed(binary), wanted);
    let batch = json!([envelope("h4", Some("http")), envelope("h5", Some("http"))]);
    let answers = batched.post("/api/events", batch.to_string()).await.ok();
    for answer in answers.as_array().expect("a list") {
        assert_eq!(unaddressed(answer["data"].clone()), wanted);
    }
    batched
        .with("idempotency-key", "http")
        .post("/api/events", batch.to_string())
        .await
        .refused(400, "BAD_REQUEST");
    assert_eq!(count(&connection, &model).await, 3);
    // Reads have no use for a key.
    let listing = json!({"model": model});
    let event = with_key(request("EntityGetAllRequest", "r1", listing), "rest");
    assert_eq!(connection.ask(event).await.len(), 4);
    let get = api.get("/api/model/export/SIMPLE_VIEW/doc/1").await;
    get.ok();
}

#[tokio::test]
async fn keys_that_are_none_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let path = "/api/entity/JSON/doc/1";
    for bad in ["x".repeat(256), String::new()] {
        let new = new_entity(&model, &json!({"n": 1}));
        let refused = keyed(&connection, "EntityCreateRequest", new, &bad).await;
        assert_eq!(code(&refused), "BAD_REQUEST");
        let rest = server.rest().with("idempotency-key", &bad);
        rest.post(path, r#"{"n":1}"#)
            .await
            .refused(400, "BAD_REQUEST");
    }
    let twice = server.rest().with("idempotency-key", "a");
    let twice = twice.with("idempotency-key", "b");
    twice
        .post(path, r#"{"n":1}"#)
        .await
        .refused(400, "BAD_REQUEST");
    let new = new_entity(&model, &json!({"n": 1}));
    let event = request("EntityCreateRequest", "n1", new.clone());
    let event = event.with(KEY, AttributeValue::Integer(1));
    let answer = payload_of(&connection.ask(event).await[0]);
    assert_eq!(code(&answer), "BAD_REQUEST");
    let long = "é".repeat(255);
    let made = keyed(&connection, "EntityCreateRequest", new, &long).await;
    assert_eq!(made["success"], true, "{made}");
    assert_eq!(count(&connection, &model).await, 1);
}

#[tokio::test]
async fn of_many_repeats_at_once_one_does_the_work() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let rest = server.rest().with("idempotency-key", "race");
    let creates = (0..64).map(|_| {
        let new = new_entity(&model, &json!({"n": 1}));
        keyed(&connection, "EntityCreateRequest", new, "race")
    });
    let answers = join_all(creates).await;
    let made = ids(&answers[0]);
    assert!(answers.iter().all(|answer| ids(answer) == made));
    let posts = (0..32).map(|_| rest.post("/api/entity/JSON/doc/1", r#"{"n":1}"#));
    for said in join_all(posts).await {
        // Spelled by the gateway it is another payload.
        assert!([200, 409].contains(&said.status.as_u16()), "{said:?}");
    }
    let other = server.rest().with("idempotency-key", "other");
    let posts = (0..32).map(|_| other.post("/api/entity/JSON/doc/1", r#"{"n":1}"#));
    let answers: Vec<_> = join_all(posts)
        .await
        .iter()
        .map(crate::support::Said::ok)
        .collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(count(&connection, &model).await, 2);
}

#[tokio::test]
async fn tenants_do_not_share_keys() {
    let server = Server::with(&[
        ("CYODA_STORAGE_BACKEND", "memory"),
        ("INTERLOCK_IAM_MOCK_CALLER", "true"),
    ]);
    let mut made = Vec::new();
    for tenant in ["red", "blue"] {
        let connection = server.connect_as(&[("x-mock-tenant", tenant)]).await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let new = new_entity(&model, &json!({"n": 1}));
        let answer = keyed(&connection, "EntityCreateRequest", new.clone(), "k").await;
        // Another user of the tenant gets the same answer.
        let other = server
            .connect_as(&[("x-mock-tenant", tenant), ("x-mock-user", "other")])
            .await;
        let again = keyed(&other, "EntityCreateRequest", new, "k").await;
        assert_eq!(unaddressed(again), unaddressed(answer.clone()));
        made.extend(ids(&answer));
    }
    assert_ne!(made[0], made[1]);
}

#[tokio::test]
async fn a_failure_stores_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = json!({"name": "doc", "version": 1});
    let import = json!({"model": model, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"n": 1}});
    let new = new_entity(&model, &json!({"n": 1}));
    let made = async || keyed(&connection, "EntityCreateRequest", new.clone(), "k").await;
    assert_eq!(code(&made().await), "MODEL_NOT_FOUND");
    connection.ok("EntityModelImportRequest", import).await;
    assert_eq!(code(&made().await), "MODEL_NOT_LOCKED");
    let lock = json!({"model": model, "transition": "LOCK"});
    connection.ok("EntityModelTransitionRequest", lock).await;
    let first = made().await;
    assert_eq!(first["success"], true);
    assert_eq!(unaddressed(made().await), unaddressed(first));
    // Nor is a payload remembered that was never done.
    let bad = new_entity(&model, &json!({"n": "text"}));
    let refused = keyed(&connection, "EntityCreateRequest", bad, "other").await;
    assert_eq!(code(&refused), "INCOMPATIBLE_TYPE");
    let good = keyed(&connection, "EntityCreateRequest", new, "other").await;
    assert_eq!(good["success"], true);
}

#[tokio::test]
async fn a_repeat_waits_for_the_first_while_that_is_in_work() {
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "B", processor("SYNC", json!({})))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let new = |n: i64| new_entity(&Scene::model(), &json!({"n": n}));
    let begin = async |id: &str, n: i64, key: &str| {
        let event = with_key(request("EntityCreateRequest", id, new(n)), key);
        scene.connection.begin(event).await
    };
    let mut first = begin("first", 1, "k").await;
    let call = member.next().await;
    let mut second = begin("second", 1, "k").await;
    let mut cancelled = begin("cancelled", 1, "k").await;
    // Another payload need not wait to be refused.
    let refused = keyed(&scene.connection, "EntityCreateRequest", new(2), "k").await;
    assert_eq!(code(&refused), "IDEMPOTENCY_CONFLICT");
    let cancel = json!({"requestId": "cancelled"});
    scene
        .connection
        .send(request("EventCancelRequest", "cancel", cancel))
        .await;
    let answer = payload_of(&cancelled.recv().await.expect("an answer"));
    assert_eq!(code(&answer), "CANCELLED");
    assert!(second.try_recv().is_err(), "it waits");
    member.reply(&call, Reply::Nothing).await;
    let first = payload_of(&first.recv().await.expect("an answer"));
    let second = payload_of(&second.recv().await.expect("an answer"));
    assert_eq!(first["success"], true, "{first}");
    assert_eq!(unaddressed(second), unaddressed(first));
    // After a failure it is the repeat that does the work.
    let mut first = begin("third", 3, "f").await;
    let call = member.next().await;
    let mut second = begin("fourth", 3, "f").await;
    member.reply(&call, Reply::Failure("no")).await;
    let first = payload_of(&first.recv().await.expect("an answer"));
    assert_eq!(code(&first), "WORKFLOW_FAILED");
    let call = member.next().await;
    member.reply(&call, Reply::Nothing).await;
    let second = payload_of(&second.recv().await.expect("an answer"));
    assert_eq!(second["success"], true, "{second}");
    assert_eq!(scene.entities().await.len(), 2);
}

#[tokio::test]
async fn a_collection_in_windows_is_completed_by_a_repeat() {
    let server = Server::start();
    let connection = server.connect().await;
    let one = locked_model(&connection, "one", json!({"n": 1})).await;
    let two = json!({"name": "two", "version": 1});
    let item = |model: &Value, n: i64| json!({"model": model, "data": {"n": n}});
    let batch = json!({"dataFormat": "JSON", "chunkSize": 2, "payloads": [
        item(&one, 1), item(&one, 2), item(&two, 3), item(&one, 4), item(&one, 5)]});
    let ask = async || {
        let kind = "EntityCreateCollectionRequest";
        keyed(&connection, kind, batch.clone(), "k").await
    };
    let first = ask().await;
    assert_eq!(first["chunks"].as_array().expect("chunks").len(), 2);
    assert_eq!(first["chunks"][1]["error"]["code"], "MODEL_NOT_FOUND");
    assert_eq!(count(&connection, &one).await, 2);
    locked_model(&connection, "two", json!({"n": 1})).await;
    let second = ask().await;
    let chunks = second["chunks"].as_array().expect("chunks");
    assert_eq!(chunks.len(), 3, "{second}");
    assert_eq!(chunks[0], first["chunks"][0], "it was done before");
    assert_eq!(second["transactionInfo"], first["transactionInfo"]);
    assert_eq!(count(&connection, &one).await, 4);
    assert_eq!(unaddressed(ask().await), unaddressed(second));
    assert_eq!(
        (
            count(&connection, &one).await,
            count(&connection, &two).await
        ),
        (4, 1)
    );
}

#[tokio::test]
async fn what_a_segment_has_committed_is_returned_to_a_repeat_after_a_crash() {
    let mut scene = Scene::on(
        Server::on_disk(&[]),
        states(json!({
            "A": [automated("GO", "B", processor("COMMIT_BEFORE_DISPATCH", json!({})))], "B": []})),
    )
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let new = new_entity(&Scene::model(), &json!({"n": 1}));
    let event = with_key(request("EntityCreateRequest", "doomed", new.clone()), "k");
    let _lost = scene.connection.begin(event).await;
    let call = member.next().await;
    let entity = call.payload["entityId"].as_str().expect("an id").to_owned();
    scene.server.kill();
    scene.restart().await;
    let member = Member::join(&scene.server, &[]).await;
    // It waits for the rest, which is resumed.
    let resumed = async {
        let call = member.next().await;
        member.reply(&call, Reply::Data(json!({"n": 2}))).await;
    };
    let (again, ()) = tokio::join!(
        keyed(&scene.connection, "EntityCreateRequest", new.clone(), "k"),
        resumed
    );
    assert_eq!(ids(&again), std::slice::from_ref(&entity));
    let now = scene.reaches(&entity, "B").await;
    assert_eq!(now["data"]["n"], 2);
    assert_eq!(scene.entities().await.len(), 1);
    // One that comes to its end is returned whole.
    let new = new_entity(&Scene::model(), &json!({"n": 3}));
    let serving = async {
        let call = member.next().await;
        let warned = json!({"success": true, "warnings": ["careful"]});
        member.reply(&call, Reply::Raw(warned)).await;
    };
    let (first, ()) = tokio::join!(
        keyed(&scene.connection, "EntityCreateRequest", new.clone(), "l"),
        serving
    );
    assert_eq!(first["success"], true, "{first}");
    let again = keyed(&scene.connection, "EntityCreateRequest", new, "l").await;
    assert_eq!(unaddressed(again), unaddressed(first));
    assert_eq!(scene.entities().await.len(), 2);
}

#[tokio::test]
async fn a_request_that_fails_after_a_segment_leaves_its_key_free() {
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "B", processor("COMMIT_BEFORE_DISPATCH", json!({})))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let new = new_entity(&Scene::model(), &json!({"n": 1}));
    let made = async || keyed(&scene.connection, "EntityCreateRequest", new.clone(), "k").await;
    let serve = async |reply: Reply| {
        let call = member.next().await;
        member.reply(&call, reply).await;
    };
    let (refused, ()) = tokio::join!(made(), serve(Reply::Failure("no")));
    assert_eq!(code(&refused), "WORKFLOW_FAILED");
    let (done, ()) = tokio::join!(made(), serve(Reply::Nothing));
    assert_eq!(done["success"], true, "{done}");
    assert_eq!(unaddressed(made().await), unaddressed(done));
    // What the first one had committed stays.
    assert_eq!(scene.entities().await.len(), 2);
}

#[tokio::test]
async fn a_request_that_joins_leaves_its_outcome_in_the_transaction() {
    let scene = Scene::of(states(json!({
        "A": [automated("GO", "B", processor("SYNC", json!({})))], "B": []})))
    .await;
    let note = locked_model(&scene.connection, "note", json!({"n": 1})).await;
    let member = Member::join(&scene.server, &[]).await;
    let new = || new_entity(&note, &json!({"n": 1}));
    let joined = async |token: &str, payload: Value| {
        let attributes = [("cyodatxtoken", token), (KEY, "k")];
        let kind = "EntityCreateRequest";
        scene.connection.call_with(kind, payload, &attributes).await
    };
    // A member that asks twice in one transaction is given the same.
    let serve = async |reply: Reply| {
        let call = member.next().await;
        let first = joined(call.token(), new()).await;
        let again = joined(call.token(), new()).await;
        assert_eq!(unaddressed(again), unaddressed(first.clone()));
        let other = new_entity(&note, &json!({"n": 2}));
        let refused = joined(call.token(), other).await;
        assert_eq!(code(&refused), "IDEMPOTENCY_CONFLICT");
        member.reply(&call, reply).await;
        ids(&first)
    };
    let (refused, lost) = tokio::join!(scene.post(json!({"n": 1})), serve(Reply::Failure("no")));
    refused.refused(400, "WORKFLOW_FAILED");
    assert_eq!(count(&scene.connection, &note).await, 0);
    // What was rolled back was not done.
    let (made, kept) = tokio::join!(scene.post(json!({"n": 1})), serve(Reply::Nothing));
    made.ok();
    assert_ne!(kept, lost);
    assert_eq!(count(&scene.connection, &note).await, 1);
    let outside = keyed(&scene.connection, "EntityCreateRequest", new(), "k").await;
    assert_eq!(ids(&outside), kept);
    let (made, again) = tokio::join!(scene.post(json!({"n": 1})), serve(Reply::Nothing));
    made.ok();
    assert_eq!(again, kept, "in another transaction as well");
    // Who is late meets what was committed before, and leaves nothing.
    let late = async {
        let call = member.next().await;
        let attributes = [("cyodatxtoken", call.token()), (KEY, "late")];
        let kind = "EntityCreateRequest";
        let inside = scene.connection.call_with(kind, new(), &attributes).await;
        let outside = keyed(&scene.connection, kind, new(), "late").await;
        assert_ne!(ids(&inside), ids(&outside));
        member.reply(&call, Reply::Nothing).await;
    };
    let (met, ()) = tokio::join!(scene.post(json!({"n": 1})), late);
    met.refused_for_now(409, "CONFLICT");
    assert_eq!(count(&scene.connection, &note).await, 2);
}

#[tokio::test]
async fn outcomes_survive_kill_nine_if_and_only_if_the_work_does() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let import = json!({"model": {"name": "other", "version": 1}, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"n": 1}});
    let imported = keyed(&connection, "EntityModelImportRequest", import.clone(), "m").await;
    drop(connection);
    let cycles = 5;
    for cycle in 0..cycles {
        let connection = Arc::new(server.connect().await);
        let mut answers = Vec::new();
        for n in 0..200 {
            let new = new_entity(&model, &json!({"n": n}));
            let event = request("EntityCreateRequest", &connection.fresh_id(), new);
            let key = format!("{cycle}/{n}");
            answers.push(connection.begin(with_key(event, &key)).await);
        }
        answers[cycle * 20].recv().await.expect("an answer");
        server.kill();
        server.restart();
        let connection = server.connect().await;
        let repeats = (0..200).map(|n| {
            let new = new_entity(&model, &json!({"n": n}));
            let key = format!("{cycle}/{n}");
            let connection = &connection;
            async move { keyed(connection, "EntityCreateRequest", new, &key).await }
        });
        let mut reported = Vec::new();
        for (answer, mut before) in join_all(repeats).await.into_iter().zip(answers) {
            assert_eq!(answer["success"], true, "{answer}");
            if let Some(before) = before.recv().await {
                assert_eq!(ids(&payload_of(&before)), ids(&answer));
            }
            reported.extend(ids(&answer));
        }
        assert_eq!(count(&connection, &model).await, (cycle + 1) * 200);
    }
    let connection = server.connect().await;
    let again = keyed(&connection, "EntityModelImportRequest", import, "m").await;
    assert_eq!(unaddressed(again), unaddressed(imported));
}

#[tokio::test]
async fn an_outcome_is_kept_for_its_time() {
    let server = Server::with(&[
        ("CYODA_STORAGE_BACKEND", "memory"),
        ("INTERLOCK_IDEMPOTENCY_TTL", "1s"),
    ]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let made = async |n: i64| {
        let new = new_entity(&model, &json!({"n": n}));
        keyed(&connection, "EntityCreateRequest", new, "k").await
    };
    let first = ids(&made(1).await);
    assert_eq!(ids(&made(1).await), first);
    // Then the key is free, for anything; before, another request with it is refused.
    let deadline = Instant::now() + Duration::from_secs(30);
    let second = loop {
        let answer = made(2).await;
        if answer["success"] == true {
            break ids(&answer);
        }
        assert!(Instant::now() < deadline, "{answer}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_ne!(second, first);
    assert_eq!(count(&connection, &model).await, 2);
}

#[tokio::test]
async fn the_profile_of_cyoda_ignores_keys() {
    let server = Server::with(&[
        ("CYODA_STORAGE_BACKEND", "memory"),
        ("INTERLOCK_COMPAT", "cyoda-0.8"),
    ]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let rest = server.rest().with("idempotency-key", "k");
    for n in 0..2 {
        let path = "/api/entity/JSON/doc/1";
        rest.post(path, json!({"n": n}).to_string()).await.ok();
    }
    assert_eq!(count(&connection, &model).await, 2);
}
