//! Row T22: a tick over very many managers of which few have changed, beside a bare read of their
//! files; and the memory that ticks over large managers take.

use std::time::{Duration, Instant};

use sqlx::ConnectOptions as _;
use sqlx_sqlite::SqliteConnectOptions;

use crate::{
    Plan,
    message::{event, succeeded},
    process::{Client, Process, database, folder},
};

pub(crate) const NAME: &str = "T22";

pub(crate) const MANAGERS: u32 = 1_000;
pub(crate) const ITEMS: u32 = 100;

/// How many have changed when a tick comes.
pub(crate) const CHANGED: u32 = 10;

/// How many managers are as large as a file may be, and how many items such a one has.
pub(crate) const LARGE: u32 = 30;
const LARGE_ITEMS: u32 = 12_000;

/// Ticks on demand only.
const SETTINGS: [(&str, &str); 1] = [("INTERLOCK_MANAGER_INTERVAL", "0s")];

/// The files of managers, as nothing but SQL reads them.
const BARE: &str = "select name, n, body from record where kind = 14 and ns = 'default' \
    and name >= '/states/managers/' and name < '/states/managers0' order by name";

/// What was measured: of each round, in seconds.
pub(crate) struct Outcome {
    pub(crate) ticks: Vec<f64>,
    pub(crate) reads: Vec<f64>,
    /// Of ticks with nothing to do.
    pub(crate) quiet: Vec<f64>,
    /// By how much ticks over large managers made the process larger, in bytes.
    pub(crate) memory: u64,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let service = Process::service_with(folder.path(), plan, &SETTINGS);
    let mut client = service.client().await;
    for manager in 0..MANAGERS {
        put_manager(&mut client, manager, ITEMS).await;
    }
    // The first reads every manager, and the second what that has written.
    tick(&mut client).await;
    tick(&mut client).await;
    let mut outcome = Outcome {
        ticks: Vec::new(),
        reads: Vec::new(),
        quiet: Vec::new(),
        memory: 0,
    };
    for round in 0..u32::try_from(plan.rounds).expect("few").max(5) {
        for manager in 0..CHANGED {
            let manager = (round * CHANGED + manager) * 7 % MANAGERS;
            let path = state_path(manager, round);
            put(&mut client, &path, r#"{"status":"success"}"#).await;
        }
        outcome.reads.push(bare_read(folder.path()).await);
        outcome.ticks.push(tick(&mut client).await);
        // What it has written is read once more.
        tick(&mut client).await;
        outcome.quiet.push(tick(&mut client).await);
    }
    drop(service);
    outcome.memory = memory(plan).await;
    outcome
}

/// By how much ticks over large managers make a process larger.
async fn memory(plan: &Plan) -> u64 {
    let folder = folder();
    let service = Process::service_with(folder.path(), plan, &SETTINGS);
    let mut client = service.client().await;
    for manager in 0..LARGE {
        put_manager(&mut client, manager, LARGE_ITEMS).await;
    }
    let before = service.memory();
    for _ in 0..2 {
        tick(&mut client).await;
    }
    service.peak_memory().saturating_sub(before)
}

fn state_path(manager: u32, item: u32) -> String {
    format!("/states/items/{manager}/{item}.json")
}

async fn put_manager(client: &mut Client, manager: u32, items: u32) {
    let item = |item: u32| {
        let path = state_path(manager, item);
        format!(r#"{{"name":"item {item}","status":"in-progress","state_path":"{path}"}}"#)
    };
    let items: Vec<String> = (0..items).map(item).collect();
    let content = format!(
        r#"{{"status":"in-progress","workers":[{{"order":1,"configuration_code":"org.acme","user_code":"work","status":"in-progress","items":[{}]}}]}}"#,
        items.join(",")
    );
    let path = format!("/states/managers/bench-{manager:04}.json");
    put(client, &path, &content).await;
}

async fn put(client: &mut Client, path: &str, content: &str) {
    let payload = format!(r#"{{"id":"1","path":"{path}","content":{content}}}"#);
    let request = event("FilePutRequest", "1", payload, []);
    let answer = client.entity_manage(request).await.expect("an answer");
    succeeded(answer.into_inner());
}

/// How long a tick takes, in seconds.
async fn tick(client: &mut Client) -> f64 {
    let request = event("ManagerTickRequest", "1", r#"{"id":"1"}"#.to_owned(), []);
    let begun = Instant::now();
    let answer = client.entity_manage(request).await.expect("an answer");
    let took = begun.elapsed();
    succeeded(answer.into_inner());
    took.as_secs_f64()
}

/// How long it takes to read the files of all managers, in seconds.
async fn bare_read(folder: &std::path::Path) -> f64 {
    let mut connection = SqliteConnectOptions::new()
        .filename(database(folder))
        .read_only(true)
        .connect()
        .await
        .expect("the file of the service can be read");
    let mut best = Duration::MAX;
    // The first one reads the file from the disk, or from where the system keeps it.
    for _ in 0..3 {
        let begun = Instant::now();
        let rows: Vec<(String, i64, String)> = sqlx::query_as(BARE)
            .fetch_all(&mut connection)
            .await
            .expect("rows");
        best = best.min(begun.elapsed());
        assert_eq!(rows.len(), MANAGERS as usize);
    }
    best.as_secs_f64()
}
