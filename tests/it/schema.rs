//! The schemas of requests and answers: for people, for programs, and for clients of other
//! languages that are made from them.

use std::{collections::BTreeSet, path::Path};

use interlock::{event::EventType, operation::ROUTES};
use serde_json::{Value, json};

use crate::support::{Server, command, schema::faults};

fn printed(kind: &str) -> (Option<i32>, String, String) {
    let output = command(Path::new("."), &[])
        .args(["events", "--schema", kind])
        .output()
        .expect("runs");
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("text"),
        String::from_utf8(output.stderr).expect("text"),
    )
}

#[test]
fn the_schemas_of_the_repository_are_those_of_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/schema");
    let files = interlock::app::schema_files();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("makes it");
        for (name, text) in &files {
            std::fs::write(folder.join(name), text).expect("writes");
        }
    }
    let advice = "write them again: UPDATE_SCHEMA=1 cargo test --test it schema";
    for (name, text) in &files {
        let stored = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(
            stored == *text,
            "clients/schema/{name} differs from the code; {advice}"
        );
    }
    let known: BTreeSet<_> = files.into_iter().map(|(name, _)| name).collect();
    for entry in std::fs::read_dir(&folder).expect("readable") {
        let name = entry.expect("readable").file_name();
        let name = name.to_string_lossy();
        assert!(
            known.contains(&*name),
            "clients/schema/{name} is of no event type; {advice}"
        );
    }
}

#[test]
fn every_event_type_has_a_schema_and_the_index_lists_it() {
    let index = interlock::app::schema_files()
        .into_iter()
        .find(|(name, _)| name == "index.json")
        .map(|(_, text)| serde_json::from_str::<Value>(&text).expect("JSON"))
        .expect("an index");
    let listed = |list: &str, member: &str| -> BTreeSet<String> {
        let rows = index[list].as_array().expect("a list").iter();
        rows.map(|row| row[member].as_str().expect("a name").to_owned())
            .collect()
    };
    let types: BTreeSet<String> = EventType::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(listed("events", "type"), types);
    let requests: BTreeSet<String> = ROUTES
        .iter()
        .map(|route| route.request.to_string())
        .collect();
    assert_eq!(listed("operations", "request"), requests);
    assert!(listed("errors", "code").contains("ENTITY_NOT_FOUND"));
    for operation in index["operations"].as_array().expect("a list") {
        assert!(
            !operation["rest"].as_array().expect("a list").is_empty(),
            "{operation}"
        );
        for response in operation["responses"].as_array().expect("a list") {
            assert!(
                types.contains(response.as_str().expect("a name")),
                "{operation}"
            );
        }
    }
    for kind in EventType::ALL {
        let schema = interlock::app::event_schema(kind.as_str()).expect("a schema");
        assert_eq!(
            (&schema["$schema"], &schema["title"]),
            (
                &json!("https://json-schema.org/draft/2020-12/schema"),
                &json!(kind.as_str())
            )
        );
        assert!(!faults(*kind, &json!([])).is_empty(), "{kind} is an object");
    }
}

#[tokio::test]
async fn a_schema_is_the_same_on_the_command_line_and_over_http() {
    let server = Server::start();
    let rest = server.rest();
    for kind in [
        "EntityCreateRequest",
        "EntityResponse",
        "CalculationMemberJoinEvent",
    ] {
        let said = rest.get(&format!("/api/events/{kind}/schema")).await;
        assert_eq!(said.headers["content-type"], "application/schema+json");
        let (code, text, _) = printed(kind);
        assert_eq!(code, Some(0));
        assert_eq!(
            serde_json::from_str::<Value>(&text).expect("JSON"),
            said.ok()
        );
    }
    let (_, text, _) = printed("EntityResponse");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        schema["required"],
        json!(["id", "success", "requestId", "payload"])
    );
    assert_eq!(
        schema["x-interlock"]["answers"],
        json!([
            "EntityGetRequest",
            "EntityGetAllRequest",
            "EntitySearchRequest",
            "SnapshotGetRequest",
            "EntitySearchSubscribeRequest"
        ])
    );
    let (_, text, _) = printed("EntityCreateRequest");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        schema["x-interlock"],
        json!({
            "request": "EntityCreateRequest",
            "responses": ["EntityTransactionResponse"],
            "method": "entityManage",
            "streaming": false,
            "endless": false,
            "mutating": true,
            "idempotencyKey": true,
            "role": "",
            "rest": ["POST /entity/{format}/{entityName}/{modelVersion}"]
        })
    );
}

#[tokio::test]
async fn an_unknown_event_type_has_no_schema() {
    let server = Server::start();
    let problem = server
        .rest()
        .get("/api/events/EntityCrateRequest/schema")
        .await;
    problem.refused(404, "NOT_FOUND");
    let (code, text, error) = printed("EntityCrateRequest");
    assert_eq!((code, text.as_str()), (Some(2), ""));
    assert!(
        error.contains("`interlock events` lists all types"),
        "{error}"
    );
}

#[test]
fn an_answer_says_which_members_success_and_failure_have() {
    let given = EventType::EntityTransactionResponse;
    let info = json!({"entityIds": []});
    let failed = json!({"id": "1", "success": false, "requestId": "1", "transactionInfo": info,
        "error": {"code": "CLIENT_ERROR", "message": "MODEL_NOT_FOUND: no"}});
    assert_eq!(faults(given, &failed), [""; 0]);
    let mut unexplained = failed.clone();
    unexplained
        .as_object_mut()
        .expect("an object")
        .remove("error");
    assert!(!faults(given, &unexplained).is_empty());
    let empty = json!({"id": "1", "success": true});
    assert!(!faults(EventType::EntityModelSetIndexesResponse, &empty).is_empty());
    assert_eq!(
        faults(EventType::EntityModelDeleteResponse, &empty),
        [""; 0]
    );
}
