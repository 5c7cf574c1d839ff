//! What starts sagas, by the command line and by routes, and what is counted of them (`runs.md` §7
//! and §9).

use std::{process::Command, time::Instant};

use serde_json::{Value, json};

use crate::support::{
    PATIENCE, Rest, Server, between_looks,
    outside::{Behaviour, Outside},
    wait::{found, until},
};

const SAGAS: &str = r#"connector "api" { type = "rest" }
connector "out" {
  type     = "http"
  base_url = "URL"
}
saga "quick" {
  from {
    connector = "api"
    operation = "POST /quick"
  }
  step "one" {
    action {
      connector = "out"
      operation = "POST /one"
      body      = { who = "input.who" }
    }
    compensate {
      connector = "out"
      operation = "POST /undo-one"
    }
  }
  step "two" {
    action {
      connector = "out"
      operation = "POST /two"
    }
    compensate {
      connector = "out"
      operation = "POST /undo-two"
    }
  }
  step "three" {
    action {
      connector = "out"
      operation = "POST /three"
    }
  }
}
saga "slow" {
  step "wait" { await = "go" }
}
"#;

async fn applied() -> (Server, Outside) {
    applied_to(Server::start()).await
}

async fn applied_to(server: Server) -> (Server, Outside) {
    let outside = Outside::start().await;
    for line in ["one", "two", "three", "undo-one", "undo-two"] {
        let answer = Behaviour::Json(200, json!({"done": line}));
        outside.on(&format!("POST /{line}"), answer);
    }
    let text = SAGAS.replace("URL", &outside.url());
    let files = json!([{"path": "a.hcl", "text": text}]);
    let connection = server.connect().await;
    let apply = json!({"bundle": "shop", "files": files});
    connection.ok("BundleApplyRequest", apply).await;
    (server, outside)
}

/// Runs a command beside a server: its exit code and what it prints.
async fn interlock(server: &Server, line: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlock"));
    command
        .args(line)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env("CYODA_GRPC_PORT", server.grpc.port().to_string());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = tokio::time::timeout(PATIENCE, output).await;
    let output = output
        .expect("it ends")
        .expect("it is joined")
        .expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(output.stdout), text(output.stderr));
    (output.status.code(), out, err)
}

