//! Sagas whose connector is a member, and what becomes of calls that nobody waits for any more
//! (`orchestration.md` 2.4).

use std::time::Duration;

use interlock::event::{Event, EventType};
use serde_json::{Value, json};

use crate::support::{
    Connection, Server,
    outside::{Behaviour, Outside},
    payload_of, request,
    wait::{found, until},
};

const SHOP: &str = r#"connector "shop" { type = "member" }
saga "order" {
  step "a" {
    action {
      connector = "shop"
      operation = "POST /a"
    }
    compensate {
      connector = "shop"
      operation = "POST /undo-a"
    }
  }
  step "b" {
    LIMIT
    action {
      connector = "shop"
      operation = "POST /b"
    }
    compensate {
      connector = "shop"
      operation = "POST /undo-b"
    }
  }
}
"#;

async fn applied(limit: &str) -> (Server, Connection) {
    applied_with(limit, &[]).await
}

async fn applied_with(limit: &str, settings: &[(&str, &str)]) -> (Server, Connection) {
    let server = Server::on_disk(settings);
    let connection = server.connect().await;
    let text = SHOP.replace("LIMIT", limit);
    let files = json!([{"path": "a.hcl", "text": text}]);
    let apply = json!({"bundle": "shop", "files": files});
    connection.ok("BundleApplyRequest", apply).await;
    (server, connection)
}

async fn started(connection: &Connection) -> String {
    let start = json!({"definition": "order", "input": {}, "waitMs": 0});
    let started = connection.ok("RunStartRequest", start).await;
    started["runId"].as_str().expect("an id").to_owned()
}

/// A member that serves the connector.
struct Shop(Connection);

impl Shop {
    async fn join(server: &Server) -> Self {
        let connection = server.connect().await;
        let join = json!({"tags": ["connector:shop"]});
        let join = request("CalculationMemberJoinEvent", "join", join);
        connection.send(join).await;
        connection.unasked().await.expect("a greeting");
        Self(connection)
    }

    /// The next call: its operation, and the call.
    async fn call(&self) -> (String, Value) {
        loop {
            let event = self.0.unasked().await.expect("the stream is open");
            if event.kind == EventType::TaskCalculationRequest {
                return called(&event);
            }
        }
    }

    async fn answer(&self, task: &Value) {
        self.says(task, "success").await;
    }

    async fn says(&self, task: &Value, outcome: &str) {
        let answer =
            json!({"requestId": task["requestId"], "outcome": outcome, "output": {"n": 1}});
        let answer = request("TaskCalculationResponse", &self.0.fresh_id(), answer);
        self.0.send(answer).await;
    }

    /// Waits until it is told to end a call, and answers that it has; the calls that came before.
    async fn ends(&self, task: &Value) -> Vec<(String, Value)> {
        let mut before = Vec::new();
        loop {
            let event = self.0.unasked().await.expect("the stream is open");
            if event.kind == EventType::TaskCalculationRequest {
                before.push(called(&event));
            } else if event.kind == EventType::TaskCancelEvent {
                assert_eq!(payload_of(&event)["taskId"], task["taskId"]);
                break;
            }
        }
        let error = json!({"code": "CANCELLED", "message": "it may have been done"});
        let answer = json!({"requestId": task["requestId"], "success": false, "error": error});
        let answer = request("TaskCalculationResponse", &self.0.fresh_id(), answer);
        self.0.send(answer).await;
        before
    }

    /// Does the next calls, which are these.
    async fn does(&self, operations: &[&str]) {
        for expected in operations {
            let (operation, task) = self.call().await;
            assert_eq!(operation, *expected);
            self.answer(&task).await;
        }
    }
}

/// The operation of a call, and the call.
fn called(event: &Event) -> (String, Value) {
    let task = payload_of(event);
    let operation = task["input"]["operation"].as_str().expect("a text");
    (operation.to_owned(), task)
}

/// The run as it is once it is undone.
async fn undone(connection: &Connection, run: &str) -> Value {
    let run = json!({"runId": run});
    found("the saga is undone", async || {
        let shown = connection.ok("RunGetRequest", run.clone()).await["run"].take();
        (shown["compensated"] == true && shown["finishedAt"].is_string()).then_some(shown)
    })
    .await
}

/// The run as it is once it has ended, whatever there is to undo then.
async fn ended(connection: &Connection, run: &str) -> Value {
    let run = json!({"runId": run});
    found("it has ended", async || {
        let shown = connection.ok("RunGetRequest", run.clone()).await["run"].take();
        shown["finishedAt"].is_string().then_some(shown)
    })
    .await
}

