//! The rules of ticks, one after the other (`orchestration.md` 3.1 to 3.4, `runs.md` §8).

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, PATIENCE, Server,
    batch::{file, manager, of_items, put, put_manager, statuses, tick, waits_for_a_signal},
    payload_of, request,
};

const REGISTRY: &str = "/states/global_state_manager.json";

/// A step workflow that ends at once, at that terminal.
fn ends_at(name: &str, terminal: &str) -> Value {
    json!({"document": {"kind": "Workflow", "name": name, "version": "1", "start": {
        "run": "@actions/none", "transitions": {"target_not_found": terminal}
    }}})
}

/// Waits for the end of a run.
async fn ended(connection: &Connection, run: &Value) {
    let follow = json!({"runId": run, "fromSequence": 0});
    let ended = connection.all("RunHistorySubscribeRequest", follow);
    timeout(PATIENCE, ended).await.expect("it ends");
}

fn of_status(status: &str) -> String {
    json!({"status": status, "workers": []}).to_string()
}

/// A manager that stays in progress, as its one item does.
fn at_work() -> String {
    of_items(
        "a",
        &json!([{"status": "in-progress", "state_path": "/s/none"}]),
    )
}

#[tokio::test]
async fn a_missing_registry_files_each_manager_under_its_status() {
    let server = Server::start();
    let connection = server.connect().await;
    for status in ["done", "paused", "error"] {
        put_manager(&connection, &format!("{status}.json"), &of_status(status)).await;
    }
    put_manager(&connection, "in-progress.json", &at_work()).await;
    tick(&connection).await;
    let lists = json!({"to-do": [], "in-progress": ["in-progress.json"],
        "done": ["done.json", "error.json"], "paused": ["paused.json"]});
    assert_eq!(file(&connection, REGISTRY).await, lists);
    // Also after somebody has deleted it.
    connection
        .ok("FileDeleteRequest", json!({"path": REGISTRY}))
        .await;
    tick(&connection).await;
    assert_eq!(file(&connection, REGISTRY).await, lists);
}

#[tokio::test]
async fn a_new_manager_is_promoted_unless_it_is_paused_or_done() {
    let server = Server::start();
    let connection = server.connect().await;
    let worker = json!([{"configuration_code": "a", "user_code": "b", "status": "in-progress",
        "items": [{"status": "in-progress", "state_path": "/s/none"}]}]);
    for (status, then) in [
        (json!("to-do"), "in-progress"),
        (json!(null), "in-progress"),
        (json!("in-progress"), "in-progress"),
        (json!("paused"), "paused"),
        (json!("done"), "done"),
        (json!("error"), "error"),
    ] {
        let text = json!({"status": status, "workers": worker}).to_string();
        put_manager(&connection, "m.json", &text).await;
        tick(&connection).await;
        let now = manager(&connection, "m.json").await;
        assert_eq!(now["status"], then, "{status}");
        let payload = json!({"path": "/states/managers/m.json"});
        connection.ok("FileDeleteRequest", payload).await;
        // One that has vanished is dropped.
        let registry = tick(&connection).await["registry"].take();
        let none = json!({"to-do": [], "in-progress": [], "done": [], "paused": []});
        assert_eq!(registry, none);
    }
}

#[tokio::test]
async fn a_tracked_manager_is_filed_by_the_status_that_its_file_has_now() {
    let server = Server::start();
    let connection = server.connect().await;
    put_manager(&connection, "m.json", &at_work()).await;
    for (status, list) in [
        ("in-progress", "in-progress"),
        ("paused", "paused"),
        ("done", "done"),
        // It has no list of its own.
        ("error", "done"),
        // Setting it back to work files it again.
        ("to-do", "in-progress"),
        ("error", "done"),
        ("in-progress", "in-progress"),
    ] {
        let mut now = manager(&connection, "m.json").await;
        now["status"] = json!(status);
        put_manager(&connection, "m.json", &now.to_string()).await;
        let registry = tick(&connection).await["registry"].take();
        for (name, names) in registry.as_object().expect("an object") {
            let expected = if name == list {
                json!(["m.json"])
            } else {
                json!([])
            };
            assert_eq!(*names, expected, "{status}: {name}");
        }
    }
}

#[tokio::test]
async fn managers_are_processed_in_the_order_of_the_registry() {
    let server = Server::start();
    let connection = server.connect().await;
    for name in ["a.json", "b.json", "c.json", "d.json"] {
        put_manager(&connection, name, &at_work()).await;
    }
    put_manager(&connection, "p.json", &of_status("paused")).await;
    let registry = json!({"to-do": [], "in-progress": ["c.json", "a.json"], "done": [],
        "paused": []});
    put(&connection, REGISTRY, &registry.to_string()).await;
    let ticked = tick(&connection).await;
    let processed = ticked["processed"].as_array().expect("a list").iter();
    let names: Vec<_> = processed.map(|one| one["manager"].clone()).collect();
    assert_eq!(names, ["c.json", "a.json", "b.json", "d.json"]);
    assert_eq!(ticked["registry"]["in-progress"], json!(names));
}

