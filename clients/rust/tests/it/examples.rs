use std::{
    collections::HashMap,
    env,
    path::PathBuf,
    process::{Output, Stdio},
};

use interlock_client::{Client, Model};
use serde_json::Value;
use tokio::{process::Command, time::timeout};

use crate::support::{PATIENCE, Server};

/// Its processors have tests of their own.
#[path = "../../examples/earthquakes/member.rs"]
#[expect(dead_code, reason = "only its tests are used here")]
mod processors;

/// What the example in Python ends with.
const TABLE: &str = "
earthquake           entities
  ROUTINE                1362
  NOTABLE                 177
  AWAITING_REVIEW          96
  ALERTED                  44
  SET_ASIDE                28
  together               1707

earthquake-alert     entities
  OPEN                     44
  together                 44
";

/// An example, which `cargo test` has built beside the tests.
pub(crate) fn program(name: &str) -> PathBuf {
    let tests = env::current_exe().expect("this program");
    let built = tests
        .parent()
        .and_then(|deps| deps.parent())
        .expect("its folder");
    built.join("examples").join(name)
}

fn earthquakes(server: &str, more: &[&str]) -> Command {
    let mut command = Command::new(program("earthquakes"));
    command
        .args(["--server", server])
        .args(more)
        .kill_on_drop(true);
    command
}

async fn ended(mut command: Command) -> Output {
    let running = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    let ended = timeout(2 * PATIENCE, running)
        .await
        .expect("it ends in time");
    ended.expect("the example")
}

/// Executes it; returns what it prints.
async fn loaded(server: &str, more: &[&str]) -> String {
    let output = ended(earthquakes(server, more)).await;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    printed
}

#[tokio::test]
async fn all_reports_are_loaded_once() {
    let server = Server::start().await;
    let first = loaded(&server.target, &["--with-member"]).await;
    for wanted in [
        "1707 reports added\n",
        "13 automatic reports from magnitude 3 on confirmed\n",
        TABLE,
    ] {
        assert!(first.contains(wanted), "{wanted} is missing in\n{first}");
    }
    let second = loaded(&server.target, &["--with-member"]).await;
    for wanted in [
        "1707 of them are there already\n",
        "\n0 reports added\n",
        TABLE,
    ] {
        assert!(second.contains(wanted), "{wanted} is missing in\n{second}");
    }
    compare(&Client::connect(&server.target).await.expect("it connects")).await;
}

/// Compares reports with alerts, and one report with the file.
async fn compare(client: &Client) {
    let list = async |name: &str| {
        let listed = client.entities().list(Model::new(name, 1)).all().await;
        listed.expect("a list")
    };
    let mut alerts = HashMap::new();
    for alert in list("earthquake-alert").await {
        let report = alert.document::<Value>().expect("a document")["reportId"].take();
        alerts.insert(report.as_str().expect("an id").to_owned(), alert.id);
    }
    let mut reviewed = 0;
    for entity in list("earthquake").await {
        let document: Value = entity.document().expect("a document");
        let id = document["id"].as_str().expect("an id");
        let alert = document["alertId"].as_str();
        assert_eq!(alert, alerts.get(id).map(String::as_str), "of {id}");
        assert_eq!(
            entity.state == "ALERTED",
            alert.is_some(),
            "{id} is {}",
            entity.state
        );
        reviewed += usize::from(document["review"].is_object());
        if id == "ci37868143" {
            let west = &document["geometry"]["coordinates"][0];
            assert_eq!(west.to_string(), "-118.6671667");
            assert_eq!(
                document["assessment"]["energyJoules"].to_string(),
                "63095734"
            );
        }
    }
    assert_eq!(reviewed, 13);
}

#[tokio::test]
async fn member_and_loader_can_be_two_programs() {
    let server = Server::start_with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "10s")]).await;
    let mut member = earthquakes(&server.target, &["--member"])
        .spawn()
        .expect("the member");
    let printed = loaded(&server.target, &[]).await;
    assert!(printed.contains(TABLE), "{printed}");
    member.kill().await.expect("it is killed");
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let server = Server::start().await;
    for (target, advice) in [
        (server.target.as_str(), "No member serves the reports"),
        ("127.0.0.1:1", "Is the server running?"),
    ] {
        let output = ended(earthquakes(target, &[])).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(advice),
            "{errors}"
        );
    }
}
