//! What starts work by itself, over several processes: schedules, triggers and managers. One of the
//! processes does it, and others take it over.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{LIVE, becomes, node, node_with};
use crate::support::{
    Connection, PATIENCE, Rest, Server, backend,
    batch::{of_items, put_manager, waits_for_a_signal},
    database::Database,
};

/// A workflow that ends at once, which is started by this.
fn document(name: &str, by: &str) -> String {
    format!(
        "kind: Workflow\nname: {name}\nversion: \"1\"\n{by}\nstart:\n  run: \"@actions/none\"\n  \
         transitions:\n    success: flo.Completed\n    failure: flo.Completed\n"
    )
}

async fn define(connection: &Connection, name: &str, by: &str) {
    let payload = json!({"document": document(name, by)});
    connection.ok("RunDefinitionCreateRequest", payload).await;
}

/// The runs of a workflow, the oldest first.
async fn runs(connection: &Connection, name: &str) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut payload = json!({"definition": name, "limit": 1_000});
        if !cursor.is_null() {
            payload["cursor"] = cursor;
        }
        let page = connection.ok("RunsGetRequest", payload).await;
        found.extend(page["items"].as_array().expect("a list").iter().cloned());
        cursor = page["pagination"]["nextCursor"].clone();
        if cursor.is_null() {
            found.reverse();
            return found;
        }
    }
}

/// How often a schedule fires.
const INTERVAL_MS: i64 = 2_000;

/// Enough for each process to have some.
const SCHEDULES: usize = 12;

#[tokio::test]
async fn schedules_start_one_run_for_each_instant_also_when_processes_are_killed() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut nodes = [node(&url), node(&url), node(&url)];
    becomes(&database, LIVE, "3", PATIENCE).await;
    let connection = nodes[2].connect().await;
    for n in 0..SCHEDULES {
        let every = format!("schedule:\n  interval: {INTERVAL_MS}\n  maxConcurrent: 0");
        define(&connection, &format!("s{n}"), &every).await;
    }
    let fired = "select count(*) >= 36 from run";
    becomes(&database, fired, "t", PATIENCE).await;
    nodes[0].kill();
    // What is counted is more than those that the two others have.
    let at_least = |each: i64| {
        format!(
            "select count(*) from record where kind = 4 and \
             ((body::json ->> 'last')::bigint - (body::json ->> 'since')::bigint) >= {}",
            each * INTERVAL_MS * 1_000
        )
    };
    let all = SCHEDULES.to_string();
    becomes(&database, &at_least(8), &all, Duration::from_secs(40)).await;
    nodes[1].kill();
    becomes(&database, &at_least(14), &all, Duration::from_secs(40)).await;
    for n in 0..SCHEDULES {
        let instants = format!(
            "select ((body::json ->> 'last')::bigint - (body::json ->> 'since')::bigint) / {} = \
             (select count(*) from run join run_name using (q) where run_name.name = 's{n}') \
             from record where kind = 4 and name like '%s{n}'",
            INTERVAL_MS * 1_000
        );
        assert_eq!(database.execute(&instants), "t", "s{n}");
    }
}

#[tokio::test]
async fn schedules_of_a_process_that_stands_still_start_their_runs_late() {
    const INTERVAL: i64 = 500_000;
    let database = Database::new(backend::migrate);
    let url = database.url();
    let nodes = [node(&url), node(&url)];
    becomes(&database, LIVE, "2", PATIENCE).await;
    let connection = nodes[1].connect().await;
    for n in 0..SCHEDULES {
        let every = format!(
            "schedule:\n  interval: {}\n  maxConcurrent: 0",
            INTERVAL / 1_000
        );
        define(&connection, &format!("s{n}"), &every).await;
    }
    let fired = |at_least: i64| {
        format!(
            "select count(*) from record where kind = 4 and \
             (body::json ->> 'last')::bigint - (body::json ->> 'since')::bigint >= {at_least}"
        )
    };
    let all = SCHEDULES.to_string();
    becomes(&database, &fired(4 * INTERVAL), &all, PATIENCE).await;
    nodes[0].freeze();
    let newest = "select max((body::json ->> 'last')::bigint) from record where kind = 4";
    let begun: i64 = database.execute(newest).parse().expect("a time");
    // As long as the other one leaves them to it.
    let has_passed = format!("select ({newest}) >= {}", begun + 5 * INTERVAL);
    becomes(&database, &has_passed, "t", PATIENCE).await;
    nodes[0].signal("-CONT");
    let later = begun + 10 * INTERVAL;
    let is_later = format!(
        "select count(*) from record where kind = 4 and (body::json ->> 'last')::bigint >= {later}"
    );
    becomes(&database, &is_later, &all, PATIENCE).await;
    let instants = format!(
        "select count(*) from record r where kind = 4 and \
         ((body::json ->> 'last')::bigint - (body::json ->> 'since')::bigint) / {INTERVAL} = \
         (select count(*) from run join run_name using (q) \
          where r.name = 'schedule:' || run_name.name)"
    );
    assert_eq!(database.execute(&instants), all);
}

