//! The profile `cyoda-0.8` (`stream.md` §5): each switch, against the documented behaviour.

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, code, get, locked_model, new_entity, payload_of, request,
    sync_processor,
};

const PROFILE: (&str, &str) = ("INTERLOCK_COMPAT", "cyoda-0.8");

async fn import(connection: &Connection, model: &Value, mode: &str, workflows: Value) -> Value {
    let import = json!({"model": model, "importMode": mode, "workflows": workflows});
    connection.call("EntityWorkflowImportRequest", import).await
}

fn workflow(version: &str, transition: Value) -> Value {
    json!({"version": version, "name": "w", "initialState": "NEW", "active": false, "states": {
        "NEW": {"transitions": [transition]}, "DONE": {}}})
}

/// The code of an answer that says no; nothing of one that says yes.
fn refusal(answer: &Value) -> String {
    if answer["success"] == true {
        String::new()
    } else {
        code(answer)
    }
}

#[tokio::test]
async fn imports_follow_the_profile() {
    let (documented, cyoda) = (Server::start(), Server::with(&[PROFILE]));
    let way = |members: Value| {
        let mut way = json!({"name": "GO", "next": "DONE", "manual": true});
        for (name, value) in members.as_object().expect("members") {
            way[name] = value.clone();
        }
        way
    };
    let absent_manual = json!({"name": "GO", "next": "DONE", "criterion": {"type": "simple", "jsonPath": "$.n", "operatorType": "IS_NULL"}});
    let unknown_type =
        way(json!({"processors": [{"name": "p", "type": "calculator", "executionMode": "SYNC"}]}));
    let unknown_mode = way(json!({"processors": [{"name": "p", "executionMode": "LATER"}]}));
    let odd_state =
        json!({"version": "1.1", "name": "w", "initialState": "1 X", "states": {"1 X": {}}});
    let cases = [
        (
            workflow("1", way(json!({}))),
            "",
            "WORKFLOW_SCHEMA_VERSION_UNSUPPORTED",
        ),
        (workflow("1.2", way(json!({}))), "", ""),
        (workflow("1.1", absent_manual), "VALIDATION_FAILED", ""),
        (workflow("1.1", unknown_type), "VALIDATION_FAILED", ""),
        (workflow("1.1", unknown_mode), "", "VALIDATION_FAILED"),
        (
            workflow("1.1", way(json!({"colour": "red"}))),
            "",
            "BAD_REQUEST",
        ),
        (odd_state, "VALIDATION_FAILED", ""),
    ];
    for (server, is_cyoda) in [(&documented, false), (&cyoda, true)] {
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        for (definition, documented, cyoda) in &cases {
            let answer = import(&connection, &model, "REPLACE", json!([definition])).await;
            let expected = if is_cyoda { cyoda } else { documented };
            // What cannot be read is said by a status on the unary methods; here, in-band.
            let said = if answer["success"] == true {
                String::new()
            } else {
                code(&answer)
            };
            assert_eq!(&said, expected, "{is_cyoda} {definition}: {answer}");
        }
        let way =
            json!({"name": "GO", "next": "DONE", "manual": true, "processors": [{"name": "p"}]});
        import(
            &connection,
            &model,
            "REPLACE",
            json!([workflow("1.1", way)]),
        )
        .await;
        let export = connection
            .ok("EntityWorkflowExportRequest", json!({"model": model}))
            .await;
        let exported = &export["workflows"][0];
        assert_eq!(exported["active"], !is_cyoda);
        assert_eq!(exported["version"], if is_cyoda { "1.3" } else { "1.1" });
        let mode = &exported["states"]["NEW"]["transitions"][0]["processors"][0]["executionMode"];
        assert_eq!(mode, &if is_cyoda { json!("SYNC") } else { Value::Null });
        let emptied = import(&connection, &model, "REPLACE", json!([])).await;
        assert_eq!(
            refusal(&emptied),
            if is_cyoda { "VALIDATION_FAILED" } else { "" }
        );
    }
}

