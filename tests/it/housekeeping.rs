//! What operators see and limit of runs: metrics, retention, stored bytes (`runs.md` §9, §11).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{
    Connection, PATIENCE, Rest, Server,
    batch::{manager, of_items, put_manager, tick, waits_for_a_signal},
    between_looks, code,
    outside::{Behaviour, Outside},
    wait::{until, until_removed},
};

/// A workflow that waits for a signal, with a time limit.
fn document(timeout_ms: u32) -> String {
    format!(
        "kind: Workflow\nname: approval\nversion: \"1\"\nidempotency: optional\n\
         start:\n  waitForSignal: {{type: go, timeoutMs: {timeout_ms}, onTimeout: flo.TimedOut}}\n\
         \x20 transitions: {{success: flo.Completed}}\n"
    )
}

async fn define(connection: &Connection, timeout_ms: u32) {
    let payload = json!({"document": document(timeout_ms)});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

async fn start(connection: &Connection, mut payload: Value) -> String {
    payload["definition"] = "approval".into();
    let started = connection.ok("RunStartRequest", payload).await;
    started["runId"].as_str().expect("an id").to_owned()
}

async fn signal(connection: &Connection, run: &str, payload: Value) -> Value {
    let payload = json!({"runId": run, "type": "go", "payload": payload});
    connection.call("RunSignalRequest", payload).await
}

async fn until_waiting(connection: &Connection, run: &str) {
    until("the run waits", async || {
        let payload = json!({"runId": run});
        let found = connection.ok("RunGetRequest", payload).await;
        found["run"]["status"] == "waiting"
    })
    .await;
}

/// Waits until a metric has a value.
async fn until_measured(server: &Server, name: &str, is: impl Fn(u64) -> bool) {
    let begun = Instant::now();
    loop {
        let text = Rest::new(server.admin).get("/metrics").await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.map(|value| value.trim().parse::<u64>().expect("a number"));
        if value.is_some_and(&is) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{name} is {value:?}");
        between_looks().await;
    }
}

#[tokio::test]
async fn metrics_count_runs_that_start_that_are_open_and_that_end() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    define(&connection, 3_600_000).await;
    let first = start(&connection, json!({})).await;
    let second = start(&connection, json!({})).await;
    let started = "interlock_runs_started_total{kind=\"flo\",by=\"caller\"}";
    let waiting = "interlock_runs_open{status=\"waiting\"}";
    until_measured(&server, started, |runs| runs == 2).await;
    until_measured(&server, waiting, |runs| runs == 2).await;
    signal(&connection, &first, json!(1)).await;
    let completed = "interlock_runs_finished_total{kind=\"flo\",status=\"completed\"}";
    until_measured(&server, completed, |runs| runs == 1).await;
    until_measured(&server, waiting, |runs| runs == 1).await;
    // A late signal to what has ended changes nothing.
    signal(&connection, &first, json!(2)).await;
    // What is open is known after a crash, too.
    server.kill();
    server.restart();
    let connection = server.connect().await;
    until_measured(&server, waiting, |runs| runs == 1).await;
    let cancel = json!({"runId": second});
    connection.ok("RunCancelRequest", cancel).await;
    until_measured(&server, waiting, |runs| runs == 0).await;
    let cancelled = "interlock_runs_finished_total{kind=\"flo\",status=\"cancelled\"}";
    until_measured(&server, cancelled, |runs| runs == 1).await;
    define(&connection, 20).await;
    start(&connection, json!({})).await;
    let late = "interlock_run_timer_lateness_seconds_count";
    until_measured(&server, late, |timers| timers >= 1).await;
}

/// Has a trigger start runs, which end at once.
async fn trigger_runs(connection: &Connection) {
    let document = "kind: Workflow\nname: ship\nversion: \"1\"\ntrigger: {stream: orders}\n\
                    start:\n  run: \"@actions/none\"\n\
                    \x20 transitions: {success: flo.Completed, failure: flo.Completed}\n";
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    let orders = json!({"topic": "orders", "events": [{"payload": 1}, {"payload": 2}]});
    connection.ok("TopicPublishRequest", orders).await;
    until("the trigger has started its runs", async || {
        let payload = json!({"name": "ship"});
        let found = connection.ok("RunDefinitionGetRequest", payload).await;
        found["trigger"]["position"] == 2
    })
    .await;
}

