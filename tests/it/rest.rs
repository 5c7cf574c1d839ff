//! The gateway: documented paths, bodies and problems (`rest.md`, `errors.md`).

use serde_json::json;

use crate::support::{Rest, Server, payload_of, request};

async fn locked(rest: &Rest, name: &str, sample: &str) {
    rest.post(
        &format!("/api/model/import/JSON/SAMPLE_DATA/{name}/1"),
        sample.to_owned(),
    )
    .await
    .ok();
    rest.put(&format!("/api/model/{name}/1/lock"), "")
        .await
        .ok();
}

async fn create(rest: &Rest, name: &str, body: &str) -> String {
    let made = rest
        .post(&format!("/api/entity/JSON/{name}/1"), body.to_owned())
        .await
        .ok();
    made[0]["entityIds"][0].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn models_go_through_their_life_over_rest() {
    let rest = Server::start();
    let server = &rest;
    let rest = server.rest();
    let imported = rest
        .post(
            "/api/model/import/JSON/SAMPLE_DATA/parcel/2",
            r#"{"sku":"A"}"#,
        )
        .await;
    assert_eq!(imported.text, "\"f8b37c28-1e72-5b2d-917d-101740a5734c\"\n");
    assert_eq!(imported.headers["content-type"], "application/json");
    let said = rest.put("/api/model/parcel/2/unlock", "").await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (409, "MODEL_ALREADY_UNLOCKED")
    );
    let locked = rest.put("/api/model/parcel/2/lock", "").await.ok();
    assert_eq!(
        locked,
        json!({"success": true, "message": "Model parcel:2 locked", "modelId": "f8b37c28-1e72-5b2d-917d-101740a5734c", "modelKey": {"name": "parcel", "version": 2}})
    );
    let listed = rest.get("/api/model/").await.ok();
    assert_eq!(
        (&listed[0]["modelName"], &listed[0]["currentState"]),
        (&json!("parcel"), &json!("LOCKED"))
    );
    assert!(listed[0]["modelUpdateDate"].is_string());
    let exported = rest
        .get("/api/model/export/SIMPLE_VIEW/parcel/2")
        .await
        .ok();
    assert_eq!(
        exported,
        json!({"currentState": "LOCKED", "model": {"$": {".sku": "STRING"}}})
    );
    let exported = rest
        .get("/api/model/export/JSON_SCHEMA/parcel/2")
        .await
        .ok();
    assert_eq!(
        exported["model"]["properties"],
        json!({"sku": {"type": "string"}})
    );
    let problem = rest.delete("/api/model/parcel/2").await;
    assert_eq!(
        problem.json(),
        json!({"type": "about:blank", "title": "Conflict", "status": 409, "detail": "MODEL_ALREADY_LOCKED: model parcel:2 is already locked",
            "instance": "/model/parcel/2",
            "properties": {"errorCode": "MODEL_ALREADY_LOCKED", "entityName": "parcel", "entityVersion": 2, "expectedState": "UNLOCKED", "actualState": "LOCKED"}})
    );
    rest.put("/api/model/parcel/2/unlock", "").await.ok();
    assert_eq!(
        rest.delete("/api/model/parcel/2").await.ok()["message"],
        "model parcel:2 deleted"
    );
    for (method, path, body, status, code) in [
        (
            "GET",
            "/api/model/export/SIMPLE_VIEW/parcel/2",
            "",
            404,
            "MODEL_NOT_FOUND",
        ),
        (
            "GET",
            "/api/model/export/XSD/parcel/2",
            "",
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            "/api/model/export/SIMPLE_VIEW/parcel/two",
            "",
            400,
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/model/import/YAML/SAMPLE_DATA/m/1",
            "{}",
            400,
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/model/import/JSON/SIMPLE_VIEW/m/1",
            "{}",
            400,
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/model/import/JSON/SAMPLE_DATA/m/1",
            "{",
            400,
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/model/import/XML/SAMPLE_DATA/m/1",
            "{}",
            400,
            "BAD_REQUEST",
        ),
        ("PUT", "/api/model/none/1/lock", "", 404, "MODEL_NOT_FOUND"),
        ("DELETE", "/api/model/none/1", "", 404, "MODEL_NOT_FOUND"),
        (
            "POST",
            "/api/model/none/1/workflow/import",
            r#"{"workflows":[]}"#,
            404,
            "MODEL_NOT_FOUND",
        ),
        (
            "GET",
            "/api/model/none/1/workflow/export",
            "",
            404,
            "MODEL_NOT_FOUND",
        ),
    ] {
        let said = rest.send(method, path, body).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (status, code),
            "{method} {path}: {}",
            said.text
        );
    }
}

