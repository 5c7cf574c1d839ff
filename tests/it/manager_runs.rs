//! Ticks as runs of the workflow manager (`runs.md` §8): how they start, what they leave behind, and
//! that a crash or a cancel in the middle starts nothing twice.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, PATIENCE, Server,
    batch::{manager, of_items, put_manager, tick, waits_for_a_signal},
    between_looks, code, create, governed_model, payload_of, processed_by, request,
};

/// The code under which the service ticks managers.
const CODE: &str = "com.finmars.standard-workflow:workflow-manager";

/// How long a request waits for the end of a run.
const WAIT_MS: u64 = 30_000;

/// A namespace with a definition that items start, and these managers of so many items.
async fn batches(connection: &Connection, managers: &[&str], items: usize) {
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let items: Vec<_> = (0..items)
        .map(|n| json!({"status": "to-do", "state_path": format!("/s/{n}")}))
        .collect();
    for name in managers {
        put_manager(connection, name, &of_items("a", &json!(items))).await;
    }
}

/// The run of a tick that has ended.
async fn ticked(connection: &Connection, input: Value) -> Value {
    let start = json!({"definition": CODE, "input": input, "waitMs": WAIT_MS});
    let started = connection.ok("RunStartRequest", start).await;
    assert_eq!(started["kind"], "manager", "{started}");
    let run = json!({"runId": started["runId"]});
    connection.ok("RunGetRequest", run).await["run"].take()
}

/// The types and details of a history, but for the input.
async fn history(connection: &Connection, run: &Value) -> Vec<String> {
    let payload = json!({"runId": run});
    let page = connection.ok("RunHistoryGetRequest", payload).await;
    let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
    let items = page["items"].as_array().expect("a list").iter().skip(1);
    items
        .map(|item| format!("{} {}", text(item, "eventType"), text(item, "detail")))
        .collect()
}

/// The runs and tasks that the items of managers name.
async fn work_of(connection: &Connection, managers: &[String]) -> Vec<String> {
    let mut work = Vec::new();
    for name in managers {
        let now = manager(connection, name).await;
        for item in now["workers"][0]["items"].as_array().expect("a list") {
            work.extend(item["workflow_id"].as_str().map(ToOwned::to_owned));
        }
    }
    work
}

/// The runs that ticks have started.
async fn started_by_ticks(connection: &Connection) -> BTreeSet<String> {
    let mut started = BTreeSet::new();
    let mut cursor = Value::Null;
    loop {
        let list = json!({"limit": 1000, "definition": "org.acme:a", "cursor": cursor});
        let page = connection.ok("RunsGetRequest", list).await;
        for run in page["items"].as_array().expect("a list") {
            assert_eq!(run["startedBy"], "manager", "{run}");
            started.insert(run["runId"].as_str().expect("an id").to_owned());
        }
        cursor = page["pagination"]["nextCursor"].clone();
        if cursor.is_null() {
            return started;
        }
    }
}

