//! Managers: files that people read and edit, ticked through every API (`runs.md` §8,
//! `orchestration.md` chapter 3).

use std::time::Duration;

use interlock::event::EventType;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, Server,
    batch::{
        FILE, MANAGER, REGISTRY, file, manager, of_items, put, put_manager, statuses, tick,
        waits_for_a_signal,
    },
    between_looks, code, payload_of, request,
};

const PATIENCE: Duration = Duration::from_secs(30);

async fn signal(connection: &Connection, run: &Value) {
    let payload = json!({"runId": run, "type": "go"});
    connection.ok("RunSignalRequest", payload).await;
    let follow = json!({"runId": run, "fromSequence": 0});
    let ended = connection.all("RunHistorySubscribeRequest", follow);
    timeout(PATIENCE, ended).await.expect("it ends");
}

#[tokio::test]
async fn the_documented_batch_is_done_tick_by_tick() {
    let server = Server::start();
    let connection = server.connect().await;
    let import = waits_for_a_signal("org.acme.flows:import-file");
    connection.ok("RunDefinitionCreateRequest", import).await;
    let member = server.connect().await;
    let tags = json!({"tags": ["workflow:org.acme.flows:calculate"]});
    member
        .send(request("CalculationMemberJoinEvent", "join", tags))
        .await;
    member.unasked().await.expect("a greeting");
    put(&connection, "/states/global_state_manager.json", REGISTRY).await;
    put_manager(&connection, FILE, MANAGER).await;

    // The first item alone, then the other beside it.
    let first = tick(&connection).await;
    let processed = &first["processed"][0];
    assert_eq!(processed["manager"], FILE);
    assert_eq!(
        (&processed["status"], &processed["changed"]),
        (&json!("in-progress"), &json!(true))
    );
    let started = &processed["started"][0];
    assert_eq!(
        (&started["worker"], &started["item"]),
        (&json!(1), &json!(0))
    );
    // What the registry names and is not there is dropped.
    let lists = json!({"to-do": [], "in-progress": [FILE], "done": [], "paused": []});
    assert_eq!(first["registry"], lists);
    assert_eq!(
        file(&connection, "/states/global_state_manager.json").await,
        lists
    );
    let run = json!({"runId": started["runId"]});
    let run = connection.ok("RunGetRequest", run).await["run"].take();
    assert_eq!(run["startedBy"], "manager");
    assert_eq!(
        run["input"],
        json!({"target": "trades", "state_path": "/states/items/import-20240819.json",
            "manager": FILE, "worker": 1, "item": 0})
    );
    let now = manager(&connection, FILE).await;
    assert_eq!(
        now["workers"][0]["items"][0]["workflow_id"],
        started["runId"]
    );
    let second = tick(&connection).await;
    assert_eq!(
        second["processed"][0]["started"].as_array().map(Vec::len),
        Some(1)
    );
    let third = tick(&connection).await;
    assert_eq!(third["processed"][0]["started"], json!([]));
    assert_eq!(third["processed"][0]["changed"], false);
    assert_eq!(
        statuses(&manager(&connection, FILE).await),
        json!([
            "in-progress",
            [
                ["in-progress", ["in-progress", "in-progress"]],
                ["to-do", ["to-do"]]
            ]
        ])
    );

    // One says itself how it ended, of the other the end of its run counts.
    put(
        &connection,
        "/states/items/import-20240820.json",
        r#"{"status": "success"}"#,
    )
    .await;
    signal(&connection, &started["runId"]).await;
    let fourth = tick(&connection).await;
    let started = &fourth["processed"][0]["started"][0];
    assert_eq!(started["worker"], 2);
    let task = timeout(PATIENCE, member.unasked()).await;
    let task = task.expect("it is sent").expect("an event");
    assert_eq!(task.kind, EventType::TaskCalculationRequest);
    let sent = payload_of(&task);
    assert_eq!(
        (&sent["kind"], &sent["name"]),
        (&json!("item"), &json!("org.acme.flows:calculate"))
    );
    assert_eq!(sent["taskId"], started["taskId"]);
    assert_eq!(sent["input"]["state_path"], "/states/items/calculate.json");
    let shown = json!({"taskId": started["taskId"]});
    let shown = connection.ok("TaskGetRequest", shown).await;
    assert_eq!(shown["task"]["kind"], "item");
    let answer = json!({"requestId": sent["requestId"], "success": true});
    member
        .send(request("TaskCalculationResponse", "a", answer))
        .await;
    let done = async {
        loop {
            let ticked = tick(&connection).await;
            if ticked["processed"] == json!([]) || ticked["processed"][0]["status"] == "done" {
                return ticked;
            }
        }
    };
    let last = timeout(PATIENCE, done).await.expect("it is done");
    assert_eq!(last["registry"]["done"], json!([FILE]));
    let now = manager(&connection, FILE).await;
    assert_eq!(
        statuses(&now),
        json!([
            "done",
            [
                ["success", ["success", "success"]],
                ["success", ["success"]]
            ]
        ])
    );
    assert_eq!(tick(&connection).await["processed"], json!([]));
    let members: Vec<_> = now.as_object().expect("an object").keys().collect();
    assert!(members.contains(&&"schedule".to_owned()), "{members:?}");
}

