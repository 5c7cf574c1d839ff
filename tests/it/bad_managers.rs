//! What people and workflows get wrong about managers: each is reported where it is, and every other
//! manager goes on.

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    PATIENCE, Server,
    batch::{file, manager, of_items, put, put_manager, tick, waits_for_a_signal},
};

/// How large a file may be, in bytes.
const FILE_MAX: usize = 1 << 20;

fn item(path: &str) -> Value {
    json!({"status": "to-do", "state_path": path})
}

#[tokio::test]
async fn documents_that_are_not_managers_are_reported_and_left_untouched() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let bad = [
        ("text", json!("a"), "not a JSON object"),
        ("null", json!(null), "not a JSON object"),
        ("no-workers", json!({"status": "to-do"}), "workers"),
        ("workers", json!({"workers": {}}), "workers"),
        ("worker", json!({"workers": [1]}), "workers[0]"),
        (
            "status",
            json!({"status": "success", "workers": []}),
            "`success`",
        ),
        ("status-type", json!({"status": 1, "workers": []}), "status"),
        (
            "worker-status",
            json!({"workers": [{"status": "paused"}]}),
            "`paused`",
        ),
        (
            "state-type",
            json!({"workers": [{"state_type": "weekly"}]}),
            "`weekly`",
        ),
        (
            "order",
            json!({"workers": [{"order": "first"}]}),
            "workers[0].order",
        ),
        ("order-part", json!({"workers": [{"order": 1.5}]}), "`1.5`"),
        (
            "items",
            json!({"workers": [{"items": {}}]}),
            "workers[0].items",
        ),
        (
            "item",
            json!({"workers": [{"items": [1]}]}),
            "workers[0].items[0]",
        ),
        (
            "state",
            json!({"workers": [{"state": []}]}),
            "workers[0].state",
        ),
        ("code", json!({"workers": [{"user_code": 1}]}), "user_code"),
    ];
    for (name, document, _) in &bad {
        put_manager(&connection, &format!("{name}.json"), &document.to_string()).await;
    }
    let good = of_items("a", &json!([item("/s/1")]));
    put_manager(&connection, "z.json", &good).await;
    for round in 0..2 {
        let ticked = tick(&connection).await;
        let processed = ticked["processed"].as_array().expect("a list");
        assert_eq!(processed.len(), bad.len() + 1);
        for (name, document, why) in &bad {
            let name = format!("{name}.json");
            let mut all = processed.iter();
            let found = all.find(|one| one["manager"] == *name).expect("an entry");
            let said = found["error"].as_str().expect("a reason");
            assert!(said.contains(why), "{name}: {said}");
            assert_eq!(
                (&found["changed"], &found["status"]),
                (&json!(false), &Value::Null)
            );
            assert_eq!(manager(&connection, &name).await, *document);
        }
        let last = processed.iter().find(|one| one["manager"] == "z.json");
        let started = last.expect("an entry")["started"].as_array().map(Vec::len);
        assert_eq!(started, Some(usize::from(round == 0)));
        // What is not a manager was in no list, and is to be done until somebody corrects it.
        assert_eq!(
            ticked["registry"]["to-do"].as_array().map(Vec::len),
            Some(bad.len())
        );
    }
    // One that is corrected is processed, and one that breaks stays where it was.
    put_manager(
        &connection,
        "text.json",
        r#"{"status": "done", "workers": []}"#,
    )
    .await;
    put_manager(&connection, "z.json", "[]").await;
    let registry = tick(&connection).await["registry"].take();
    assert_eq!(registry["done"], json!(["text.json"]));
    assert_eq!(registry["in-progress"], json!(["z.json"]));
}

