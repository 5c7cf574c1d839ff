//! The gateway: documented paths, bodies and problems (`rest.md`, `errors.md`).

use serde_json::json;

use crate::support::Server;

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
        json!({"type": "about:blank", "title": "Conflict", "status": 409, "detail": "MODEL_ALREADY_LOCKED: model parcel:2 is already locked; to change it, unlock it or use another version",
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
    rest.lock_model("doc", r#"{"n":1}"#).await;
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
    let id = rest.create("doc", r#"{"n":1}"#).await;
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
    rest.lock_model("doc", r#"{"n":1}"#).await;
    let id = rest.create("doc", r#"{"n":1}"#).await;
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
    let stale = rest.with("If-Match", &seen);
    let transition = format!("/api/entity/{id}/transitions/UPDATE");
    let by_query =
        format!("/api/platform-api/entity/transition?entityId={id}&transitionName=UPDATE");
    for said in [
        stale.post(&transition, "").await,
        stale.put(&by_query, "").await,
        stale.delete(&format!("/api/entity/{id}")).await,
    ] {
        let problem = said.refused(412, "ENTITY_MODIFIED");
        assert_eq!(problem["properties"]["entityId"], id);
    }
    let now = rest.get(&format!("/api/entity/{id}")).await.ok();
    let now = now["meta"]["transactionId"].as_str().expect("an id");
    for condition in [now, "*"] {
        let given = rest.with("If-Match", condition);
        given.post(&transition, "").await.ok();
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
        (400, Some("If-Match"))
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
    assert_eq!(changes.as_array().expect("a list").len(), 5);
    assert_eq!(changes[4]["transactionId"], seen.as_str());
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
async fn collections_go_in_windows() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("doc", r#"{"n":1}"#).await;
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
    rest.lock_model("doc", r#"{"n":1}"#).await;
    for n in 0..4 {
        rest.create("doc", &format!("{{\"n\":{n}}}")).await;
    }
    let listed = rest
        .get("/api/entity/doc/1?pageSize=3&pageNumber=1")
        .await
        .ok();
    assert_eq!(
        (listed.as_array().expect("a list").len(), &listed[0]["data"]),
        (1, &json!({"n": 3}))
    );
    for size in ["0", "00", "-0"] {
        let path = format!("/api/entity/doc/1?pageSize={size}");
        assert_eq!(rest.get(&path).await.text, "[]\n", "{size}");
    }
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
    assert_eq!(deleted["ids"].as_array().expect("a list").len(), 4);
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
    rest.lock_model("other", r#"{"n":1}"#).await;
    for n in 0..3 {
        rest.create("other", &format!("{{\"n\":{n}}}")).await;
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
    rest.lock_model("doc", r#"{"n":1}"#).await;
    let id = rest.create("doc", r#"{"n":1}"#).await;
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
async fn unknown_paths_and_methods_are_distinguished() {
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
        assert_eq!(said.headers["link"], HELP, "{path}");
    }
    let said = rest.delete("/api/model/").await;
    assert_eq!((said.status.as_u16(), said.text.as_str()), (405, ""));
    assert_eq!(said.headers["link"], HELP);
    assert_eq!(said.headers["allow"], "GET,HEAD");
}

/// Where an answer without a problem document says that the paths are listed.
const HELP: &str = "</docs>; rel=\"help\"";

#[tokio::test]
async fn an_empty_body_is_reported_as_that() {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("doc", r#"{"n":1}"#).await;
    for path in [
        "/api/entity/JSON/doc/1",
        "/api/entity/JSON",
        "/api/model/doc/1/workflow/import",
        "/api/model/import/JSON/SAMPLE_DATA/doc/2",
        "/api/search/direct/doc/1",
        "/api/entity/stats/doc/1/query",
    ] {
        for body in ["", " \n"] {
            let said = rest.post(path, body).await;
            let detail = said.json()["detail"].to_string();
            assert!(
                said.status == 400 && detail.contains(": the body is empty"),
                "{path}: {detail}"
            );
        }
    }
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