#[tokio::test]
async fn a_failed_item_holds_up_the_next_worker_until_it_is_reset() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let item = json!({"status": "to-do", "state_path": "/s/a", "name": "one"});
    let text = json!({"status": "to-do", "workers": [
        {"order": 1, "configuration_code": "org.acme", "user_code": "a", "items": [item]},
        {"order": 2, "configuration_code": "org.acme", "user_code": "a", "items": []}
    ]});
    put_manager(&connection, "m.json", &text.to_string()).await;
    let begun = tick(&connection).await;
    let run = begun["processed"][0]["started"][0]["runId"].clone();
    let cancelled = json!({"runId": run, "reason": "broken"});
    connection.ok("RunCancelRequest", cancelled).await;
    tick(&connection).await;
    let now = manager(&connection, "m.json").await;
    assert_eq!(
        statuses(&now),
        json!(["in-progress", [["error", ["error"]], [null, []]]])
    );
    let why = now["workers"][0]["items"][0]["error"]
        .as_str()
        .expect("a reason");
    assert!(why.contains("ended cancelled"), "{why}");
    assert_eq!(tick(&connection).await["processed"][0]["changed"], false);

    // What an earlier run wrote does not count for the next.
    put(
        &connection,
        "/s/a",
        r#"{"status": "error", "error": "old"}"#,
    )
    .await;
    let control = json!({"manager": "m.json", "do": "reset", "worker": 1, "item": "one"});
    let reset = connection.ok("ManagerControlRequest", control).await;
    assert_eq!(reset["changed"], json!([{"worker": 1, "item": 0}]));
    let again = tick(&connection).await;
    let run = again["processed"][0]["started"][0]["runId"].clone();
    assert!(run.is_string(), "{again}");
    assert_eq!(
        file(&connection, "/s/a").await,
        json!({"status": "in-progress", "error": null})
    );
    tick(&connection).await;
    signal(&connection, &run).await;
    assert_eq!(tick(&connection).await["processed"][0]["status"], "done");
    let now = manager(&connection, "m.json").await;
    assert_eq!(
        statuses(&now),
        json!(["done", [["success", ["success"]], ["success", []]]])
    );
    assert_eq!(now["workers"][0]["items"][0]["error"], Value::Null);
}

