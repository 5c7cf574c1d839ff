//! Runs over several processes: taken over from those that are gone, and advanced by any.

use std::time::Duration;

use interlock::event::{Event, EventType};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};

use super::{LIVE, becomes, node, node_with};
use crate::support::{
    Connection, PATIENCE, Server, backend, between_looks, code, database::Database, payload_of,
    request,
};

/// A workflow of two steps, each of which runs an action.
const DOCUMENT: &str = r#"
kind: Workflow
name: two-steps
version: "1"
start:
  run: "@actions/charge"
  transitions: {success: ship, failure: flo.Failed}
steps:
  ship:
    run: "@actions/ship"
    transitions: {success: flo.Completed, failure: flo.Failed}
"#;

/// A workflow that waits for a signal, for some seconds.
const ASLEEP: &str = r#"
kind: Workflow
name: asleep
version: "1"
start:
  waitForSignal: {type: never, timeoutMs: 4000, onTimeout: flo.Completed}
  transitions: {success: flo.Failed}
"#;

pub(super) const ENDED: &str = "select count(*) from run where ended is not null";

/// How often actions were completed.
const COMPLETED: &str = "select count(*) from run_event e, json_array_elements(e.record::json) h \
                         where h::text like '%action_completed%'";

/// Two processes over a database, and a client of the first, which has registered the actions and
/// the workflows.
pub(super) async fn scene(settings: &[(&str, &str)]) -> (Database, [Server; 2], Connection) {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let nodes = [node_with(&url, settings), node_with(&url, settings)];
    becomes(&database, LIVE, "2", PATIENCE).await;
    let connection = nodes[0].connect().await;
    for action in ["charge", "ship"] {
        let payload = json!({"name": action});
        connection.ok("ActionRegisterRequest", payload).await;
    }
    for document in [DOCUMENT, ASLEEP] {
        let payload = json!({"document": document});
        connection.ok("RunDefinitionCreateRequest", payload).await;
    }
    (database, nodes, connection)
}

