//! What requests must not say, and in whose words they are refused: found by going through the
//! contract row by row.

use serde_json::json;

use crate::support::{Server, payload_of, request};

#[tokio::test]
async fn a_body_says_nothing_beside_the_document() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("beside", r#"{"a":1}"#).await;
    let id = rest.create("beside", r#"{"a":1}"#).await;
    for body in [
        r#"{"a":1},"dataFormat":"XML""#,
        r#"{"a":1}},"payload":{"model":{"name":"beside","version":1},"data":{"a":2}"#,
        r#"{"a":1} {"a":2}"#,
        r#"{"a":1]"#,
        r#"{"a":01}"#,
        r#"{"a":1,}"#,
        "{",
        "",
    ] {
        for (path, method) in [
            ("/api/entity/JSON/beside/1".to_owned(), "POST"),
            (format!("/api/entity/JSON/{id}"), "PUT"),
        ] {
            let said = if method == "POST" {
                rest.post(&path, body).await
            } else {
                rest.put(&path, body).await
            };
            assert_eq!(
                (said.status.as_u16(), said.problem().as_str()),
                (400, "BAD_REQUEST"),
                "{method} {body}"
            );
            let reason = if body.is_empty() {
                "the body is empty"
            } else {
                "the body is not JSON: "
            };
            assert!(
                said.text.contains(reason),
                "what is reported is reported of the body: {}",
                said.text
            );
        }
    }
    let listed = rest.get("/api/entity/beside/1").await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["data"]["a"], 1);
}

