//! Tasks of runs: sent to members, pulled by workers, lost and delivered again (`runs.md` §5).

use std::time::Duration;

use interlock::event::{Event, EventType};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, Member, Reply, Server, between_looks, code, create, governed_model, new_entity,
    payload_of, processed_by, request, sync_processor, wait::until,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// A workflow of one step, which runs an action.
const DOCUMENT: &str = "kind: Workflow\nname: one-step\nversion: \"1\"\nstart:\n  run: \"@actions/charge\"\n  transitions:\n    success: flo.Completed\n    failure: flo.Failed\n    timeout: flo.Failed\n    execution_failure: flo.Failed\n";

/// A client with that workflow, and the action with these settings.
async fn stage(server: &Server, action: Value) -> Connection {
    let connection = server.connect().await;
    let mut payload = action;
    payload["name"] = json!("charge");
    connection.ok("ActionRegisterRequest", payload).await;
    let document = json!({"document": DOCUMENT});
    connection.ok("RunDefinitionCreateRequest", document).await;
    connection
}

/// Starts a run; its id.
async fn start(connection: &Connection) -> String {
    let payload = json!({"definition": "one-step", "input": {"amount": 99.99}});
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

/// Waits for the end of a run; the run.
async fn finished(connection: &Connection, run: &str) -> Value {
    let follow = json!({"runId": run, "fromSequence": 0});
    connection.all("RunHistorySubscribeRequest", follow).await;
    let run = json!({"runId": run});
    connection.ok("RunGetRequest", run).await["run"].take()
}

/// The types and details of a run's history, once there is one of that type.
async fn history(connection: &Connection, run: &str, until: &str) -> Vec<(String, String)> {
    let read = async {
        loop {
            let payload = json!({"runId": run});
            let page = connection.ok("RunHistoryGetRequest", payload).await;
            let items = page["items"].as_array().expect("a list").iter();
            let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
            let events: Vec<_> = items
                .map(|item| (text(item, "eventType"), text(item, "detail")))
                .collect();
            if events.iter().any(|(kind, _)| kind == until) {
                return events;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, read).await.expect("it is recorded")
}

/// A member that announced the action.
struct Doer(Connection);

impl Doer {
    async fn join(server: &Server) -> Self {
        Self::join_as(server, json!({"actions": ["charge"]})).await
    }

    async fn join_as(server: &Server, announced: Value) -> Self {
        let connection = server.connect().await;
        let join = request("CalculationMemberJoinEvent", "join", announced);
        connection.send(join).await;
        let greeting = connection.unasked().await.expect("a greeting");
        assert_eq!(greeting.kind, EventType::CalculationMemberGreetEvent);
        Self(connection)
    }

    /// The next event of that type.
    async fn next(&self, kind: EventType) -> Event {
        loop {
            let event = self.0.unasked().await.expect("the stream is open");
            if event.kind == kind {
                return event;
            }
        }
    }

    async fn task(&self) -> Value {
        payload_of(&self.next(EventType::TaskCalculationRequest).await)
    }

    async fn answer(&self, task: &Value, answer: Value) {
        self.answer_as("TaskCalculationResponse", task, answer)
            .await;
    }

    async fn answer_as(&self, kind: &str, task: &Value, mut answer: Value) {
        answer["requestId"] = task["requestId"].clone();
        self.0.send(request(kind, &self.0.fresh_id(), answer)).await;
    }
}

#[tokio::test]
async fn a_task_is_sent_as_documented_and_its_answer_ends_the_step() {
    let server = Server::start();
    let connection = stage(&server, json!({"timeoutMs": 10_000, "context": "mode=a"})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let event = doer.next(EventType::TaskCalculationRequest).await;
    let mut task = payload_of(&event);
    let id = task["taskId"].clone();
    assert_eq!(id, json!(format!("{run}.1")));
    for (name, value) in [
        ("authtype", "user"),
        ("authid", "mock-user-001"),
        ("authclaims", "ROLE_ADMIN,ROLE_M2M"),
        ("dispatchkey", id.as_str().expect("a text")),
    ] {
        assert_eq!(event.attribute(name), Some(value), "{name}");
    }
    assert_eq!(task["id"], task["requestId"]);
    let answer = json!({"success": true, "output": {"charge_id": "ch_1"}});
    doer.answer(&task, answer).await;
    for each_time in ["id", "requestId", "deadline"] {
        task[each_time].take();
    }
    let expected = json!({"id": null, "requestId": null, "taskId": id, "attempt": 1,
        "kind": "action", "name": "charge", "namespace": "default", "input": {"amount": 99.99},
        "runId": run, "definition": {"name": "one-step", "version": "1"}, "step": "start",
        "deadline": null, "idempotencyKey": id, "context": "mode=a", "success": true});
    assert_eq!(task, expected);
    let run = finished(&connection, &run).await;
    assert_eq!(run["status"], "completed");
    assert_eq!(
        run["steps"]["start"],
        json!({"outcome": "success", "output": {"charge_id": "ch_1"}, "executions": 1})
    );
}

#[tokio::test]
async fn an_answer_that_cannot_count_is_an_execution_failure_and_the_next_run_is_unhurt() {
    let server = Server::start();
    let connection = stage(&server, json!({"maxOutputBytes": 1_000})).await;
    let doer = Doer::join(&server).await;
    let processor = "EntityProcessorCalculationResponse";
    let response = "TaskCalculationResponse";
    for (kind, answer) in [
        (response, json!({"outcome": 5})),
        (response, json!({"success": "yes"})),
        (response, json!({"error": []})),
        (response, json!({"outcome": ""})),
        (response, json!({"outcome": "_start"})),
        (response, json!({"outcome": "target_disabled"})),
        (response, json!({"outcome": "x".repeat(129)})),
        (response, json!({"output": "x".repeat(1_000)})),
        (
            response,
            json!({"success": false, "output": "x".repeat(1_000)}),
        ),
        (processor, json!({"payload": {"data": {"a": 1}}})),
    ] {
        let run = start(&connection).await;
        let task = doer.task().await;
        doer.answer_as(kind, &task, answer.clone()).await;
        let run = finished(&connection, &run).await;
        let step = &run["steps"]["start"];
        assert_eq!(step["outcome"], "execution_failure", "{answer}: {run}");
        assert_eq!(run["status"], "failed", "{answer}");
    }
    let run = start(&connection).await;
    doer.answer(&doer.task().await, json!({})).await;
    assert_eq!(finished(&connection, &run).await["status"], "completed");
}

#[tokio::test]
async fn the_first_of_two_answers_counts_and_only_that_of_who_has_the_task() {
    let server = Server::start();
    let connection = stage(&server, json!({})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let task = doer.task().await;
    let other = Doer::join(&server).await;
    let stolen = json!({"success": false, "error": {"message": "stolen"}});
    other.answer(&task, stolen).await;
    // What the other sent is read before this is answered.
    other.0.ok("ComputeMembersGetRequest", json!({})).await;
    doer.answer(&task, json!({"output": {"n": 1}})).await;
    doer.answer(&task, json!({"output": {"n": 2}})).await;
    doer.0.ok("ComputeMembersGetRequest", json!({})).await;
    let run = finished(&connection, &run).await;
    assert_eq!(run["status"], "completed");
    assert_eq!(run["steps"]["start"]["output"], json!({"n": 1}));
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_recorded_as_late() {
    let server = Server::start();
    let connection = stage(&server, json!({"timeoutMs": 200})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let task = doer.task().await;
    let ended = finished(&connection, &run).await;
    assert_eq!(ended["steps"]["start"]["outcome"], "timeout", "{ended}");
    let cancel = payload_of(&doer.next(EventType::TaskCancelEvent).await);
    assert_eq!(cancel["requestId"], task["requestId"]);
    doer.answer(&task, json!({})).await;
    let events = history(&connection, &run, "late_answer").await;
    let last = events.last().expect("events");
    assert_eq!(last, &("late_answer".to_owned(), "success".to_owned()));
    let again = json!({"taskId": task["taskId"], "outcome": "failure"});
    let late = connection.ok("TaskCompleteRequest", again).await;
    assert_eq!(late["applied"], false);
    let touch = json!({"taskId": task["taskId"]});
    assert_eq!(
        connection.fails("TaskTouchRequest", touch).await,
        "RUN_FINISHED"
    );
}

#[tokio::test]
async fn a_member_that_vanishes_loses_its_task_to_another_under_the_same_id() {
    let server = Server::start();
    let connection = stage(&server, json!({})).await;
    let first = Doer::join(&server).await;
    let run = start(&connection).await;
    let task = first.task().await;
    let second = Doer::join(&server).await;
    first.0.abort();
    let again = second.task().await;
    assert_eq!(again["taskId"], task["taskId"]);
    assert_eq!(again["idempotencyKey"], task["idempotencyKey"]);
    assert_ne!(again["requestId"], task["requestId"]);
    assert_eq!(again["attempt"], 2);
    second.answer(&again, json!({})).await;
    assert_eq!(finished(&connection, &run).await["status"], "completed");
}

#[tokio::test]
async fn a_task_that_loses_its_members_too_often_fails() {
    let server = Server::start();
    let connection = stage(&server, json!({"maxRetries": 1})).await;
    let run = start(&connection).await;
    for attempt in 1..=2 {
        let doer = Doer::join(&server).await;
        assert_eq!(doer.task().await["attempt"], attempt);
        doer.0.abort();
    }
    let run = finished(&connection, &run).await;
    let step = &run["steps"]["start"];
    assert_eq!(step["outcome"], "execution_failure");
    assert!(
        run.to_string().contains("COMPUTE_MEMBER_DISCONNECTED"),
        "{run}"
    );
}

#[tokio::test]
async fn a_failure_that_may_pass_is_delivered_again() {
    let server = Server::start();
    let connection = stage(&server, json!({"maxRetries": 1, "retryDelayMs": 10})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let busy = json!({"success": false,
        "error": {"code": "BUSY", "message": "busy", "retryable": true}});
    for attempt in 1..=2 {
        let task = doer.task().await;
        assert_eq!(task["attempt"], attempt);
        doer.answer(&task, busy.clone()).await;
    }
    let run = finished(&connection, &run).await;
    assert_eq!(
        run["steps"]["start"],
        json!({"outcome": "failure", "output": {"error": "busy", "error_code": "BUSY"},
            "executions": 1})
    );
}

#[tokio::test]
async fn a_task_that_reaches_a_member_that_is_stopping_goes_to_another_and_uses_up_no_retry() {
    let stopping = json!({"success": false,
        "error": {"code": "MEMBER_STOPPING", "message": "stopping", "retryable": true}});
    for (dispatch, request, response) in [
        (
            "task",
            EventType::TaskCalculationRequest,
            "TaskCalculationResponse",
        ),
        (
            "processor",
            EventType::EntityProcessorCalculationRequest,
            "EntityProcessorCalculationResponse",
        ),
    ] {
        let server = Server::start();
        let action = json!({"maxRetries": 0, "dispatch": dispatch});
        let connection = stage(&server, action).await;
        let leaving = Doer::join(&server).await;
        let run = start(&connection).await;
        let task = payload_of(&leaving.next(request).await);
        leaving.answer_as(response, &task, stopping.clone()).await;
        let other = Doer::join(&server).await;
        let again = payload_of(&other.next(request).await);
        other.answer_as(response, &again, json!({})).await;
        let run = finished(&connection, &run).await;
        assert_eq!(run["status"], "completed", "{dispatch}: {run}");
    }
}

#[tokio::test]
async fn a_task_without_a_taker_fails_after_its_wait() {
    let server = Server::start();
    let connection = stage(&server, json!({"waitMs": 100})).await;
    let run = start(&connection).await;
    let run = finished(&connection, &run).await;
    assert_eq!(run["steps"]["start"]["outcome"], "execution_failure");
    assert!(
        run.to_string().contains("NO_COMPUTE_MEMBER_FOR_TAG"),
        "{run}"
    );
}

#[tokio::test]
async fn a_task_that_was_accepted_is_completed_later_by_anyone() {
    let server = Server::start();
    let connection = stage(&server, json!({})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let task = doer.task().await;
    doer.answer(&task, json!({"outcome": "pending"})).await;
    doer.0.ok("ComputeMembersGetRequest", json!({})).await;
    doer.0.abort();
    let path = format!(
        "/api/tasks/{}/complete",
        task["taskId"].as_str().expect("an id")
    );
    let body = json!({"output": {"late": true}}).to_string();
    let completed = server.rest().post(&path, body.clone()).await.ok();
    assert_eq!(
        completed,
        json!({"taskId": task["taskId"], "applied": true})
    );
    let ended = finished(&connection, &run).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["steps"]["start"]["output"], json!({"late": true}));
    let again = server.rest().post(&path, body).await.ok();
    assert_eq!(again["applied"], false);
}

#[tokio::test]
async fn a_member_that_knows_only_processors_is_called_as_one() {
    let server = Server::start();
    let action = json!({"dispatch": "processor", "tags": ["billing"], "context": "c"});
    let connection = stage(&server, action).await;
    let member = Member::join(&server, &["billing"]).await;
    for (data, outcome, output) in [
        (json!({"id": 7}), "success", json!({"id": 7})),
        (
            json!({"outcome": "failure", "output": [1]}),
            "failure",
            json!([1]),
        ),
    ] {
        let run = start(&connection).await;
        let call = member.next().await;
        assert_eq!(call.processor(), "charge");
        assert_eq!(call.data(), &json!({"amount": 99.99}));
        assert_eq!(call.event.attribute("timeoutms"), Some("30000"));
        let nil = "00000000-0000-0000-0000-000000000000";
        assert_eq!(
            (&call.payload["entityId"], &call.payload["parameters"]),
            (&json!(nil), &json!("c"))
        );
        assert_eq!(call.payload["workflow"]["name"], "one-step");
        assert_eq!(call.payload["transition"]["name"], "start");
        let meta = &call.payload["payload"]["meta"];
        assert_eq!(meta["modelKey"], json!({"name": "charge", "version": 1}));
        assert_eq!(meta["id"], nil);
        member.reply(&call, Reply::Data(data)).await;
        let run = finished(&connection, &run).await;
        assert_eq!(run["steps"]["start"]["outcome"], outcome);
        assert_eq!(run["steps"]["start"]["output"], output);
    }
    let run = start(&connection).await;
    let call = member.next().await;
    member.reply(&call, Reply::Failure("no")).await;
    let run = finished(&connection, &run).await;
    assert_eq!(
        run["steps"]["start"]["output"],
        json!({"error": "no", "error_code": "X"})
    );
}

#[tokio::test]
async fn a_worker_pulls_a_task_and_loses_it_with_its_lease() {
    let server = Server::with(&[("INTERLOCK_TASKS_LEASE", "300ms")]);
    let connection = stage(&server, json!({})).await;
    for worker in ["w1", "w2"] {
        let payload = json!({"workerId": worker, "actions": ["charge"]});
        connection.ok("WorkerRegisterRequest", payload).await;
    }
    let pull = async |worker: &str| {
        let payload = json!({"workerId": worker, "actions": ["charge"], "blockMs": 30_000});
        connection.ok("TaskAwaitRequest", payload).await["tasks"][0].take()
    };
    let run = start(&connection).await;
    let mut task = pull("w1").await;
    let id = task["taskId"].clone();
    for each_time in ["leaseUntil", "createdAt"] {
        assert!(task[each_time].take().is_string(), "{each_time}");
    }
    let expected = json!({"taskId": id, "kind": "action", "name": "charge",
        "namespace": "default", "status": "running", "input": {"amount": 99.99}, "attempt": 1,
        "runId": run, "step": "start", "takenBy": "w1", "leaseUntil": null, "createdAt": null,
        "idempotencyKey": id});
    assert_eq!(task, expected);
    let again = pull("w2").await;
    assert_eq!((&again["taskId"], &again["attempt"]), (&id, &json!(2)));
    for kind in ["TaskTouchRequest", "TaskCompleteRequest"] {
        let payload = json!({"taskId": id, "workerId": "w1"});
        assert_eq!(connection.fails(kind, payload).await, "TASK_LEASE_LOST");
    }
    let touch = json!({"taskId": id, "workerId": "w2", "extendMs": 60_000, "progress": 0.5});
    connection.ok("TaskTouchRequest", touch).await;
    let completed = json!({"taskId": id, "workerId": "w2", "output": {"by": "w2"}});
    let completed = connection.ok("TaskCompleteRequest", completed).await;
    assert_eq!(completed["applied"], true);
    let run = finished(&connection, &run).await;
    assert_eq!(run["steps"]["start"]["output"], json!({"by": "w2"}));
}

#[tokio::test]
async fn a_worker_that_fails_a_task_may_ask_for_another_delivery() {
    let server = Server::start();
    let connection = stage(&server, json!({"maxRetries": 1, "retryDelayMs": 10})).await;
    let payload = json!({"workerId": "w1", "actions": ["charge"]});
    connection.ok("WorkerRegisterRequest", payload).await;
    let run = start(&connection).await;
    for will_retry in [true, false] {
        let payload = json!({"workerId": "w1", "actions": ["*"], "blockMs": 30_000});
        let taken = connection.ok("TaskAwaitRequest", payload).await;
        let failed = json!({"taskId": taken["tasks"][0]["taskId"], "workerId": "w1",
            "retry": true, "error": {"code": "X", "message": "no"}});
        let failed = connection.ok("TaskFailRequest", failed).await;
        assert_eq!(
            (&failed["applied"], &failed["willRetry"]),
            (&json!(true), &json!(will_retry))
        );
    }
    let run = finished(&connection, &run).await;
    assert_eq!(run["steps"]["start"]["outcome"], "failure");
}

#[tokio::test]
async fn a_run_that_is_cancelled_cancels_its_task() {
    let server = Server::start();
    let connection = stage(&server, json!({})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let task = doer.task().await;
    connection
        .ok("RunCancelRequest", json!({"runId": run}))
        .await;
    let cancel = payload_of(&doer.next(EventType::TaskCancelEvent).await);
    assert_eq!(
        (&cancel["taskId"], &cancel["requestId"]),
        (&task["taskId"], &task["requestId"])
    );
    assert!(cancel["reason"].is_string(), "{cancel}");
    // An answer that crosses it is recorded.
    doer.answer(&task, json!({})).await;
    history(&connection, &run, "late_answer").await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_within_a_transaction_cancels_its_task_after_the_commit() {
    let server = Server::start();
    let connection = stage(&server, json!({})).await;
    let processor = sync_processor("p", json!({"calculationNodesTags": "writer"}));
    let processed = processed_by(json!([processor]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), processed).await;
    let doer = Doer::join(&server).await;
    let (kept, cancelled) = (start(&connection).await, start(&connection).await);
    let mut tasks = [doer.task().await, doer.task().await];
    tasks.sort_by_key(|task| task["runId"] == json!(cancelled));
    let writer = Member::join(&server, &["writer"]).await;
    let runs = [kept.clone(), cancelled.clone()];
    writer.serve(move |call, connection| {
        // The transaction of the first is rolled back.
        let is_first = call.data()["n"] == 1;
        let cancel = json!({"runId": runs[usize::from(!is_first)]});
        async move {
            let quoted = [("cyodatxtoken", call.token())];
            let cancelled = connection
                .call_with("RunCancelRequest", cancel, &quoted)
                .await;
            if cancelled["success"] == true && !is_first {
                Reply::Nothing
            } else {
                Reply::Failure("the first is refused")
            }
        }
    });
    let first = new_entity(&model, &json!({"n": 1}));
    connection.fails("EntityCreateRequest", first).await;
    create(&connection, &model, json!({"n": 2})).await;
    let cancel = payload_of(&doer.next(EventType::TaskCancelEvent).await);
    let [task, given_up] = tasks;
    assert_eq!(
        (&cancel["taskId"], &cancel["requestId"]),
        (&given_up["taskId"], &given_up["requestId"])
    );
    assert!(cancel["reason"].is_string(), "{cancel}");
    let run = finished(&connection, &cancelled).await;
    assert_eq!(run["status"], "cancelled");
    doer.answer(&task, json!({})).await;
    assert_eq!(finished(&connection, &kept).await["status"], "completed");
}

#[tokio::test]
async fn a_task_is_delivered_again_after_a_crash_under_the_same_id() {
    let mut server = Server::on_disk(&[]);
    let connection = stage(&server, json!({})).await;
    let doer = Doer::join(&server).await;
    let run = start(&connection).await;
    let task = doer.task().await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let doer = Doer::join(&server).await;
    let again = doer.task().await;
    assert_eq!(again["taskId"], task["taskId"]);
    assert_eq!(again["idempotencyKey"], task["idempotencyKey"]);
    doer.answer(&again, json!({})).await;
    assert_eq!(finished(&connection, &run).await["status"], "completed");
}

#[tokio::test]
async fn higher_priorities_are_taken_first_and_equal_ones_in_order() {
    let server = Server::start();
    let connection = stage(&server, json!({})).await;
    for (number, priority) in [(1, 10), (2, 200), (3, 10), (4, 0), (5, 200)] {
        let payload = json!({"name": "charge", "input": number, "priority": priority});
        connection.ok("ActionInvokeRequest", payload).await;
    }
    let waiting = async {
        let named = json!({"name": "charge"});
        while connection.ok("ActionGetRequest", named.clone()).await["pending"] != 5 {
            between_looks().await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("they wait");
    let payload = json!({"workerId": "w1", "actions": ["charge"], "maxConcurrency": 1});
    connection.ok("WorkerRegisterRequest", payload).await;
    let mut order = Vec::new();
    while order.len() < 5 {
        let payload = json!({"workerId": "w1", "actions": ["charge"], "blockMs": 30_000});
        let taken = connection.ok("TaskAwaitRequest", payload).await;
        let task = &taken["tasks"][0];
        order.push(task["input"].as_i64().expect("a number"));
        let payload = json!({"taskId": task["taskId"], "workerId": "w1"});
        let completed = connection.ok("TaskCompleteRequest", payload).await;
        assert_eq!(completed["applied"], true, "{task}");
    }
    assert_eq!(order, [2, 5, 1, 3, 4]);
}

/// A task as it is shown.
async fn shown(connection: &Connection, task: &str) -> Value {
    let payload = json!({"taskId": task});
    connection.ok("TaskGetRequest", payload).await["task"].take()
}

async fn register(connection: &Connection, worker: &str) {
    let payload = json!({"workerId": worker, "actions": ["charge"]});
    connection.ok("WorkerRegisterRequest", payload).await;
}

#[tokio::test]
async fn a_task_says_why_it_failed_also_if_its_step_is_tried_again() {
    let server = Server::start();
    let connection = stage(&server, json!({"maxRetries": 0})).await;
    let retried = "run: \"@actions/charge\"\n  retry: {max_attempts: 2, initial_delay_ms: 0}\n";
    let document = DOCUMENT.replace("run: \"@actions/charge\"\n", retried);
    let document = document.replace("\"1\"", "\"2\"");
    let document = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let run = start(&connection).await;
    let (first, _) = pulled(&connection, "w1").await;
    fail(&connection, &first).await;
    let (second, _) = pulled(&connection, "w1").await;
    assert_ne!(first, second);
    complete(&connection, &second, json!({})).await;
    assert_eq!(finished(&connection, &run).await["status"], "completed");
    let failed = shown(&connection, &first).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["message"], "no", "{failed}");
}

#[tokio::test]
async fn a_lease_is_kept_over_a_crash_until_it_ends() {
    let mut server = Server::on_disk(&[("INTERLOCK_TASKS_LEASE", "8s")]);
    let connection = stage(&server, json!({})).await;
    register(&connection, "w1").await;
    let wait = json!({"workerId": "w1", "actions": ["charge"]});
    let mut taken = Vec::new();
    for _ in 0..2 {
        start(&connection).await;
        let tasks = connection.ok("TaskAwaitRequest", wait.clone()).await;
        let task = tasks["tasks"][0]["taskId"].as_str().expect("a task");
        taken.push(task.to_owned());
    }
    let before = shown(&connection, &taken[1]).await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let again = async {
        loop {
            let after = shown(&connection, &taken[1]).await;
            if after["status"] == "running" {
                return after;
            }
        }
    };
    let after = timeout(PATIENCE, again).await.expect("it is sent again");
    for same in ["takenBy", "leaseUntil", "attempt"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    // The worker is not registered any more, but has its tasks.
    let beat = json!({"workerId": "w1"});
    let beat = connection.call("WorkerHeartbeatRequest", beat).await;
    assert_eq!(code(&beat), "WORKER_NOT_FOUND");
    let listed = connection.ok("WorkersGetRequest", json!({})).await;
    assert_eq!(listed["items"], json!([]));
    register(&connection, "w2").await;
    let wait = json!({"workerId": "w2", "actions": ["charge"], "blockMs": 0});
    let none = connection.ok("TaskAwaitRequest", wait.clone()).await;
    assert_eq!(none["tasks"], json!([]));
    let stolen = json!({"taskId": taken[0], "workerId": "w2"});
    let stolen = connection.call("TaskCompleteRequest", stolen).await;
    assert_eq!(code(&stolen), "TASK_LEASE_LOST");
    let complete = json!({"taskId": taken[0], "workerId": "w1"});
    let completed = connection.ok("TaskCompleteRequest", complete).await;
    assert_eq!(completed["applied"], true);
    // The other lease ends, and another worker gets the task.
    let wait = json!({"workerId": "w2", "actions": ["charge"], "blockMs": 30_000});
    let tasks = connection.ok("TaskAwaitRequest", wait).await;
    let task = &tasks["tasks"][0];
    assert_eq!(task["taskId"], taken[1].as_str());
    assert_eq!(task["attempt"], 2);
    let late = shown(&connection, &taken[1]).await["leaseUntil"].take();
    assert!(late.as_str() > before["leaseUntil"].as_str(), "{late}");
    let complete = json!({"taskId": taken[1], "workerId": "w2"});
    let completed = connection.ok("TaskCompleteRequest", complete).await;
    assert_eq!(completed["applied"], true);
}

#[tokio::test]
async fn a_leased_task_is_nobody_elses_right_after_a_crash() {
    let mut server = Server::on_disk(&[("INTERLOCK_TASKS_LEASE", "10m")]);
    let connection = stage(&server, json!({"timeoutMs": 600_000})).await;
    register(&connection, "w1").await;
    let wait = json!({"workerId": "w1", "actions": ["charge"]});
    let mut taken = Vec::new();
    for _ in 0..8 {
        start(&connection).await;
        let tasks = connection.ok("TaskAwaitRequest", wait.clone()).await;
        let task = tasks["tasks"][0]["taskId"].as_str().expect("a task");
        taken.push(task.to_owned());
    }
    server.kill();
    server.restart();
    let connection = server.connect().await;
    // The last ones are not handed out again yet.
    for task in taken.iter().rev() {
        let stolen = json!({"taskId": task, "workerId": "w2"});
        let stolen = connection.call("TaskCompleteRequest", stolen).await;
        assert_eq!(code(&stolen), "TASK_LEASE_LOST");
        let complete = json!({"taskId": task, "workerId": "w1"});
        let completed = connection.ok("TaskCompleteRequest", complete).await;
        assert_eq!(completed["applied"], true);
    }
}

#[tokio::test]
async fn a_touch_extends_a_lease_over_a_crash() {
    let mut server = Server::on_disk(&[]);
    let connection = stage(&server, json!({"timeoutMs": 600_000})).await;
    register(&connection, "w1").await;
    start(&connection).await;
    let wait = json!({"workerId": "w1", "actions": ["charge"]});
    let tasks = connection.ok("TaskAwaitRequest", wait).await;
    let task = tasks["tasks"][0]["taskId"]
        .as_str()
        .expect("a task")
        .to_owned();
    let touch = json!({"taskId": task, "workerId": "w1", "extendMs": 300_000});
    let touched = connection.ok("TaskTouchRequest", touch).await;
    let stored = async {
        loop {
            let body = server.stored("select max(body) from record where kind = 9");
            let lease: Value = serde_json::from_str(&body).expect("a lease");
            let at = |name: &str| lease[name].as_i64().expect("microseconds");
            // The lease was a part of the time for an answer.
            if at("until") - at("ends") > -400_000_000 {
                return;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, stored)
        .await
        .expect("the touch is stored");
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let again = async {
        loop {
            let after = shown(&connection, &task).await;
            if after["status"] == "running" {
                return after;
            }
        }
    };
    let after = timeout(PATIENCE, again).await.expect("it is sent again");
    assert_eq!(after["leaseUntil"], touched["until"]);
    // Registered again, the worker has its task, and gives it back when it leaves.
    register(&connection, "w1").await;
    let worker = json!({"workerId": "w1"});
    let facts = connection.ok("WorkerGetRequest", worker.clone()).await;
    assert_eq!(facts["running"], 1);
    connection.ok("WorkerDeregisterRequest", worker).await;
    register(&connection, "w2").await;
    let wait = json!({"workerId": "w2", "actions": ["charge"]});
    let tasks = connection.ok("TaskAwaitRequest", wait).await;
    assert_eq!(tasks["tasks"][0]["taskId"], task.as_str());
}

/// A worker's report that a task has failed and is to be delivered again.
async fn fail(connection: &Connection, task: &str) -> (Value, Value) {
    let failed = json!({"taskId": task, "workerId": "w1", "retry": true,
        "error": {"code": "X", "message": "no"}});
    let mut failed = connection.ok("TaskFailRequest", failed).await;
    (failed["applied"].take(), failed["willRetry"].take())
}

/// The next task of a worker, which is registered before.
async fn pulled(connection: &Connection, worker: &str) -> (String, Value) {
    register(connection, worker).await;
    let wait = json!({"workerId": worker, "actions": ["charge"], "blockMs": 30_000});
    let mut tasks = connection.ok("TaskAwaitRequest", wait).await;
    let task = &mut tasks["tasks"][0];
    let id = task["taskId"].as_str().expect("a task").to_owned();
    (id, task["attempt"].take())
}

#[tokio::test]
async fn a_crash_forgets_no_attempt_of_a_task() {
    let mut server = Server::on_disk(&[]);
    let connection = stage(&server, json!({"maxRetries": 1, "retryDelayMs": 10})).await;
    let run = start(&connection).await;
    let (task, attempt) = pulled(&connection, "w1").await;
    assert_eq!(attempt, 1);
    let again = (json!(true), json!(true));
    assert_eq!(fail(&connection, &task).await, again);
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let (same, attempt) = pulled(&connection, "w2").await;
    assert_eq!((&same, attempt), (&task, json!(2)));
    let failed = json!({"taskId": task, "workerId": "w2", "retry": true,
        "error": {"message": "no"}});
    let failed = connection.ok("TaskFailRequest", failed).await;
    assert_eq!(failed["willRetry"], false);
    let run = finished(&connection, &run).await;
    assert_eq!(run["steps"]["start"]["outcome"], "failure");
}

#[tokio::test]
async fn a_crash_does_not_cut_the_pause_before_a_delivery() {
    let mut server = Server::on_disk(&[]);
    let connection = stage(&server, json!({"retryDelayMs": 3_600_000})).await;
    start(&connection).await;
    let (task, _) = pulled(&connection, "w1").await;
    fail(&connection, &task).await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    register(&connection, "w2").await;
    let sent = async {
        while shown(&connection, &task).await["attempt"] != 1 {
            between_looks().await;
        }
    };
    timeout(PATIENCE, sent).await.expect("it is there again");
    let wait = json!({"workerId": "w2", "actions": ["charge"], "blockMs": 0});
    let none = connection.ok("TaskAwaitRequest", wait).await;
    assert_eq!(none["tasks"], json!([]));
    assert_eq!(shown(&connection, &task).await["status"], "pending");
}

#[tokio::test]
async fn a_report_that_asks_for_another_delivery_may_be_repeated() {
    let server = Server::start();
    let connection = stage(&server, json!({"retryDelayMs": 1_000})).await;
    let run = start(&connection).await;
    let (task, _) = pulled(&connection, "w1").await;
    let again = (json!(true), json!(true));
    for _ in 0..2 {
        assert_eq!(fail(&connection, &task).await, again);
    }
    assert_eq!(pulled(&connection, "w1").await, (task.clone(), json!(2)));
    // Its worker leaves, and nobody else has it.
    let left = json!({"workerId": "w1"});
    connection.ok("WorkerDeregisterRequest", left).await;
    assert_eq!(fail(&connection, &task).await, again);
    assert_eq!(pulled(&connection, "w1").await, (task.clone(), json!(3)));
    let complete = json!({"taskId": task, "workerId": "w1"});
    connection.ok("TaskCompleteRequest", complete).await;
    assert_eq!(finished(&connection, &run).await["status"], "completed");
}

#[tokio::test]
async fn open_tasks_of_a_deleted_action_continue_after_a_crash() {
    let mut server = Server::on_disk(&[("INTERLOCK_TASKS_LEASE", "60s")]);
    let connection = stage(&server, json!({})).await;
    let mut runs = vec![start(&connection).await];
    // One is with a worker, and one waits.
    let (taken, _) = pulled(&connection, "w1").await;
    runs.push(start(&connection).await);
    let action = json!({"name": "charge"});
    connection.ok("ActionDeleteRequest", action.clone()).await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let gone = connection.fails("ActionGetRequest", action).await;
    assert_eq!(gone, "ACTION_NOT_FOUND");
    let (waiting, _) = pulled(&connection, "w2").await;
    for (task, worker) in [(taken, "w1"), (waiting, "w2")] {
        let complete = json!({"taskId": task, "workerId": worker});
        let completed = connection.ok("TaskCompleteRequest", complete).await;
        assert_eq!(completed["applied"], true);
    }
    for run in runs {
        assert_eq!(finished(&connection, &run).await["status"], "completed");
    }
    // A new run finds no action.
    let run = start(&connection).await;
    assert_eq!(finished(&connection, &run).await["status"], "failed");
}

/// Completes a task by its worker.
async fn complete(connection: &Connection, task: &str, more: Value) {
    let mut completed = json!({"taskId": task, "workerId": "w1"});
    for (member, value) in more.as_object().expect("members") {
        completed[member] = value.clone();
    }
    let completed = connection.ok("TaskCompleteRequest", completed).await;
    assert_eq!(completed["applied"], true, "{completed}");
}

#[tokio::test]
async fn a_task_that_has_ended_says_with_which_delivery() {
    let server = Server::start();
    let connection = stage(&server, json!({"retryDelayMs": 0})).await;
    let run = start(&connection).await;
    let (task, _) = pulled(&connection, "w1").await;
    fail(&connection, &task).await;
    assert_eq!(pulled(&connection, "w1").await, (task.clone(), json!(2)));
    complete(&connection, &task, json!({})).await;
    finished(&connection, &run).await;
    assert_eq!(shown(&connection, &task).await["attempt"], 2);
    // It is known also between `pending` and the outcome.
    let run = start(&connection).await;
    let (task, _) = pulled(&connection, "w1").await;
    complete(&connection, &task, json!({"outcome": "pending"})).await;
    let accepted = shown(&connection, &task).await;
    assert_eq!(
        (&accepted["status"], &accepted["attempt"]),
        (&json!("running"), &json!(1))
    );
    complete(&connection, &task, json!({})).await;
    finished(&connection, &run).await;
    let ended = shown(&connection, &task).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1))
    );
}

#[tokio::test]
async fn a_touch_promises_no_more_than_the_limit_of_a_step_that_was_accepted() {
    let server = Server::start();
    let connection = stage(&server, json!({"timeoutMs": 60_000})).await;
    let run = start(&connection).await;
    let (task, _) = pulled(&connection, "w1").await;
    complete(&connection, &task, json!({"outcome": "pending"})).await;
    let touch = json!({"taskId": task, "workerId": "w1", "extendMs": 300_000});
    let touched = connection.ok("TaskTouchRequest", touch).await;
    let run = connection.ok("RunGetRequest", json!({"runId": run})).await;
    assert_eq!(touched["until"], run["run"]["waiting"]["until"], "{run}");
}

/// The task that a worker gets; it asks until it is admitted.
async fn taken(connection: &Connection, asked: Value) -> String {
    let mut taken = connection.ok("TaskAwaitRequest", asked).await;
    taken["tasks"][0]["taskId"]
        .take()
        .as_str()
        .expect("an id")
        .to_owned()
}

#[tokio::test]
async fn workers_that_wait_leave_places_to_others_and_report_without_one() {
    let server = Server::with(&[("INTERLOCK_TENANT_IN_FLIGHT", "2")]);
    let connection = stage(&server, json!({})).await;
    let worker = json!({"workerId": "w1", "actions": ["charge", "other"]});
    connection.ok("WorkerRegisterRequest", worker).await;
    start(&connection).await;
    let asked = json!({"workerId": "w1", "actions": ["charge"], "blockMs": 30_000});
    let task = taken(&connection, asked).await;
    // It takes the half of the places that those who wait may have.
    let waits = json!({"workerId": "w1", "actions": ["other"], "blockMs": 300_000}).to_string();
    let rest = server.rest();
    let waiting = tokio::spawn(async move {
        // One that asks below may have the place at that moment.
        while rest.post("/api/tasks/await", waits.clone()).await.status == 429 {}
    });
    let asked = json!({"workerId": "w1", "actions": ["other"], "blockMs": 0});
    until("the first waits", async || {
        let second = connection.call("TaskAwaitRequest", asked.clone()).await;
        second["success"] == false && code(&second) == "TENANT_LIMIT_EXCEEDED"
    })
    .await;
    let started = json!({"definition": "one-step", "waitMs": 30_000}).to_string();
    let rest = server.rest();
    let starting = tokio::spawn(async move {
        while rest.post("/api/runs", started.clone()).await.status == 429 {}
    });
    until("no place is left", async || {
        let refused = connection.call("RunsGetRequest", json!({})).await;
        refused["success"] == false && code(&refused) == "TENANT_LIMIT_EXCEEDED"
    })
    .await;
    let touched = json!({"taskId": task, "workerId": "w1"});
    connection.ok("TaskTouchRequest", touched).await;
    let completed = json!({"taskId": task, "workerId": "w1", "output": {}});
    let completed = connection.ok("TaskCompleteRequest", completed).await;
    assert_eq!(completed["applied"], true, "{completed}");
    waiting.abort();
    starting.abort();
}

#[tokio::test]
async fn a_tenant_that_has_stored_its_limit_ends_its_tasks_and_begins_none() {
    let server = Server::with(&[("INTERLOCK_TENANT_STORED_BYTES", "60000")]);
    let connection = stage(&server, json!({})).await;
    let worker = json!({"workerId": "w1", "actions": ["charge"]});
    connection.ok("WorkerRegisterRequest", worker).await;
    let (first, second) = (start(&connection).await, start(&connection).await);
    let asked = json!({"workerId": "w1", "actions": ["charge"], "blockMs": 30_000});
    let task = taken(&connection, asked.clone()).await;
    let message = json!({"payload": {"text": "x".repeat(60_000)}, "metaData": {}}).to_string();
    let rest = server.rest().with("content-type", "application/json");
    rest.post("/api/message/new/s", message).await.ok();
    let refused = connection.fails("TaskAwaitRequest", asked).await;
    assert_eq!(refused, "TENANT_LIMIT_EXCEEDED");
    let completed = json!({"taskId": task, "workerId": "w1", "output": {}});
    connection.ok("TaskCompleteRequest", completed).await;
    let runs = connection
        .ok("RunsGetRequest", json!({"status": ["completed"]}))
        .await;
    let ended = runs["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| run["runId"].clone());
    let ended: Vec<_> = ended.collect();
    assert!(
        ended == [json!(first)] || ended == [json!(second)],
        "{ended:?}"
    );
}