#[tokio::test]
async fn what_is_wrong_is_said_at_its_place_and_all_others_go_on() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection
        .ok("RunDefinitionCreateRequest", flow.clone())
        .await;
    let disabled = waits_for_a_signal("org.acme:off");
    connection.ok("RunDefinitionCreateRequest", disabled).await;
    let off = json!({"name": "org.acme:off", "enabled": false});
    connection.ok("RunDefinitionSetEnabledRequest", off).await;
    let good = json!({"status": "to-do", "state_path": "/s/good"});
    let items = json!([
        {"status": "bogus", "state_path": "/s/1"},
        {"status": "to-do"},
        {"status": "to-do", "state_path": "/../s"},
        {"status": "to-do", "state_path": "/s/2", "payload": [1]},
        {"status": "in-progress", "state_path": "/s/nonsense"},
        {"status": "in-progress", "state_path": "/s/3", "workflow_id": "wfrun-1"},
        good
    ]);
    put(&connection, "/s/nonsense", r#"{"status": "what"}"#).await;
    put_manager(&connection, "a.json", &of_items("a", &items)).await;
    put_manager(&connection, "broken.json", "[1]").await;
    put_manager(&connection, "off.json", &of_items("off", &json!([good]))).await;
    let own = json!({"status": "in-progress", "workers": [{
        "configuration_code": "com.finmars.standard-workflow", "user_code": "workflow-manager",
        "items": [good]
    }]});
    put_manager(&connection, "own.json", &own.to_string()).await;
    put_manager(&connection, "z.json", &of_items("a", &json!([good]))).await;
    let ticked = tick(&connection).await;
    let processed = ticked["processed"].as_array().expect("a list");
    let names: Vec<_> = processed.iter().map(|one| one["manager"].clone()).collect();
    assert_eq!(
        names,
        ["a.json", "broken.json", "off.json", "own.json", "z.json"]
    );
    assert!(processed[1]["error"].is_string(), "{}", processed[1]);
    assert_eq!(
        manager(&connection, "broken.json").await,
        json!([1]),
        "it is left untouched"
    );
    assert_eq!(processed[0]["started"][0]["item"], 6);
    assert_eq!(processed[4]["started"].as_array().map(Vec::len), Some(1));
    let now = manager(&connection, "a.json").await;
    for item in &now["workers"][0]["items"].as_array().expect("a list")[..6] {
        assert_eq!(item["status"], "error", "{item}");
        assert!(
            item["error"].as_str().is_some_and(|why| !why.is_empty()),
            "{item}"
        );
    }
    for (name, why) in [
        ("off.json", "RUN_DEFINITION_DISABLED"),
        ("own.json", "cannot start managers"),
    ] {
        let now = manager(&connection, name).await;
        assert_eq!(now["status"], "error", "{now}");
        let said = now["workers"][0]["items"][0]["error"]
            .as_str()
            .expect("a reason");
        assert!(said.contains(why), "{said}");
    }
    let lists = &ticked["registry"];
    assert_eq!(lists["to-do"], json!(["broken.json"]));
    assert_eq!(lists["in-progress"], json!(["a.json", "z.json"]));
    assert_eq!(lists["done"], json!(["off.json", "own.json"]));
    // Each is said again only where it is not written.
    let again = tick(&connection).await;
    assert_eq!(again["processed"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn two_ticks_at_once_start_nothing_twice_and_edits_are_kept() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let items: Vec<_> = (0..20)
        .map(|n| json!({"status": "to-do", "state_path": format!("/s/{n}")}))
        .collect();
    put_manager(&connection, "m.json", &of_items("a", &json!(items))).await;
    // A person edits the file while ticks are at work.
    let edit = async {
        loop {
            let payload = json!({"path": "/states/managers/m.json"});
            let found = connection.ok("FileGetRequest", payload).await;
            let mut content = found["content"].clone();
            content["note"] = json!("by hand");
            let payload =
                json!({"path": found["path"], "content": content, "ifMatch": found["version"]});
            let answer = connection.call("FilePutRequest", payload).await;
            if answer["success"] == true {
                return;
            }
            assert_eq!(code(&answer), "ENTITY_MODIFIED");
        }
    };
    let (_, _, _, ()) = tokio::join!(
        tick(&connection),
        tick(&connection),
        tick(&connection),
        edit
    );
    let now = manager(&connection, "m.json").await;
    assert_eq!(now["note"], "by hand");
    let runs = connection
        .ok("RunsGetRequest", json!({"limit": 1000}))
        .await;
    let mut started: Vec<_> = runs["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| run["runId"].as_str().expect("an id").to_owned())
        .collect();
    started.sort();
    let items = now["workers"][0]["items"].as_array().expect("a list");
    let mut named: Vec<_> = items
        .iter()
        .map(|item| item["workflow_id"].as_str().expect("an id").to_owned())
        .collect();
    named.sort();
    assert_eq!(started, named, "each item is started once");
}

#[tokio::test]
async fn a_tick_processes_what_is_named_and_nothing_that_is_paused() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let item = json!([{"status": "to-do", "state_path": "/s/a"}]);
    for name in ["a.json", "b.json", "c.json"] {
        put_manager(&connection, name, &of_items("a", &item)).await;
    }
    let pause = json!({"manager": "c.json", "do": "pause"});
    let paused = connection.ok("ManagerControlRequest", pause).await;
    assert_eq!(
        (&paused["status"], &paused["changed"]),
        (&json!("paused"), &json!([]))
    );
    let named =
        json!({"payload": {"managers": ["c.json"], "state_path": "/states/managers/b.json"}});
    let ticked = connection.ok("ManagerTickRequest", named).await;
    let processed = ticked["processed"].as_array().expect("a list");
    assert_eq!(processed.len(), 1);
    assert_eq!(processed[0]["manager"], "b.json");
    assert_eq!(ticked["registry"]["paused"], json!(["c.json"]));
    assert_eq!(
        ticked["registry"]["in-progress"],
        json!(["a.json", "b.json"])
    );
    let rest = tick(&connection).await;
    assert_eq!(rest["processed"].as_array().map(Vec::len), Some(2));
    let resume = json!({"manager": "c.json", "do": "resume"});
    connection.ok("ManagerControlRequest", resume).await;
    let rest = tick(&connection).await;
    assert_eq!(rest["processed"].as_array().map(Vec::len), Some(3));
    for (payload, failed) in [
        (
            json!({"payload": {"managers": ["none.json"]}}),
            "MANAGER_NOT_FOUND",
        ),
        (
            json!({"payload": {"managers": ["../a.json"]}}),
            "MANAGER_NOT_FOUND",
        ),
        (json!({"payload": {"state_path": "/a.json"}}), "BAD_REQUEST"),
        (json!({"payload": {"managers": "a.json"}}), "BAD_REQUEST"),
        // What is misspelt does not tick all.
        (json!({"managers": ["a.json"]}), "BAD_REQUEST"),
        (json!({"payload": {"manager": ["a.json"]}}), "BAD_REQUEST"),
    ] {
        assert_eq!(
            connection.fails("ManagerTickRequest", payload).await,
            failed
        );
    }
}

#[tokio::test]
async fn a_broken_registry_is_written_again_and_a_namespace_without_managers_has_none() {
    let server = Server::start();
    let connection = server.connect().await;
    let ticked = tick(&connection).await;
    assert_eq!(ticked["processed"], json!([]));
    let none = connection.ok("FilesGetRequest", json!({})).await;
    assert_eq!(none["items"], json!([]));
    put_manager(
        &connection,
        "a.json",
        r#"{"status": "done", "workers": []}"#,
    )
    .await;
    put_manager(
        &connection,
        "b.json",
        r#"{"status": "error", "workers": []}"#,
    )
    .await;
    let lists = json!({"to-do": [], "in-progress": [], "done": ["a.json", "b.json"], "paused": []});
    for broken in [
        "null",
        "[]",
        r#"{"to-do": ["a.json", "b.json", "x"], "in-progress": ["a.json"], "done": [], "paused": []}"#,
        r#"{"done": ["a.json", "b.json"], "more": 1}"#,
    ] {
        put(&connection, "/states/global_state_manager.json", broken).await;
        tick(&connection).await;
        let written = file(&connection, "/states/global_state_manager.json").await;
        assert_eq!(written, lists, "{broken}");
    }
    // One that is right stays as it was written.
    let path = json!({"path": "/states/global_state_manager.json"});
    let before = connection.ok("FileGetRequest", path.clone()).await;
    tick(&connection).await;
    let after = connection.ok("FileGetRequest", path).await;
    assert_eq!(before["version"], after["version"]);
}

#[tokio::test]
async fn managers_are_made_listed_and_shown() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    let document = json!({"configuration_code": "org.acme", "user_code": "batch", "name": "A batch",
        "workers": [{"status": "to-do"}, {"status": "skip"}, {}]});
    let mut made = Vec::new();
    for _ in 0..3 {
        let body = json!({"document": document}).to_string();
        let created = rest.post("/api/managers", body).await.ok();
        made.push(created["manager"].as_str().expect("a name").to_owned());
    }
    let mut names = made.clone();
    names.sort();
    names.dedup();
    assert_eq!(
        names.len(),
        3,
        "two within a second have stamps of their own"
    );
    for name in &names {
        let stamp = name.strip_prefix("org.acme:batch-").expect("its codes");
        let stamp = stamp.strip_suffix(".json").expect("JSON");
        assert!(
            stamp.len() == 14 && stamp.bytes().all(|byte| byte.is_ascii_digit()),
            "{name}"
        );
    }
    let listed = rest.get("/api/managers?limit=2").await.ok();
    assert_eq!(listed["items"][0]["manager"], names[0]);
    assert_eq!(listed["items"][0]["name"], "A batch");
    assert_eq!(listed["items"][0]["status"], "to-do");
    assert_eq!(
        listed["items"][0]["workers"],
        json!({"total": 3, "to-do": 2, "skip": 1})
    );
    let cursor = listed["pagination"]["nextCursor"].as_str().expect("more");
    let next = rest
        .get(&format!("/api/managers?limit=2&cursor={cursor}"))
        .await
        .ok();
    assert_eq!(next["items"][0]["manager"], names[2]);
    assert_eq!(next["pagination"]["hasNext"], false);
    let shown = rest.get(&format!("/api/managers/{}", names[0])).await;
    assert_eq!(shown.ok()["document"], document);
    let paused = rest
        .post(&format!("/api/managers/{}/pause", names[1]), "")
        .await
        .ok();
    assert_eq!(paused["status"], "paused");
    let listed = rest.get("/api/managers?status=paused").await.ok();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));

    rest.get("/api/managers?status=success")
        .await
        .refused(400, "BAD_REQUEST");
    for path in ["none.json", "..%2Fglobal_state_manager.json"] {
        let missing = rest.get(&format!("/api/managers/{path}")).await;
        missing.refused(404, "MANAGER_NOT_FOUND");
    }
    let path = format!("/api/managers/{}/reset", names[0]);
    for body in [r#"{"worker": 7}"#, r#"{"worker": "x"}"#, r#"{"item": 1}"#] {
        rest.post(&path, body).await.refused(400, "BAD_REQUEST");
    }
    for document in [
        json!([]),
        json!({"workers": []}),
        json!({"configuration_code": "a/b", "user_code": "c", "workers": []}),
        json!({"configuration_code": "a", "user_code": "c", "workers": [], "status": "success"}),
        json!({"configuration_code": "a", "user_code": "c", "workers": [{"state_type": "weekly"}]}),
    ] {
        let failed = connection
            .fails("ManagerCreateRequest", json!({"document": document}))
            .await;
        assert_eq!(failed, "VALIDATION_FAILED");
    }
    let broken = json!({"path": "/states/managers/broken.json", "content": 1});
    connection.ok("FilePutRequest", broken).await;
    let control = json!({"manager": "broken.json", "do": "pause"});
    let failed = connection.fails("ManagerControlRequest", control).await;
    assert_eq!(failed, "VALIDATION_FAILED");
}

