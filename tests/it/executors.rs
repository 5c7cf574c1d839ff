//! Who made a change, and for whom: rows of group 2 of the corrections.

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Scene, Server, create, governed_model, locked_model, processed_by,
    scene::{automated, put, states},
    sync_processor,
};

const MOCK_CALLER: (&str, &str) = ("INTERLOCK_IAM_MOCK_CALLER", "true");

/// Type, user, kind and executor of each change, newest first; the same by both APIs and in the
/// audit.
async fn rows(connection: &Connection, rest: &crate::support::Rest, id: &str) -> Vec<Value> {
    let kind = "EntityChangesMetadataGetRequest";
    let (by_event, _) = connection.all(kind, json!({"entityId": id})).await;
    let by_event: Vec<_> = by_event.iter().map(|item| &item["changeMeta"]).collect();
    let by_rest = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    let by_rest = by_rest.as_array().expect("changes");
    assert_eq!(by_event.len(), by_rest.len());
    for (one, other) in by_event.iter().zip(by_rest) {
        assert_eq!(*one, other);
    }
    let path = format!("/api/audit/entity/{id}?eventType=EntityChange&limit=1000");
    let audited = rest.get(&path).await.ok();
    let audited = audited["items"].as_array().expect("items");
    assert_eq!(audited.len(), by_rest.len());
    for (change, item) in by_rest.iter().zip(audited) {
        assert_eq!(change["executedBy"], item["executedBy"]);
        assert_eq!(change["user"], item["actor"]["id"]);
    }
    let row = |change: &Value| {
        json!([
            change["changeType"],
            change["user"],
            change["attributedKind"],
            change["executedBy"]
        ])
    };
    by_rest.iter().map(row).collect()
}

/// A change that someone made directly.
fn direct(kind: &str, user: &str, of: &str) -> Value {
    json!([kind, user, of, {"id": user, "kind": of}])
}

#[tokio::test]
async fn a_direct_write_is_executed_by_its_caller() {
    let server = Server::with(&[MOCK_CALLER]);
    let (connection, rest) = (server.connect().await, server.rest());
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let ann = rest.with("x-mock-user", "ann");
    put(&ann, &id, "", json!({"n": 2})).await.ok();
    let robot = rest
        .with("x-mock-user", "robot")
        .with("x-mock-kind", "service");
    robot.delete(&format!("/api/entity/{id}")).await.ok();
    assert_eq!(
        rows(&connection, &rest, &id).await,
        [
            direct("DELETE", "robot", "service"),
            direct("UPDATE", "ann", "user"),
            direct("CREATE", "mock-user-001", "user")
        ]
    );
}

#[tokio::test]
async fn the_deletion_of_many_is_executed_by_whoever_deletes() {
    let server = Server::with(&[MOCK_CALLER]);
    let (connection, rest) = (server.connect().await, server.rest());
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let ann = rest.with("x-mock-user", "ann");
    ann.delete("/api/entity/doc/1").await.ok();
    assert_eq!(
        rows(&connection, &rest, &id).await[0],
        direct("DELETE", "ann", "user")
    );
}

#[tokio::test]
async fn what_a_service_joins_is_executed_by_it_for_the_origin() {
    let server = Server::with(&[MOCK_CALLER]);
    let (connection, rest) = (server.connect().await, server.rest());
    let processors = json!([sync_processor("p", json!({}))]);
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(processors),
    )
    .await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    let changed = create(&connection, &other, json!({"n": 1})).await;
    let gone = create(&connection, &other, json!({"n": 1})).await;
    let robot = [("x-mock-user", "robot"), ("x-mock-kind", "service")];
    let member = Member::join_on(server.connect_as(&robot).await, &[]).await;
    let ids = (changed.clone(), gone.clone());
    member.serve(move |call, connection| {
        let (changed, gone) = ids.clone();
        async move {
            let joined = [("cyodatxtoken", call.token())];
            let change =
                json!({"dataFormat": "JSON", "payload": {"entityId": changed, "data": {"n": 2}}});
            let kind = "EntityUpdateRequest";
            connection.call_with(kind, change, &joined).await;
            let delete = json!({"entityId": gone});
            let kind = "EntityDeleteRequest";
            connection.call_with(kind, delete, &joined).await;
            Reply::Nothing
        }
    });
    let ann = server.connect_as(&[("x-mock-user", "ann")]).await;
    let id = create(&ann, &doc, json!({"n": 1})).await;
    let robot = json!({"id": "robot", "kind": "service"});
    assert_eq!(
        rows(&connection, &rest, &changed).await[0],
        json!(["UPDATE", "ann", "user", robot])
    );
    assert_eq!(
        rows(&connection, &rest, &gone).await[0],
        json!(["DELETE", "ann", "user", robot])
    );
    assert_eq!(
        rows(&connection, &rest, &id).await,
        [direct("CREATE", "ann", "user")]
    );
}

#[tokio::test]
async fn what_a_timer_does_is_an_update_executed_by_the_system() {
    let schedule = json!({"schedule": {"delayMs": 50}});
    let workflow = states(json!({"A": [automated("GO", "B", schedule)], "B": []}));
    let scene = Scene::on(Server::with(&[MOCK_CALLER]), workflow).await;
    let ann = scene.rest.with("x-mock-user", "ann");
    let made = ann.post("/api/entity/JSON/doc/1", "{\"n\":1}").await.ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id");
    scene.reaches(id, "B").await;
    let system = json!({"id": "system", "kind": "system"});
    assert_eq!(
        rows(&scene.connection, &scene.rest, id).await,
        [
            json!(["UPDATE", "ann", "user", system]),
            direct("CREATE", "ann", "user")
        ]
    );
}