#[tokio::test]
async fn one_manager_per_tick_is_the_first_that_is_in_progress() {
    let server = Server::with(&[("INTERLOCK_MANAGER_ONE_PER_TICK", "true")]);
    let connection = server.connect().await;
    let item = json!([{"status": "to-do", "state_path": "/s/a"}]);
    for name in ["a.json", "b.json"] {
        put_manager(&connection, name, &of_items("a", &item)).await;
    }
    put_manager(&connection, "0.json", &of_status("paused")).await;
    let names = |ticked: Value| {
        let processed = ticked["processed"].as_array().expect("a list").iter();
        processed
            .map(|one| one["manager"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(tick(&connection).await), ["a.json"]);
    assert_eq!(names(tick(&connection).await), ["a.json"]);
    let b = manager(&connection, "b.json").await;
    assert_eq!(b["workers"][0]["items"][0]["status"], "to-do");
    // A tick that names managers processes those.
    let both = json!({"payload": {"managers": ["a.json", "b.json"]}});
    let ticked = connection.ok("ManagerTickRequest", both).await;
    assert_eq!(names(ticked), ["a.json", "b.json"]);
    put(&connection, "/s/a", r#"{"status": "success"}"#).await;
    assert_eq!(names(tick(&connection).await), ["a.json"]);
    assert_eq!(names(tick(&connection).await), ["b.json"]);
    assert_eq!(names(tick(&connection).await), [Value::Null; 0]);
}

#[tokio::test]
async fn workers_are_processed_by_order_and_those_of_one_order_as_they_stand() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = ends_at("org.acme:a", "flo.Completed");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let worker = |order: Value, item: &str| {
        json!({"order": order, "configuration_code": "org.acme", "user_code": "a",
            "items": [{"name": item, "status": "to-do", "state_path": format!("/s/{item}")}]})
    };
    let text = json!({"workers": [worker(json!(null), "last"), worker(json!(7), "third"),
        worker(json!(7), "fourth"), worker(json!(-1), "first"), worker(json!(0), "second")]});
    put_manager(&connection, "m.json", &text.to_string()).await;
    let mut order = Vec::new();
    let done = async {
        loop {
            let ticked = tick(&connection).await["processed"][0].take();
            for started in ticked["started"].as_array().into_iter().flatten() {
                ended(&connection, &started["runId"]).await;
                let run = json!({"runId": started["runId"]});
                let run = connection.ok("RunGetRequest", run).await;
                order.push(run["run"]["input"]["state_path"].clone());
            }
            if ticked["status"] != "in-progress" {
                return;
            }
        }
    };
    timeout(PATIENCE, done).await.expect("it is done");
    let expected = ["/s/first", "/s/second", "/s/third", "/s/fourth", "/s/last"];
    assert_eq!(order, expected);
}

#[tokio::test]
async fn items_may_stand_in_state_as_one_object_or_a_map() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let item = |path: &str| json!({"status": "to-do", "state_path": path});
    let of = |state: Value| {
        json!({"configuration_code": "org.acme", "user_code": "a", "status": "in-progress",
            "state": state, "unknown": 1.50})
    };
    let text = json!({"status": "in-progress", "workers": [of(item("/s/1"))]});
    put_manager(&connection, "one.json", &text.to_string()).await;
    let map = json!({"first": item("/s/2"), "second": item("/s/3")});
    let text = json!({"status": "in-progress", "workers": [of(map)]});
    put_manager(&connection, "map.json", &text.to_string()).await;
    let ticked = tick(&connection).await;
    let started = |at: usize| ticked["processed"][at]["started"].as_array().map(Vec::len);
    assert_eq!((started(0), started(1)), (Some(2), Some(1)));
    let one = manager(&connection, "one.json").await;
    assert_eq!(one["workers"][0]["state"]["status"], "in-progress");
    assert_eq!(one["workers"][0]["unknown"], json!(1.50));
    let map = manager(&connection, "map.json").await;
    assert!(map["workers"][0]["state"]["second"]["workflow_id"].is_string());
}

/// The rows of the table of 3.4 that a worker in progress can come to, through state files.
#[tokio::test]
async fn a_worker_and_its_manager_get_the_statuses_of_the_table() {
    let server = Server::start();
    let connection = server.connect().await;
    for (items, worker, whole) in [
        (&[][..], "success", "done"),
        (&["error", "success"], "error", "error"),
        (&["error", "skip", "ignore"], "error", "error"),
        (&["error", "in-progress"], "in-progress", "in-progress"),
        (&["in-progress", "success"], "in-progress", "in-progress"),
        (&["ignore", "ignore"], "ignore", "done"),
        (&["skip", "ignore"], "skip", "done"),
        (&["skip", "skip"], "skip", "done"),
        (&["success", "skip", "ignore"], "success", "done"),
        (&["done", "success"], "success", "done"),
    ] {
        let mut all = Vec::new();
        for (at, status) in items.iter().enumerate() {
            let path = format!("/s/{at}");
            put(&connection, &path, &json!({"status": status}).to_string()).await;
            all.push(json!({"status": "in-progress", "state_path": path}));
        }
        put_manager(&connection, "m.json", &of_items("a", &json!(all))).await;
        tick(&connection).await;
        let now = manager(&connection, "m.json").await;
        let statuses = (&now["workers"][0]["status"], &now["status"]);
        assert_eq!(statuses, (&json!(worker), &json!(whole)), "{items:?}");
    }
    // Workers that people have finished, and one that is not reached.
    let worker = |status: &str| json!({"status": status, "items": []});
    for (workers, whole) in [
        (&["skip", "ignore", "success", "done"][..], "done"),
        (&["error", "success"], "error"),
        (&["error", "to-do"], "in-progress"),
    ] {
        let workers: Vec<_> = workers.iter().map(|status| worker(status)).collect();
        let text = json!({"status": "in-progress", "workers": workers});
        put_manager(&connection, "m.json", &text.to_string()).await;
        tick(&connection).await;
        let now = manager(&connection, "m.json").await;
        assert_eq!(now["status"], whole, "{text}");
    }
    // One that somebody has paused stays so, whatever its workers are.
    let text = json!({"status": "paused", "workers": [worker("success")]});
    put_manager(&connection, "m.json", &text.to_string()).await;
    tick(&connection).await;
    assert_eq!(manager(&connection, "m.json").await["status"], "paused");
}

#[tokio::test]
async fn an_item_takes_over_what_its_state_file_says() {
    let server = Server::start();
    let connection = server.connect().await;
    for (content, status, error) in [
        (
            json!({"status": "success", "result": 1.50}),
            "success",
            Value::Null,
        ),
        (json!({"status": "done"}), "success", Value::Null),
        (json!({"status": "skip"}), "skip", Value::Null),
        (json!({"status": "ignore"}), "ignore", Value::Null),
        (json!({"status": "in-progress"}), "in-progress", Value::Null),
        (
            json!({"status": "error", "error": {"code": 1.50}}),
            "error",
            json!({"code": 1.50}),
        ),
        (
            json!({"status": "error", "error": "no"}),
            "error",
            json!("no"),
        ),
    ] {
        put(&connection, "/s/1", &content.to_string()).await;
        let item = json!([{"status": "in-progress", "state_path": "/s/1"}]);
        put_manager(&connection, "m.json", &of_items("a", &item)).await;
        tick(&connection).await;
        let now = manager(&connection, "m.json").await;
        let item = &now["workers"][0]["items"][0];
        assert_eq!((&item["status"], &item["error"]), (&json!(status), &error));
    }
}

#[tokio::test]
async fn the_end_of_the_work_counts_where_its_state_file_does_not_say() {
    let server = Server::start();
    let connection = server.connect().await;
    for (user, terminal) in [
        ("completes", "flo.Completed"),
        ("fails", "flo.Failed"),
        ("is-cancelled", "flo.Cancelled"),
        ("times-out", "flo.TimedOut"),
    ] {
        let flow = ends_at(&format!("org.acme:{user}"), terminal);
        connection.ok("RunDefinitionCreateRequest", flow).await;
    }
    let saga = "saga \"org.acme:saga\" {\n step \"wait\" {\n delay = \"0s\"\n }\n}\n";
    let bundle = json!({"files": [{"path": "a.hcl", "text": saga}]});
    connection.ok("BundleApplyRequest", bundle).await;
    for (user, state, status, why) in [
        ("completes", None, "success", None),
        ("completes", Some("in-progress"), "success", None),
        ("saga", None, "success", None),
        ("fails", None, "error", Some("ended failed")),
        ("fails", Some("in-progress"), "error", Some("ended failed")),
        ("is-cancelled", None, "error", Some("ended cancelled")),
        ("times-out", None, "error", Some("ended timed_out")),
        ("fails", Some("success"), "success", None),
        (
            "completes",
            Some("error"),
            "error",
            Some("without a reason"),
        ),
    ] {
        let path = "/s/1";
        let _ = connection
            .call("FileDeleteRequest", json!({"path": path}))
            .await;
        let item = json!([{"status": "to-do", "state_path": path}]);
        put_manager(&connection, "m.json", &of_items(user, &item)).await;
        let started = tick(&connection).await["processed"][0]["started"][0].take();
        ended(&connection, &started["runId"]).await;
        if let Some(state) = state {
            put(&connection, path, &json!({"status": state}).to_string()).await;
        }
        tick(&connection).await;
        let now = manager(&connection, "m.json").await;
        let item = &now["workers"][0]["items"][0];
        assert_eq!(item["status"], status, "{user} {state:?}: {item}");
        let said = item["error"].as_str();
        assert_eq!(said.is_some(), why.is_some(), "{item}");
        if let Some(why) = why {
            assert!(said.is_some_and(|said| said.contains(why)), "{said:?}");
        }
    }
}

#[tokio::test]
async fn a_task_of_an_item_goes_to_a_member_and_its_failure_is_the_reason() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = server.connect().await;
    let tags = json!({"tags": ["workflow:org.acme:import"]});
    member
        .send(request("CalculationMemberJoinEvent", "join", tags))
        .await;
    member.unasked().await.expect("a greeting");
    let text = json!({"status": "in-progress", "workers": [{"order": 3, "status": "in-progress",
        "configuration_code": "org.acme", "user_code": "import",
        "download_options": {"a": 1, "b": 1}, "data_options": {"b": 2}, "import_options": {"c": 3},
        "calculation_options": {"d": 4}, "state_options": {"e": 5}, "other_options": {"f": 6},
        "items": [{"status": "to-do", "state_path": "/s/1"},
            {"status": "to-do", "state_path": "/s/2", "payload": {"own": 1.50}}]}]});
    put_manager(&connection, "m.json", &text.to_string()).await;
    tick(&connection).await;
    let expected = [
        json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "state_path": "/s/1", "manager": "m.json",
            "worker": 3, "item": 0}),
        json!({"own": 1.50, "state_path": "/s/2", "manager": "m.json", "worker": 3, "item": 1}),
    ];
    // Items of one worker are done side by side, in no order.
    for _ in &expected {
        let task = timeout(PATIENCE, member.unasked()).await.expect("in time");
        let sent = payload_of(&task.expect("a task"));
        assert_eq!(sent["kind"], "item");
        let of_item = |one: &&Value| one["item"] == sent["input"]["item"];
        let expected = expected.iter().find(of_item).expect("one of the items");
        assert_eq!(&sent["input"], expected);
        let answer = if expected["item"] == 0 {
            json!({"requestId": sent["requestId"], "success": true})
        } else {
            json!({"requestId": sent["requestId"], "success": false,
                "error": {"message": "row 7 is broken"}})
        };
        let answer = request("TaskCalculationResponse", "a", answer);
        member.send(answer).await;
    }
    let ended = async { while tick(&connection).await["processed"][0]["status"] != "error" {} };
    timeout(PATIENCE, ended).await.expect("it ends");
    let now = manager(&connection, "m.json").await;
    assert_eq!(
        statuses(&now),
        json!(["error", [["error", ["success", "error"]]]])
    );
    let why = now["workers"][0]["items"][1]["error"].as_str();
    assert!(
        why.is_some_and(|why| why.contains("row 7 is broken")),
        "{why:?}"
    );
}