/// How many rows the tables of runs have.
fn rows(server: &Server) -> [String; 4] {
    let count = |table: &str| server.stored(&format!("select count(*) from {table}"));
    ["run", "run_event", "run_key", "task"].map(count)
}

#[tokio::test]
async fn ended_runs_are_removed_after_their_time_with_their_histories_and_keys() {
    let mut server = Server::on_disk(&[("INTERLOCK_RUNS_RETENTION", "1s")]);
    let connection = server.connect().await;
    define(&connection, 3_600_000).await;
    let live = start(
        &connection,
        json!({"idempotencyKey": "live", "runId": "mine"}),
    )
    .await;
    trigger_runs(&connection).await;
    // Its state has a character that PostgreSQL takes in no text, escaped.
    let odd = start(&connection, json!({})).await;
    let payload = json!({"runId": odd, "type": "a\u{0}b", "payload": {}});
    connection.ok("RunSignalRequest", payload).await;
    signal(&connection, &odd, json!(1)).await;
    let mut ended = vec![odd];
    for n in 0..300 {
        let id = start(&connection, json!({"idempotencyKey": format!("k{n}")})).await;
        let taken = signal(&connection, &id, json!(n)).await;
        assert_eq!(taken["success"], true, "{taken}");
        ended.push(id);
    }
    let chosen = start(&connection, json!({"runId": "chosen"})).await;
    signal(&connection, &chosen, json!(1)).await;
    for id in ended.iter().chain([&chosen]) {
        until_removed(&connection, id).await;
    }
    until("the runs of the trigger are removed", async || {
        let listed = connection.ok("RunsGetRequest", json!({"definition": "ship"}));
        listed.await["items"] == json!([])
    })
    .await;
    let listed = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(listed["items"].as_array().expect("a list").len(), 1);
    let history = json!({"runId": live});
    connection.ok("RunHistoryGetRequest", history).await;
    // Keys live as long as their run.
    let again = json!({"definition": "approval", "idempotencyKey": "k0", "runId": "chosen"});
    let again = connection.ok("RunStartRequest", again).await;
    assert_eq!(again["created"], true, "{again}");
    let same = json!({"definition": "approval", "idempotencyKey": "live"});
    let same = connection.ok("RunStartRequest", same).await;
    assert_eq!(
        (&same["created"], &same["runId"]),
        (&json!(false), &json!("mine"))
    );
    until_waiting(&connection, again["runId"].as_str().expect("an id")).await;
    server.kill();
    let [runs, _, keys, tasks] = rows(&server);
    assert_eq!([runs, keys, tasks], ["2", "4", "2"]);
    server.restart();
    let connection = server.connect().await;
    let taken = signal(&connection, "mine", json!(1)).await;
    assert_eq!(taken["matched"], true, "{taken}");
}

#[tokio::test]
async fn a_run_that_cannot_be_removed_does_not_keep_those_that_end_after_it() {
    let mut server = Server::on_disk(&[("INTERLOCK_RUNS_RETENTION", "1s")]);
    let connection = server.connect().await;
    define(&connection, 3_600_000).await;
    for id in ["stays", "goes"] {
        start(&connection, json!({"runId": id})).await;
    }
    server.kill();
    // The database rejects the removal of what a row refers to.
    server.change_stored(
        "create table note(r bigint references run); \
         insert into note select r from run_key where key = 'stays'",
    );
    server.restart();
    let connection = server.connect().await;
    for id in ["stays", "goes"] {
        until_waiting(&connection, id).await;
        let taken = signal(&connection, id, json!(1)).await;
        assert_eq!(taken["matched"], true, "{taken}");
    }
    until_removed(&connection, "goes").await;
    let listed = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(listed["items"][0]["status"], "completed", "{listed}");
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn keys_that_earlier_releases_left_without_their_runs_are_removed_by_a_migration() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    define(&connection, 3_600_000).await;
    start(&connection, json!({"idempotencyKey": "live"})).await;
    server.kill();
    server.change_stored(
        "insert into run_key select t, kind, scope, 'gone', -r from run_key; \
         drop index run_key_run; \
         delete from _sqlx_migrations where description = 'run key run'",
    );
    server.restart();
    server.connect().await;
    server.kill();
    assert_eq!(
        server.stored("select key from run_key order by key"),
        "live"
    );
}