#[tokio::test]
async fn items_that_are_wrong_end_with_the_reason_and_the_others_go_on() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let bad = [
        (json!({"status": "bogus", "state_path": "/s/1"}), "`bogus`"),
        (
            json!({"status": "paused", "state_path": "/s/1"}),
            "`paused`",
        ),
        (
            json!({"status": 1, "state_path": "/s/1"}),
            "is not a status",
        ),
        (json!({"status": "to-do"}), "no `state_path`"),
        (json!({"status": "to-do", "state_path": 1}), "not a text"),
        (json!({"status": "to-do", "state_path": ""}), "not a path"),
        (
            json!({"status": "to-do", "state_path": "s/1"}),
            "not a path",
        ),
        (
            json!({"status": "to-do", "state_path": "/../s"}),
            "not a path",
        ),
        (
            json!({"status": "to-do", "state_path": "/s/../../t"}),
            "not a path",
        ),
        (
            json!({"status": "to-do", "state_path": "/s/./1"}),
            "not a path",
        ),
        (
            json!({"status": "to-do", "state_path": "/s//1"}),
            "not a path",
        ),
        (
            json!({"status": "to-do", "state_path": format!("/{}", "x".repeat(512))}),
            "not a path",
        ),
        (json!({"status": "in-progress"}), "no `state_path`"),
        (
            json!({"status": "to-do", "state_path": "/s/1", "payload": [1]}),
            "`payload`",
        ),
        (
            json!({"status": "in-progress", "state_path": "/s/1", "workflow_id": "wfrun-1"}),
            "is not there",
        ),
        (
            json!({"status": "in-progress", "state_path": "/s/1", "workflow_id": "no run"}),
            "is not there",
        ),
    ];
    let mut items: Vec<Value> = bad.iter().map(|(item, _)| item.clone()).collect();
    items.push(item("/s/good"));
    put_manager(&connection, "m.json", &of_items("a", &json!(items))).await;
    let ticked = tick(&connection).await;
    let started = &ticked["processed"][0]["started"];
    assert_eq!(started.as_array().map(Vec::len), Some(1));
    assert_eq!(started[0]["item"], bad.len());
    let now = manager(&connection, "m.json").await;
    for (at, (item, why)) in bad.iter().enumerate() {
        let found = &now["workers"][0]["items"][at];
        assert_eq!(found["status"], "error", "{item}");
        let said = found["error"].as_str().expect("a reason");
        assert!(said.contains(why), "{item}: {said}");
    }
    // A worker without a code can start nothing.
    for codes in [
        json!({}),
        json!({"user_code": "a"}),
        json!({"configuration_code": "org.acme"}),
    ] {
        let mut worker = codes;
        worker["items"] = json!([item("/s/1")]);
        let text = json!({"status": "in-progress", "workers": [worker]});
        put_manager(&connection, "n.json", &text.to_string()).await;
        tick(&connection).await;
        let now = manager(&connection, "n.json").await;
        let why = now["workers"][0]["items"][0]["error"].as_str();
        assert!(
            why.is_some_and(|why| why.contains("the worker has no")),
            "{now}"
        );
    }
}

#[tokio::test]
async fn a_user_code_that_nobody_serves_ends_its_item_once_it_has_waited() {
    let server = Server::with(&[("INTERLOCK_TASKS_WAIT", "100ms")]);
    let connection = server.connect().await;
    put_manager(
        &connection,
        "m.json",
        &of_items("nobody", &json!([item("/s/1")])),
    )
    .await;
    let task = tick(&connection).await["processed"][0]["started"][0]["taskId"].take();
    assert!(task.is_string());
    let ended = async { while tick(&connection).await["processed"][0]["status"] != "error" {} };
    timeout(PATIENCE, ended).await.expect("it ends");
    let now = manager(&connection, "m.json").await;
    let found = &now["workers"][0]["items"][0];
    assert_eq!(
        (&found["status"], &found["workflow_id"]),
        (&json!("error"), &task)
    );
    assert!(
        found["error"].as_str().is_some_and(|why| !why.is_empty()),
        "{found}"
    );
}

