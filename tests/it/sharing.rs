//! Work that several processes over one database share out, and take over from each other.

mod defaults;
mod elsewhere;
mod handover;
mod runs;
mod starts;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::index::declare;
use crate::support::{
    Connection, PATIENCE, Server, backend, create, database::Database, governed_model, locked_model,
};

/// A process over a database.
pub(crate) fn node(url: &str) -> Server {
    node_with(url, &[])
}

/// The same with these settings.
fn node_with(url: &str, settings: &[(&str, &str)]) -> Server {
    let place = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url),
        ("CYODA_POSTGRES_MAX_CONNS", "8"),
        // A read that fails on a busy machine is repeated soon.
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "1s"),
        ("CYODA_LOG_LEVEL", "debug"),
    ];
    Server::on_disk(&[&place, settings].concat())
}

/// A model whose entities go from `A` to `B` some time after they were made.
async fn timed(connection: &Connection, delay: Duration) -> Value {
    let delay = u64::try_from(delay.as_millis()).expect("short");
    let workflow = json!({"version": "1", "name": "timed", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "GO", "next": "B", "manual": false, "schedule": {"delayMs": delay}}]},
        "B": {"transitions": []},
    }});
    governed_model(connection, "timed", json!({"n": 1}), workflow).await
}

async fn make(connection: &Connection, model: &Value, count: usize) {
    let payloads: Vec<_> = (0..count)
        .map(|n| json!({"model": model, "data": {"n": n}}))
        .collect();
    let payload = json!({"dataFormat": "JSON", "payloads": payloads});
    connection
        .ok("EntityCreateCollectionRequest", payload)
        .await;
}

/// Waits until a query has an answer.
async fn becomes(database: &Database, query: &str, expected: &str, within: Duration) {
    let deadline = Instant::now() + within;
    loop {
        let said = database.execute(query);
        if said == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{query}: {said}, not {expected}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How many timers a process has fired that are not the lowest node's.
fn fired(server: &Server) -> usize {
    let log = server.log.lock().expect("no panic");
    let is_fire = |line: &&String| line.contains("scheduled task peer fire resolved");
    log.iter().filter(is_fire).count()
}

const LIVE: &str = "select count(*) from node";
const IN_B: &str = "select count(*) from entity where state = 'B'";

#[tokio::test]
async fn timers_are_shared_out_and_each_fires_once() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let nodes = [node(&url), node(&url), node(&url)];
    becomes(&database, LIVE, "3", PATIENCE).await;
    // Each has seen the others once all have beaten again.
    let beaten = "select count(*) from node where beat > \
                  (extract(epoch from clock_timestamp()) * 1000000)::bigint - 1500000";
    becomes(&database, beaten, "3", PATIENCE).await;
    let connection = nodes[0].connect().await;
    let model = timed(&connection, Duration::from_secs(6)).await;
    for _ in 0..4 {
        make(&connection, &model, 500).await;
    }
    becomes(&database, IN_B, "2000", PATIENCE).await;
    assert_eq!(database.execute("select count(*) from version"), "4000");
    assert_eq!(database.execute("select count(*) from task"), "0");
    let fired: Vec<usize> = nodes.iter().map(fired).collect();
    assert_eq!(fired[0], 0, "the lowest node says nothing: {fired:?}");
    // A third each, but for those that a busy machine found too late to share out.
    assert!(fired[1] > 100 && fired[2] > 100, "{fired:?}");
    // A timer that was taken by two would have been counted twice.
    assert!(fired[1] + fired[2] < 1_700, "{fired:?}");
}

#[tokio::test]
async fn timers_of_a_process_that_was_killed_are_fired_by_others() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut nodes = [node(&url), node(&url)];
    becomes(&database, LIVE, "2", PATIENCE).await;
    let connection = nodes[0].connect().await;
    let delay = Duration::from_secs(4);
    let model = timed(&connection, delay).await;
    make(&connection, &model, 200).await;
    drop(connection);
    nodes[0].kill();
    becomes(&database, IN_B, "200", delay + Duration::from_secs(10)).await;
    assert_eq!(database.execute("select count(*) from version"), "400");
}