#[tokio::test]
async fn the_run_of_an_item_stays_until_a_tick_has_taken_its_end_over() {
    let server = Server::with(&[
        ("INTERLOCK_RUNS_RETENTION", "1s"),
        ("INTERLOCK_MANAGER_INTERVAL", "0"),
    ]);
    let connection = server.connect().await;
    define(&connection, 3_600_000).await;
    let work = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", work).await;
    let items = json!([{"status": "to-do", "state_path": "/s/0"}]);
    put_manager(&connection, "m.json", &of_items("a", &items)).await;
    let ticked = tick(&connection).await;
    let run = ticked["processed"][0]["started"][0]["runId"].clone();
    let run = run.as_str().expect("an id");
    until_waiting(&connection, run).await;
    signal(&connection, run, json!(1)).await;
    // Another that ends later shows that the time of the first is over.
    let other = start(&connection, json!({})).await;
    until_waiting(&connection, &other).await;
    signal(&connection, &other, json!(1)).await;
    until_removed(&connection, &other).await;
    let kept = connection.ok("RunGetRequest", json!({"runId": run})).await;
    assert_eq!(kept["run"]["status"], "completed");
    tick(&connection).await;
    let now = manager(&connection, "m.json").await;
    assert_eq!(now["workers"][0]["items"][0]["status"], "success", "{now}");
    until_removed(&connection, run).await;
}

#[tokio::test]
async fn a_saga_stays_until_the_call_that_is_out_is_answered_and_undone() {
    let server = Server::with(&[("INTERLOCK_RUNS_RETENTION", "1s")]);
    let connection = server.connect().await;
    let outside = Outside::start().await;
    let done = Behaviour::Json(200, json!({}));
    let slow = Behaviour::After(Duration::from_secs(4), Box::new(done.clone()));
    outside.on("POST /do", slow).on("POST /undo", done);
    let text = r#"
connector "out" {
  type     = "http"
  base_url = "URL"
}
saga "s" {
  step "a" {
    timeout = "100ms"
    action {
      connector = "out"
      operation = "POST /do"
    }
    compensate {
      connector = "out"
      operation = "POST /undo"
    }
  }
}
"#;
    let text = text.replace("URL", &outside.url());
    let bundle = json!({"bundle": "b", "files": [{"path": "a.hcl", "text": text}]});
    connection.ok("BundleApplyRequest", bundle).await;
    let saga = json!({"definition": "s", "waitMs": 0});
    let started = connection.ok("RunStartRequest", saga).await;
    let begun = Instant::now();
    while outside.seen_at("POST /undo").is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{:?}", outside.seen());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let run = started["runId"].as_str().expect("an id");
    until_removed(&connection, run).await;
}

#[tokio::test]
async fn what_runs_store_counts_for_the_limit_of_their_tenant() {
    let mut server = Server::on_disk(&[("INTERLOCK_TENANT_STORED_BYTES", "60000")]);
    let connection = server.connect().await;
    define(&connection, 3_600_000).await;
    let large = "x".repeat(20_000);
    let run = start(&connection, json!({"input": large})).await;
    start(&connection, json!({"input": large})).await;
    start(&connection, json!({"input": large})).await;
    let again = json!({"definition": "approval"});
    let refused = connection.call("RunStartRequest", again.clone()).await;
    assert_eq!(code(&refused), "TENANT_LIMIT_EXCEEDED", "{refused}");
    // After a restart it is counted in the background.
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let begun = Instant::now();
    loop {
        let refused = connection.call("RunStartRequest", again.clone()).await;
        if refused["error"].is_object() {
            assert_eq!(code(&refused), "TENANT_LIMIT_EXCEEDED");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{refused}");
    }
    // What ends work is done however much is stored.
    connection
        .ok("RunCancelRequest", json!({"runId": run}))
        .await;
}