#[tokio::test]
async fn workflows_are_imported_and_exported_over_rest() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "doc", r#"{"n":1}"#).await;
    let path = "/api/model/doc/1/workflow";
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {"A": {"transitions": [{"name": "GO", "next": "B", "manual": true}]}, "B": {}}});
    let said = rest.get(&format!("{path}/export")).await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (404, "WORKFLOW_NOT_FOUND")
    );
    let import = json!({"importMode": "replace", "workflows": [workflow]});
    assert_eq!(
        rest.post(&format!("{path}/import"), import.to_string())
            .await
            .ok(),
        json!({"success": true})
    );
    let mut active = workflow.clone();
    active["active"] = json!(true);
    let exported = rest.get(&format!("{path}/export")).await.ok();
    assert_eq!(
        exported,
        json!({"entityName": "doc", "modelVersion": 1, "workflows": [active]})
    );
    for (body, code) in [
        ("{", "BAD_REQUEST"),
        (r#"{"workflows":5}"#, "BAD_REQUEST"),
        (r#"{"workflows":[{"name":5}]}"#, "BAD_REQUEST"),
        (r#"{"importMode":"X","workflows":[]}"#, "BAD_REQUEST"),
        (
            r#"{"workflows":[{"name":"w","initialState":"Q","states":{}}]}"#,
            "VALIDATION_FAILED",
        ),
    ] {
        let said = rest.post(&format!("{path}/import"), body).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, code),
            "{body}"
        );
    }
    let id = create(&rest, "doc", r#"{"n":1}"#).await;
    assert_eq!(
        rest.get(&format!("/api/entity/{id}/transitions"))
            .await
            .ok(),
        json!(["GO"])
    );
    let available = rest
        .post(&format!("/api/entity/{id}/transitions/GO"), "")
        .await
        .ok();
    assert_eq!(available, json!([]));
    let said = rest
        .put(&format!("/api/entity/JSON/{id}/GO"), r#"{"n":2}"#)
        .await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (404, "TRANSITION_NOT_FOUND")
    );
}

#[tokio::test]
async fn entities_go_through_their_life_over_rest() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "doc", r#"{"n":1}"#).await;
    let id = create(&rest, "doc", r#"{"n":1}"#).await;
    let entity = rest.get(&format!("/api/entity/{id}")).await.ok();
    assert_eq!(
        (&entity["type"], &entity["data"], &entity["meta"]["state"]),
        (&json!("ENTITY"), &json!({"n": 1}), &json!("CREATED"))
    );
    let seen = entity["meta"]["transactionId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let updated = rest
        .with("If-Match", &seen)
        .put(&format!("/api/entity/JSON/{id}"), r#"{"n":2}"#)
        .await
        .ok();
    assert_eq!(updated["entityIds"], json!([id]), "an object, not a list");
    for condition in [seen.as_str(), "*", "\"quoted\""] {
        let said = rest
            .with("If-Match", condition)
            .put(&format!("/api/entity/JSON/{id}/UPDATE"), r#"{"n":3}"#)
            .await;
        assert_eq!(
            (
                said.status.as_u16(),
                said.problem().as_str(),
                &said.json()["properties"]["entityId"]
            ),
            (412, "ENTITY_MODIFIED", &json!(id))
        );
    }
    let twice = rest
        .with("If-Match", "a")
        .with("If-Match", "b")
        .put(&format!("/api/entity/JSON/{id}"), r#"{"n":3}"#)
        .await;
    assert_eq!(
        (
            twice.status.as_u16(),
            twice.json()["properties"]["parameter"].as_str()
        ),
        (400, Some("if-match"))
    );
    rest.put(&format!("/api/entity/JSON/{id}/UPDATE"), r#"{"n":4}"#)
        .await
        .ok();
    assert_eq!(
        rest.get(&format!("/api/entity/{id}")).await.ok()["meta"]["transitionForLatestSave"],
        "UPDATE"
    );
    let then = rest
        .get(&format!("/api/entity/{id}?transactionId={seen}"))
        .await
        .ok();
    assert_eq!(then["data"], json!({"n": 1}));
    let changes = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    assert_eq!(changes.as_array().expect("a list").len(), 3);
    assert_eq!(changes[2]["transactionId"], seen.as_str());
    // An offset whose sign came as a space; a time without one.
    for instant in [
        "2999-01-01T00:00:00+01:00",
        "2999-01-01T00:00:00",
        "2999-01-01T00:00:00%2B01:00",
    ] {
        assert_eq!(
            rest.get(&format!("/api/entity/{id}?pointInTime={instant}"))
                .await
                .ok()["data"],
            json!({"n": 4}),
            "{instant}"
        );
    }
    let deleted = rest.delete(&format!("/api/entity/{id}")).await.ok();
    assert_eq!(
        (&deleted["id"], &deleted["modelKey"]),
        (&json!(id), &json!({"name": "doc", "version": 1}))
    );
    assert!(deleted["transactionId"].is_string());
    for (method, path, status, code) in [
        ("GET", format!("/api/entity/{id}"), 404, "ENTITY_NOT_FOUND"),
        (
            "DELETE",
            format!("/api/entity/{id}"),
            404,
            "ENTITY_NOT_FOUND",
        ),
        (
            "PUT",
            format!("/api/entity/JSON/{id}"),
            404,
            "ENTITY_NOT_FOUND",
        ),
        (
            "GET",
            "/api/entity/not-a-uuid".to_owned(),
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            "/api/entity/not-a-uuid/transitions".to_owned(),
            404,
            "ENTITY_NOT_FOUND",
        ),
        (
            "GET",
            format!("/api/entity/{id}?pointInTime=yesterday"),
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            format!("/api/entity/{id}?pointInTime=2026-01-01T00:00:00Z&transactionId={seen}"),
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            "/api/entity/none/1".to_owned(),
            404,
            "MODEL_NOT_FOUND",
        ),
        ("GET", "/api/entity/doc/one".to_owned(), 400, "BAD_REQUEST"),
        (
            "POST",
            "/api/entity/CSV/doc/1".to_owned(),
            400,
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/entity/JSON/none/1".to_owned(),
            404,
            "MODEL_NOT_FOUND",
        ),
        (
            "PATCH",
            format!("/api/entity/JSON/{id}"),
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
    ] {
        let said = rest
            .send(
                method,
                &path,
                if method == "GET" { "" } else { r#"{"n":1}"# },
            )
            .await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (status, code),
            "{method} {path}: {}",
            said.text
        );
    }
    let bad = rest
        .get(&format!("/api/entity/{id}?pointInTime=yesterday"))
        .await
        .json();
    assert_eq!(bad["properties"]["parameter"], "pointInTime");
}

#[tokio::test]
async fn a_body_says_nothing_beside_the_document() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "beside", r#"{"a":1}"#).await;
    let id = create(&rest, "beside", r#"{"a":1}"#).await;
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
            assert!(
                said.text.contains("the body is not JSON: "),
                "what is told is told of the body: {}",
                said.text
            );
        }
    }
    let listed = rest.get("/api/entity/beside/1").await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["data"]["a"], 1);
}

#[tokio::test]
async fn collections_go_in_windows() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "doc", r#"{"n":1}"#).await;
    let many: Vec<_> = (0..5).map(|n| format!("{{\"n\":{n}}}")).collect();
    let made = rest
        .post(
            "/api/entity/JSON/doc/1?transactionWindow=2",
            format!("[{}]", many.join(",")),
        )
        .await
        .ok();
    let sizes: Vec<_> = made
        .as_array()
        .expect("chunks")
        .iter()
        .map(|chunk| chunk["entityIds"].as_array().expect("ids").len())
        .collect();
    assert_eq!(sizes, [2, 2, 1]);
    let empty = rest.post("/api/entity/JSON/doc/1", "[]").await.ok();
    assert_eq!(empty[0]["entityIds"], json!([]));
    assert!(empty[0]["transactionId"].is_string());
    let item = |payload: &str| json!({"model": {"name": "doc", "version": 1}, "payload": payload});
    let made = rest
        .post(
            "/api/entity/JSON",
            json!([item("{\"n\":7.0}"), item("{\"n\":8}")]).to_string(),
        )
        .await
        .ok();
    let ids: Vec<_> = made[0]["entityIds"]
        .as_array()
        .expect("ids")
        .iter()
        .map(|id| id.as_str().expect("an id").to_owned())
        .collect();
    let said = rest.get(&format!("/api/entity/{}", ids[0])).await;
    assert!(said.text.contains("{\"n\":7.0}"), "{}", said.text);
    let changes = json!([{"id": ids[0], "payload": "{\"n\":70}"}, {"id": ids[1], "payload": "{\"n\":80}", "transition": "UPDATE", "ifMatch": "stale"}]);
    let updated = rest.put("/api/entity/JSON", changes.to_string()).await.ok();
    assert_eq!(
        (
            &updated[0]["entityIds"],
            &updated[0]["failed"][0]["error"]["code"]
        ),
        (&json!([ids[0]]), &json!("ENTITY_MODIFIED"))
    );
    let partly = json!([item("{\"n\":1}"), item("{\"n\":\"x\"}")]);
    let said = rest
        .post("/api/entity/JSON?transactionWindow=1", partly.to_string())
        .await
        .ok();
    assert_eq!(said[1]["error"]["code"], "INCOMPATIBLE_TYPE");
    for (method, path, body, code) in [
        (
            "POST",
            "/api/entity/JSON?transactionWindow=0",
            "[]".to_owned(),
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/entity/JSON?transactionWindow=1001",
            "[]".to_owned(),
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/entity/JSON",
            json!([{"model": {"name": "doc", "version": 1}, "payload": {"n": 1}}]).to_string(),
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/entity/JSON",
            json!([item("{")]).to_string(),
            "BAD_REQUEST",
        ),
        ("PUT", "/api/entity/JSON", "[]".to_owned(), "BAD_REQUEST"),
        (
            "PUT",
            "/api/entity/JSON",
            json!([{"payload": "{}"}]).to_string(),
            "BAD_REQUEST",
        ),
        (
            "PUT",
            "/api/entity/XML",
            json!([{"id": ids[0], "payload": "{}"}]).to_string(),
            "BAD_REQUEST",
        ),
    ] {
        let said = rest.send(method, path, body.clone()).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, code),
            "{method} {path} {body}"
        );
    }
}

#[tokio::test]
async fn lists_searches_and_counts_have_their_documented_forms() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "doc", r#"{"n":1}"#).await;
    for n in 0..4 {
        create(&rest, "doc", &format!("{{\"n\":{n}}}")).await;
    }
    let listed = rest
        .get("/api/entity/doc/1?pageSize=3&pageNumber=1")
        .await
        .ok();
    assert_eq!(
        (listed.as_array().expect("a list").len(), &listed[0]["data"]),
        (1, &json!({"n": 3}))
    );
    assert_eq!(rest.get("/api/entity/doc/1?pageSize=0").await.text, "[]\n");
    let then = rest
        .get("/api/entity/doc/1?pointInTime=2999-01-01T00:00:00Z")
        .await
        .ok();
    assert_eq!(then[0]["meta"]["pointInTime"], "2999-01-01T00:00:00Z");
    let condition = r#"{"type":"simple","jsonPath":"$.n","operatorType":"GREATER_THAN","value":1}"#;
    let found = rest
        .post("/api/search/direct/doc/1?sort=n:desc", condition)
        .await;
    assert_eq!(found.headers["content-type"], "application/x-ndjson");
    let lines: Vec<serde_json::Value> = found
        .text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        lines
            .iter()
            .map(|line| line["data"]["n"].clone())
            .collect::<Vec<_>>(),
        [3, 2]
    );
    let nothing = rest
        .post(
            "/api/search/direct/doc/1",
            r#"{"type":"simple","jsonPath":"$.n","operatorType":"EQUALS","value":99}"#,
        )
        .await;
    assert_eq!((nothing.status.as_u16(), nothing.text.as_str()), (200, ""));
    let cut = rest.post("/api/search/doc/1?limit=1", condition).await.ok();
    assert_eq!(cut.as_array().expect("a list").len(), 1);
    assert_eq!(
        rest.get("/api/entity/stats").await.ok(),
        json!([{"modelName": "doc", "modelVersion": 1, "count": 4}])
    );
    assert_eq!(
        rest.get("/api/entity/stats/doc/1").await.ok(),
        json!({"modelName": "doc", "modelVersion": 1, "count": 4})
    );
    let state = json!([{"modelName": "doc", "modelVersion": 1, "state": "CREATED", "count": 4}]);
    assert_eq!(
        rest.get("/api/entity/stats/states/doc/1?states=CREATED&states=OTHER")
            .await
            .ok(),
        state
    );
    assert_eq!(
        rest.get("/api/entity/stats/states?states=OTHER").await.ok(),
        json!([])
    );
    let deleted = rest.delete("/api/entity/doc/1?verbose=true").await.ok();
    assert_eq!(
        deleted["deleteResult"],
        json!({"numberOfEntitites": 4, "numberOfEntititesRemoved": 4, "idToError": {}})
    );
    assert_eq!(deleted["ids"], json!([]));
    for (method, path, body, status, code) in [
        (
            "GET",
            "/api/entity/doc/1?pageSize=-1",
            "",
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            "/api/entity/doc/1?pageSize=10001",
            "",
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            "/api/entity/doc/1?pageNumber=x",
            "",
            400,
            "BAD_REQUEST",
        ),
        (
            "GET",
            "/api/entity/doc/1?transactionTimeoutMillis=soon",
            "",
            400,
            "BAD_REQUEST",
        ),
        ("POST", "/api/search/direct/doc/1", "", 400, "BAD_REQUEST"),
        ("POST", "/api/search/direct/doc/1", "{}", 400, "BAD_REQUEST"),
        (
            "POST",
            "/api/search/direct/doc/1?limit=0",
            condition,
            400,
            "BAD_REQUEST",
        ),
        (
            "POST",
            "/api/search/direct/doc/1?sort=n:up",
            condition,
            400,
            "INVALID_FIELD_PATH",
        ),
        (
            "POST",
            "/api/search/direct/doc/1",
            r#"{"type":"simple","jsonPath":"$.z","operatorType":"EQUALS","value":1}"#,
            400,
            "INVALID_FIELD_PATH",
        ),
        (
            "POST",
            "/api/search/direct/none/1",
            condition,
            404,
            "MODEL_NOT_FOUND",
        ),
        (
            "POST",
            "/api/search/async/none/1",
            condition,
            404,
            "MODEL_NOT_FOUND",
        ),
        (
            "GET",
            "/api/search/async/01900000-0000-7000-8000-000000000000/status",
            "",
            404,
            "SEARCH_JOB_NOT_FOUND",
        ),
        (
            "GET",
            "/api/entity/stats/none/1",
            "",
            404,
            "MODEL_NOT_FOUND",
        ),
        (
            "GET",
            "/api/platform-api/entity/fetch/transitions?entityClass=doc&entityId=x",
            "",
            400,
            "BAD_REQUEST",
        ),
    ] {
        let said = rest.send(method, path, body).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (status, code),
            "{method} {path}: {}",
            said.text
        );
    }
    locked(&rest, "other", r#"{"n":1}"#).await;
    for n in 0..3 {
        create(&rest, "other", &format!("{{\"n\":{n}}}")).await;
    }
    let said = rest
        .post(
            "/api/search/direct/other/1?limit=2",
            r#"{"type":"group","operator":"AND","conditions":[]}"#,
        )
        .await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (400, "SEARCH_RESULT_LIMIT")
    );
}

