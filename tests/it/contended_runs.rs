//! What comes for one run at once, and runs that work on one entity at once: everything is taken, and
//! a conflict is that of the step that has it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, create, governed_model, locked_model,
    scene::{manual, processor, states},
};

/// Longer than a signal takes, and shorter than it would wait for a run that is at work.
const AT_ONCE: Duration = Duration::from_secs(4);

async fn define(connection: &Connection, document: &str) {
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn start(connection: &Connection, payload: Value) -> String {
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

async fn run(connection: &Connection, id: &str) -> Value {
    let payload = json!({"runId": id});
    connection.ok("RunGetRequest", payload).await["run"].take()
}

/// Waits for the end of a run.
async fn ended(connection: &Connection, id: &str) -> Value {
    let follow = json!({"runId": id, "fromSequence": 0});
    connection.all("RunHistorySubscribeRequest", follow).await;
    run(connection, id).await
}

/// Clients that ask at once.
async fn clients(server: &Server) -> Vec<Connection> {
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(server.connect().await);
    }
    clients
}

/// The answers to that many requests, all at once; none fails.
async fn at_once(
    clients: &[Connection],
    kind: &str,
    count: usize,
    payload: impl Fn(usize) -> Value,
) -> Vec<Value> {
    let asked = (0..count).map(|n| clients[n % clients.len()].ok(kind, payload(n)));
    join_all(asked).await
}

const WAITS: &str = "kind: Workflow\nname: waits\nversion: \"1\"\nstart:\n  waitForSignal: {type: end, timeoutMs: 3600000}\n  transitions: {success: flo.Completed}\n";

#[tokio::test]
async fn signals_that_come_at_once_are_all_taken() {
    let server = Server::start();
    let clients = clients(&server).await;
    define(&clients[0], WAITS).await;
    let id = start(&clients[0], json!({"definition": "waits"})).await;
    let signal = |n| json!({"runId": id, "type": "note", "payload": n});
    let signalled = at_once(&clients, "RunSignalRequest", 100, signal).await;
    assert!(signalled.iter().all(|answer| answer["matched"] == false));
    let kept = run(&clients[0], &id).await;
    let kept = kept["signals"].as_array().expect("a list").iter();
    let kept: BTreeSet<_> = kept.map(|signal| signal["payload"].as_u64()).collect();
    assert_eq!(kept.len(), 100, "{kept:?}");
}

#[tokio::test]
async fn reports_of_one_task_that_come_at_once_are_all_answered() {
    let server = Server::start();
    let clients = clients(&server).await;
    let connection = &clients[0];
    let action = json!({"name": "charge"});
    connection.ok("ActionRegisterRequest", action).await;
    let document = "kind: Workflow\nname: charges\nversion: \"1\"\nstart:\n  run: \"@actions/charge\"\n  transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(connection, document).await;
    let worker = json!({"workerId": "w1", "actions": ["charge"]});
    connection.ok("WorkerRegisterRequest", worker.clone()).await;
    let id = start(connection, json!({"definition": "charges"})).await;
    let mut pull = worker;
    pull["blockMs"] = json!(30_000);
    let pulled = connection.ok("TaskAwaitRequest", pull).await;
    let task = &pulled["tasks"][0]["taskId"];
    let complete = |n| json!({"taskId": task, "output": {"n": n}});
    let completed = at_once(&clients, "TaskCompleteRequest", 40, complete).await;
    let applied = completed.iter().filter(|answer| answer["applied"] == true);
    assert_eq!(applied.count(), 1);
    assert_eq!(ended(connection, &id).await["status"], "completed");
}

#[tokio::test]
async fn a_conflict_is_that_of_the_step_that_has_it() {
    let server = Server::start();
    let clients = clients(&server).await;
    let connection = &clients[0];
    let model = locked_model(connection, "docs", json!({"n": 1})).await;
    let cold = create(connection, &model, json!({"n": 1})).await;
    let hot = create(connection, &model, json!({"n": 1})).await;
    let document = r#"
kind: Workflow
name: counts
version: "1"
start:
  run: "@entity/get"
  inputMapping: {"entityId": "$.input.cold"}
  transitions: {success: counted, failure: flo.Cancelled}
steps:
  counted:
    run: "@entity/update"
    inputMapping: {"entityId": "$.input.hot", "patch": {"n": "$.input.n"}}
    retry: {max_attempts: 20, initial_delay_ms: 50, backoff: exponential_jitter}
    transitions: {success: flo.Completed, failure: flo.Failed}
"#;
    define(connection, document).await;
    let input =
        |n| json!({"definition": "counts", "input": {"cold": cold, "hot": hot, "n": n + 2}});
    let started = at_once(&clients, "RunStartRequest", 80, input).await;
    for started in started {
        let id = started["runId"].as_str().expect("an id");
        let run = ended(connection, id).await;
        assert_eq!(run["status"], "completed", "{run}");
        assert_eq!(run["steps"]["start"]["outcome"], "success", "{run}");
    }
}

/// Takes a seat, and then counts on an entity that others change.
const BOOKING: &str = r#"
connector "store" { type = "entity" }
saga "booking" {
  step "hold" {
    action {
      connector = "store"
      operation = "INSERT"
      target    = "seats/1"
      data      = { n = 1 }
    }
    compensate {
      connector = "store"
      operation = "DELETE"
      target    = "seats/1"
      where     = { id = "step.hold.id" }
    }
  }
  step "count" {
    action {
      connector = "store"
      operation = "TRANSITION GO"
      target    = "moved/1"
      where     = { id = "input.hot" }
    }
  }
}
"#;

#[tokio::test]
async fn a_compensation_is_tried_whatever_conflicts_the_step_before_it_has_met() {
    let server = Server::start();
    let connection = server.connect().await;
    let seats = locked_model(&connection, "seats", json!({"n": 1})).await;
    let workflow = states(json!({"A": [manual("GO", "B", processor("SYNC", json!({})))], "B": []}));
    let moved = governed_model(&connection, "moved", json!({"n": 1}), workflow).await;
    let files = json!([{"path": "a.hcl", "text": BOOKING}]);
    let bundle = json!({"bundle": "booking", "files": files});
    connection.ok("BundleApplyRequest", bundle).await;
    let hot = create(&connection, &moved, json!({"n": 1})).await;
    let member = Member::join(&server, &[]).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, id) = (Arc::clone(&calls), hot.clone());
    // Its entity is changed in each try.
    member.serve(move |_, connection| {
        let n = counted.fetch_add(1, Ordering::SeqCst) + 2;
        let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": n}}});
        async move {
            connection.ok("EntityUpdateRequest", update).await;
            Reply::Nothing
        }
    });
    let booking = json!({"definition": "booking", "input": {"hot": hot}, "waitMs": 0});
    let run = start(&connection, booking).await;
    let run = ended(&connection, &run).await;
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(run["compensated"], true, "{run}");
    assert!(calls.load(Ordering::SeqCst) >= 10);
    let all = json!({"model": seats});
    let (left, _) = connection.all("EntityGetAllRequest", all).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn what_is_registered_and_enabled_at_once_is_not_refused() {
    let server = Server::start();
    let clients = clients(&server).await;
    define(&clients[0], WAITS).await;
    let register = |n| json!({"name": "shared", "timeoutMs": 1_000 + n});
    let registered = at_once(&clients, "ActionRegisterRequest", 40, register).await;
    let versions = registered.iter().map(|answer| answer["version"].as_u64());
    let versions: BTreeSet<_> = versions.collect();
    assert_eq!(versions, (1..=40).map(Some).collect());
    let created = registered.iter().filter(|answer| answer["created"] == true);
    assert_eq!(created.count(), 1);
    for (kind, name) in [
        ("ActionSetEnabledRequest", "shared"),
        ("RunDefinitionSetEnabledRequest", "waits"),
    ] {
        let enable = |n| json!({"name": name, "enabled": n % 2 == 0});
        at_once(&clients, kind, 40, enable).await;
    }
}

/// A run whose step asks a member, which signals the run before it answers its first call. How often
/// it was called.
async fn signalled_by_its_member(with_token: bool) -> usize {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = states(json!({"A": [manual("GO", "B", processor("SYNC", json!({})))], "B": []}));
    let model = governed_model(&connection, "moved", json!({"n": 1}), workflow).await;
    let document = r#"
kind: Workflow
name: moves
version: "1"
start:
  run: "@entity/transition"
  inputMapping: {"entityId": "$.input.id", "transition": "GO"}
  transitions: {success: noted, failure: flo.Failed}
steps:
  noted:
    waitForSignal: {type: note, timeoutMs: 60000}
    transitions: {success: flo.Completed}
"#;
    define(&connection, document).await;
    let member = Member::join(&server, &[]).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    member.serve(move |call, connection| {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if !is_first {
                return Reply::Nothing;
            }
            let signal = json!({"runId": "moves", "type": "note"});
            let began = Instant::now();
            let answer = if with_token {
                let quoted = [("cyodatxtoken", call.token())];
                let asked = connection.call_with("RunSignalRequest", signal, &quoted);
                asked.await
            } else {
                connection.call("RunSignalRequest", signal).await
            };
            if answer["success"] == true && began.elapsed() < AT_ONCE {
                Reply::Nothing
            } else {
                Reply::Failure("the signal was refused, or waited for the step")
            }
        }
    });
    let entity = create(&connection, &model, json!({"n": 1})).await;
    let input = json!({"definition": "moves", "runId": "moves", "input": {"id": entity}});
    let id = start(&connection, input).await;
    let run = ended(&connection, &id).await;
    assert_eq!(run["status"], "completed", "{run}");
    calls.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_member_signals_the_run_for_whose_step_it_is_at_work() {
    // The signal is part of the step's commit.
    assert_eq!(signalled_by_its_member(true).await, 1);
    // It is a commit of its own, after which the step is done again. Neither waits for the other.
    assert!(signalled_by_its_member(false).await > 1);
}
