//! Changing a part of a document (`rest.md` §3.6, `grpc.md` §8.2).

use serde_json::{Value, json};

use crate::support::{Member, Reply, Server, create, get, governed_model, locked_model, state};

const MERGE: &str = "application/merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";

fn patch(id: &str, format: &str, patch: Value, expected: &str) -> Value {
    json!({"patchFormat": format, "payload": {"entityId": id, "patch": patch, "ifMatch": expected}})
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_keeps_the_digits_of_the_rest() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample = json!({"n": 1.5, "text": "a", "tags": ["x"], "o": {"a": 1, "b": 2}});
    locked_model(&connection, "doc", sample).await;
    let rest = server.rest();
    let made = rest
        .post(
            "/api/entity/JSON/doc/1",
            r#"{"n":1.500,"text":"a","tags":["x"],"o":{"a":1,"b":2}}"#,
        )
        .await
        .ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id").to_owned();
    let first = made[0]["transactionId"].as_str().expect("an id").to_owned();
    let merged = connection
        .ok(
            "EntityPatchRequest",
            patch(
                &id,
                "MERGE_PATCH",
                json!({"text": null, "o": {"b": 3}}),
                &first,
            ),
        )
        .await;
    assert_eq!(merged["transactionInfo"]["entityIds"], json!([id]));
    let said = rest.get(&format!("/api/entity/{id}")).await;
    assert!(
        said.text
            .contains(r#"{"n":1.500,"tags":["x"],"o":{"a":1,"b":3}}"#),
        "{}",
        said.text
    );
    // The version it was based on is not the newest any more.
    let late = connection
        .fails(
            "EntityPatchRequest",
            patch(&id, "MERGE_PATCH", json!({}), &first),
        )
        .await;
    assert_eq!(late, "ENTITY_MODIFIED");
    let operations = json!([
        {"op": "test", "path": "/o/b", "value": 3.0},
        {"op": "add", "path": "/tags/-", "value": "y"},
        {"op": "remove", "path": "/o/a"}]);
    connection
        .ok(
            "EntityPatchRequest",
            patch(&id, "JSON_PATCH", operations.clone(), "*"),
        )
        .await;
    assert_eq!(
        get(&connection, &id).await["data"],
        json!({"n": 1.5, "tags": ["x", "y"], "o": {"b": 3}})
    );
    for (changes, refused) in [
        (json!([{"op": "remove", "path": "/nothing"}]), "BAD_REQUEST"),
        (
            json!([{"op": "test", "path": "/n", "value": 2}]),
            "BAD_REQUEST",
        ),
        (
            json!([{"op": "add", "path": "/colour", "value": "red"}]),
            "BAD_REQUEST",
        ),
        (
            json!([{"op": "add", "path": "/n", "value": "text"}]),
            "INCOMPATIBLE_TYPE",
        ),
        (json!({}), "BAD_REQUEST"),
    ] {
        let answer = connection
            .fails(
                "EntityPatchRequest",
                patch(&id, "JSON_PATCH", changes.clone(), "*"),
            )
            .await;
        assert_eq!(answer, refused, "{changes}");
    }
    let nobody = "00000000-0000-0000-0000-000000000009";
    let missing = connection
        .fails(
            "EntityPatchRequest",
            patch(nobody, "MERGE_PATCH", json!({}), "*"),
        )
        .await;
    assert_eq!(missing, "ENTITY_NOT_FOUND");
    let without = json!({"patchFormat": "MERGE_PATCH", "payload": {"entityId": id, "patch": {}}});
    assert_eq!(
        connection.fails("EntityPatchRequest", without).await,
        "PRECONDITION_REQUIRED"
    );
}

#[tokio::test]
async fn copies_of_copies_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let copy = |n: usize| json!({"op": "copy", "from": "", "path": format!("/x{n}")});
    let copies: Vec<_> = (0..40).map(copy).collect();
    let request = patch(&id, "JSON_PATCH", json!(copies), "*");
    let refused = connection.call("EntityPatchRequest", request).await;
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("copies and moves more than"), "{message}");
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 1}));
}

#[tokio::test]
async fn over_rest_the_checks_come_in_their_order() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1, "m": 1})).await;
    let id = create(&connection, &model, json!({"n": 1, "m": 1})).await;
    let path = format!("/api/entity/JSON/{id}");
    let rest = server.rest();
    let merge = rest.with("content-type", MERGE);
    let any = merge.with("if-match", "*");
    for (rest, path, body, status, code) in [
        (
            &any,
            format!("/api/entity/XML/{id}"),
            "{",
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (&rest, path.clone(), "{", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (
            &rest.with("content-type", "application/json"),
            path.clone(),
            "{}",
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (&merge, path.clone(), "{", 428, "PRECONDITION_REQUIRED"),
        (&any, path.clone(), "{", 400, "BAD_REQUEST"),
        (
            &merge.with("if-match", "stale"),
            path.clone(),
            "{}",
            412,
            "ENTITY_MODIFIED",
        ),
        (
            &any,
            format!("{path}/NOWHERE"),
            "{}",
            404,
            "TRANSITION_NOT_FOUND",
        ),
    ] {
        let said = rest.send("PATCH", &path, body).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (status, code),
            "{path} {body}"
        );
    }
    let said = any.send("PATCH", &path, r#"{"n":2}"#).await.ok();
    assert_eq!(said["entityIds"], json!([id]));
    let said = rest
        .with("content-type", &format!("{OPERATIONS}; charset=utf-8"))
        .with("if-match", said["transactionId"].as_str().expect("an id"))
        .send("PATCH", &path, r#"[{"op":"remove","path":"/m"}]"#)
        .await
        .ok();
    assert!(said["transactionId"].is_string());
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 2}));
    let cyoda = Server::with(&[("INTERLOCK_COMPAT", "cyoda-0.8")]);
    let said = cyoda
        .rest()
        .with("content-type", OPERATIONS)
        .with("if-match", "*")
        .send("PATCH", &path, "[]")
        .await;
    assert_eq!(said.status.as_u16(), 501);
}

#[tokio::test]
async fn guards_and_processors_see_the_patched_document() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let guard =
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "GREATER_THAN", "value": 5});
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "go", "next": "B", "manual": true, "criterion": guard,
            "processors": [{"name": "p", "executionMode": "SYNC"}]}]}, "B": {}}});
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let mut request = patch(&id, "MERGE_PATCH", json!({"n": 6}), "*");
    request["payload"]["transition"] = json!("go");
    connection.ok("EntityPatchRequest", request).await;
    assert_eq!(calls.recv().await.expect("a call").data(), &json!({"n": 6}));
    assert_eq!(state(&get(&connection, &id).await), "B");
}