#[tokio::test]
async fn a_start_takes_the_whole_name_before_a_version_of_a_part_of_it() {
    let server = Server::start();
    let connection = server.connect().await;
    // A definition `org.acme` of version `a`, which is not what the item names.
    let mut other = ends_at("org.acme", "flo.Completed");
    other["document"]["version"] = json!("a");
    connection.ok("RunDefinitionCreateRequest", other).await;
    let item = json!([{"status": "to-do", "state_path": "/s/1"}]);
    put_manager(&connection, "m.json", &of_items("a", &item)).await;
    let started = tick(&connection).await["processed"][0]["started"][0].take();
    assert!(
        started["taskId"].is_string(),
        "a member is asked: {started}"
    );
    let whole = ends_at("org.acme:a", "flo.Completed");
    connection.ok("RunDefinitionCreateRequest", whole).await;
    put_manager(&connection, "n.json", &of_items("a", &item)).await;
    let named = json!({"payload": {"managers": ["n.json"]}});
    let ticked = connection.ok("ManagerTickRequest", named).await;
    let started = &ticked["processed"][0]["started"][0];
    let run = json!({"runId": started["runId"]});
    let run = connection.ok("RunGetRequest", run).await;
    assert_eq!(run["run"]["definition"]["name"], "org.acme:a");
}
