//! Random sagas, while the server is killed between their calls and the records of these: what is
//! left outside is all of a saga or nothing (`orchestration.md` 2.4). The topic `contributing` has
//! the command of the long form.
//!
//! The databases do not know the key of a call, so that a write whose record is lost is done again
//! after the crash: its statement is one that may be repeated.

mod load;
mod outside;
mod plan;
mod proof;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::support::{Connection, PATIENCE, Random, Server, locked_model};

use load::Load;
use outside::{Moment, Systems};
use plan::Saga;

/// How many different sagas there are.
const SAGAS: usize = 24;

/// A number from the environment, or another.
fn given(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

async fn prepare(connection: &Connection, sagas: &[Saga], systems: &Systems) {
    locked_model(connection, "thing", json!({"id": "s1:a"})).await;
    let places = plan::Systems {
        rows: systems.path("rows"),
        notes: systems.path("notes"),
        bank: systems.http.url(),
    };
    let text = plan::hcl(sagas, &places);
    let payload = json!({"bundle": "b", "files": [{"path": "sagas.hcl", "text": text}]});
    connection.ok("BundleApplyRequest", payload).await;
}

/// Waits until no run is live.
async fn settled(connection: &Connection) {
    let live = json!({"status": ["pending", "running", "waiting"], "limit": 5});
    let look = async {
        loop {
            let page = connection.ok("RunsGetRequest", live.clone()).await;
            if page["items"].as_array().is_some_and(Vec::is_empty) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(PATIENCE * 2, look).await.is_err() {
        let page = connection.ok("RunsGetRequest", live).await;
        panic!("sagas never end: {page:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
async fn a_saga_leaves_all_or_nothing_however_often_the_server_is_killed() {
    let rounds = given("INTERLOCK_KILL_ROUNDS", 6);
    let seed = given("INTERLOCK_KILL_SEED", 1);
    let mut random = Random::new(seed);
    let systems = Arc::new(Systems::start(seed).await);
    systems.watch();
    let sagas: Vec<Saga> = (0..SAGAS)
        .map(|number| Saga::random(&mut random, number))
        .collect();
    let mut server = Server::on_disk(&[("INTERLOCK_RUNS_SYNC_TIMEOUT", "1s")]);
    prepare(&server.connect().await, &sagas, &systems).await;
    let load = Arc::new(Load::new(sagas, Arc::clone(&systems), random.clone()));
    for round in 0..rounds {
        let at = usize::try_from(round).expect("small") % Moment::ALL.len();
        let moment = Moment::ALL[at];
        let count = load.below(if moment == Moment::Answered { 150 } else { 30 });
        systems.alarm.set(moment, count);
        let working = load.begin(&server).await;
        tokio::time::timeout(PATIENCE, systems.alarm.rang())
            .await
            .unwrap_or_else(|_| panic!("seed {seed}: {moment:?} does not come"));
        server.kill();
        for task in working {
            task.await.expect("no panic");
        }
        server.restart();
    }
    let working = load.begin_last(&server).await;
    tokio::time::timeout(PATIENCE * 2, load.done())
        .await
        .unwrap_or_else(|_| panic!("seed {seed}: what was begun is not finished"));
    let connection = server.connect().await;
    settled(&connection).await;
    // A call that was given up may succeed after the end of its saga, and is undone then.
    let late = Instant::now() + PATIENCE;
    let found = loop {
        match proof::check(&connection, &load, &systems).await {
            Err(_) if Instant::now() < late => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            found => break found,
        }
    };
    working.iter().for_each(tokio::task::JoinHandle::abort);
    match found {
        Ok(found) => println!("{rounds} kills with seed {seed}: {found}"),
        Err(findings) => panic!("seed {seed}: {findings}"),
    }
}
