//! Work that fails too often stops, is listed, and is retried or cancelled by an operator
//! (`runs.md` §11).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{
    Connection, PATIENCE, Rest, Server, code, command, create, get, governed_model, state,
    wait::found,
};

/// Work that fails is retried after a few milliseconds.
const QUICKLY: (&str, &str) = ("INTERLOCK_RETRY_PAUSE", "1ms");

/// How long to wait between two looks, so that the service has time for its work.
const LOOK: Duration = Duration::from_millis(20);

/// A workflow that waits for a signal, or for its time.
fn waits(name: &str, timeout_ms: u32) -> String {
    format!(
        "kind: Workflow\nname: {name}\nversion: \"1\"\nstart:\n\
         \x20 waitForSignal: {{type: go, timeoutMs: {timeout_ms}, onTimeout: flo.TimedOut}}\n\
         \x20 transitions: {{success: flo.Completed}}\n"
    )
}

async fn define(connection: &Connection, document: &str) {
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn start(connection: &Connection, definition: &str) -> String {
    let payload = json!({"definition": definition});
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

async fn until_status(connection: &Connection, run: &str, status: &str) -> Value {
    found(&format!("{run} is {status}"), async || {
        let payload = json!({"runId": run});
        let mut got = connection.ok("RunGetRequest", payload).await;
        Some(got["run"].take()).filter(|run| run["status"] == status)
    })
    .await
}

async fn incidents(connection: &Connection) -> Vec<Value> {
    let found = connection.ok("IncidentsGetRequest", json!({})).await;
    found["items"].as_array().expect("a list").clone()
}

/// Waits until there is an incident.
async fn until_incident(connection: &Connection) -> Value {
    found("an incident", async || {
        incidents(connection).await.first().cloned()
    })
    .await
}

/// Makes the forms of all definitions unreadable; what undoes that.
fn break_forms(server: &Server) -> String {
    let body = server.stored("select body from record where kind = 2");
    server.change_stored("update record set body = '{}' where kind = 2");
    format!(
        "update record set body = '{}' where kind = 2",
        body.replace('\'', "''")
    )
}

async fn is_measured(server: &Server, kind: &str, open: &str) -> bool {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    let line = format!("interlock_incidents_open{{kind=\"{kind}\"}} {open}");
    text.lines().any(|found| found == line)
}

#[tokio::test]
async fn a_run_whose_form_cannot_be_read_stops_after_twenty_tries_and_resumes_when_it_is_retried() {
    let mut server = Server::on_disk(&[QUICKLY]);
    let connection = server.connect().await;
    define(&connection, &waits("approval", 2_000)).await;
    let run = start(&connection, "approval").await;
    until_status(&connection, &run, "waiting").await;
    server.kill();
    let mend = break_forms(&server);
    server.restart();
    let connection = server.connect().await;
    let incident = until_incident(&connection).await;
    assert_eq!(incident["kind"], "run");
    assert_eq!(incident["runId"], run.as_str());
    assert_eq!(incident["name"], "approval");
    assert_eq!(incident["tries"], 20);
    let reason = incident["reason"].as_str().expect("a reason");
    assert!(reason.contains("cannot be read"), "{reason}");
    assert!(is_measured(&server, "run", "1").await);
    until_status(&connection, &run, "waiting").await;
    // What is stored stays: a restart neither forgets it nor tries again.
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(
        incidents(&connection).await,
        std::slice::from_ref(&incident)
    );
    assert!(is_measured(&server, "run", "1").await);
    // A retry begins to count again.
    let named = json!({"incidentId": incident["incidentId"]});
    let retried = connection.ok("IncidentRetryRequest", named.clone()).await;
    assert_eq!(retried["incidentId"], incident["incidentId"]);
    let again = until_incident(&connection).await;
    assert_eq!(again["tries"], 20);
    server.kill();
    server.change_stored(&mend);
    server.restart();
    let connection = server.connect().await;
    connection.ok("IncidentRetryRequest", named.clone()).await;
    until_status(&connection, &run, "timed_out").await;
    assert!(incidents(&connection).await.is_empty());
    assert!(is_measured(&server, "run", "0").await);
    let gone = connection.call("IncidentRetryRequest", named).await;
    assert_eq!(code(&gone), "INCIDENT_NOT_FOUND");
}

#[tokio::test]
async fn a_crash_continues_the_count() {
    let mut server = Server::on_disk(&[("INTERLOCK_RETRY_PAUSE", "3ms")]);
    let connection = server.connect().await;
    define(&connection, &waits("approval", 2_000)).await;
    let run = start(&connection, "approval").await;
    until_status(&connection, &run, "waiting").await;
    server.kill();
    break_forms(&server);
    server.restart();
    let kept = |server: &Server| {
        let body = server.stored("select max(body) from record where kind = 8");
        serde_json::from_str::<Value>(&body).unwrap_or_default()
    };
    let begun = Instant::now();
    while kept(&server)["tries"].as_u64().unwrap_or(0) < 5 {
        assert!(begun.elapsed() < PATIENCE, "it is not tried");
        sleep(LOOK).await;
    }
    server.kill();
    let before = kept(&server);
    server.restart();
    let connection = server.connect().await;
    let incident = until_incident(&connection).await;
    assert_eq!(incident["tries"], 20, "{before} before the crash");
    assert_eq!(kept(&server)["since"], before["since"]);
}

#[tokio::test]
async fn a_cancel_ends_a_run_that_cannot_be_read_and_its_parent_goes_on() {
    let mut server = Server::on_disk(&[QUICKLY]);
    let connection = server.connect().await;
    define(&connection, &waits("below", 2_000)).await;
    let above = "kind: Workflow\nname: above\nversion: \"1\"\nstart:\n  run: \"@workflow/below\"\n\
                 \x20 transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(&connection, above).await;
    let parent = start(&connection, "above").await;
    until_status(&connection, &parent, "waiting").await;
    let child = loop {
        let payload = json!({"parentRunId": parent});
        let found = connection.ok("RunsGetRequest", payload).await;
        if found["items"][0]["status"] == "waiting" {
            break found["items"][0]["runId"]
                .as_str()
                .expect("an id")
                .to_owned();
        }
    };
    server.kill();
    let number = child.trim_start_matches("wfrun-");
    server.change_stored(&format!("update run set state = '[]' where r = {number}"));
    server.restart();
    let connection = server.connect().await;
    let incident = until_incident(&connection).await;
    assert_eq!(
        (&incident["runId"], &incident["name"]),
        (&json!(child), &json!("below"))
    );
    let id = incident["incidentId"].as_str().expect("an id");
    // At the shell, as an operator does.
    let address = server.grpc.to_string();
    let mut shell = command(&server.folder(), &[]);
    let listed = shell
        .args(["incidents", "list", "--address", &address])
        .output()
        .expect("runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains(id) && listed.contains(&child), "{listed}");
    let mut shell = command(&server.folder(), &[]);
    let cancelled = shell
        .args(["incidents", "cancel", id, "--address", &address])
        .output()
        .expect("runs");
    assert!(cancelled.status.success(), "{cancelled:?}");
    let text = String::from_utf8_lossy(&cancelled.stdout).into_owned();
    assert_eq!(text.trim(), format!("Incident {id} cancelled"));
    let ended = until_status(&connection, &child, "cancelled").await;
    assert!(ended["finishedAt"].is_string(), "{ended}");
    until_status(&connection, &parent, "failed").await;
    let history = json!({"runId": child});
    let history = connection.ok("RunHistoryGetRequest", history).await;
    let items = history["items"].as_array().expect("a list");
    let sequences: Vec<_> = items.iter().map(|item| item["sequence"].as_u64()).collect();
    let expected: Vec<_> = (1..).map(Some).take(items.len()).collect();
    assert_eq!(sequences, expected);
    assert_eq!(
        items.last().expect("one")["eventType"],
        "workflow_cancelled"
    );
    assert!(incidents(&connection).await.is_empty());
    let mut shell = command(&server.folder(), &[]);
    let gone = shell
        .args(["incidents", "retry", id, "--address", &address])
        .output()
        .expect("runs");
    assert_eq!(gone.status.code(), Some(1), "{gone:?}");
    let text = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(text.contains("INCIDENT_NOT_FOUND"), "{text}");
}

#[tokio::test]
async fn a_run_whose_state_cannot_be_read_is_listed_and_a_cancel_makes_it_an_incident() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    define(&connection, &waits("approval", 86_400_000)).await;
    let run = start(&connection, "approval").await;
    until_status(&connection, &run, "waiting").await;
    server.kill();
    let number = run.trim_start_matches("wfrun-");
    server.change_stored(&format!("update run set state = '[]' where r = {number}"));
    server.restart();
    let connection = server.connect().await;
    let listed = connection.ok("RunsGetRequest", json!({})).await;
    let item = &listed["items"][0];
    assert_eq!(item["runId"], run.as_str(), "{listed}");
    assert_eq!(item["status"], "waiting", "{listed}");
    let got = until_status(&connection, &run, "waiting").await;
    assert_eq!(
        got["error"]["message"],
        "the state of the run cannot be read"
    );
    connection.ok("TasksGetRequest", json!({})).await;
    let named = json!({"runId": run});
    let refused = connection.call("RunCancelRequest", named).await;
    assert_eq!(code(&refused), "STORAGE_DAMAGED");
    let open = incidents(&connection).await;
    assert_eq!(open[0]["runId"], run.as_str(), "{open:?}");
}

#[tokio::test]
async fn an_advance_that_panics_stops_after_three_panics_and_others_go_on() {
    let mut server = Server::on_disk(&[QUICKLY]);
    let connection = server.connect().await;
    define(&connection, &waits("approval", 2_000)).await;
    let run = start(&connection, "approval").await;
    until_status(&connection, &run, "waiting").await;
    server.kill();
    // The number of the next event does not exist.
    let state = server.stored("select state from run");
    let (head, tail) = state.split_once("\"sequence\":").expect("a number");
    let rest = tail.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let state = format!("{head}\"sequence\":{}{rest}", u64::MAX);
    server.change_stored(&format!(
        "update run set state = '{}'",
        state.replace('\'', "''")
    ));
    server.restart();
    let connection = server.connect().await;
    let incident = until_incident(&connection).await;
    assert_eq!(
        (&incident["runId"], &incident["tries"]),
        (&json!(run), &json!(3))
    );
    let reason = incident["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("panic: "), "{reason}");
    let other = start(&connection, "approval").await;
    until_status(&connection, &other, "timed_out").await;
    let rest = server.rest();
    let id = incident["incidentId"].as_str().expect("an id");
    let listed = rest.get("/api/incidents?kind=run").await.ok();
    assert_eq!(listed["items"], json!([incident]));
    assert_eq!(listed["pagination"], json!({"hasNext": false}));
    let others = rest.get("/api/incidents?kind=timer").await.ok();
    assert_eq!(others["items"], json!([]));
    let unknown = rest.get("/api/incidents?kind=task").await;
    unknown.refused(400, "BAD_REQUEST");
    let closed = rest
        .post(&format!("/api/incidents/{id}/cancel"), "")
        .await
        .ok();
    assert_eq!(closed, json!({"incidentId": id}));
    until_status(&connection, &run, "cancelled").await;
    let gone = rest.post(&format!("/api/incidents/{id}/cancel"), "").await;
    let gone = gone.refused(404, "INCIDENT_NOT_FOUND");
    assert_eq!(gone["properties"]["incidentId"], id);
}

#[tokio::test]
async fn a_timer_that_cannot_be_read_stops_and_is_fired_or_dropped_by_an_operator() {
    let pause = ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "1ms");
    let mut server = Server::on_disk(&[QUICKLY, pause]);
    let connection = server.connect().await;
    let timed = json!({"version": "1", "name": "timed", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "LATER", "next": "B", "manual": false, "schedule": {"delayMs": 1_000}}]},
        "B": {}}});
    let model = governed_model(&connection, "timed", json!({"n": 1}), timed).await;
    let one = create(&connection, &model, json!({"n": 1})).await;
    let other = create(&connection, &model, json!({"n": 2})).await;
    server.kill();
    let body = server.stored("select body from task limit 1");
    server.change_stored("update task set body = '[]'");
    server.restart();
    let connection = server.connect().await;
    let begun = Instant::now();
    let found = loop {
        let found = incidents(&connection).await;
        if found.len() == 2 {
            break found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found:?}");
        sleep(LOOK).await;
    };
    for incident in &found {
        assert_eq!(incident["kind"], "timer");
        assert_eq!(incident["name"], "LATER");
        assert_eq!(incident["tries"], 20);
    }
    let of = |entity: &str| {
        let mut all = found.iter();
        let found = all.find(|incident| incident["entityId"] == entity);
        json!({"incidentId": found.expect("an incident")["incidentId"]})
    };
    server.kill();
    server.change_stored(&format!("update task set body = '{body}'"));
    server.restart();
    let connection = server.connect().await;
    connection.ok("IncidentRetryRequest", of(&one)).await;
    connection.ok("IncidentCancelRequest", of(&other)).await;
    let begun = Instant::now();
    while state(&get(&connection, &one).await) != "B" {
        assert!(begun.elapsed() < PATIENCE, "it is not fired");
        sleep(LOOK).await;
    }
    assert!(incidents(&connection).await.is_empty());
    assert_eq!(state(&get(&connection, &other).await), "A");
    server.kill();
    assert_eq!(server.stored("select count(*) from task"), "0");
}