#[tokio::test]
async fn paths_that_only_old_clients_use_work() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "doc", r#"{"n":1}"#).await;
    let id = create(&rest, "doc", r#"{"n":1}"#).await;
    let path =
        format!("/api/platform-api/entity/fetch/transitions?entityClass=doc.1&entityId={id}");
    assert_eq!(rest.get(&path).await.ok(), json!(["UPDATE", "DELETE"]));
    let path = format!(
        "/api/platform-api/entity/transition?entityId={id}&entityClass=com.example.X&transitionName=DELETE&transactional=true"
    );
    assert_eq!(rest.put(&path, "").await.ok(), json!([]));
    assert_eq!(
        rest.get(&format!("/api/entity/{id}")).await.ok()["meta"]["state"],
        "DELETED"
    );
}

#[tokio::test]
async fn unknown_paths_and_methods_are_told_apart() {
    let server = Server::start();
    let rest = server.rest();
    for path in [
        "/",
        "/api",
        "/api/model",
        "/api/nothing/here",
        "/entity/x",
        "/api/entity/a/b/c/d/e",
    ] {
        let said = rest.get(path).await;
        assert_eq!(
            (said.status.as_u16(), said.text.as_str()),
            (404, "404 page not found\n"),
            "{path}"
        );
        assert!(
            said.headers["content-type"]
                .to_str()
                .expect("text")
                .starts_with("text/plain")
        );
    }
    let said = rest.delete("/api/model/").await;
    assert_eq!((said.status.as_u16(), said.text.as_str()), (405, ""));
}

