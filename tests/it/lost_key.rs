//! The key that encrypts the variables of bundles is not where the service looks for it.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::support::{
    Server, command,
    outside::{Behaviour, Outside},
    wait::{found, until},
};

/// The key of a service, in its folder.
const KEY: &str = ".local/share/interlock/interlock.db.key";

/// A saga whose second call needs the key.
const SAGA: &str = r#"connector "open" {
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
  }
  step "two" {
    action {
      connector = "secret"
      operation = "POST /two"
    }
  }
}
"#;

#[tokio::test]
async fn a_missing_key_is_named_and_runs_that_need_it_continue_once_it_is_back() {
    let mut server = Server::on_disk(&[("INTERLOCK_RETRY_PAUSE", "1ms")]);
    let outside = Outside::start().await;
    for line in ["POST /one", "POST /two"] {
        outside.on(line, Behaviour::Json(200, json!({})));
    }
    let files = json!([{"path": "a.hcl", "text": SAGA.replace("URL", &outside.url())}]);
    let bundle = json!({"bundle": "shop", "files": files, "variables": {"SECRET": "s3cret-value"}});
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", bundle).await;
    let folder = server.folder();
    let run = async |line: &[&str]| {
        let mut command = command(&folder, &[]);
        command.args(line).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output());
        let output = output.await.expect("no panic").expect("runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let copy = folder.join("copy.db");
    let copy = copy.to_str().expect("a path");
    run(&["backup", copy]).await;
    server.kill();
    let (key, kept) = (folder.join(KEY), folder.join("kept"));
    let restored = run(&["restore", copy, "--replace"]).await;
    assert!(!restored.contains("is missing"), "{restored}");
    fs::rename(&key, &kept).expect("moved");
    let restored = run(&["restore", copy, "--replace"]).await;
    assert!(
        restored.contains("interlock.db.key is missing"),
        "{restored}"
    );
    server.restart();
    until("the start names the bundle and the key", async || {
        let logged = server.logged();
        let mut lines = logged.lines();
        lines.any(|line| {
            line.contains("the variables of bundles cannot be decrypted")
                && line.contains("shop")
                && line.contains("interlock.db.key")
        })
    })
    .await;
    let connection = server.connect().await;
    let start = json!({"definition": "buy", "runId": "mine", "waitMs": 0});
    connection.ok("RunStartRequest", start).await;
    let incident = found("an incident", async || {
        let incidents = connection.ok("IncidentsGetRequest", json!({})).await;
        incidents["items"].get(0).cloned()
    })
    .await;
    assert_eq!(incident["runId"], "mine");
    let reason = incident["reason"].as_str().expect("a reason");
    assert!(reason.contains("it is missing"), "{reason}");
    let logged = server.logged();
    let mut retries = logged.lines();
    assert!(
        retries.any(|line| {
            line.contains("the end of a call could not be stored")
                && line.contains("[ticket: ")
                && line.contains("it is missing")
        }),
        "{logged}"
    );
    fs::rename(&kept, &key).expect("moved back");
    let retry = json!({"incidentId": incident["incidentId"]});
    connection.ok("IncidentRetryRequest", retry).await;
    until("the saga completes", async || {
        let run = connection.ok("RunGetRequest", json!({"runId": "mine"}));
        run.await["run"]["status"] == "completed"
    })
    .await;
    let seen: Vec<_> = outside.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(seen, ["POST /one", "POST /two"], "no call is repeated");
}
