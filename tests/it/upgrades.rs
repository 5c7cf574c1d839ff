//! Databases that older releases have made: they are migrated, and everything in them goes on.

use std::{fs, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use interlock::event::EventType;
use serde_json::{Value, json};

use crate::support::{
    Connection, Server, payload_of, request, state,
    wait::{found, until},
};

/// A server on a copy of a stored database.
fn upgraded(name: &str) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/older");
    let packed = fs::File::open(root.join(name)).expect("a fixture");
    let mut database = Vec::new();
    GzDecoder::new(packed)
        .read_to_end(&mut database)
        .expect("it is whole");
    let path = folder.path().join("interlock.db");
    fs::write(&path, database).expect("written");
    let path = path.to_str().expect("a text");
    let server = Server::with(&[
        ("CYODA_STORAGE_BACKEND", "sqlite"),
        ("CYODA_SQLITE_PATH", path),
    ]);
    (folder, server)
}

/// What the older releases were given: three orders, of which the first was accepted.
async fn has_the_orders(server: &Server) {
    let rest = server.rest();
    let condition = json!({"type": "simple", "jsonPath": "$.number", "operatorType": "EQUALS",
        "value": "A-0"});
    let path = "/api/search/direct/order/1";
    let hits = rest.post(path, condition.to_string()).await;
    assert!(hits.text.contains(r#""total":7.10"#), "{}", hits.text);
    let order: Value = serde_json::from_str(hits.text.trim()).expect("one hit");
    assert_eq!(state(&order), "ACCEPTED");
    let id = order["meta"]["id"].as_str().expect("an id");
    let changes = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    let changes = changes.as_array().expect("a list");
    assert_eq!(changes.len(), 2, "both versions are there");
    let created = changes
        .iter()
        .find(|change| change["changeType"] == "CREATE")
        .expect("the first");
    let at = created["timeOfChange"].as_str().expect("a time");
    let then = rest
        .get(&format!(
            "/api/entity/{id}?pointInTime={}",
            at.replace('+', "%2B")
        ))
        .await;
    assert!(then.text.contains(r#""total":10.50"#), "{}", then.text);
    let shipped = rest
        .send(
            "PUT",
            &format!("/api/entity/JSON/{id}/ship"),
            r#"{"number":"A-0","total":8.20,"customer":{"name":"Ada"}}"#,
        )
        .await;
    assert_eq!(shipped.status, 200, "{}", shipped.text);
}

#[tokio::test]
async fn the_entities_of_an_older_release_are_searched_read_as_they_were_and_written() {
    let (_folder, server) = upgraded("entities.db.gz");
    has_the_orders(&server).await;
}

#[tokio::test]
async fn the_runs_of_an_older_release_go_on() {
    let (_folder, server) = upgraded("runs.db.gz");
    has_the_orders(&server).await;
    let connection = server.connect().await;
    let member = server.connect().await;
    let join = request(
        "CalculationMemberJoinEvent",
        "join",
        json!({"actions": ["charge-payment"]}),
    );
    member.send(join).await;
    // A task of a run that was started, and one of the run that a trigger has started.
    for _ in 0..2 {
        let task = loop {
            let event = member.unasked().await.expect("the stream is open");
            if event.kind == EventType::TaskCalculationRequest {
                break payload_of(&event);
            }
        };
        let answer = json!({"requestId": task["requestId"], "outcome": "success",
            "output": {"charge_id": "c"}});
        let answer = request("TaskCalculationResponse", &member.fresh_id(), answer);
        member.send(answer).await;
    }
    let signal = json!({"runId": "waits", "type": "approval", "payload": {"approver": "me"}});
    connection.ok("RunSignalRequest", signal).await;
    let signal = json!({"runId": "saga", "type": "go", "payload": {}});
    connection.ok("RunSignalRequest", signal).await;
    for run in ["waits", "saga"] {
        until("the run has completed", async || {
            status(&connection, run).await == "completed"
        })
        .await;
    }
    let ticks = found("the run of the trigger", async || {
        let list = json!({"definition": "ticker", "status": ["completed"]});
        let list = connection.ok("RunsGetRequest", list).await["items"].take();
        list.as_array().map(Vec::len).filter(|count| *count > 0)
    });
    assert_eq!(ticks.await, 1);
}

async fn status(connection: &Connection, run: &str) -> String {
    let run = connection.ok("RunGetRequest", json!({"runId": run})).await;
    run["run"]["status"].as_str().expect("a text").to_owned()
}