#[tokio::test]
async fn failures_have_the_status_that_clients_know() {
    for (settings, status, late) in [
        (
            vec![],
            404,
            "WORKFLOW_FAILED: DISPATCH_TIMEOUT: processor dispatch timed out after 1ms",
        ),
        (
            vec![PROFILE],
            400,
            "DISPATCH_TIMEOUT: processor dispatch timed out after 1ms",
        ),
    ] {
        let server = Server::with(&settings);
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let slow = sync_processor("p", json!({"responseTimeoutMs": 1}));
        let definition = json!({"version": "1.1", "name": "w", "initialState": "NEW", "states": {
            "NEW": {"transitions": [{"name": "GO", "next": "NEW", "manual": true, "processors": [slow]}]}}});
        let imported = import(&connection, &model, "MERGE", json!([definition])).await;
        assert_eq!(imported["success"], true, "{imported}");
        let made = connection
            .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
            .await;
        let id = made["transactionInfo"]["entityIds"][0]
            .as_str()
            .expect("an id");
        let said = server
            .rest()
            .post(&format!("/api/entity/{id}/transitions/NOWHERE"), "")
            .await;
        assert_eq!(said.problem(), "TRANSITION_NOT_FOUND");
        assert_eq!(said.status.as_u16(), status);
        let _silent = Member::join(&server, &[]).await;
        let answer = connection
            .call(
                "EntityTransitionRequest",
                json!({"entityId": id, "transition": "GO"}),
            )
            .await;
        assert_eq!(answer["error"]["message"], late);
        assert_eq!(get(&connection, id).await["data"], json!({"n": 1}));
    }
}