#[tokio::test]
async fn a_tick_is_a_run_with_its_history_and_the_answer_of_a_tick() {
    let server = Server::start();
    let connection = server.connect().await;
    batches(&connection, &["a.json", "b.json"], 2).await;
    put_manager(&connection, "broken.json", "[1]").await;
    let run = ticked(&connection, json!({})).await;
    assert_eq!(
        (&run["kind"], &run["status"]),
        (&json!("manager"), &json!("completed"))
    );
    let named = (&run["definition"]["name"], &run["definition"]["version"]);
    assert_eq!(named, (&json!(CODE), &json!("1")));
    assert_eq!(
        (&run["startedBy"], &run["input"]),
        (&json!("caller"), &json!({}))
    );
    let output = &run["output"];
    let lists = json!({"to-do": ["broken.json"], "in-progress": ["a.json", "b.json"], "done": [],
        "paused": []});
    assert_eq!(output["registry"], lists);
    assert_eq!(output["processed"].as_array().map(Vec::len), Some(3));
    let started = output["processed"][0]["started"].as_array();
    let started = started.expect("a list");
    assert_eq!(started.len(), 2);
    assert_eq!(
        (&started[1]["worker"], &started[1]["item"]),
        (&json!(1), &json!(1))
    );
    let now = manager(&connection, "a.json").await;
    assert_eq!(
        now["workers"][0]["items"][1]["workflow_id"],
        started[1]["runId"]
    );
    assert_eq!(run["steps"]["start"]["outcome"], "success");
    assert_eq!(
        history(&connection, &run["runId"]).await,
        [
            "step_started start",
            "action_completed success",
            "step_completed start",
            "workflow_completed flo.Completed"
        ]
    );
    // What is answered by hand is the same.
    let by_hand = tick(&connection).await;
    let by_run = ticked(&connection, json!(null)).await;
    assert_eq!(by_hand["registry"], by_run["output"]["registry"]);
    assert_eq!(by_hand["processed"], by_run["output"]["processed"]);
    let follow = json!({"runId": run["runId"], "fromSequence": 0});
    let followed = connection.all("RunHistorySubscribeRequest", follow);
    let (events, _) = timeout(PATIENCE, followed).await.expect("it ends");
    assert_eq!(events.len(), 5);
    // Ticks are a kind of their own.
    for (list, count) in [
        (json!({"kind": "manager"}), 2),
        (json!({"definition": CODE}), 2),
        (json!({"definition": CODE, "kind": "manager"}), 2),
        (json!({"definition": CODE, "kind": "flo"}), 0),
        (json!({"definition": "org.acme:a", "kind": "manager"}), 0),
        (json!({"kind": "flo"}), 4),
        (json!({"kind": "saga"}), 0),
        (json!({"kind": "manager", "status": ["failed"]}), 0),
        (json!({"kind": "manager", "namespace": "other"}), 0),
    ] {
        let page = connection.ok("RunsGetRequest", list.clone()).await;
        let items = page["items"].as_array().expect("a list");
        assert_eq!(items.len(), count, "{list}: {page}");
    }
    let tasks = json!({"runId": run["runId"]});
    let tasks = connection.ok("TasksGetRequest", tasks).await;
    assert_eq!(tasks["items"], json!([]), "this process does it");
}

#[tokio::test]
async fn ticks_are_started_and_shown_by_every_api() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    batches(&connection, &["a.json"], 1).await;
    let start = json!({"definition": CODE, "waitMs": WAIT_MS});
    let by_stream = connection.ok("RunStartRequest", start.clone()).await;
    let event = request("RunStartRequest", "1", start.clone());
    let by_method = connection.unary("entityManage", event, &[]).await;
    let by_method = payload_of(&by_method.expect("an answer"));
    let event = json!({"specversion": "1.0", "id": "1", "source": "test", "type":
        "RunStartRequest", "datacontenttype": "application/json", "data":
        {"id": "1", "definition": CODE, "waitMs": WAIT_MS}});
    let structured = rest.with("content-type", "application/cloudevents+json");
    let by_event = structured.post("/api/events", event.to_string()).await;
    let by_event = by_event.ok()["data"].clone();
    let by_rest = rest.post("/api/runs", start.to_string()).await.ok();
    for started in [by_stream, by_method, by_event, by_rest] {
        assert_eq!(
            (&started["kind"], &started["status"]),
            (&json!("manager"), &json!("completed")),
            "{started}"
        );
        assert_eq!(
            started["run"]["output"]["processed"][0]["manager"],
            "a.json"
        );
        let id = started["runId"].as_str().expect("an id");
        let shown = rest.get(&format!("/api/runs/{id}")).await.ok();
        assert_eq!(shown["output"], started["run"]["output"]);
        let events = rest.get(&format!("/api/runs/{id}/history")).await.ok();
        assert_eq!(events["items"].as_array().map(Vec::len), Some(5));
        let mut sent = rest
            .open(
                "GET",
                &format!("/api/runs/{id}/history/stream?fromSequence=4"),
                "",
            )
            .await;
        let last = timeout(PATIENCE, sent.sent()).await.expect("in time");
        let last = last.expect("the last event").data;
        assert!(last.contains("workflow_completed"), "{last}");
    }
    let listed = rest.get("/api/runs?kind=manager").await.ok();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(4));
    let metrics = crate::support::Rest::new(server.admin);
    let text = metrics.get("/metrics").await.text;
    let line = r#"interlock_runs_finished_total{kind="manager",status="completed"} 4"#;
    assert!(text.contains(line), "{text}");
}

