//! What ticks cost: they read what has changed, nothing polls where nothing is due, a tenant does
//! not hold up others, and memory is bounded.

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{
    Connection, PATIENCE, Rest, Server,
    batch::{manager, of_items, put, put_manager, tick, waits_for_a_signal},
    between_looks,
};

/// The value of a metric; 0 if it was never counted.
async fn metric(server: &Server, name: &str) -> u64 {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0, |value| value.parse().expect("a number"))
}

/// Ticks, and says how many managers were read for it.
async fn read_by_a_tick(server: &Server, connection: &Connection) -> (u64, Value) {
    let before = metric(server, "interlock_managers_read_total").await;
    let ticked = tick(connection).await;
    let after = metric(server, "interlock_managers_read_total").await;
    (after - before, ticked)
}

fn waiting_for(path: &str) -> String {
    of_items("a", &json!([{"status": "in-progress", "state_path": path}]))
}

#[tokio::test]
async fn a_tick_reads_only_the_managers_for_which_something_has_changed() {
    let server = Server::with(&[("INTERLOCK_MANAGER_INTERVAL", "0s")]);
    let connection = server.connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let name = |n: usize| format!("m{n:02}.json");
    for n in 0..20 {
        put_manager(&connection, &name(n), &waiting_for(&format!("/s/{n}"))).await;
    }
    let item = json!([{"status": "to-do", "state_path": "/s/run"}]);
    put_manager(&connection, "run.json", &of_items("a", &item)).await;
    put_manager(
        &connection,
        "paused.json",
        r#"{"status": "paused", "workers": []}"#,
    )
    .await;
    put_manager(&connection, "broken.json", "[]").await;
    let (read, ticked) = read_by_a_tick(&server, &connection).await;
    assert_eq!(read, 23);
    let run = ticked["processed"].as_array().expect("a list").iter();
    let run = run
        .map(|one| &one["started"][0]["runId"])
        .find(|run| run.is_string());
    let run = run.expect("one is started").clone();
    // What the tick has written is read once more.
    let (read, _) = read_by_a_tick(&server, &connection).await;
    assert_eq!(read, 1);
    let (read, quiet) = read_by_a_tick(&server, &connection).await;
    assert_eq!(read, 0);
    let processed = quiet["processed"].as_array().expect("a list");
    assert_eq!(processed.len(), 22, "all are reported");
    let broken = processed.iter().find(|one| one["manager"] == "broken.json");
    assert!(broken.expect("an entry")["error"].is_string());
    // What has nothing to do with them.
    put(&connection, "/s/other", r#"{"status": "success"}"#).await;
    let other = connection
        .ok("RunStartRequest", json!({"definition": "org.acme:a"}))
        .await;
    let signal = json!({"runId": other["runId"], "type": "go"});
    connection.ok("RunSignalRequest", signal).await;
    assert_eq!(read_by_a_tick(&server, &connection).await.0, 0);
    // A state file that appears, one that changes, and one that is deleted.
    for (status, then) in [("in-progress", "in-progress"), ("success", "done")] {
        put(&connection, "/s/3", &json!({"status": status}).to_string()).await;
        assert_eq!(read_by_a_tick(&server, &connection).await.0, 1, "{status}");
        assert_eq!(manager(&connection, &name(3)).await["status"], then);
    }
    let gone = json!({"path": "/s/3"});
    connection.ok("FileDeleteRequest", gone).await;
    assert_eq!(
        read_by_a_tick(&server, &connection).await.0,
        1,
        "what was written"
    );
    assert_eq!(read_by_a_tick(&server, &connection).await.0, 0);
    // The end of what was started.
    let signal = json!({"runId": run, "type": "go"});
    connection.ok("RunSignalRequest", signal).await;
    let follow = json!({"runId": run, "fromSequence": 0});
    let ended = connection.all("RunHistorySubscribeRequest", follow);
    timeout(PATIENCE, ended).await.expect("it ends");
    assert_eq!(read_by_a_tick(&server, &connection).await.0, 1);
    assert_eq!(manager(&connection, "run.json").await["status"], "done");
    read_by_a_tick(&server, &connection).await;
    // The edit of a manager, one that is resumed, and one that is named.
    put_manager(&connection, &name(5), &waiting_for("/s/elsewhere")).await;
    let resume = json!({"manager": "paused.json", "do": "resume"});
    connection.ok("ManagerControlRequest", resume).await;
    let (read, _) = read_by_a_tick(&server, &connection).await;
    assert_eq!(read, 2);
    read_by_a_tick(&server, &connection).await;
    put(&connection, "/s/5", r#"{"status": "success"}"#).await;
    assert_eq!(
        read_by_a_tick(&server, &connection).await.0,
        0,
        "it waits elsewhere"
    );
    put(&connection, "/s/elsewhere", r#"{"status": "success"}"#).await;
    let before = metric(&server, "interlock_managers_read_total").await;
    let named = json!({"payload": {"managers": [name(4)]}});
    let ticked = connection.ok("ManagerTickRequest", named).await;
    assert_eq!(ticked["processed"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        metric(&server, "interlock_managers_read_total").await,
        before
    );
    assert_eq!(read_by_a_tick(&server, &connection).await.0, 1);
    assert_eq!(manager(&connection, &name(5)).await["status"], "done");
}

#[tokio::test]
async fn nothing_is_ticked_in_a_namespace_without_managers() {
    let server = Server::with(&[("INTERLOCK_MANAGER_INTERVAL", "1ms")]);
    let connection = server.connect().await;
    put(&connection, "/s/1", r#"{"status": "success"}"#).await;
    put(&connection, "/states/global_state_manager.json", "{}").await;
    // A schedule of the service fires often meanwhile: its clock has gone on.
    let document = json!({"kind": "Workflow", "name": "clock", "version": "1",
        "schedule": {"interval": 100, "max_concurrent": 0},
        "start": {"run": "@actions/none", "transitions": {"target_not_found": "flo.Completed"}}});
    connection
        .ok("RunDefinitionCreateRequest", json!({"document": document}))
        .await;
    let fired = async |count: usize| {
        let fired = async {
            loop {
                let runs = connection
                    .ok("RunsGetRequest", json!({"definition": "clock"}))
                    .await;
                if runs["items"]
                    .as_array()
                    .is_some_and(|runs| runs.len() >= count)
                {
                    return;
                }
                between_looks().await;
            }
        };
        timeout(PATIENCE, fired).await.expect("it fires");
    };
    fired(3).await;
    let ticks = "interlock_manager_tick_duration_seconds_count";
    assert_eq!(metric(&server, ticks).await, 0);
    // With a manager there are ticks, and none once it is gone.
    put_manager(&connection, "m.json", &waiting_for("/s/none")).await;
    let ticked = async { while metric(&server, ticks).await == 0 {} };
    timeout(PATIENCE, ticked).await.expect("it is ticked");
    let gone = json!({"path": "/states/managers/m.json"});
    connection.ok("FileDeleteRequest", gone).await;
    let rest = async {
        let mut last = metric(&server, ticks).await;
        let mut runs = 4;
        loop {
            fired(runs).await;
            let now = metric(&server, ticks).await;
            if now == last {
                return;
            }
            (last, runs) = (now, runs + 1);
        }
    };
    timeout(PATIENCE, rest).await.expect("it is ticked no more");
}

#[tokio::test]
async fn very_many_managers_of_a_tenant_do_not_hold_up_those_of_another() {
    const MANY: usize = 150;
    let server = Server::with(&[
        ("INTERLOCK_IAM_MOCK_CALLER", "true"),
        // All are put before the first tick, which takes much longer than that.
        ("INTERLOCK_MANAGER_INTERVAL", "2s"),
    ]);
    let many = server.connect_as(&[("x-mock-tenant", "many")]).await;
    let few = server.connect_as(&[("x-mock-tenant", "few")]).await;
    for connection in [&many, &few] {
        let flow = waits_for_a_signal("org.acme:a");
        connection.ok("RunDefinitionCreateRequest", flow).await;
    }
    let items: Vec<_> = (0..30)
        .map(|n| json!({"status": "to-do", "state_path": format!("/s/{n}")}))
        .collect();
    let text = of_items("a", &json!(items));
    let name = |n: usize| format!("m{n:03}.json");
    let begun = async |connection: &Connection, name: &str| {
        let now = manager(connection, name).await;
        now["workers"][0]["items"][0]["workflow_id"].is_string()
    };
    for n in 0..MANY {
        put_manager(&many, &name(n), &text).await;
    }
    put_manager(&few, "m.json", &text).await;
    let other = async {
        while !begun(&few, "m.json").await {
            between_looks().await;
        }
    };
    timeout(PATIENCE, other)
        .await
        .expect("the other tenant's begins");
    let last = name(MANY - 1);
    assert!(
        !begun(&many, &last).await,
        "it waited for all of the first tenant"
    );
    let all = async {
        while !begun(&many, &last).await {
            between_looks().await;
        }
    };
    timeout(PATIENCE, all).await.expect("all begin");
}

/// The error of a state file that items share is not written as often as there are items.
#[tokio::test]
async fn items_that_share_a_state_file_get_the_beginning_of_its_error() {
    let server = Server::with(&[("INTERLOCK_MANAGER_INTERVAL", "0s")]);
    let connection = server.connect().await;
    let state = json!({"status": "error", "error": "E".repeat(900_000)}).to_string();
    put(&connection, "/e.json", &state).await;
    let items = vec![json!({"status": "in-progress", "state_path": "/e.json"}); 100];
    put_manager(&connection, "m.json", &of_items("a", &json!(items))).await;
    tick(&connection).await;
    let found = manager(&connection, "m.json").await;
    assert_eq!(found["status"], "error");
    for item in found["workers"][0]["items"].as_array().expect("a list") {
        let error = item["error"].as_str().expect("a text");
        assert!(error.starts_with("EEE") && error.ends_with('…'), "{error}");
        assert!(error.len() < 5_000, "{}", error.len());
    }
}

#[tokio::test]
async fn large_managers_are_ticked_within_bounds_of_memory() {
    const LARGE: usize = 32;
    let server = Server::with(&[("INTERLOCK_MANAGER_INTERVAL", "0s")]);
    let connection = server.connect().await;
    let item = |n: usize, at: usize| {
        json!({"status": "in-progress", "state_path": format!("/s/{n}/{at}"),
            "notes": "x".repeat(3_000)})
    };
    let text = |n: usize| {
        let items: Vec<_> = (0..300).map(|at| item(n, at)).collect();
        of_items("a", &json!(items))
    };
    assert!(text(0).len() > 800 << 10);
    for n in 0..LARGE {
        put_manager(&connection, &format!("m{n:02}.json"), &text(n)).await;
    }
    let before = server.resident_bytes();
    tick(&connection).await;
    tick(&connection).await;
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 160 << 20, "{} MiB", grown >> 20);
    put(&connection, "/s/7/299", r#"{"status": "skip"}"#).await;
    assert_eq!(read_by_a_tick(&server, &connection).await.0, 1);
    let now = manager(&connection, "m07.json").await;
    assert_eq!(now["workers"][0]["items"][299]["status"], "skip");
}
