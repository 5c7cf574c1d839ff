//! The command `flo` beside a running service (`runs.md` §4.1): the session of the transcript, and
//! every line of the table.

use std::{
    io::Write as _,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::Server;

const APPROVAL: &str = include_str!("fixtures/flo/order-approval.yaml");
const EACH: Duration = Duration::from_secs(30);

/// A shell in which `flo` is a link to the program.
struct Shell {
    folder: tempfile::TempDir,
    port: u16,
}

/// What a line printed.
#[derive(Debug)]
struct Printed {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Shell {
    fn beside(server: &Server) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("flo");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_interlock"), link).expect("a link");
        Self {
            folder,
            port: server.grpc.port(),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.folder.path().join("flo"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("CYODA_GRPC_PORT", self.port.to_string())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    async fn run_with(&self, arguments: &[&str], input: &str) -> Printed {
        let mut child = self.command(arguments).spawn().expect("starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // One that reads no input may have ended.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = end_of(child).await;
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Printed {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    async fn run(&self, arguments: &[&str]) -> Printed {
        self.run_with(arguments, "").await
    }

    /// What a line that succeeds prints, without the line's end.
    async fn line(&self, arguments: &[&str]) -> String {
        let printed = self.run(arguments).await;
        assert_eq!(printed.code, Some(0), "{arguments:?}: {printed:?}");
        printed.out.trim_end().to_owned()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        let line = self.line(arguments).await;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{arguments:?}: {line}"))
    }

    /// What a line prints once it is what is waited for.
    async fn until(&self, arguments: &[&str], wanted: impl Fn(&str) -> bool) -> String {
        let waiting = async {
            loop {
                let line = self.line(arguments).await;
                if wanted(&line) {
                    return line;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(EACH, waiting)
            .await
            .unwrap_or_else(|_| panic!("{arguments:?} never prints that"))
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("writes");
    }
}

/// Waits for the end of a process, which is killed if it takes too long.
async fn end_of(child: Child) -> Output {
    let id = child.id().to_string();
    let mut ending = tokio::task::spawn_blocking(move || child.wait_with_output());
    if let Ok(ended) = tokio::time::timeout(EACH, &mut ending).await {
        return ended.expect("no panic").expect("ends");
    }
    let killed = Command::new("kill").args(["-KILL", &id]).status();
    panic!("the process does not end by itself: {killed:?}");
}

#[tokio::test]
async fn the_shell_session_of_the_transcript_works_as_printed() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    shell.write("order-approval.yaml", APPROVAL);
    let create = ["workflow", "create", "-f", "order-approval.yaml"];
    assert_eq!(
        shell.line(&create).await,
        "Created workflow: order-approval"
    );
    let register = ["action", "register", "charge-payment", "--timeout", "10000"];
    assert_eq!(
        shell.line(&register).await,
        "Registered action: charge-payment (version 1)"
    );
    let input = r#"{"order_id":"ORD-123","amount":99.99}"#;
    let start = [
        "workflow",
        "start",
        "order-approval",
        input,
        "--idempotency-key",
        "order-123",
    ];
    let run = shell.line(&start).await;
    assert!(run.starts_with("wfrun-"), "{run}");
    assert_eq!(shell.line(&start).await, run, "the key is that of the run");
    let worker = ["worker", "register", "w1", "--actions", "charge-payment"];
    assert_eq!(shell.line(&worker).await, "Registered worker: w1");
    let task = shell
        .json(&["worker", "await", "w1", "--actions", "charge-payment"])
        .await;
    assert_eq!(task["input"], json!({"order": "ORD-123", "amount": 99.99}));
    assert_eq!(
        (&task["kind"], &task["name"], &task["attempt"]),
        (&json!("action"), &json!("charge-payment"), &json!(1))
    );
    let task = task["taskId"].as_str().expect("an id").to_owned();
    let complete = ["worker", "complete", &task, r#"{"charge_id":"ch_1"}"#];
    assert_eq!(
        shell.line(&complete).await,
        format!("Completed task: {task}")
    );
    let status = ["workflow", "status", &run];
    let waiting = shell
        .until(&status, |line| line.contains(r#""wait_signal""#))
        .await;
    let waiting: Value = serde_json::from_str(&waiting).expect("JSON");
    assert_eq!(waiting["wait_signal"], json!("approval"));
    assert_eq!(waiting["current_step"], json!("await_approval"));
    let payload = r#"{"decision":"approved","approver":"manager@co.com"}"#;
    let signal = ["workflow", "signal", &run, "--type", "approval", payload];
    assert_eq!(
        shell.line(&signal).await,
        format!("Signal approval delivered to {run}; its status is now completed")
    );
    let line = shell.line(&status).await;
    let shown: Value = serde_json::from_str(&line).expect("JSON");
    let time = |name: &str| shown[name].as_str().expect("a time").to_owned();
    let (t0, t1, t2) = (time("created_at"), time("started_at"), time("completed_at"));
    assert_eq!(
        line,
        format!(
            r#"{{"run_id":"{run}","workflow":"order-approval","version":"1.0.0","status":"completed","input":{{"order_id":"ORD-123","amount":99.99}},"output":{{"charge":"ch_1","by":"manager@co.com"}},"created_at":"{t0}","started_at":"{t1}","completed_at":"{t2}"}}"#
        )
    );
    let input = shell.line(&["workflow", "status", &run, "--input"]).await;
    assert_eq!(input, r#"{"order_id":"ORD-123","amount":99.99}"#);
    let again = shell.run(&signal).await;
    assert_eq!((again.code, &*again.out), (Some(1), ""));
    assert!(again.err.contains("RUN_FINISHED"), "{}", again.err);
}

#[tokio::test]
async fn a_history_is_a_table_or_lines_of_json_and_can_be_followed_to_its_end() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    let start = ["workflow", "start", "waits"];
    shell.write("waits.yaml", WAITS);
    shell
        .line(&["workflow", "create", "-f", "waits.yaml"])
        .await;
    let run = shell.line(&start).await;
    let follow = ["workflow", "history", &run, "--follow", "--format", "json"];
    let following = shell.command(&follow).spawn().expect("starts");
    shell
        .until(&["workflow", "status", &run], |line| {
            line.contains("waiting")
        })
        .await;
    shell
        .line(&["workflow", "signal", &run, "--type", "go", "--payload", "7"])
        .await;
    let output = end_of(following).await;
    let followed = String::from_utf8(output.stdout).expect("text");
    let events: Vec<Value> = followed
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event_type"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "workflow_started",
            "step_started",
            "waiting_for_signal",
            "signal_received",
            "signal_matched",
            "step_completed",
            "workflow_completed",
        ]
    );
    assert!(events.iter().all(|event| event["timestamp_ms"].is_i64()));
    let table = shell.line(&["workflow", "history", &run]).await;
    assert_eq!(table.lines().count(), 8, "{table}");
    assert!(table.starts_with("SEQUENCE  TIME"), "{table}");
    let last = shell
        .line(&["workflow", "history", &run, "--from", "6", "--limit", "5"])
        .await;
    assert_eq!(last.lines().count(), 2, "{last}");
    assert!(
        last.ends_with("workflow_completed       flo.Completed"),
        "{last}"
    );
}

const WAITS: &str = "\
kind: Workflow
name: waits
version: \"1\"
start:
  waitForSignal:
    type: go
    timeoutMs: 60000
    onTimeout: flo.TimedOut
  transitions:
    success: flo.Completed
";

#[tokio::test]
async fn definitions_are_listed_shown_disabled_enabled_and_deleted() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    let created = shell
        .run_with(&["workflow", "create", "-f", "-"], WAITS)
        .await;
    assert_eq!(created.out, "Created workflow: waits\n", "{}", created.err);
    let described = format!("{WAITS}description: as before\n");
    for (document, word) in [
        (WAITS, "Unchanged"),
        (&described, "Replaced"),
        (WAITS, "Replaced"),
    ] {
        let again = shell.run_with(&["workflow", "create", "-f", "-"], document);
        let expected = format!("{word} workflow: waits (version 1)\n");
        assert_eq!(again.await.out, expected);
    }
    let listed = shell.line(&["workflow", "ls"]).await;
    assert!(
        listed
            .lines()
            .nth(1)
            .expect("a row")
            .starts_with("waits  flo   1 "),
        "{listed}"
    );
    for show in ["definition", "def", "show"] {
        assert_eq!(
            shell.line(&["workflow", show, "waits"]).await,
            WAITS.trim_end()
        );
    }
    let disable = ["workflow", "disable", "waits"];
    assert_eq!(shell.line(&disable).await, "Disabled workflow: waits");
    let refused = shell.run(&["workflow", "start", "waits"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.err.contains("RUN_DEFINITION_DISABLED"),
        "{}",
        refused.err
    );
    let enable = ["workflow", "enable", "waits"];
    assert_eq!(shell.line(&enable).await, "Enabled workflow: waits");
    let run = shell
        .line(&[
            "workflow",
            "run",
            "waits",
            "--run-id",
            "mine",
            "--version",
            "1",
        ])
        .await;
    assert_eq!(run, "mine");
    let runs = shell.line(&["workflow", "list-runs", "waits"]).await;
    assert!(
        runs.lines()
            .nth(1)
            .expect("a row")
            .starts_with("mine  waits     1 "),
        "{runs}"
    );
    let cancel = ["workflow", "cancel", "mine", "--reason", "enough"];
    assert_eq!(
        shell.line(&cancel).await,
        "Cancel requested for mine; its status is now cancelled"
    );
    let cancelled = [
        "workflow",
        "runs",
        "--status",
        "cancelled",
        "--format",
        "json",
    ];
    assert_eq!(shell.json(&cancelled).await["runId"], json!("mine"));
    let delete = ["workflow", "delete", "waits"];
    assert_eq!(shell.line(&delete).await, "Deleted workflow: waits");
    let gone = shell.run(&["workflow", "show", "waits"]).await;
    assert_eq!(gone.code, Some(1));
    assert!(
        gone.err.contains("RUN_DEFINITION_NOT_FOUND"),
        "{}",
        gone.err
    );
}

#[tokio::test]
async fn a_refused_document_prints_its_findings_and_bad_arguments_are_exit_code_2() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    let wrong = WAITS.replace("success: flo.Completed", "success: nowhere");
    let refused = shell
        .run_with(&["workflow", "create", "-f", "-"], &wrong)
        .await;
    assert_eq!((refused.code, &*refused.out), (Some(1), ""));
    assert!(refused.err.starts_with("[E201] error: "), "{}", refused.err);
    assert!(refused.err.contains("\n1 error, "), "{}", refused.err);
    assert!(refused.err.contains("VALIDATION_FAILED"), "{}", refused.err);
    for wrong in [
        &["workflow", "start", "waits", "{no json"][..],
        &["workflow", "start"],
        &["workflow", "status", "r", "-n", "no namespace"],
        &["worker", "await", "w1"],
        &["action", "invoke", "act"],
    ] {
        assert_eq!(shell.run(wrong).await.code, Some(2), "{wrong:?}");
    }
    let nowhere = shell
        .run(&["workflow", "list", "--address", "127.0.0.1:1"])
        .await;
    assert_eq!(nowhere.code, Some(1));
    assert!(
        nowhere.err.contains("cannot reach the service"),
        "{}",
        nowhere.err
    );
}

#[tokio::test]
async fn a_start_without_the_key_that_is_required_makes_one() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    shell.write("order-approval.yaml", APPROVAL);
    shell
        .line(&["workflow", "create", "-f", "order-approval.yaml"])
        .await;
    let started = shell
        .run(&["workflow", "start", "order-approval", "--format", "json"])
        .await;
    assert_eq!(started.code, Some(0), "{}", started.err);
    let key = started
        .err
        .trim_end()
        .strip_prefix("idempotency key: ")
        .expect("it is reported");
    let run: Value = serde_json::from_str(&started.out).expect("JSON");
    let again = shell
        .line(&[
            "workflow",
            "start",
            "order-approval",
            "--idempotency-key",
            key,
        ])
        .await;
    assert_eq!(run, json!({"run_id": again}));
}

#[tokio::test]
async fn actions_are_registered_invoked_listed_and_deleted() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    let register = [
        "action",
        "register",
        "act",
        "--max-retries",
        "1",
        "--owner",
        "billing",
        "--tags",
        "a,b",
        "--dispatch",
        "task",
    ];
    shell.line(&register).await;
    shell.line(&["action", "register", "plain"]).await;
    assert_eq!(
        shell.line(&["action", "register", "plain"]).await,
        "Registered action: plain (version 2)"
    );
    let listed = shell.line(&["action", "list"]).await;
    let rows: Vec<&str> = listed.lines().skip(1).collect();
    assert!(
        rows[0].starts_with("act ") && rows[0].ends_with(" billing"),
        "{listed}"
    );
    let task = shell
        .json(&["action", "invoke", "plain", r#"{"n":1}"#])
        .await;
    let id = task["taskId"].as_str().expect("an id");
    assert_eq!(task["input"], json!({"n": 1}));
    shell
        .line(&["worker", "register", "w1", "--actions", "plain,act"])
        .await;
    let taken = shell
        .json(&[
            "worker",
            "await",
            "w1",
            "--actions",
            "plain,act",
            "--block",
            "20000",
        ])
        .await;
    assert_eq!(taken["taskId"], json!(id));
    let touched = shell.line(&["worker", "touch", id]).await;
    assert!(
        touched.starts_with(&format!("Extended task: {id} until ")),
        "{touched}"
    );
    let failed = shell
        .line(&["worker", "fail", id, "no luck", "--code", "unlucky"])
        .await;
    assert_eq!(failed, format!("Failed task: {id}"));
    let status = shell
        .until(&["action", "status", id], |line| line.contains("failed"))
        .await;
    assert!(status.contains("no luck"), "{status}");
    let runs = shell.line(&["action", "runs", "plain"]).await;
    assert!(
        runs.lines().nth(1).expect("a row").starts_with(id),
        "{runs}"
    );
    let info = shell.json(&["worker", "info", "w1"]).await;
    assert_eq!(info["workerId"], json!("w1"));
    assert_eq!(
        shell.line(&["worker", "drain", "w1"]).await,
        "Draining worker: w1"
    );
    let workers = shell.line(&["worker", "list"]).await;
    assert!(
        workers.lines().nth(1).expect("a row").starts_with("w1 "),
        "{workers}"
    );
    assert_eq!(
        shell.line(&["action", "disable", "plain"]).await,
        "Disabled action: plain"
    );
    let refused = shell.run(&["action", "invoke", "plain", "{}"]).await;
    assert!(refused.err.contains("ACTION_DISABLED"), "{}", refused.err);
    assert_eq!(
        shell.line(&["action", "enable", "plain"]).await,
        "Enabled action: plain"
    );
    assert_eq!(
        shell.line(&["action", "delete", "plain"]).await,
        "Deleted action: plain"
    );
}

#[tokio::test]
async fn events_are_appended_to_a_stream_and_read() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    let append = ["stream", "append", "orders", r#"{"n":1.50}"#];
    assert_eq!(shell.line(&append).await, "1");
    let typed = [
        "stream",
        "append",
        "orders",
        "[2]",
        "--key",
        "C-7",
        "--type",
        "order.placed",
    ];
    assert_eq!(shell.line(&typed).await, "2");
    let read = shell.line(&["stream", "read", "orders"]).await;
    assert_eq!(read.lines().count(), 2, "{read}");
    assert!(read.contains(r#""payload":{"n":1.50}"#), "{read}");
    let second = shell
        .json(&["stream", "read", "orders", "--from", "1"])
        .await;
    assert_eq!(
        (
            &second["sequence"],
            &second["payload"],
            &second["key"],
            &second["type"]
        ),
        (
            &json!(2),
            &json!([2]),
            &json!("C-7"),
            &json!("order.placed")
        )
    );
    let other = shell
        .run(&["stream", "read", "orders", "-n", "billing"])
        .await;
    assert!(other.err.contains("TOPIC_NOT_FOUND"), "{}", other.err);
}

#[tokio::test]
async fn a_stream_of_large_events_is_read_to_its_end() {
    let server = Server::start();
    let shell = Shell::beside(&server);
    let connection = server.connect().await;
    let event = json!({"payload": {"text": "x".repeat(900_000)}});
    for _ in 0..6 {
        let events = json!({"topic": "scans", "events": [event]});
        connection.ok("TopicPublishRequest", events).await;
    }
    let read = shell.line(&["stream", "read", "scans"]).await;
    assert_eq!(read.lines().count(), 6);
}