const EVENTS: i64 = 400;

#[tokio::test]
async fn triggers_start_one_run_for_each_event_in_order_also_when_processes_are_killed() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut nodes = [node(&url), node(&url), node(&url)];
    becomes(&database, LIVE, "3", PATIENCE).await;
    let connection = nodes[2].connect().await;
    let names: Vec<String> = (0..6).map(|n| format!("t{n}")).collect();
    for name in &names {
        define(&connection, name, "trigger:\n  stream: orders").await;
    }
    for n in 1..=EVENTS {
        if n == EVENTS / 4 {
            nodes[0].kill();
        }
        if n == EVENTS / 2 {
            nodes[1].kill();
        }
        let events = json!([{"payload": {"n": n}}]);
        let payload = json!({"topic": "orders", "events": events});
        connection.ok("TopicPublishRequest", payload).await;
    }
    for name in &names {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let shown = connection.ok("RunDefinitionGetRequest", json!({"name": name}));
            let shown = shown.await;
            if shown["trigger"]["position"] == EVENTS {
                break;
            }
            assert!(Instant::now() < deadline, "{shown}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let runs = runs(&connection, name).await;
        let sequences: Vec<i64> = runs.iter().map(sequence).collect();
        assert_eq!(sequences, (1..=EVENTS).collect::<Vec<_>>(), "{name}");
    }
}

/// The event that a run was started by.
fn sequence(run: &Value) -> i64 {
    let key = run["idempotencyKey"].as_str().expect("a key");
    let (_, sequence) = key.rsplit_once(':').expect("a sequence");
    sequence.parse().expect("a number")
}

/// How many managers a process has read.
async fn read(server: &Server) -> u64 {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    let mut lines = text.lines();
    let name = "interlock_managers_read_total ";
    let line = lines.find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.parse().expect("a number"))
}

#[tokio::test]
async fn managers_are_ticked_by_one_process_and_taken_over() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let settings = [("INTERLOCK_MANAGER_INTERVAL", "200ms")];
    let mut nodes = Vec::from([0; 3].map(|_| node_with(&url, &settings)));
    becomes(&database, LIVE, "3", PATIENCE).await;
    // All of them know of all others once they have beaten again.
    let since = format!(
        "select count(*) from node where beat > {}",
        database.execute("select max(beat) from node")
    );
    becomes(&database, &since, "3", PATIENCE).await;
    let connection = nodes[0].connect().await;
    let flow = waits_for_a_signal("org.acme:a");
    connection.ok("RunDefinitionCreateRequest", flow).await;
    let started = "select count(*) from run";
    let item = |n: i32| {
        let items = json!([{"status": "to-do", "state_path": format!("/s/{n}")}]);
        of_items("a", &items)
    };
    for n in 1..=5 {
        put_manager(&connection, &format!("m{n}.json"), &item(n)).await;
        becomes(&database, started, &n.to_string(), PATIENCE).await;
    }
    drop(connection);
    let mut reads = Vec::new();
    for server in &nodes {
        reads.push(read(server).await);
    }
    let ticking = reads.iter().position(|reads| *reads > 0);
    let ticking = ticking.expect("one ticks");
    let idle = reads.iter().filter(|reads| **reads == 0).count();
    assert_eq!(idle, 2, "{reads:?}");
    nodes[ticking].kill();
    nodes.remove(ticking);
    let connection = nodes[0].connect().await;
    put_manager(&connection, "m6.json", &item(6)).await;
    becomes(&database, started, "6", Duration::from_secs(14)).await;
}