#[tokio::test]
async fn schedules_and_triggers_that_fail_stop_and_are_resumed() {
    let mut server = Server::on_disk(&[QUICKLY]);
    let connection = server.connect().await;
    let schedule = format!("{}schedule:\n  interval: 100\n", waits("nightly", 10));
    define(&connection, &schedule).await;
    let trigger = format!("{}trigger:\n  stream: orders\n", waits("ship", 10));
    define(&connection, &trigger).await;
    server.kill();
    let forms = "create table kept as select name, body from record where kind = 2;\
                 update record set body = '{}' where kind = 2";
    server.change_stored(forms);
    server.restart();
    let connection = server.connect().await;
    let event = json!({"topic": "orders", "events": [{"payload": 1}]});
    connection.ok("TopicPublishRequest", event).await;
    let begun = Instant::now();
    let found = loop {
        let found = incidents(&connection).await;
        let producers = found.iter().filter(|one| one["kind"] == "producer");
        if producers.count() == 2 {
            break found;
        }
        assert!(begun.elapsed() < PATIENCE, "{found:?}");
        sleep(LOOK).await;
    };
    let of = |name: &str| {
        let mut all = found.iter();
        let is_it = |one: &&Value| one["name"] == name && one["kind"] == "producer";
        json!({"incidentId": all.find(is_it).expect("an incident")["incidentId"]})
    };
    server.kill();
    let mend = "update record set body = (select body from kept where kept.name = record.name) \
                where kind = 2; drop table kept";
    server.change_stored(mend);
    server.restart();
    let connection = server.connect().await;
    connection.ok("IncidentRetryRequest", of("nightly")).await;
    let begun = Instant::now();
    loop {
        let payload = json!({"definition": "nightly"});
        let runs = connection.ok("RunsGetRequest", payload).await;
        if runs["items"]
            .as_array()
            .is_some_and(|runs| !runs.is_empty())
        {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not fire");
        sleep(LOOK).await;
    }
    // Cancelled, it starts nothing until its definition is enabled again.
    connection.ok("IncidentCancelRequest", of("ship")).await;
    let shown = connection
        .ok("RunDefinitionGetRequest", json!({"name": "ship"}))
        .await;
    assert_eq!(shown["trigger"]["active"], false, "{shown}");
    let enable = json!({"name": "ship", "enabled": true});
    connection
        .ok("RunDefinitionSetEnabledRequest", enable)
        .await;
    let begun = Instant::now();
    loop {
        let shown = connection
            .ok("RunDefinitionGetRequest", json!({"name": "ship"}))
            .await;
        if shown["trigger"]["position"] == 1 {
            assert_eq!(shown["trigger"]["active"], true, "{shown}");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{shown}");
        sleep(LOOK).await;
    }
    let left = incidents(&connection).await;
    assert!(left.iter().all(|one| one["kind"] == "run"), "{left:?}");
}

#[tokio::test]
async fn incidents_are_their_tenants_and_for_administrators() {
    let callers = ("INTERLOCK_IAM_MOCK_CALLER", "true");
    let mut server = Server::on_disk(&[QUICKLY, callers]);
    let connection = server.connect_as(&[("x-mock-tenant", "one")]).await;
    define(&connection, &waits("approval", 2_000)).await;
    let run = start(&connection, "approval").await;
    until_status(&connection, &run, "waiting").await;
    server.kill();
    break_forms(&server);
    server.restart();
    let connection = server.connect_as(&[("x-mock-tenant", "one")]).await;
    let incident = until_incident(&connection).await;
    let named = json!({"incidentId": incident["incidentId"]});
    let other = server.connect_as(&[("x-mock-tenant", "other")]).await;
    assert!(incidents(&other).await.is_empty());
    for kind in ["IncidentRetryRequest", "IncidentCancelRequest"] {
        let answer = other.call(kind, named.clone()).await;
        assert_eq!(code(&answer), "INCIDENT_NOT_FOUND", "{kind}");
    }
    // A repeat of the same request is answered the same, although the incident is closed.
    for _ in 0..2 {
        let keyed = [("idempotencykey", "cancel")];
        let closed = connection.call_with("IncidentCancelRequest", named.clone(), &keyed);
        assert_eq!(closed.await["success"], true);
    }
    until_status(&connection, &run, "cancelled").await;
}

#[tokio::test]
async fn answers_that_cannot_be_recorded_stop_their_run_and_count_once_it_is_retried() {
    let mut server = Server::on_disk(&[QUICKLY]);
    let connection = server.connect().await;
    let action = json!({"name": "charge"});
    connection.ok("ActionRegisterRequest", action).await;
    let document = "kind: Workflow\nname: pay\nversion: \"1\"\nstart:\n  run: \"@actions/charge\"\n\
                    \x20 transitions: {success: flo.Completed, failure: flo.Failed}\n";
    define(&connection, document).await;
    let run = start(&connection, "pay").await;
    let worker = json!({"workerId": "w", "actions": ["charge"]});
    connection.ok("WorkerRegisterRequest", worker.clone()).await;
    let taken = connection.ok("TaskAwaitRequest", worker).await;
    let task = taken["tasks"][0]["taskId"]
        .as_str()
        .expect("a task")
        .to_owned();
    server.kill();
    let mend = break_forms(&server);
    server.restart();
    let connection = server.connect().await;
    // As a worker does that does not give up.
    let complete = json!({"taskId": task, "workerId": "w"});
    let begun = Instant::now();
    let incident = loop {
        let answer = connection
            .call("TaskCompleteRequest", complete.clone())
            .await;
        assert_eq!(code(&answer), "SERVER_ERROR", "{answer}");
        if let Some(incident) = incidents(&connection).await.first() {
            break incident.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "no incident");
        sleep(LOOK).await;
    };
    assert_eq!(
        (&incident["runId"], &incident["tries"]),
        (&json!(run), &json!(20))
    );
    server.kill();
    server.change_stored(&mend);
    server.restart();
    let connection = server.connect().await;
    let named = json!({"incidentId": incident["incidentId"]});
    connection.ok("IncidentRetryRequest", named).await;
    let completed = connection.ok("TaskCompleteRequest", complete).await;
    assert_eq!(completed["applied"], true);
    until_status(&connection, &run, "completed").await;
}