/// A system has done what it answers with success, whatever it answers (`orchestration.md` 2.4).
#[tokio::test]
async fn a_call_whose_answer_cannot_be_stored_is_undone() {
    let (server, outside) = applied().await;
    let answer = Behaviour::Text(200, "x".repeat(2 << 20));
    outside.on("POST /two", answer);
    let line = ["saga", "start", "quick", r#"{"who":"me"}"#];
    let (_, out, _) = interlock(&server, &line).await;
    assert!(out.contains(" compensated: "), "{out}");
    assert!(out.contains("more than 1048576 bytes"), "{out}");
    let seen: Vec<_> = outside.seen().into_iter().map(|seen| seen.line).collect();
    assert!(
        seen.ends_with(&["POST /undo-two".to_owned(), "POST /undo-one".to_owned()]),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_step_of_which_nobody_knows_whether_it_was_done_is_not_called_undone() {
    let (server, outside) = applied().await;
    outside.next("POST /two", Behaviour::Close);
    outside.next("POST /two", Behaviour::Empty(503));
    let line = [
        "saga",
        "start",
        "quick",
        r#"{"who":"me"}"#,
        "--run-id",
        "lost",
    ];
    let (code, out, _) = interlock(&server, &line).await;
    assert_eq!(code, Some(1), "{out}");
    let connection = server.connect().await;
    let errors = found("the repetition is answered", async || {
        let run = connection.ok("RunGetRequest", json!({"runId": "lost"}));
        let run = run.await["run"].take();
        let message = run["compensationErrors"][0]["message"].as_str()?.to_owned();
        (run["compensated"] == false && message.contains("503")).then_some(message)
    });
    assert!(
        errors
            .await
            .starts_with("it is not known whether the step was done")
    );
}

/// The server is still at work when the call that was abandoned is repeated.
#[tokio::test]
async fn a_step_whose_repeat_comes_while_the_first_call_is_done_is_undone() {
    let (server, outside) = applied().await;
    outside.next("POST /two", Behaviour::Close);
    outside.next("POST /two", Behaviour::Empty(409));
    let line = [
        "saga",
        "start",
        "quick",
        r#"{"who":"me"}"#,
        "--run-id",
        "slow",
    ];
    let (code, out, _) = interlock(&server, &line).await;
    assert_eq!(code, Some(1), "{out}");
    let connection = server.connect().await;
    let undone = found("the repetition is answered and undone", async || {
        let run = connection.ok("RunGetRequest", json!({"runId": "slow"}));
        let run = run.await["run"].take();
        (run["compensated"] == true).then_some(run)
    });
    assert_eq!(undone.await["compensationErrors"], Value::Null);
    assert_eq!(outside.seen_at("POST /two").len(), 3);
    assert_eq!(outside.seen_at("POST /undo-two").len(), 1);
}

/// The server is still at work on the call that was out when the service was killed.
#[tokio::test]
async fn a_call_that_was_out_at_a_crash_is_repeated_until_the_server_has_done_it() {
    let (mut server, outside) = applied_to(Server::on_disk(&[])).await;
    outside.next("POST /two", Behaviour::Hang);
    outside.next("POST /two", Behaviour::Empty(409));
    let connection = server.connect().await;
    let start = json!({"definition": "quick", "input": {"who": "me"}, "runId": "out", "waitMs": 0});
    connection.ok("RunStartRequest", start).await;
    until("the call is out", async || {
        outside.seen_at("POST /two").len() == 1
    })
    .await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    found("the saga is completed", async || {
        let run = connection.ok("RunGetRequest", json!({"runId": "out"}));
        (run.await["run"]["status"] == "completed").then_some(())
    })
    .await;
    assert_eq!(outside.seen_at("POST /two").len(), 3);
    assert!(outside.seen_at("POST /undo-two").is_empty());
}

#[tokio::test]
async fn the_command_starts_lists_and_shows_sagas() {
    let (server, outside) = applied().await;
    let run = async |line: &[&str]| interlock(&server, &[&["saga"], line].concat()).await;
    let (code, out, err) = run(&["start", "quick", r#"{"who":"me"}"#]).await;
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(
        out.starts_with("wf_") && out.ends_with(" completed\n"),
        "{out}"
    );
    assert_eq!(outside.seen()[0].body, r#"{"who":"me"}"#);
    let (_, out, _) = run(&["start", "slow", "--run-id", "mine"]).await;
    assert_eq!(out, "mine running\n");
    let (_, out, _) = run(&[
        "start",
        "slow",
        "--format",
        "json",
        "--idempotency-key",
        "k",
    ])
    .await;
    let started: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(started["kind"], "saga");
    let (_, again, _) = run(&["start", "slow", "--idempotency-key", "k"]).await;
    assert_eq!(
        again.split_whitespace().next(),
        started["runId"].as_str(),
        "{again}"
    );
    outside.next("POST /three", Behaviour::Empty(402));
    let (code, out, _) = run(&["start", "quick", r#"{"who":"me"}"#]).await;
    assert_eq!(code, Some(1), "it has not completed");
    assert!(
        out.ends_with(" compensated: step \"three\" failed: POST /three answered 402\n"),
        "{out}"
    );
    let (_, out, _) = run(&["list"]).await;
    let lines: Vec<_> = out.lines().map(|line| &line[..5]).collect();
    assert_eq!(lines, ["SAGA ", "quick", "slow "], "{out}");
    let (_, out, _) = run(&["ls", "--format", "json"]).await;
    assert_eq!(out.lines().count(), 2);
    let (_, out, _) = run(&["show", "slow"]).await;
    assert_eq!(
        out,
        "saga \"slow\" {\n  step \"wait\" { await = \"go\" }\n}\n"
    );
    for (line, expected) in [
        (&["start", "nothing"][..], "RUN_DEFINITION_NOT_FOUND"),
        (&["show", "nothing"], "RUN_DEFINITION_NOT_FOUND"),
        (&["show", "slow", "-n", "other"], "RUN_DEFINITION_NOT_FOUND"),
    ] {
        let (code, out, err) = run(line).await;
        assert_eq!((code, &*out), (Some(1), ""), "{line:?}");
        assert!(err.contains(expected), "{line:?}: {err}");
    }
    for line in [&["start"][..], &["start", "quick", "{"], &["show"], &[]] {
        assert_eq!(run(line).await.0, Some(2), "{line:?}");
    }
}

/// A client that lost the first answer learns how the saga ended.
#[tokio::test]
async fn a_repeated_start_is_answered_with_the_end() {
    let (server, outside) = applied().await;
    let line = ["saga", "start", "quick", r#"{"who":"me"}"#];
    let with_key = |key: &'static str| [&line[..], &["--idempotency-key", key]].concat();
    let completed = interlock(&server, &with_key("good")).await;
    assert!(completed.1.ends_with(" completed\n"), "{completed:?}");
    assert_eq!(interlock(&server, &with_key("good")).await, completed);
    outside.next("POST /three", Behaviour::Empty(402));
    let compensated = interlock(&server, &with_key("declined")).await;
    assert_eq!(compensated.0, Some(1), "{compensated:?}");
    assert_eq!(interlock(&server, &with_key("declined")).await, compensated);
    // The same over HTTP, where the key is that of the request.
    outside.next("POST /three", Behaviour::Empty(402));
    for path in ["/quick", "/api/sagas/quick"] {
        let rest = server.rest().with("idempotency-key", path);
        let first = rest.post(path, r#"{"who":"me"}"#).await.ok();
        let again = rest.post(path, r#"{"who":"me"}"#).await.ok();
        assert_eq!(again, first, "{path}");
    }
    let seen = outside.seen().into_iter();
    let charges = seen.filter(|seen| seen.line == "POST /one").count();
    assert_eq!(charges, 4, "a repeat starts nothing");
}

/// A saga that waits is answered before its end.
#[tokio::test]
async fn a_repeated_start_of_a_saga_that_has_ended_does_not_say_that_it_is_running() {
    let (server, _outside) = applied().await;
    let connection = server.connect().await;
    let line = [
        "saga",
        "start",
        "slow",
        "--run-id",
        "slow-1",
        "--idempotency-key",
        "k",
    ];
    let (code, out, _) = interlock(&server, &line).await;
    assert_eq!((code, &*out), (Some(0), "slow-1 running\n"));
    connection
        .ok("RunCancelRequest", json!({"runId": "slow-1"}))
        .await;
    let (code, out, _) = interlock(&server, &line).await;
    assert_eq!((code, &*out), (Some(1), "slow-1 cancelled\n"));
}

#[tokio::test]
async fn a_run_says_whether_a_route_or_a_caller_has_started_it() {
    let (server, _outside) = applied().await;
    let connection = server.connect().await;
    let rest = server.rest();
    for (path, by) in [("/quick", "route"), ("/api/sagas/quick", "caller")] {
        let ended = rest.post(path, r#"{"who":"me"}"#).await.ok();
        let run = json!({"runId": ended["instance_id"]});
        let shown = connection.ok("RunGetRequest", run).await;
        assert_eq!(shown["run"]["startedBy"], by, "{path}");
    }
    let started = "interlock_runs_started_total{kind=\"saga\",by=\"route\"}";
    assert_eq!(measured(&server, started).await, Some(1));
}

/// The value of a metric.
async fn measured(server: &Server, name: &str) -> Option<u64> {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map(|value| value.trim().parse().expect("a number"))
}

#[tokio::test]
async fn compensations_are_counted_by_their_result() {
    let (server, outside) = applied().await;
    outside.on("POST /three", Behaviour::Empty(402));
    outside.on("POST /undo-one", Behaviour::Empty(500));
    let ended = server.rest().post("/quick", r#"{"who":"me"}"#).await.ok();
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["compensation_errors"][0]["step"], "one");
    for result in ["completed", "failed"] {
        let name = format!("interlock_compensations_total{{result=\"{result}\"}}");
        let begun = Instant::now();
        while measured(&server, &name).await != Some(1) {
            assert!(begun.elapsed() < PATIENCE, "{name}");
            between_looks().await;
        }
    }
}

#[tokio::test]
async fn a_saga_that_was_undone_is_shown_as_such_in_the_list_of_runs() {
    let (server, outside) = applied().await;
    outside.on("POST /two", Behaviour::Empty(402));
    let line = ["saga", "start", "quick", r#"{"who":"me"}"#, "--run-id", "r"];
    let (code, out, _) = interlock(&server, &line).await;
    assert_eq!(code, Some(1), "{out}");
    let (_, runs, _) = interlock(&server, &["flo", "workflow", "list-runs"]).await;
    let (heads, row) = runs.split_once('\n').expect("two lines");
    assert!(heads.ends_with("COMPENSATED  ERROR"), "{runs}");
    let at = heads.find("COMPENSATED").expect("a column");
    assert!(row[at..].starts_with("yes "), "{runs}");
    assert!(row.contains("POST /two answered 402"), "{runs}");
    let status = ["flo", "workflow", "status", "r"];
    let (_, status, _) = interlock(&server, &status).await;
    assert!(status.contains(r#""compensated":true"#), "{status}");
}