#[tokio::test]
async fn the_payload_of_a_tick_that_is_a_run_names_managers() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let connection = server.connect().await;
    batches(&connection, &["a.json", "b.json", "c.json"], 1).await;
    let input = json!({"managers": ["c.json"], "state_path": "/states/managers/b.json"});
    let run = ticked(&connection, input).await;
    let processed = run["output"]["processed"].as_array().expect("a list");
    let names: BTreeSet<_> = processed
        .iter()
        .map(|one| one["manager"].as_str())
        .collect();
    assert_eq!(names, BTreeSet::from([Some("b.json"), Some("c.json")]));
    let none = manager(&connection, "a.json").await;
    assert_eq!(none["workers"][0]["items"][0]["status"], "to-do");
    // A manager that is not there fails the run, with the code that a tick has.
    let run = ticked(&connection, json!({"managers": ["none.json"]})).await;
    assert_eq!(run["status"], "failed");
    assert_eq!(run["error"]["code"], "MANAGER_NOT_FOUND");
    assert!(run["output"].is_null(), "{run}");
    let events = history(&connection, &run["runId"]).await;
    assert_eq!(events[1], "action_completed failure");
    let why = run["error"]["message"].as_str().expect("a reason");
    assert_eq!(events[3], format!("workflow_failed {why}"));
    for input in [
        json!([]),
        json!("a.json"),
        json!({"managers": "a.json"}),
        json!({"managers": [1]}),
        json!({"state_path": "/s/a.json"}),
        json!({"state_path": 1}),
    ] {
        let start = json!({"definition": CODE, "input": input});
        let failed = connection.fails("RunStartRequest", start).await;
        assert_eq!(failed, "BAD_REQUEST", "{input}");
    }
    // It has one version, and no document.
    for (kind, payload) in [
        (
            "RunStartRequest",
            json!({"definition": CODE, "version": "2"}),
        ),
        ("RunDefinitionGetRequest", json!({"name": CODE})),
        (
            "RunDefinitionSetEnabledRequest",
            json!({"name": CODE, "enabled": false}),
        ),
        ("RunDefinitionDeleteRequest", json!({"name": CODE})),
    ] {
        let failed = connection.fails(kind, payload).await;
        assert_eq!(failed, "RUN_DEFINITION_NOT_FOUND", "{kind}");
    }
    let document = waits_for_a_signal(CODE);
    let failed = connection
        .fails("RunDefinitionCreateRequest", document)
        .await;
    assert_eq!(failed, "VALIDATION_FAILED", "the name is taken");
    // A tick is of one namespace and tenant.
    let elsewhere = json!({"definition": CODE, "namespace": "other", "waitMs": WAIT_MS});
    let elsewhere = connection.ok("RunStartRequest", elsewhere).await;
    assert_eq!(elsewhere["run"]["output"]["processed"], json!([]));
    let theirs = server.connect_as(&[("x-mock-tenant", "other")]).await;
    let of_theirs = ticked(&theirs, json!({})).await;
    assert_eq!(of_theirs["output"]["processed"], json!([]));
    let foreign = json!({"runId": run["runId"]});
    assert_eq!(
        theirs.fails("RunGetRequest", foreign).await,
        "RUN_NOT_FOUND"
    );
}