#[tokio::test]
async fn state_files_that_are_nonsense_or_come_late_do_not_start_anything_again() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let state_of = async |path: &str| {
        let items = json!([item(path)]);
        put_manager(&connection, "m.json", &of_items("a", &items)).await;
        tick(&connection).await["processed"][0]["started"][0]["runId"].take()
    };
    let item_now = async || {
        let now = manager(&connection, "m.json").await;
        now["workers"][0]["items"][0].clone()
    };
    for (at, nonsense) in [
        json!([]),
        json!("success"),
        json!(null),
        json!({}),
        json!({"status": 1}),
        json!({"status": "paused"}),
        json!({"status": "Success"}),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/s/{at}");
        state_of(&path).await;
        put(&connection, &path, &nonsense.to_string()).await;
        tick(&connection).await;
        let now = item_now().await;
        assert_eq!(now["status"], "error", "{nonsense}");
        let why = now["error"].as_str().expect("a reason");
        assert!(why.starts_with("the state file"), "{why}");
        assert_eq!(
            file(&connection, &path).await,
            nonsense,
            "it is left as it is"
        );
    }
    // It never writes its state file, and ends.
    let run = state_of("/s/never").await;
    let signal = json!({"runId": run, "type": "go"});
    connection.ok("RunSignalRequest", signal).await;
    let follow = json!({"runId": run, "fromSequence": 0});
    let ended = connection.all("RunHistorySubscribeRequest", follow);
    timeout(PATIENCE, ended).await.expect("it ends");
    tick(&connection).await;
    assert_eq!(item_now().await["status"], "success");
    // It writes after its end: what has finished stays so, and is not started again.
    put(
        &connection,
        "/s/never",
        r#"{"status": "error", "error": "late"}"#,
    )
    .await;
    assert_eq!(tick(&connection).await["processed"], json!([]));
    assert_eq!(item_now().await["status"], "success");
    put(&connection, "/s/never", r#"{"status": "to-do"}"#).await;
    let named = json!({"payload": {"managers": ["m.json"]}});
    let ticked = connection.ok("ManagerTickRequest", named).await;
    assert_eq!(ticked["processed"], json!([]));
}

#[tokio::test]
async fn a_registry_that_names_files_that_are_not_there_or_twice_is_corrected() {
    let server = Server::start();
    let connection = server.connect().await;
    for name in ["a.json", "b.json"] {
        let items = json!([{"status": "in-progress", "state_path": "/s/none"}]);
        put_manager(&connection, name, &of_items("a", &items)).await;
    }
    let lists = json!({"to-do": [], "in-progress": ["b.json", "a.json"], "done": [], "paused": []});
    for broken in [
        json!({"to-do": ["gone.json"], "in-progress": ["b.json", "a.json", "b.json"], "done": [],
            "paused": ["a.json"]}),
        json!({"to-do": ["b.json", "a.json"], "done": ["a.json", "gone.json"], "more": [1]}),
        json!({"to-do": 1, "in-progress": ["b.json", 1, null, "a.json"], "done": {}}),
    ] {
        put(
            &connection,
            "/states/global_state_manager.json",
            &broken.to_string(),
        )
        .await;
        let ticked = tick(&connection).await;
        assert_eq!(ticked["registry"], lists, "{broken}");
        let written = file(&connection, "/states/global_state_manager.json").await;
        assert_eq!(written, lists, "{broken}");
    }
}

#[tokio::test]
async fn files_have_a_mebibyte_and_managers_room_for_ticks() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let of_bytes = |bytes: usize| {
        let mut text = of_items("a", &json!([item("/s/1")]));
        let note = bytes - text.len() - ",\"note\":\"\"".len();
        text.insert_str(
            text.len() - 1,
            &format!(",\"note\":\"{}\"", "x".repeat(note)),
        );
        assert_eq!(text.len(), bytes);
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let put = |path: &str, bytes| json!({"path": path, "content": of_bytes(bytes)});
    let other = "/states/m.json";
    let failed = connection.fails("FilePutRequest", put(other, FILE_MAX + 1));
    assert_eq!(failed.await, "BAD_REQUEST");
    connection.ok("FilePutRequest", put(other, FILE_MAX)).await;
    // Managers have room for what ticks add to them.
    let path = "/states/managers/m.json";
    connection.ok("FilePutRequest", put(path, FILE_MAX)).await;
    // What a tick adds to it is written, too.
    let ticked = tick(&connection).await;
    assert_eq!(
        ticked["processed"][0]["started"].as_array().map(Vec::len),
        Some(1)
    );
    let now = manager(&connection, "m.json").await;
    assert_eq!(now["workers"][0]["items"][0]["status"], "in-progress");
    assert_eq!(tick(&connection).await["processed"][0]["changed"], false);
    let mut document = of_bytes(FILE_MAX - 100);
    document["configuration_code"] = json!("org.acme");
    document["user_code"] = json!("batch");
    let create = json!({"document": document});
    connection.ok("ManagerCreateRequest", create.clone()).await;
    document["more"] = json!("x".repeat(100));
    let create = json!({"document": document});
    let failed = connection.fails("ManagerCreateRequest", create).await;
    assert_eq!(failed, "BAD_REQUEST");
}