/// Whether the call has been done is not known, and nobody is left who would say so.
#[tokio::test]
async fn a_call_that_every_member_lost_is_repeated_once_and_undone() {
    let (server, connection) = applied("").await;
    let run = started(&connection).await;
    let first = Shop::join(&server).await;
    first.does(&["POST /a"]).await;
    let (operation, lost) = first.call().await;
    assert_eq!(operation, "POST /b");
    drop(first);
    for _ in 0..3 {
        let member = Shop::join(&server).await;
        assert_eq!(member.call().await.0, "POST /b");
        drop(member);
    }
    let member = Shop::join(&server).await;
    // The step has failed, so what is certain is undone, and the call is repeated beside it.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (operation, task) = member.call().await;
        if operation == "POST /b" {
            assert_eq!(task["idempotencyKey"], lost["idempotencyKey"]);
        }
        member.answer(&task).await;
        seen.push(operation);
    }
    seen.sort();
    assert_eq!(seen, ["POST /b", "POST /undo-a", "POST /undo-b"]);
    let shown = undone(&connection, &run).await;
    assert_eq!(shown["status"], "failed");
}

/// A member may be at work after the time limit of the step. Its call is repeated when it is gone.
#[tokio::test]
async fn a_call_that_hung_is_repeated_when_its_member_has_left() {
    let (server, connection) = applied("timeout = \"1s\"").await;
    let run = started(&connection).await;
    let hung = Shop::join(&server).await;
    hung.does(&["POST /a"]).await;
    assert_eq!(hung.call().await.0, "POST /b");
    hung.does(&["POST /undo-a"]).await;
    let shown = ended(&connection, &run).await;
    assert_eq!(shown["compensated"], false, "whether b was done is unknown");
    let other = Shop::join(&server).await;
    drop(hung);
    other.does(&["POST /b", "POST /undo-b"]).await;
    undone(&connection, &run).await;
}

/// Nobody has a call any more that its member has ended, so it is repeated without waiting for the
/// member to leave.
#[tokio::test]
async fn a_cancelled_call_that_its_member_has_ended_is_repeated_and_undone_at_once() {
    let (server, connection) = applied("").await;
    let member = Shop::join(&server).await;
    let run = started(&connection).await;
    member.does(&["POST /a"]).await;
    let (operation, ended) = member.call().await;
    assert_eq!(operation, "POST /b");
    let cancel = connection.ok("RunCancelRequest", json!({"runId": run}));
    let (_, ()) = tokio::join!(cancel, async {
        assert!(member.ends(&ended).await.is_empty());
        let (operation, again) = member.call().await;
        assert_eq!(operation, "POST /b");
        assert_eq!(again["idempotencyKey"], ended["idempotencyKey"]);
        member.answer(&again).await;
        member.does(&["POST /undo-b", "POST /undo-a"]).await;
    });
    let shown = undone(&connection, &run).await;
    assert_eq!(shown["status"], "cancelled");
}

/// The same after the time limit of the step, when the saga has ended.
#[tokio::test]
async fn a_late_call_that_its_member_has_ended_is_repeated_and_undone_at_once() {
    let (server, connection) = applied("timeout = \"1s\"").await;
    let member = Shop::join(&server).await;
    let run = started(&connection).await;
    member.does(&["POST /a"]).await;
    let (operation, late) = member.call().await;
    assert_eq!(operation, "POST /b");
    let mut before = member.ends(&late).await.into_iter();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let (operation, task) = match before.next() {
            Some(call) => call,
            None => member.call().await,
        };
        member.answer(&task).await;
        seen.push(operation);
    }
    seen.sort();
    assert_eq!(seen, ["POST /b", "POST /undo-a", "POST /undo-b"]);
    let shown = undone(&connection, &run).await;
    assert_eq!(shown["status"], "failed");
}

