//! Runs that have stopped and are ended by force, and what becomes of what they had done.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{
    Connection, Rest, Server, code,
    outside::{Behaviour, Outside},
    wait::{found, until},
};

/// The key of a service, in its folder.
const KEY: &str = ".local/share/interlock/interlock.db.key";

/// Sagas whose steps are done without the key, and are not undone without it.
const SAGAS: &str = r#"connector "open" {
  type     = "http"
  base_url = "URL"
}
connector "secret" {
  type     = "http"
  base_url = "URL"
  headers  = { x-key = env("SECRET") }
}
saga "buy" {
  step "one" {
    action {
      connector = "open"
      operation = "POST /one"
    }
    compensate {
      connector = "secret"
      operation = "POST /undo"
    }
  }
  step "two" {
    action {
      connector = "open"
      operation = "POST /two"
    }
    compensate {
      connector = "secret"
      operation = "POST /undo"
    }
  }
  step "three" {
    action {
      connector = "secret"
      operation = "POST /three"
    }
  }
}
saga "ask" {
  step "one" {
    action {
      connector = "open"
      operation = "POST /one"
    }
    compensate {
      connector = "secret"
      operation = "POST /undo"
    }
  }
  step "two" {
    await = "go"
    action {
      connector = "secret"
      operation = "POST /two"
    }
  }
}
"#;

/// A service without the key of its bundle, which is in the file that comes with it.
async fn without_key(outside: &Outside) -> (Server, Connection, PathBuf) {
    let mut server = Server::on_disk(&[("INTERLOCK_RETRY_PAUSE", "1ms")]);
    for line in ["POST /one", "POST /two", "POST /undo"] {
        outside.on(line, Behaviour::Json(200, json!({})));
    }
    let files = json!([{"path": "a.hcl", "text": SAGAS.replace("URL", &outside.url())}]);
    let bundle = json!({"bundle": "shop", "files": files, "variables": {"SECRET": "s3cret-value"}});
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", bundle).await;
    server.kill();
    let kept = server.folder().join("kept");
    fs::rename(server.folder().join(KEY), &kept).expect("moved");
    server.restart();
    let connection = server.connect().await;
    (server, connection, kept)
}