#[tokio::test]
async fn a_state_file_of_another_tenant_or_namespace_says_nothing() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect().await;
    let theirs = server.connect_as(&[("x-mock-tenant", "other")]).await;
    put(&theirs, "/s/1", r#"{"status": "success"}"#).await;
    let content = json!({"path": "/s/1", "namespace": "other", "content": {"status": "success"}});
    ours.ok("FilePutRequest", content).await;
    let items = json!([{"status": "in-progress", "state_path": "/s/1"}]);
    put_manager(&ours, "m.json", &of_items("a", &items)).await;
    tick(&ours).await;
    let now = manager(&ours, "m.json").await;
    assert_eq!(now["workers"][0]["items"][0]["status"], "in-progress");
    // Theirs may name our runs: they are not there.
    let flow = waits_for_a_signal("org.acme:a");
    ours.ok("RunDefinitionCreateRequest", flow).await;
    let run = ours
        .ok("RunStartRequest", json!({"definition": "org.acme:a"}))
        .await;
    let items = json!([{"status": "in-progress", "state_path": "/s/2",
        "workflow_id": run["runId"]}]);
    put_manager(&theirs, "m.json", &of_items("a", &items)).await;
    tick(&theirs).await;
    let now = manager(&theirs, "m.json").await;
    let why = now["workers"][0]["items"][0]["error"].as_str();
    assert!(why.is_some_and(|why| why.contains("is not there")), "{now}");
}

#[tokio::test]
async fn starts_that_are_too_large_for_one_transaction_are_made_in_several() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let large: Vec<Value> = (0..80).map(|n| item(&format!("/s/{n}"))).collect();
    let mut large: Value = serde_json::from_str(&of_items("a", &json!(large))).expect("JSON");
    large["workers"][0]["import_options"] = json!({"o": "x".repeat(900_000)});
    put_manager(&connection, "a.json", &large.to_string()).await;
    let small = of_items("a", &json!([item("/t/1"), item("/t/2")]));
    put_manager(&connection, "b.json", &small).await;
    let ticked = tick(&connection).await;
    let started = |at: usize| ticked["processed"][at]["started"].as_array().map(Vec::len);
    assert_eq!((started(0), started(1)), (Some(80), Some(2)));
}

#[tokio::test]
async fn a_manager_with_very_many_members_is_read_in_linear_time() {
    let server = Server::start();
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let options: Vec<String> = (0..80_000).map(|n| format!(r#""{n}":0"#)).collect();
    let mut text = of_items("a", &json!([item("/s/1")]));
    let options = format!(r#""import_options":{{{}}},"items""#, options.join(","));
    text = text.replacen(r#""items""#, &options, 1);
    put_manager(&connection, "m.json", &text).await;
    let ticked = timeout(PATIENCE, tick(&connection)).await.expect("soon");
    assert_eq!(ticked["processed"][0]["status"], "in-progress", "{ticked}");
    let pause = json!({"manager": "m.json", "do": "pause"});
    let paused = connection.ok("ManagerControlRequest", pause);
    let paused = timeout(PATIENCE, paused).await.expect("soon");
    assert_eq!(paused["status"], "paused");
}