#[tokio::test]
async fn a_tick_that_is_started_again_with_its_key_is_the_same_run() {
    let server = Server::start();
    let connection = server.connect().await;
    batches(&connection, &["a.json"], 1).await;
    let start = json!({"definition": CODE, "idempotencyKey": "k", "waitMs": WAIT_MS});
    let first = connection.ok("RunStartRequest", start.clone()).await;
    let second = connection.ok("RunStartRequest", start).await;
    assert_eq!(first["runId"], second["runId"]);
    assert_eq!(
        (&first["created"], &second["created"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(first["run"]["output"], second["run"]["output"]);
    let chosen = json!({"definition": CODE, "runId": "my-tick", "waitMs": WAIT_MS});
    let run = connection.ok("RunStartRequest", chosen.clone()).await;
    assert_eq!(run["runId"], "my-tick");
    assert_eq!(
        connection.fails("RunStartRequest", chosen).await,
        "RUN_EXISTS"
    );
    let over = json!({"runId": "my-tick"});
    assert_eq!(
        connection.fails("RunCancelRequest", over).await,
        "RUN_FINISHED"
    );
    let runs = connection
        .ok("RunsGetRequest", json!({"kind": "manager"}))
        .await;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_tick_is_cancelled_and_what_it_has_started_stays() {
    let server = Server::start();
    let connection = server.connect().await;
    let names: Vec<String> = (0..200).map(|n| format!("m{n:03}.json")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    batches(&connection, &all, 2).await;
    let started = connection
        .ok("RunStartRequest", json!({"definition": CODE}))
        .await;
    let run = json!({"runId": started["runId"]});
    // Nobody else says how a tick ended.
    let task = format!("{}.1", started["runId"].as_str().expect("an id"));
    for kind in ["TaskCompleteRequest", "TaskTouchRequest", "TaskGetRequest"] {
        let failed = connection.fails(kind, json!({"taskId": task})).await;
        assert_eq!(failed, "TASK_NOT_FOUND", "{kind}");
    }
    let cancelled = connection.ok("RunCancelRequest", run.clone()).await;
    assert_eq!(cancelled["status"], "cancelled");
    // The next tick has its turn once that one has stopped, and starts the rest.
    let rest = tick(&connection).await;
    let started_by_hand: usize = rest["processed"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["started"].as_array().map_or(0, Vec::len))
        .sum();
    assert!(started_by_hand > 0, "the tick was stopped in the middle");
    let work = work_of(&connection, &names).await;
    assert_eq!(work.len(), 400);
    assert_eq!(
        work.into_iter().collect::<BTreeSet<_>>(),
        started_by_ticks(&connection).await
    );
    let shown = connection.ok("RunGetRequest", run).await["run"].take();
    assert_eq!(shown["status"], "cancelled");
    assert!(shown["output"].is_null());
}

#[tokio::test]
async fn a_tick_that_a_crash_interrupts_is_resumed_and_starts_nothing_twice() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let names: Vec<String> = (0..100).map(|n| format!("m{n:03}.json")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    batches(&connection, &all, 3).await;
    let started = connection
        .ok("RunStartRequest", json!({"definition": CODE}))
        .await;
    let begun = async {
        while work_of(&connection, &names[3..4]).await.is_empty() {
            between_looks().await;
        }
    };
    timeout(PATIENCE, begun).await.expect("it begins");
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let follow = json!({"runId": started["runId"], "fromSequence": 0});
    let followed = connection.all("RunHistorySubscribeRequest", follow);
    timeout(PATIENCE, followed).await.expect("it ends");
    let run = json!({"runId": started["runId"]});
    let run = connection.ok("RunGetRequest", run).await["run"].take();
    assert_eq!(run["status"], "completed", "{run}");
    assert_eq!(
        run["output"]["registry"]["in-progress"]
            .as_array()
            .map(Vec::len),
        Some(100)
    );
    let work = work_of(&connection, &names).await;
    assert_eq!(work.len(), 300);
    assert_eq!(
        work.into_iter().collect::<BTreeSet<_>>(),
        started_by_ticks(&connection).await
    );
    assert_eq!(history(&connection, &run["runId"]).await.len(), 4);
}

#[tokio::test]
async fn steps_schedules_and_transitions_start_ticks() {
    let server = Server::start();
    let connection = server.connect().await;
    batches(&connection, &["a.json"], 1).await;
    let document = json!({"kind": "Workflow", "name": "ticks", "version": "1",
        "output": "{\"by\": \"$.steps._start.output.registry.in-progress\"}", "start": {
            "run": format!("@workflow/{CODE}"), "inputMapping": "{\"managers\": [\"a.json\"]}",
            "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}});
    let define = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", define).await;
    let start = json!({"definition": "ticks", "waitMs": WAIT_MS});
    let started = connection.ok("RunStartRequest", start).await;
    assert_eq!(
        started["run"]["output"],
        json!({"by": ["a.json"]}),
        "{started}"
    );
    let children = json!({"kind": "manager", "parentRunId": started["runId"]});
    let children = connection.ok("RunsGetRequest", children).await;
    assert_eq!(children["items"][0]["startedBy"], "parent", "{children}");

    // What a step gives it is no payload of a tick: the child fails, and the step with it.
    let mut wrong = document.clone();
    wrong["name"] = json!("wrong");
    wrong["start"]["inputMapping"] = json!("{\"managers\": 1}");
    let define = json!({"document": wrong});
    connection.ok("RunDefinitionCreateRequest", define).await;
    let start = json!({"definition": "wrong", "waitMs": WAIT_MS});
    let started = connection.ok("RunStartRequest", start).await;
    assert_eq!(started["status"], "failed");
    let failed = connection.ok(
        "RunsGetRequest",
        json!({"kind": "manager", "status": ["failed"]}),
    );
    let failed = failed.await;
    assert_eq!(
        failed["items"][0]["error"]["code"], "BAD_REQUEST",
        "{failed}"
    );

    let mut scheduled = document;
    scheduled["name"] = json!("scheduled");
    scheduled["schedule"] = json!({"interval": 100});
    let define = json!({"document": scheduled});
    let before = connection
        .ok("RunsGetRequest", json!({"kind": "manager"}))
        .await;
    let before = before["items"].as_array().map(Vec::len);
    connection.ok("RunDefinitionCreateRequest", define).await;
    let fires = async {
        loop {
            let runs = connection
                .ok("RunsGetRequest", json!({"kind": "manager"}))
                .await;
            if runs["items"].as_array().map(Vec::len) > before {
                return;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, fires).await.expect("it fires");

    // A transition writes it in its own commit, with an input that names no managers.
    let processor = json!([{"type": "run", "name": "tick", "config": {"definition": CODE}}]);
    let workflow = processed_by(processor);
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let entity = create(&connection, &model, json!({"n": 1})).await;
    let list = json!({"kind": "manager", "entityId": entity});
    let ended = async {
        loop {
            let runs = connection.ok("RunsGetRequest", list.clone()).await;
            if runs["items"][0]["status"] == "completed" {
                return runs["items"][0]["startedBy"].clone();
            }
            between_looks().await;
        }
    };
    let by = timeout(PATIENCE, ended).await.expect("it ends");
    assert_eq!(by, "transition");
}

#[tokio::test]
async fn an_item_that_names_the_manager_is_an_error_and_the_others_go_on() {
    let server = Server::start();
    let connection = server.connect().await;
    batches(&connection, &["a.json"], 1).await;
    let item = json!([{"status": "to-do", "state_path": "/s/own"}]);
    let own = json!({"status": "in-progress", "workers": [{"order": 1,
        "configuration_code": "com.finmars.standard-workflow", "user_code": "workflow-manager",
        "items": item}]});
    put_manager(&connection, "own.json", &own.to_string()).await;
    let run = ticked(&connection, json!({})).await;
    assert_eq!(run["status"], "completed");
    let now = manager(&connection, "own.json").await;
    assert_eq!(now["status"], "error");
    let why = now["workers"][0]["items"][0]["error"].as_str();
    assert!(why.is_some_and(|why| why.contains("a manager cannot start managers")));
    let other = manager(&connection, "a.json").await;
    assert!(other["workers"][0]["items"][0]["workflow_id"].is_string());
    let runs = connection
        .ok("RunsGetRequest", json!({"kind": "manager"}))
        .await;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(1));
    let unknown = connection
        .call("RunsGetRequest", json!({"kind": "managers"}))
        .await;
    assert_eq!(code(&unknown), "BAD_REQUEST");
}