/// A definition that one profile took is still good under the other.
#[tokio::test]
async fn a_definition_outlives_its_profile() {
    let mut server = Server::on_disk(&[PROFILE]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let odd = json!({"version": "1.1", "name": "w", "initialState": "1 X", "active": true, "states": {"1 X": {"transitions": [
        {"name": "GO", "next": "1 X", "manual": true, "processors": [{"name": "p", "type": "calculator", "executionMode": "SYNC"}]}]}}});
    assert_eq!(
        import(&connection, &model, "MERGE", json!([odd])).await["success"],
        true
    );
    server.kill();
    server.restart_with(&[]);
    let connection = server.connect().await;
    let made = connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    assert_eq!(get(&connection, id).await["meta"]["state"], "1 X");
}

/// Texts and times are distinguished (`models-and-entities.md` §3.4), and models come from samples.
#[tokio::test]
async fn times_and_texts_follow_the_profile() {
    for (settings, is_cyoda) in [(vec![], false), (vec![PROFILE], true)] {
        let server = Server::with(&settings);
        let connection = server.connect().await;
        let sample = json!({"text": "x", "year": "2024"});
        let model = locked_model(&connection, "doc", sample).await;
        for data in [json!({"text": "2024"}), json!({"year": "n/a"})] {
            let made = connection
                .call("EntityCreateRequest", new_entity(&model, &data))
                .await;
            let expected = if is_cyoda { "INCOMPATIBLE_TYPE" } else { "" };
            assert_eq!(refusal(&made), expected, "{data}");
            let checked = connection
                .ok(
                    "EntityModelValidateRequest",
                    json!({"model": model, "payload": data}),
                )
                .await;
            assert_eq!(checked["valid"], !is_cyoda, "{data}");
        }
        let level = json!({"model": model, "changeLevel": "ARRAY_LENGTH"});
        connection
            .ok("EntityModelSetChangeLevelRequest", level)
            .await;
        let data = json!({"text": "2024"});
        let made = connection
            .call("EntityCreateRequest", new_entity(&model, &data))
            .await;
        assert_eq!(refusal(&made), if is_cyoda { "BAD_REQUEST" } else { "" });
        let view = json!({"model": {"name": "view", "version": 1}, "dataFormat": "JSON", "converter": "SIMPLE_VIEW", "payload": {"$": {".a": "LONG"}}});
        let imported = connection.call("EntityModelImportRequest", view).await;
        assert_eq!(
            refusal(&imported),
            if is_cyoda { "BAD_REQUEST" } else { "" }
        );
    }
}

/// A limit that was sent (`grpc.md` §8.3), and what a deletion of all looks at (§8.2).
#[tokio::test]
async fn limits_and_deletions_of_all_follow_the_profile() {
    for (settings, is_cyoda) in [(vec![], false), (vec![PROFILE], true)] {
        let server = Server::with(&settings);
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        for n in 0..3 {
            let new = new_entity(&model, &json!({ "n": n }));
            connection.ok("EntityCreateRequest", new).await;
        }
        let other = locked_model(&connection, "other", json!({"n": 1})).await;
        let new = new_entity(&other, &json!({"n": 1}));
        connection.ok("EntityCreateRequest", new).await;
        let path = "/api/entity/other/1?verbose=true&pointInTime=2020-01-01";
        let gone = server.rest().delete(path).await.ok();
        let count = &gone["deleteResult"]["numberOfEntititesRemoved"];
        assert_eq!(count, i32::from(is_cyoda));
        assert_eq!(gone["ids"], json!([]));
        let all = json!({"type": "group", "operator": "AND", "conditions": []});
        let search = json!({"model": model, "limit": 1, "condition": all});
        let search = request("EntitySearchRequest", "s", search);
        let found = payload_of(&connection.ask(search).await[0]);
        let expected = if is_cyoda { "SEARCH_RESULT_LIMIT" } else { "" };
        assert_eq!(refusal(&found), expected);
        let long_ago =
            json!({"model": model, "verbose": true, "pointInTime": "2020-01-01T00:00:00Z"});
        let gone = connection.ok("EntityDeleteAllRequest", long_ago).await;
        assert_eq!(gone["numDeleted"], if is_cyoda { 3 } else { 0 });
        assert_eq!(gone["entityIds"], json!([]));
    }
}

#[tokio::test]
async fn a_deletion_looks_at_the_version_where_the_profile_does() {
    for (settings, is_cyoda) in [(vec![], false), (vec![PROFILE], true)] {
        let server = Server::with(&settings);
        let rest = server.rest();
        rest.lock_model("doc", r#"{"n":1}"#).await;
        let path = format!("/api/entity/{}", rest.create("doc", r#"{"n":1}"#).await);
        let said = rest.with("If-Match", "stale").delete(&path).await;
        if is_cyoda {
            said.ok();
        } else {
            said.refused(412, "ENTITY_MODIFIED");
        }
        let document = rest.get("/openapi.json").await.ok();
        let mut paths = document["paths"].as_object().expect("paths").values();
        let described = paths.find(|path| path["delete"]["operationId"] == "deleteEntity");
        let described = described.expect("a path")["delete"]["parameters"].to_string();
        assert_eq!(described.contains("If-Match"), !is_cyoda, "{described}");
    }
}

#[tokio::test]
async fn the_document_offers_idempotency_keys_where_they_count() {
    for (settings, is_cyoda) in [(vec![], false), (vec![PROFILE], true)] {
        let server = Server::with(&settings);
        let document = server.rest().get("/openapi.json").await.ok();
        let path = "/entity/{format}/{entityNameOrEntityId}/{modelVersionOrTransition}";
        let parameters = document["paths"][path]["post"]["parameters"].as_array();
        let mut parameters = parameters.expect("a list").iter();
        let is_offered = parameters.any(|parameter| parameter["name"] == "Idempotency-Key");
        assert_eq!(is_offered, !is_cyoda);
        let text = document.to_string();
        assert_eq!(text.contains("\"Idempotency-Key\""), !is_cyoda);
        let path = "/entity/{entityNameOrFormat}/{modelVersionOrEntityId}";
        let patched = &document["paths"][path]["patch"];
        let media = &patched["requestBody"]["content"]["application/json-patch+json"];
        assert_eq!(media.is_object(), !is_cyoda);
        assert_eq!(patched["responses"]["501"].is_object(), is_cyoda);
        let codes = patched["responses"]["400"].to_string();
        assert_eq!(codes.contains("TRANSITION_NOT_FOUND"), is_cyoda);
    }
}

#[tokio::test]
async fn required_tags_follow_the_profile() {
    for (settings, is_cyoda) in [(vec![], false), (vec![PROFILE], true)] {
        let settings = [settings, vec![("CYODA_DISPATCH_WAIT_TIMEOUT", "0s")]].concat();
        let server = Server::with(&settings);
        let connection = server.connect().await;
        let model = locked_model(&connection, "doc", json!({"n": 1})).await;
        let processor = sync_processor("p", json!({"calculationNodesTags": "a,b"}));
        let definition = json!({"version": "1.1", "name": "w", "initialState": "NEW", "states": {
            "NEW": {"transitions": [{"name": "GO", "next": "DONE", "manual": false, "processors": [processor]}]}, "DONE": {}}});
        let imported = import(&connection, &model, "MERGE", json!([definition])).await;
        assert_eq!(imported["success"], true, "{imported}");
        let has_none = Member::join(&server, &["c"]).await;
        let mut calls = has_none.record(|_| Reply::Nothing);
        let new = new_entity(&model, &json!({"n": 1}));
        let answer = connection.call("EntityCreateRequest", new.clone()).await;
        assert_eq!(refusal(&answer), "NO_COMPUTE_MEMBER_FOR_TAG");
        let joined_with_one = Member::join(&server, &["B"]).await;
        drop(joined_with_one.record(|_| Reply::Nothing));
        let answer = connection.call("EntityCreateRequest", new).await;
        let expected = if is_cyoda {
            ""
        } else {
            "NO_COMPUTE_MEMBER_FOR_TAG"
        };
        assert_eq!(refusal(&answer), expected, "{answer}");
        assert!(calls.try_recv().is_err());
    }
}