/// A step that succeeds after the end is undone, but nobody reports how that ended.
#[tokio::test]
async fn a_late_compensation_that_is_never_reported_is_an_error() {
    let settings = [("INTERLOCK_TASKS_WAIT", "2s")];
    let (server, connection) = applied_with("timeout = \"1s\"", &settings).await;
    let member = Shop::join(&server).await;
    let run = started(&connection).await;
    member.does(&["POST /a"]).await;
    let (operation, late) = member.call().await;
    assert_eq!(operation, "POST /b");
    member.does(&["POST /undo-a"]).await;
    ended(&connection, &run).await;
    member.answer(&late).await;
    let (operation, undo) = member.call().await;
    assert_eq!(operation, "POST /undo-b");
    let errors = |message: &str| json!([{"step": "b", "message": message}]);
    let shown = ended(&connection, &run).await;
    assert_eq!(shown["compensated"], false, "{shown}");
    let expected = errors("the step is not undone yet");
    assert_eq!(shown["compensationErrors"], expected);
    member.says(&undo, "pending").await;
    let expected = errors("no answer came in time");
    let shown = found("the compensation has failed", async || {
        let shown = ended(&connection, &run).await;
        (shown["compensationErrors"] == expected).then_some(shown)
    })
    .await;
    assert_eq!(shown["compensated"], false);
    assert!(shown["waiting"].is_null(), "{shown}");
}

/// Nobody has taken the call, so nothing was done.
#[tokio::test]
async fn a_cancelled_call_that_nobody_has_taken_is_never_made() {
    let (mut server, connection) = applied("").await;
    let run = started(&connection).await;
    let only = Shop::join(&server).await;
    only.does(&["POST /a"]).await;
    drop(only);
    until("b waits", async || {
        let shown = connection.ok("RunGetRequest", json!({"runId": run})).await;
        shown["run"]["currentStep"] == "b"
    })
    .await;
    let other = server.connect().await;
    let cancelling = other.ok("RunCancelRequest", json!({"runId": run}));
    let undoing = async {
        until("a is being undone", async || {
            let history = connection.ok("RunHistoryGetRequest", json!({"runId": run}));
            let history = history.await["items"].take();
            let mut events = history.as_array().expect("a list").iter();
            events.any(|event| event["eventType"] == "compensation_started")
        })
        .await;
        let member = Shop::join(&server).await;
        member.does(&["POST /undo-a"]).await;
        member
    };
    let (cancelled, member) = tokio::join!(cancelling, undoing);
    assert_eq!(cancelled["status"], "cancelled");
    undone(&connection, &run).await;
    drop(member);
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let member = Shop::join(&server).await;
    // A later call shows that nothing came before it.
    let next = started(&connection).await;
    member.does(&["POST /a", "POST /b"]).await;
    until("it has completed", async || {
        let shown = connection.ok("RunGetRequest", json!({"runId": next})).await;
        shown["run"]["status"] == "completed"
    })
    .await;
}

const BANK: &str = r#"connector "bank" {
  type     = "http"
  base_url = "BANK"
}
saga "hold" {
  step "a" {
    action {
      connector = "bank"
      operation = "POST /hold"
    }
  }
}
saga "pay" {
  step "a" {
    timeout = "200ms"
    action {
      connector = "bank"
      operation = "POST /charges"
    }
    compensate {
      connector = "bank"
      operation = "POST /refunds"
    }
  }
}
"#;

/// The call still waits for a connection when its step has timed out.
#[tokio::test]
async fn a_call_that_has_no_connection_in_time_is_never_made() {
    let server = Server::on_disk(&[("INTERLOCK_CONNECTORS_MAX_CONNECTIONS", "1")]);
    let bank = Outside::start().await;
    let held = Behaviour::Json(200, json!({}));
    let slow = Behaviour::After(Duration::from_secs(2), Box::new(held.clone()));
    bank.next("POST /hold", slow).on("POST /hold", held);
    let connection = server.connect().await;
    let files = json!([{"path": "a.hcl", "text": BANK.replace("BANK", &bank.url())}]);
    let apply = json!({"bundle": "bank", "files": files});
    connection.ok("BundleApplyRequest", apply).await;
    let start = |saga: &str, wait: u32| {
        let start = json!({"definition": saga, "input": {}, "waitMs": wait});
        connection.ok("RunStartRequest", start)
    };
    start("hold", 0).await;
    bank.has_seen(1).await;
    let paid = start("pay", 30_000).await;
    assert_eq!(paid["status"], "failed", "{paid}");
    // Its call would have had the connection before this one.
    let held = start("hold", 30_000).await;
    assert_eq!(held["status"], "completed", "{held}");
    assert_eq!(bank.seen().len(), bank.seen_at("POST /hold").len());
    let run = paid["runId"].as_str().expect("an id");
    let shown = found("nothing is to be undone", async || {
        let shown = ended(&connection, run).await;
        (shown["compensated"] == true).then_some(shown)
    })
    .await;
    assert!(shown["compensationErrors"].is_null(), "{shown}");
}