#[tokio::test]
async fn the_context_path_can_be_another_or_none() {
    for (setting, prefix) in [("/v1/", "/v1"), ("", "")] {
        let server = Server::with(&[("CYODA_CONTEXT_PATH", setting)]);
        let rest = server.rest();
        assert_eq!(rest.get(&format!("{prefix}/model/")).await.ok(), json!([]));
        let problem = rest.get(&format!("{prefix}/entity/none/1")).await.json();
        assert_eq!(problem["instance"], "/entity/none/1");
    }
}

#[tokio::test]
async fn an_upgrade_to_http2_is_not_taken_up() {
    let server = Server::start();
    let rest = server
        .rest()
        .with("Connection", "Upgrade, HTTP2-Settings")
        .with("Upgrade", "h2c")
        .with("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA");
    let said = rest
        .post("/api/model/import/JSON/SAMPLE_DATA/m/1", r#"{"n":1}"#)
        .await;
    assert_eq!(said.status.as_u16(), 200);
}

#[tokio::test]
async fn a_list_is_no_object_whatever_it_would_say() {
    let server = Server::start();
    let (rest, connection) = (server.rest(), server.connect().await);
    locked(&rest, "held", r#"{"a":1}"#).await;
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
        "BAD_REQUEST: invalid payload: invalid type: sequence, expected an object at line 1 column 41",
        "{answer}"
    );
    assert_eq!(rest.get("/api/entity/held/1").await.ok(), json!([]));
}

#[tokio::test]
async fn what_is_wrong_is_told_of_the_body_that_was_sent() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "told", r#"{"a":1}"#).await;
    for (path, body) in [
        ("/api/entity/stats/told/1/query", r#"{"groupBy":[5]}"#),
        (
            "/api/entity/JSON",
            r#"[{"model":{"name":"told"},"payload":"{}"}]"#,
        ),
    ] {
        let said = rest.post(path, body).await;
        assert_eq!(said.status, 400);
        assert!(!said.text.contains(" column "), "{}", said.text);
    }
    let said = rest
        .post("/api/entity/stats/told/1/query", "{\n\"groupBy\":")
        .await;
    assert!(said.text.contains("at line 2 column 10"), "{}", said.text);
}

#[tokio::test]
async fn an_import_of_workflows_tells_what_it_does_not_know() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "flow", r#"{"a":1}"#).await;
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
    rest.post(import, r#"{"importMode":"ACTIVATE"}"#)
        .await
        .refused(400, "VALIDATION_FAILED");
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
    locked(&rest, "quoted", r#"{"a":1}"#).await;
    let id = create(&rest, "quoted", r#"{"a":1}"#).await;
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
async fn a_stale_version_is_told_after_what_is_wrong_with_the_document() {
    let server = Server::start();
    let rest = server.rest();
    locked(&rest, "stale", r#"{"a":1}"#).await;
    let id = create(&rest, "stale", r#"{"a":1}"#).await;
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
async fn odd_ends_of_the_documented_paths() {
    let server = Server::start();
    let (rest, connection) = (server.rest(), server.connect().await);
    locked(&rest, "odd", r#"{"a":1}"#).await;
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
    let id = create(&rest, "odd", r#"{"a":1}"#).await;
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
    // Ids are not told of a deletion of all (§3).
    let gone = rest.delete("/api/entity/odd/1?verbose=true").await.ok();
    assert_eq!(
        (
            &gone["ids"],
            &gone["deleteResult"]["numberOfEntititesRemoved"]
        ),
        (&json!([]), &json!(1))
    );
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
    let answer = payload_of(&connection.ask(changes).await[0]);
    assert!(answer["changeMeta"].is_object(), "{answer}");
    // What a view says wrongly is told of that, also where an export was sent back.
    let view = r#"{"currentState":"UNLOCKED","model":{"$":{".a":5}}}"#;
    let said = rest
        .post("/api/model/import/JSON/SIMPLE_VIEW/view/1", view)
        .await;
    assert!(said.text.contains("integer `5`"), "{}", said.text);
    // No path spells an empty name.
    let unnamed = json!({"model": {"name": "", "version": 1}, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": {"a": 1}});
    let answer = connection.call("EntityModelImportRequest", unnamed).await;
    assert_eq!(answer["success"], false, "{answer}");
    // What is the same of all is told once.
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