#[tokio::test]
async fn managers_of_another_tenant_or_namespace_do_not_exist() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect().await;
    let theirs = server.connect_as(&[("x-mock-tenant", "other")]).await;
    put_manager(&ours, "m.json", r#"{"status": "to-do", "workers": []}"#).await;
    for (kind, payload) in [
        ("ManagerGetRequest", json!({"manager": "m.json"})),
        (
            "ManagerControlRequest",
            json!({"manager": "m.json", "do": "pause"}),
        ),
        (
            "ManagerTickRequest",
            json!({"payload": {"managers": ["m.json"]}}),
        ),
    ] {
        assert_eq!(
            theirs.fails(kind, payload.clone()).await,
            "MANAGER_NOT_FOUND"
        );
        let mut elsewhere = payload;
        elsewhere["namespace"] = json!("other");
        assert_eq!(ours.fails(kind, elsewhere).await, "MANAGER_NOT_FOUND");
    }
    assert_eq!(tick(&theirs).await["processed"], json!([]));
    let untouched = manager(&ours, "m.json").await;
    assert_eq!(untouched["status"], "to-do");
}

#[tokio::test]
async fn managers_are_ticked_on_schedule_also_after_a_restart() {
    let mut server = Server::on_disk(&[("INTERLOCK_MANAGER_INTERVAL", "100ms")]);
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let started = async |connection: &Connection, name: &str| {
        let look = async {
            loop {
                let now = manager(connection, name).await;
                let work = now["workers"][0]["items"][0]["workflow_id"].clone();
                if work.is_string() {
                    return work;
                }
                between_looks().await;
            }
        };
        timeout(PATIENCE, look).await.expect("it is started")
    };
    let item = json!([{"status": "to-do", "state_path": "/s/a"}]);
    put_manager(&connection, "a.json", &of_items("a", &item)).await;
    let run = started(&connection, "a.json").await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    signal(&connection, &run).await;
    let look = async {
        while manager(&connection, "a.json").await["status"] != "done" {
            between_looks().await;
        }
    };
    timeout(PATIENCE, look).await.expect("it is done");
    let other = json!({"path": "/states/managers/b.json", "namespace": "other", "content":
        serde_json::from_str::<Value>(&of_items("a", &item)).expect("JSON")});
    connection.ok("FilePutRequest", other).await;
    let look = async {
        loop {
            let payload = json!({"path": "/states/managers/b.json", "namespace": "other"});
            let now = connection.ok("FileGetRequest", payload).await;
            // There is no such definition in that namespace: it is a task.
            if now["content"]["workers"][0]["items"][0]["workflow_id"].is_string() {
                return;
            }
            between_looks().await;
        }
    };
    timeout(PATIENCE, look).await.expect("it is ticked");
}