pub(super) async fn start(connection: &Connection, definition: &str) -> String {
    let payload = json!({"definition": definition, "input": {"amount": 1}});
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

/// The types of the events of a run's history.
async fn history(connection: &Connection, run: &str) -> Vec<String> {
    let payload = json!({"runId": run, "limit": 1000});
    let page = connection.ok("RunHistoryGetRequest", payload).await;
    let items = page["items"].as_array().expect("a list").iter();
    items
        .map(|item| item["eventType"].as_str().expect("a type").to_owned())
        .collect()
}

async fn status(connection: &Connection, run: &str) -> String {
    let payload = json!({"runId": run});
    let found = connection.ok("RunGetRequest", payload).await;
    found["run"]["status"]
        .as_str()
        .expect("a status")
        .to_owned()
}

/// The number of the node that drives a run.
fn driver(database: &Database) -> String {
    database.execute("select owner from run where out")
}

/// A member that does both actions.
struct Doer(Connection);

impl Doer {
    async fn join(server: &Server) -> Self {
        let connection = server.connect().await;
        let announced = json!({"actions": ["charge", "ship"]});
        let join = request("CalculationMemberJoinEvent", "join", announced);
        connection.send(join).await;
        let greeting = connection.unasked().await.expect("a greeting");
        assert_eq!(greeting.kind, EventType::CalculationMemberGreetEvent);
        Self(connection)
    }

    async fn next(&self, kind: EventType) -> Event {
        let next = async {
            loop {
                let event = self.0.unasked().await.expect("the stream is open");
                if event.kind == kind {
                    return event;
                }
            }
        };
        timeout(PATIENCE, next).await.expect("an event")
    }

    async fn task(&self) -> Value {
        payload_of(&self.next(EventType::TaskCalculationRequest).await)
    }

    async fn answer(&self, task: &Value) {
        let answer = json!({"requestId": task["requestId"], "output": {}});
        let answer = request("TaskCalculationResponse", &self.0.fresh_id(), answer);
        self.0.send(answer).await;
    }
}

pub(super) async fn register(connection: &Connection, worker: &str) {
    let payload = json!({"workerId": worker, "actions": ["charge", "ship"]});
    connection.ok("WorkerRegisterRequest", payload).await;
}

/// The task that a worker is given, which waits for one.
async fn pull(connection: &Connection, worker: &str) -> Value {
    let payload = json!({"workerId": worker, "actions": ["*"], "blockMs": 30_000});
    let answer = connection.ok("TaskAwaitRequest", payload).await;
    answer["tasks"][0].clone()
}

#[tokio::test]
async fn runs_whose_process_was_killed_are_finished_by_another() {
    let (database, mut nodes, connection) = scene(&[]).await;
    let first = Doer::join(&nodes[0]).await;
    let mut tasks = Vec::new();
    for _ in 0..20 {
        start(&connection, "two-steps").await;
        tasks.push(first.task().await["taskId"].to_string());
    }
    let owner = "select count(*) from run where out and owner = (select min(i) from node)";
    becomes(&database, owner, "20", PATIENCE).await;
    let second = Doer::join(&nodes[1]).await;
    nodes[0].kill();
    let mut again = Vec::new();
    while again.len() < 20 {
        let task = second.task().await;
        second.answer(&task).await;
        if task["name"] == "charge" {
            again.push(task["taskId"].to_string());
        }
    }
    tasks.sort();
    again.sort();
    assert_eq!(tasks, again, "the same tasks are sent again");
    let served = async {
        loop {
            let task = second.task().await;
            second.answer(&task).await;
        }
    };
    tokio::select! {
        () = served => {}
        () = becomes(&database, ENDED, "20", PATIENCE) => {}
    }
    assert_eq!(database.execute(COMPLETED), "40");
    assert_eq!(
        database.execute("select count(*) from run where owner is not null"),
        "0"
    );
}

/// A workflow whose only step gives its action an input, which an event of the run holds.
const MAPPED: &str = r#"
kind: Workflow
name: mapped
version: "1"
start:
  run: "@actions/charge"
  inputMapping: {"n": "$.input.amount"}
  transitions: {success: flo.Completed, failure: flo.Failed}
"#;

#[tokio::test]
async fn the_input_of_a_task_is_found_in_whatever_order_advances_are_stored() {
    let (database, nodes, connection) = scene(&[]).await;
    let payload = json!({"document": MAPPED});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    start(&connection, "mapped").await;
    // As if it had been taken over, and the database had put that advance into the place of a row
    // that was removed before.
    database.execute("insert into run_event select 0, r, last, '[]' from run_event");
    database.execute(
        "with moved as (delete from run_event where n > 0 returning *) \
         insert into run_event select * from moved",
    );
    let doer = Doer::join(&nodes[1]).await;
    let task = doer.task().await;
    assert_eq!(task["input"], json!({"n": 1}), "{task}");
    doer.answer(&task).await;
    becomes(&database, ENDED, "1", PATIENCE).await;
}

#[tokio::test]
async fn an_answer_at_another_process_advances_the_run_once() {
    let (database, nodes, connection) = scene(&[]).await;
    register(&connection, "w1").await;
    let other = nodes[1].connect().await;
    register(&other, "w2").await;
    let run = start(&connection, "two-steps").await;
    let before = driver(&database);
    let task = pull(&connection, "w1").await;
    let asked = json!({"taskId": task["taskId"]});
    let shown = other.ok("TaskGetRequest", asked.clone()).await;
    let here = connection.ok("TaskGetRequest", asked).await;
    assert_eq!(shown["task"]["takenBy"], "w1", "{shown}");
    assert_eq!(shown["task"], here["task"]);
    let done = json!({"taskId": task["taskId"], "output": {}});
    let completed = other.ok("TaskCompleteRequest", done.clone()).await;
    assert_eq!(completed["applied"], true);
    // The process that took the answer continues the run.
    let next = pull(&other, "w2").await;
    assert_eq!(next["name"], "ship");
    assert_ne!(driver(&database), before);
    let late = connection.ok("TaskCompleteRequest", done).await;
    assert_eq!(late["applied"], false);
    let done = json!({"taskId": next["taskId"], "workerId": "w2", "output": {}});
    let completed = other.ok("TaskCompleteRequest", done).await;
    assert_eq!(completed["applied"], true);
    assert_eq!(status(&connection, &run).await, "completed");
    let history = history(&other, &run).await;
    let count = |kind: &str| history.iter().filter(|one| *one == kind).count();
    assert_eq!(
        (count("action_completed"), count("late_answer")),
        (2, 1),
        "{history:?}"
    );
}

#[tokio::test]
async fn a_process_that_starts_sends_no_tasks_of_a_live_one() {
    let (database, nodes, connection) = scene(&[]).await;
    let first = Doer::join(&nodes[0]).await;
    let run = start(&connection, "two-steps").await;
    let task = first.task().await;
    let before = driver(&database);
    let third = node(&database.url());
    becomes(&database, LIVE, "3", PATIENCE).await;
    let member = Doer::join(&third).await;
    let newest = database.execute("select max(i) from node");
    let since = format!(
        "select count(*) from node where i = {newest} and beat > {} + 4000000",
        database.execute("select max(beat) from node")
    );
    becomes(&database, &since, "1", PATIENCE).await;
    assert_eq!(driver(&database), before);
    // Its member is given what is started there, and nothing else.
    let there = third.connect().await;
    let own = start(&there, "two-steps").await;
    let given = member.task().await;
    assert!(
        given["taskId"].as_str().expect("an id").starts_with(&own),
        "{given}"
    );
    first.answer(&task).await;
    assert_eq!(first.task().await["name"], "ship");
    assert_ne!(status(&there, &run).await, "completed");
}

#[tokio::test]
async fn a_run_that_is_cancelled_elsewhere_cancels_its_task() {
    let (_database, nodes, connection) = scene(&[]).await;
    let doer = Doer::join(&nodes[0]).await;
    let run = start(&connection, "two-steps").await;
    let task = doer.task().await;
    let other = nodes[1].connect().await;
    // A signal that nothing waits for leaves the task where it is.
    let signal = json!({"runId": run, "type": "news", "payload": {}});
    other.ok("RunSignalRequest", signal).await;
    let cancel = json!({"runId": run});
    other.ok("RunCancelRequest", cancel).await;
    let cancelled = payload_of(&doer.next(EventType::TaskCancelEvent).await);
    assert_eq!(cancelled["taskId"], task["taskId"]);
    assert_eq!(status(&connection, &run).await, "cancelled");
}

#[tokio::test]
async fn a_task_that_was_handed_over_is_cancelled_with_its_run() {
    let (_database, nodes, connection) = scene(&[]).await;
    let doer = Doer::join(&nodes[1]).await;
    let run = start(&connection, "two-steps").await;
    let task = doer.task().await;
    connection
        .ok("RunCancelRequest", json!({"runId": run}))
        .await;
    let cancelled = payload_of(&doer.next(EventType::TaskCancelEvent).await);
    assert_eq!(cancelled["taskId"], task["taskId"]);
}

#[tokio::test]
async fn a_task_that_was_handed_over_and_reported_elsewhere_is_not_handed_out_again() {
    let (_database, nodes, connection) = scene(&[("INTERLOCK_TASKS_LEASE", "5s")]).await;
    let other = nodes[1].connect().await;
    // Nobody does the next step.
    let worker = json!({"workerId": "w1", "actions": ["charge"]});
    other.ok("WorkerRegisterRequest", worker).await;
    start(&connection, "two-steps").await;
    let wait = |ms| json!({"workerId": "w1", "actions": ["charge"], "blockMs": ms});
    let given = other.ok("TaskAwaitRequest", wait(30_000)).await;
    let id = &given["tasks"][0]["taskId"];
    let done = json!({"taskId": id, "workerId": "w1", "output": {}});
    let completed = connection.ok("TaskCompleteRequest", done).await;
    assert_eq!(completed["applied"], true);
    // For longer than the lease of the worker.
    let again = other.ok("TaskAwaitRequest", wait(8_000)).await;
    assert_eq!(again["tasks"], json!([]), "{again}");
}

#[tokio::test]
async fn runs_that_sleep_at_a_killed_process_wake_at_another() {
    let (database, mut nodes, connection) = scene(&[]).await;
    for _ in 0..50 {
        start(&connection, "asleep").await;
    }
    nodes[0].kill();
    becomes(&database, ENDED, "50", Duration::from_secs(14)).await;
    let completed = nodes[1].connect().await;
    let page = json!({"definition": "asleep", "status": ["completed"], "limit": 1000});
    let page = completed.ok("RunsGetRequest", page).await;
    assert_eq!(page["items"].as_array().expect("a list").len(), 50);
}

#[tokio::test]
async fn a_lease_is_kept_when_another_process_takes_the_run_over() {
    let (database, mut nodes, connection) = scene(&[("INTERLOCK_TASKS_LEASE", "60s")]).await;
    register(&connection, "w1").await;
    let run = start(&connection, "two-steps").await;
    let task = pull(&connection, "w1").await;
    let id = &task["taskId"];
    let stored = "select count(*) from record where kind = 9";
    becomes(&database, stored, "1", PATIENCE).await;
    let before = driver(&database);
    nodes[0].kill();
    let taken = format!("select count(*) from run where out and owner <> {before}");
    becomes(&database, &taken, "1", PATIENCE).await;
    let other = nodes[1].connect().await;
    register(&other, "w2").await;
    let held = async {
        loop {
            let shown = other.ok("TaskGetRequest", json!({"taskId": id})).await;
            if shown["task"]["takenBy"] == "w1" {
                return;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, held).await.expect("the lease is found");
    let stolen = json!({"taskId": id, "workerId": "w2"});
    let stolen = other.call("TaskCompleteRequest", stolen).await;
    assert_eq!(code(&stolen), "TASK_LEASE_LOST");
    let done = json!({"taskId": id, "workerId": "w1", "output": {}});
    let completed = other.ok("TaskCompleteRequest", done).await;
    assert_eq!(completed["applied"], true);
    assert_eq!(pull(&other, "w2").await["name"], "ship");
    assert_ne!(status(&other, &run).await, "completed");
}

#[tokio::test]
async fn tasks_without_a_taker_are_done_by_members_and_workers_of_other_processes() {
    let (database, nodes, connection) = scene(&[]).await;
    let other = nodes[1].connect().await;
    register(&other, "w1").await;
    let mut runs = Vec::new();
    for _ in 0..10 {
        runs.push(start(&connection, "two-steps").await);
    }
    // Each run is handed over for its first task; the second one is sent there.
    for _ in 0..20 {
        let task = pull(&other, "w1").await;
        let done = json!({"taskId": task["taskId"], "workerId": "w1", "output": {}});
        let completed = other.ok("TaskCompleteRequest", done).await;
        assert_eq!(completed["applied"], true);
    }
    becomes(&database, ENDED, "10", PATIENCE).await;
    let doer = Doer::join(&nodes[1]).await;
    let run = start(&connection, "two-steps").await;
    for name in ["charge", "ship"] {
        let task = doer.task().await;
        assert_eq!(task["name"], name);
        doer.answer(&task).await;
    }
    becomes(&database, ENDED, "11", PATIENCE).await;
    assert_eq!(status(&connection, &run).await, "completed");
    assert_eq!(database.execute(COMPLETED), "22");
}

#[tokio::test]
async fn a_worker_keeps_its_task_when_it_reports_to_another_process() {
    let (database, nodes, connection) = scene(&[("INTERLOCK_TASKS_LEASE", "60s")]).await;
    register(&connection, "w1").await;
    let run = start(&connection, "two-steps").await;
    let task = pull(&connection, "w1").await;
    let before = driver(&database);
    let other = nodes[1].connect().await;
    let id = &task["taskId"];
    let touch = json!({"taskId": id, "workerId": "w1", "extendMs": 90_000});
    other.ok("TaskTouchRequest", touch.clone()).await;
    assert_ne!(driver(&database), before);
    // Wherever somebody else reports, the task is the worker's.
    for at in [&other, &connection] {
        let stolen = json!({"taskId": id, "workerId": "w2", "output": {}});
        let stolen = at.call("TaskCompleteRequest", stolen).await;
        assert_eq!(code(&stolen), "TASK_LEASE_LOST");
    }
    let stored = "select count(*) from record where kind = 9";
    becomes(&database, stored, "1", PATIENCE).await;
    let done = json!({"taskId": id, "workerId": "w1", "output": {}});
    let completed = connection.ok("TaskCompleteRequest", done).await;
    assert_eq!(completed["applied"], true);
    becomes(&database, stored, "0", PATIENCE).await;
    assert_eq!(pull(&connection, "w1").await["name"], "ship");
    assert_ne!(status(&connection, &run).await, "completed");
}

#[tokio::test]
async fn what_a_worker_reports_to_another_process_holds_while_its_run_is_advanced() {
    let (_database, nodes, connection) = scene(&[("INTERLOCK_TASKS_LEASE", "300s")]).await;
    let other = nodes[1].connect().await;
    register(&connection, "w1").await;
    for round in 0..6 {
        let run = start(&connection, "two-steps").await;
        let task = pull(&connection, "w1").await;
        let id = &task["taskId"];
        let signals = async || {
            for n in 0..4 {
                let signal = json!({"runId": run, "type": "x", "payload": n});
                connection.ok("RunSignalRequest", signal).await;
            }
        };
        // Refused, it is repeated.
        let reported = async |kind: &str, payload: Value| {
            loop {
                let said = other.call(kind, payload.clone()).await;
                if said["success"] == true {
                    return said;
                }
                assert_eq!(code(&said), "CONFLICT", "{said}");
            }
        };
        let stolen = json!({"taskId": id, "workerId": "w2", "output": {}});
        let stolen = other.call("TaskCompleteRequest", stolen);
        let (stolen, ()) = tokio::join!(stolen, signals());
        assert_eq!(code(&stolen), "TASK_LEASE_LOST", "{stolen}");
        if round % 2 == 0 {
            let touch = json!({"taskId": id, "workerId": "w1", "extendMs": 300_000});
            let touch = reported("TaskTouchRequest", touch);
            let (touched, ()) = tokio::join!(touch, signals());
            let shown = other.ok("TaskGetRequest", json!({"taskId": id})).await;
            assert_eq!(shown["task"]["leaseUntil"], touched["until"], "{shown}");
        } else {
            let failed =
                json!({"taskId": id, "workerId": "w1", "error": {"message": "no"}, "retry": true});
            let failed = reported("TaskFailRequest", failed);
            let (failed, ()) = tokio::join!(failed, signals());
            assert_eq!(failed["willRetry"], true, "{failed}");
            // At once, and not when the lease would have ended.
            let again = timeout(PATIENCE, pull(&connection, "w1")).await;
            assert_eq!(&again.expect("in time")["taskId"], id);
        }
        let done = json!({"taskId": id, "workerId": "w1", "output": {}});
        let done = reported("TaskCompleteRequest", done).await;
        assert_eq!(done["applied"], true, "{done}");
        let next = pull(&connection, "w1").await;
        let done = json!({"taskId": next["taskId"], "workerId": "w1", "output": {}});
        connection.ok("TaskCompleteRequest", done).await;
    }
}

/// Joins a process, takes a task, and ends its stream at once, again and again; the attempts.
async fn leaving(server: &Server, attempts: mpsc::UnboundedSender<Value>) {
    loop {
        let doer = Doer::join(server).await;
        let attempt = doer.task().await["attempt"].take();
        attempts.send(attempt).expect("it is recorded");
        doer.0.abort();
    }
}

#[tokio::test]
async fn a_task_that_ends_its_members_is_delivered_as_often_as_it_may_be_at_all_processes_together()
{
    let (database, nodes, connection) = scene(&[]).await;
    let charge = json!({"name": "charge", "maxRetries": 2, "retryDelayMs": 10});
    connection.ok("ActionRegisterRequest", charge).await;
    let run = start(&connection, "two-steps").await;
    let (sender, mut attempts) = mpsc::unbounded_channel();
    tokio::select! {
        () = leaving(&nodes[0], sender.clone()) => {}
        () = leaving(&nodes[1], sender) => {}
        () = becomes(&database, ENDED, "1", PATIENCE) => {}
    }
    assert_eq!(status(&connection, &run).await, "failed");
    let mut made = Vec::new();
    while let Ok(attempt) = attempts.try_recv() {
        made.push(attempt.as_u64().expect("a number"));
    }
    assert_eq!(made, [1, 2, 3]);
}

#[tokio::test]
async fn an_event_that_is_published_elsewhere_outdates_what_plans_have_cached() {
    let (_database, nodes, connection) = scene(&[]).await;
    let doer = Doer::join(&nodes[0]).await;
    let document = json!({"kind": "Workflow", "name": "priced", "version": "1",
        "start": {"run": "@plan/p", "transitions": {"success": "flo.Completed"}},
        "plans": {"p": {"executors": [{"name": "a", "action": "@actions/charge"}],
            "cache": {"key": "k", "invalidate_on": ["price.changed"]}}}});
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    let run = start(&connection, "priced").await;
    doer.answer(&doer.task().await).await;
    let plan = json!({"definition": "priced", "plan": "p"});
    let cached = async |expected: u64| {
        let look = async {
            while connection.ok("PlanGetRequest", plan.clone()).await["cacheEntries"] != expected {
                between_looks().await;
            }
        };
        timeout(PATIENCE, look).await.expect("so many entries");
    };
    cached(1).await;
    assert_eq!(status(&connection, &run).await, "completed");
    let other = nodes[1].connect().await;
    for (kind, left) in [("other", 1), ("price.changed", 0)] {
        let events = json!([{"payload": 1, "type": kind}]);
        let publish = json!({"topic": "prices", "events": events});
        other.ok("TopicPublishRequest", publish).await;
        let shown = connection.ok("PlanGetRequest", plan.clone()).await;
        assert_eq!(shown["cacheEntries"], left, "{kind}");
    }
}