#[tokio::test]
async fn searches_of_a_process_that_was_killed_are_finished_by_others() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut nodes = [node(&url), node(&url)];
    becomes(&database, LIVE, "2", PATIENCE).await;
    let connection = nodes[0].connect().await;
    let model = timed(&connection, Duration::from_hours(1)).await;
    for _ in 0..3 {
        make(&connection, &model, 1_000).await;
    }
    let condition = json!({"type": "simple", "jsonPath": "$.n", "operatorType": "GREATER_OR_EQUAL", "value": 500});
    let mut searches = Vec::new();
    for _ in 0..12 {
        let asked = json!({"model": model, "condition": condition});
        let search = connection.ok("EntitySnapshotSearchRequest", asked).await;
        searches.push(json!({"snapshotId": search["status"]["snapshotId"]}));
    }
    let other = nodes[1].connect().await;
    let cancelled = searches.pop().expect("a search");
    let answer = other.call("SnapshotCancelRequest", cancelled.clone()).await;
    nodes[0].kill();
    drop(connection);
    let running = "select count(*) from search_job where state = 0";
    becomes(&database, running, "0", Duration::from_secs(15)).await;
    for search in &searches {
        let status = other.ok("SnapshotGetStatusRequest", search.clone()).await;
        assert_eq!(status["status"]["status"], "SUCCESSFUL", "{status}");
        assert_eq!(status["status"]["entitiesCount"], 1_500, "{status}");
        let mut page = search.clone();
        page["pageSize"] = json!(2_000);
        let (found, _) = other.all("SnapshotGetRequest", page).await;
        assert_eq!(found.len(), 1_500);
    }
    if answer["success"] == true {
        let status = other.ok("SnapshotGetStatusRequest", cancelled).await;
        assert_eq!(status["status"]["status"], "CANCELLED", "{status}");
    }
}

/// How many indexes a process has filled.
fn filled(server: &Server) -> usize {
    let log = server.log.lock().expect("no panic");
    let is_filled = |line: &&String| line.contains("an index is ready");
    log.iter().filter(is_filled).count()
}

const READY: &str = "select count(*) from search_path where state = 1";

#[tokio::test]
async fn an_index_is_filled_by_one_process_and_by_another_once_that_is_gone() {
    const PATHS: &[&str] = &["$.a", "$.b", "$.c", "$.d", "$.e", "$.f", "$.g", "$.h"];
    let database = Database::new(backend::migrate);
    let url = database.url();
    let (mut one, other) = (node(&url), node(&url));
    becomes(&database, LIVE, "2", PATIENCE).await;
    let connection = other.connect().await;
    let fields = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1});
    let model = locked_model(&connection, "wide", fields.clone()).await;
    for _ in 0..300 {
        create(&connection, &model, fields.clone()).await;
    }
    declare(&connection, &model, &PATHS[..4]).await;
    becomes(&database, READY, "4", PATIENCE).await;
    let deadline = Instant::now() + PATIENCE;
    while filled(&one) + filled(&other) < 4 {
        assert!(Instant::now() < deadline, "each is reported");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Some of them fall to the process that is gone.
    one.kill();
    declare(&connection, &model, PATHS).await;
    becomes(&database, READY, "8", PATIENCE).await;
    let deadline = Instant::now() + PATIENCE;
    while filled(&one) + filled(&other) < 8 {
        assert!(Instant::now() < deadline, "each is reported");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(filled(&one) + filled(&other), 8, "each was filled once");
    let keys = "select count(*) from search_key";
    assert_eq!(database.execute(keys), (300 * PATHS.len()).to_string());
}

/// The longest that writes wait while an index over long lists is filled.
#[expect(clippy::print_stdout, reason = "the time it takes can be looked at")]
#[tokio::test]
async fn writes_are_committed_while_an_index_is_filled() {
    const PARTS: usize = 30;
    let database = Database::new(backend::migrate);
    let url = database.url();
    let (one, other) = (node(&url), node(&url));
    let connection = one.connect().await;
    let model = locked_model(&connection, "list", json!({"n": 1, "list": [1]})).await;
    let list: Vec<usize> = (0..40).collect();
    for _ in 0..PARTS {
        let payloads: Vec<_> = (0..100)
            .map(|n| json!({"model": model, "data": {"n": n, "list": list}}))
            .collect();
        let payload = json!({"dataFormat": "JSON", "payloads": payloads});
        connection
            .ok("EntityCreateCollectionRequest", payload)
            .await;
    }
    let connections = [other.connect().await, one.connect().await];
    declare(&connection, &model, &["$.list[*]"]).await;
    let begun = Instant::now();
    let mut waits = Vec::new();
    while database.execute(READY) != "1" {
        assert!(begun.elapsed() < PATIENCE * 4, "the index becomes ready");
        for connection in &connections {
            let asked = Instant::now();
            create(connection, &model, json!({"n": 1, "list": [1]})).await;
            waits.push(asked.elapsed());
        }
    }
    waits.sort_unstable();
    let (middle, most) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    println!(
        "{} writes in {:?} beside a fill of {} keys: p50 {middle:?}, longest {most:?}",
        waits.len(),
        begun.elapsed(),
        PARTS * 100 * list.len()
    );
    assert!(waits.len() > 2, "writes went on beside the fill: {waits:?}");
}