#[tokio::test]
async fn a_list_is_no_object_whatever_it_would_say() {
    let server = Server::start();
    let (rest, connection) = (server.rest(), server.connect().await);
    rest.lock_model("held", r#"{"a":1}"#).await;
    let workflow = r#"{"version":"1","name":"w","initialState":"N","states":{"N":{}}}"#;
    let import = "/api/model/held/1/workflow/import";
    rest.post(import, format!(r#"{{"workflows":[{workflow}]}}"#))
        .await
        .ok();
    for body in ["[]", r#"["REPLACE"]"#, r#"["ACTIVATE",false,[]]"#] {
        rest.post(import, body).await.refused(400, "BAD_REQUEST");
    }
    let kept = rest.get("/api/model/held/1/workflow/export").await.ok();
    assert_eq!(kept["workflows"].as_array().map(Vec::len), Some(1));
    rest.post("/api/model/import/JSON/SAMPLE_DATA/open/1", r#"{"a":1}"#)
        .await
        .ok();
    let keys = "/api/model/open/1/unique-keys";
    rest.put(keys, r#"{"uniqueKeys":[{"id":"k","fields":["$.a"]}]}"#)
        .await
        .ok();
    for body in [
        "[[]]",
        r#"[[["k",["$.a"]]]]"#,
        r#"{"uniqueKeys":[["k",["$.a"]]]}"#,
    ] {
        let said = rest.put(keys, body).await;
        said.refused(400, "BAD_REQUEST");
        assert!(said.text.contains("expected an object"), "{}", said.text);
    }
    let exported = rest.get("/api/model/export/SIMPLE_VIEW/open/1").await.ok();
    assert_eq!(exported["uniqueKeys"][0]["id"], "k");
    rest.post("/api/entity/JSON", r#"[[["held",1],"{\"a\":1}"]]"#)
        .await
        .refused(400, "BAD_REQUEST");
    rest.post("/api/message/new/sub", r#"[7,{"a":1}]"#)
        .await
        .refused(400, "BAD_REQUEST");
    let payload = json!({"dataFormat": "JSON", "payload": [["held", 1], {"a": 1}]});
    let answer = connection.call("EntityCreateRequest", payload).await;
    assert_eq!(
        answer["error"]["message"],
        "BAD_REQUEST: invalid payload: `payload`: invalid type: sequence, expected an object at line 1 column 41",
        "{answer}"
    );
    assert_eq!(rest.get("/api/entity/held/1").await.ok(), json!([]));
}

#[tokio::test]
async fn what_is_wrong_is_reported_of_the_body_that_was_sent() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("reported", r#"{"a":1}"#).await;
    for (path, body) in [
        ("/api/entity/stats/reported/1/query", r#"{"groupBy":[5]}"#),
        (
            "/api/entity/JSON",
            r#"[{"model":{"name":"reported"},"payload":"{}"}]"#,
        ),
    ] {
        let said = rest.post(path, body).await;
        assert_eq!(said.status, 400);
        assert!(!said.text.contains(" column "), "{}", said.text);
    }
    let said = rest
        .post("/api/entity/stats/reported/1/query", "{\n\"groupBy\":")
        .await;
    assert!(said.text.contains("at line 2 column 10"), "{}", said.text);
}

#[tokio::test]
async fn an_import_of_workflows_tells_what_it_does_not_know() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("flow", r#"{"a":1}"#).await;
    let import = "/api/model/flow/1/workflow/import";
    let workflow = r#"{"version":"1","name":"w","initialState":"N","states":{"N":{}}}"#;
    let said = rest
        .post(
            import,
            format!(r#"{{"import_mode":"REPLACE","workflows":[{workflow}]}}"#),
        )
        .await
        .ok();
    assert_eq!(
        said["warnings"][0],
        "unknown member `import_mode` is ignored"
    );
    rest.post(import, r#"{"importMode":"ACTIVATE","workflows":[]}"#)
        .await
        .refused(400, "VALIDATION_FAILED");
    // A list that is missing, or misspelled, is not an empty one.
    for body in [
        r#"{"importMode":"REPLACE"}"#,
        r#"{"importMode":"REPLACE","worklows":[]}"#,
        r#"{"importMode":"REPLACE","workflows":null}"#,
    ] {
        rest.post(import, body).await.refused(400, "BAD_REQUEST");
    }
    let kept = rest.get("/api/model/flow/1/workflow/export").await.ok();
    assert_eq!(kept["workflows"][0]["active"], true);
    rest.post(import, r#"{"importMode":"REPLACE","workflows":[]}"#)
        .await
        .ok();
    rest.get("/api/model/flow/1/workflow/export")
        .await
        .refused(404, "WORKFLOW_NOT_FOUND");
}

#[tokio::test]
async fn a_token_that_is_not_good_is_refused_on_every_path() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("quoted", r#"{"a":1}"#).await;
    let id = rest.create("quoted", r#"{"a":1}"#).await;
    let quoting = rest.with("x-tx-token", "bad");
    for path in [
        "/api/account",
        "/api/model/",
        "/api/entity/stats",
        "/api/entity/stats/quoted/1",
        "/api/entity/quoted/1",
        "/api/compute/members",
        &format!("/api/entity/{id}/changes"),
        &format!("/api/audit/entity/{id}"),
    ] {
        quoting.get(path).await.refused(401, "UNAUTHORIZED");
    }
    quoting
        .put("/api/model/quoted/1/unlock", "")
        .await
        .refused(401, "UNAUTHORIZED");
    quoting
        .post(
            "/api/search/async/quoted/1",
            r#"{"type":"group","operator":"AND","conditions":[]}"#,
        )
        .await
        .refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn a_stale_version_is_reported_after_what_is_wrong_with_the_document() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("stale", r#"{"a":1}"#).await;
    let id = rest.create("stale", r#"{"a":1}"#).await;
    let path = format!("/api/entity/JSON/{id}");
    let stale = rest.with("if-match", "stale");
    stale
        .put(&path, r#"{"a":"x"}"#)
        .await
        .refused(400, "INCOMPATIBLE_TYPE");
    stale
        .put(&path, r#"{"a":2}"#)
        .await
        .refused(412, "ENTITY_MODIFIED");
    let patching = stale.with("content-type", "Application/Merge-Patch+JSON");
    patching
        .send("PATCH", &path, r#"{"unknown":1}"#)
        .await
        .refused(400, "BAD_REQUEST");
    patching
        .send("PATCH", &path, r#"{"a":2}"#)
        .await
        .refused(412, "ENTITY_MODIFIED");
    assert_eq!(
        rest.get(&format!("/api/entity/{id}")).await.ok()["data"]["a"],
        1
    );
}

#[tokio::test]
async fn a_window_is_looked_at_and_the_format_of_a_collection_is_not() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("odd", r#"{"a":1}"#).await;
    // A window is looked at even where there is one object (`rest.md` §3.1).
    for window in ["x", "0", "1001"] {
        rest.post(
            &format!("/api/entity/JSON/odd/1?transactionWindow={window}"),
            r#"{"a":1}"#,
        )
        .await
        .refused(400, "BAD_REQUEST");
    }
    // Of a collection the format is not looked at (§3.3).
    let item = r#"[{"model":{"name":"odd","version":1},"payload":"{\"a\":1}"}]"#;
    rest.post("/api/entity/ANY", item).await.ok();
}

#[tokio::test]
async fn what_a_deletion_says_afterwards() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("odd", r#"{"a":1}"#).await;
    let id = rest.create("odd", r#"{"a":1}"#).await;
    rest.delete(&format!("/api/entity/{id}")).await.ok();
    // A row of a deletion says neither of what nor by which transaction (§5).
    let rows = rest
        .get(&format!("/api/audit/entity/{id}?eventType=EntityChange"))
        .await
        .ok();
    let (deleted, created) = (&rows["items"][0], &rows["items"][1]);
    assert_eq!(deleted["changeType"], "DELETE");
    assert!(
        deleted["entityId"].is_null() && deleted["transactionId"].is_null(),
        "{deleted}"
    );
    assert_eq!(created["entityId"], id.as_str());
    let id = rest.create("odd", r#"{"a":1}"#).await;
    let gone = rest.delete("/api/entity/odd/1?verbose=true").await.ok();
    assert_eq!(
        (
            &gone["ids"],
            &gone["deleteResult"]["numberOfEntititesRemoved"]
        ),
        (&json!([id]), &json!(1))
    );
}

#[tokio::test]
async fn a_failure_has_the_members_it_must() {
    let server = Server::start();
    let connection = server.connect().await;
    // What is no UUID names no search (`grpc.md` §5.1), and a failure has the members it must.
    let answer = connection
        .call("SnapshotGetStatusRequest", json!({"snapshotId": "zz"}))
        .await;
    assert_eq!(
        answer["error"]["message"], "SEARCH_JOB_NOT_FOUND: no search job zz",
        "{answer}"
    );
    let changes = request(
        "EntityChangesMetadataGetRequest",
        "c",
        json!({"entityId": "zz"}),
    );
    // A change of no kind would be none of those that there are.
    let answer = payload_of(&connection.ask(changes).await[0]);
    assert!(answer.get("changeMeta").is_none(), "{answer}");
    assert_eq!(answer["requestId"], "c");
    // No path spells an empty name.
    let unnamed = json!({"model": {"name": "", "version": 1}, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"a": 1}});
    let answer = connection.call("EntityModelImportRequest", unnamed).await;
    assert_eq!(answer["success"], false, "{answer}");
}

#[tokio::test]
async fn what_a_view_says_wrongly_is_reported_of_that() {
    let server = Server::start();
    let connection = server.connect().await;
    // Also where an export was sent back.
    let view = json!({"currentState": "UNLOCKED", "model": {"$": {".a": 5}}});
    let import = json!({"model": {"name": "view", "version": 1}, "dataFormat": "JSON", "converter": "SIMPLE_VIEW", "payload": view});
    let answer = connection.call("EntityModelImportRequest", import).await;
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("integer `5`"), "{message}");
}

#[tokio::test]
async fn what_is_the_same_of_all_is_reported_once() {
    let server = Server::start();
    let (rest, connection) = (server.rest(), server.connect().await);
    rest.lock_model("odd", r#"{"a":1}"#).await;
    let payload =
        json!({"model": {"name": "odd", "version": 1}, "data": [{"a": 1}, {"a": 2}, {"a": 3}]});
    let answer = connection
        .call(
            "EntityCreateRequest",
            json!({"dataFormat": "JSON", "payload": payload}),
        )
        .await;
    assert_eq!(
        answer["warnings"].as_array().map(Vec::len),
        Some(1),
        "{answer}"
    );
}

#[tokio::test]
async fn an_optional_member_that_is_null_is_absent() {
    let server = Server::start();
    let (rest, connection) = (server.rest(), server.connect().await);
    rest.lock_model("null", r#"{"n":1}"#).await;
    let transition = json!({"name": "GO", "next": "NEW", "manual": true, "schedule": null,
        "processors": [{"name": "p", "type": null, "executionMode": null, "config": null}],
        "criterion": {"type": "group", "operator": "AND", "conditions": null}});
    let workflow = json!({"version": "1", "name": "w", "initialState": "NEW",
        "states": {"NEW": {"transitions": [transition]}, "OTHER": null, "LAST": {"transitions": null}}});
    let import = json!({"importMode": null, "allowCycles": null, "workflows": [workflow]});
    let path = "/api/model/null/1/workflow/import";
    rest.post(path, import.to_string()).await.ok();
    let model = json!({"name": "null", "version": 1});
    let new = json!({"dataFormat": null, "payload": {"model": model, "data": {"n": 1}}});
    connection.ok("EntityCreateRequest", new).await;
}