async fn start(connection: &Connection, definition: &str) -> String {
    let payload = json!({"definition": definition, "waitMs": 0});
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

async fn get(connection: &Connection, run: &str) -> Value {
    let got = connection.ok("RunGetRequest", json!({"runId": run})).await;
    got["run"].clone()
}

/// The incident of a run, once there is one.
async fn incident(connection: &Connection, run: &str) -> Value {
    found("an incident", async || {
        let all = connection.ok("IncidentsGetRequest", json!({})).await;
        let items = all["items"].as_array().expect("a list");
        let incident = items.iter().find(|item| item["runId"] == run)?;
        Some(json!({"incidentId": incident["incidentId"]}))
    })
    .await
}

#[tokio::test]
async fn a_saga_that_is_ended_by_force_names_the_steps_that_are_not_undone() {
    let outside = Outside::start().await;
    let (server, connection, _) = without_key(&outside).await;
    let run = start(&connection, "buy").await;
    // What has completed is to be undone first.
    let stopped = incident(&connection, &run).await;
    connection.ok("IncidentCancelRequest", stopped).await;
    assert_ne!(get(&connection, &run).await["status"], "cancelled");
    // That fails for the same reason, so the next cancel ends the run.
    let stopped = incident(&connection, &run).await;
    connection.ok("IncidentCancelRequest", stopped).await;
    let ended = get(&connection, &run).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(ended["compensated"], false, "{ended}");
    assert!(ended["error"]["message"].is_string(), "{ended}");
    let errors = ended["compensationErrors"].as_array().expect("a list");
    let of = |error: &Value| {
        let message = error["message"].as_str().expect("a text").to_owned();
        assert!(message.contains("ended by force"), "{message}");
        error["step"].as_str().expect("a name").to_owned()
    };
    assert_eq!(errors.iter().map(of).collect::<Vec<_>>(), ["two", "one"]);
    let history = json!({"runId": run});
    let history = connection.ok("RunHistoryGetRequest", history).await;
    let items = history["items"].as_array().expect("a list").iter();
    let failed = items.filter(|item| item["eventType"] == "compensation_failed");
    assert_eq!(failed.count(), 2, "{history}");
    let metrics = Rest::new(server.admin).get("/metrics").await.text;
    let mut lines = metrics.lines();
    let counted = "interlock_compensations_total{result=\"failed\"} 2";
    assert!(lines.any(|line| line == counted), "{metrics}");
    let all = connection.ok("IncidentsGetRequest", json!({})).await;
    assert_eq!(all["items"], json!([]));
    let seen: Vec<_> = outside.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(seen, ["POST /one", "POST /two"]);
}

#[tokio::test]
async fn signals_and_cancels_that_need_a_missing_key_say_so() {
    let outside = Outside::start().await;
    let (server, connection, kept) = without_key(&outside).await;
    let run = start(&connection, "ask").await;
    until("it waits for the signal", async || {
        get(&connection, &run).await["waiting"]["for"] == "signal"
    })
    .await;
    let signal = json!({"runId": run, "type": "go"});
    let cancel = json!({"runId": run});
    for (kind, payload) in [("RunSignalRequest", &signal), ("RunCancelRequest", &cancel)] {
        let refused = connection.call(kind, payload.clone()).await;
        assert_eq!(code(&refused), "CONNECTOR_UNAVAILABLE", "{refused}");
        let text = refused.to_string();
        assert!(text.contains("lacks their key"), "{text}");
        assert!(!text.contains("interlock.db.key"), "{text}");
    }
    fs::rename(&kept, server.folder().join(KEY)).expect("moved back");
    connection.ok("RunCancelRequest", cancel).await;
    let ended = get(&connection, &run).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert_eq!(ended["compensated"], true, "{ended}");
}

#[tokio::test]
async fn a_parent_that_could_not_learn_the_end_of_its_child_is_an_incident_and_learns_it_later() {
    let mut server = Server::on_disk(&[("INTERLOCK_RETRY_PAUSE", "1ms")]);
    let connection = server.connect().await;
    for document in [
        "kind: Workflow\nname: below\nversion: \"1\"\nstart:\n\
         \x20 waitForSignal: {type: go, timeoutMs: 2000, onTimeout: flo.TimedOut}\n\
         \x20 transitions: {success: flo.Completed}\n",
        "kind: Workflow\nname: above\nversion: \"1\"\nstart:\n  run: \"@workflow/below\"\n\
         \x20 transitions: {success: flo.Completed, failure: flo.Failed}\n",
    ] {
        let payload = json!({"document": document});
        connection.ok("RunDefinitionCreateRequest", payload).await;
    }
    let parent = start(&connection, "above").await;
    let child = found("a child that waits", async || {
        let below = json!({"parentRunId": parent});
        let below = connection.ok("RunsGetRequest", below).await;
        let child = below["items"].get(0)?;
        let is_waiting = child["status"] == "waiting";
        is_waiting.then(|| child["runId"].as_str().expect("an id").to_owned())
    })
    .await;
    server.kill();
    server.change_stored("update record set body = '!' || body where kind = 2");
    server.restart();
    let connection = server.connect().await;
    let stopped = incident(&connection, &child).await;
    connection.ok("IncidentCancelRequest", stopped).await;
    assert_eq!(get(&connection, &child).await["status"], "cancelled");
    let waiting = incident(&connection, &parent).await;
    assert_eq!(get(&connection, &parent).await["status"], "waiting");
    server.kill();
    server.change_stored("update record set body = substr(body, 2) where kind = 2");
    server.restart();
    let connection = server.connect().await;
    connection.ok("IncidentRetryRequest", waiting).await;
    until("the parent has ended", async || {
        get(&connection, &parent).await["status"] == "failed"
    })
    .await;
}
