//! Ticks over managers with 1 000 items, while the server is killed again and again: every item is
//! started once, with the files in the store and in a folder (`runs.md` §8). The topic
//! `contributing` has the command of the long form.

mod proof;

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{Connection, PATIENCE, Random, Server, lossy::try_call};

/// How many managers a batch has; the last one has items for a member that never comes.
const MANAGERS: usize = 10;

/// How many items a manager has: in two workers, if their work ends by itself, else in one.
const ITEMS: usize = 100;

/// How often the server is killed in one batch.
const KILLS: u64 = 4;

/// How long after ticks have begun it is killed at the latest, in milliseconds.
const KILLED_WITHIN: usize = 600;

/// Where the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Store,
    Folder,
}

/// A number from the environment, or another.
fn given(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

fn name(batch: u64, manager: usize) -> String {
    format!("batch-{batch}-{manager}.json")
}

/// What the items of a manager start: work that ends by itself, work of members, or work that
/// waits.
fn target(batch: u64, manager: usize) -> String {
    match manager {
        _ if manager + 1 == MANAGERS => format!("nobody-{batch}"),
        _ if manager.is_multiple_of(2) => format!("ends-{batch}"),
        _ => format!("waits-{batch}"),
    }
}

fn manager(batch: u64, manager: usize) -> Value {
    let count = if ends(batch, manager) { 2 } else { 1 };
    let workers = (0..count).map(|worker| {
        let items = (0..ITEMS / count).map(|item| {
            json!({"status": "to-do", "state_path": format!("/s/{batch}/{manager}/{worker}/{item}")})
        });
        // One worker is in the middle of its work, so that a tick starts all of its items.
        let status = if worker == 0 { "in-progress" } else { "to-do" };
        json!({"order": worker, "configuration_code": "org.acme", "status": status,
            "user_code": target(batch, manager), "items": items.collect::<Vec<_>>()})
    });
    json!({"status": "to-do", "workers": workers.collect::<Vec<_>>()})
}

/// Whether the work of the items of a manager ends by itself.
fn ends(batch: u64, manager: usize) -> bool {
    target(batch, manager).starts_with("ends")
}

async fn prepare(server: &Server, connection: &Connection, mode: Mode, batch: u64) {
    for (name, wait) in [
        (
            format!("org.acme:ends-{batch}"),
            json!({"type": "go", "timeoutMs": 1, "onTimeout": "flo.Completed"}),
        ),
        (format!("org.acme:waits-{batch}"), json!({"type": "go"})),
    ] {
        let document = json!({"kind": "Workflow", "name": name, "version": "1", "start": {
            "waitForSignal": wait, "transitions": {"success": "flo.Completed"}}});
        connection
            .ok("RunDefinitionCreateRequest", json!({"document": document}))
            .await;
    }
    for one in 0..MANAGERS {
        let path = format!("/states/managers/{}", name(batch, one));
        let content = manager(batch, one);
        if mode == Mode::Folder {
            let path = server.folder().join(format!("files{path}"));
            fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
            fs::write(path, content.to_string()).expect("writes");
        } else {
            let payload = json!({"path": path, "content": content});
            connection.ok("FilePutRequest", payload).await;
        }
    }
}

/// Ticks again and again, until the server is gone.
async fn tick(connection: Connection) {
    while try_call(&connection, "ManagerTickRequest", json!({}), None)
        .await
        .is_some()
    {}
}

/// Ticks until nothing is left that a tick can do: what ends by itself has ended, and all else is
/// started.
async fn finish(connection: &Connection, batch: u64) {
    let work = async {
        loop {
            let ticked = connection.ok("ManagerTickRequest", json!({})).await;
            let done = ticked["registry"]["done"].as_array().expect("a list");
            let is_done = |one: &usize| done.contains(&json!(name(batch, *one)));
            let ends = (0..MANAGERS).filter(|one| ends(batch, *one));
            let is_quiet = ticked["processed"]
                .as_array()
                .expect("a list")
                .iter()
                .all(|one| one["changed"] == false);
            if is_quiet && ends.into_iter().all(|one| is_done(&one)) {
                return;
            }
        }
    };
    timeout(PATIENCE * 2, work)
        .await
        .expect("the batch is done");
}

async fn kill_while_ticking(mode: Mode) -> String {
    let rounds = given("INTERLOCK_KILL_ROUNDS", KILLS);
    let seed = given("INTERLOCK_KILL_SEED", 1);
    let mut random = Random::new(seed);
    let mut settings = vec![("INTERLOCK_MANAGER_INTERVAL", "20ms")];
    if mode == Mode::Folder {
        settings.push(("INTERLOCK_MANAGER_DIR", "files"));
    }
    let mut server = Server::on_disk(&settings);
    let mut found = proof::Found::default();
    for batch in 0..rounds.div_ceil(KILLS) {
        let mut connection = server.connect().await;
        prepare(&server, &connection, mode, batch).await;
        for _ in 0..KILLS.min(rounds - batch * KILLS) {
            let ticking = [
                tokio::spawn(tick(server.connect().await)),
                tokio::spawn(tick(server.connect().await)),
            ];
            let moment = random.below(KILLED_WITHIN) as u64;
            sleep(Duration::from_millis(moment)).await;
            server.kill();
            for one in ticking {
                one.await.expect("no panic");
            }
            server.restart();
            connection = server.connect().await;
            found.kills += 1;
            found.mid += u64::from(!proof::is_all_started(&connection, batch).await);
        }
        finish(&connection, batch).await;
        proof::check(&connection, batch, &mut found).await;
    }
    format!("{mode:?}, seed {seed}: {found}")
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
async fn every_item_of_the_store_is_started_once_however_often_the_server_is_killed() {
    println!("{}", kill_while_ticking(Mode::Store).await);
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
async fn every_item_of_a_folder_is_started_once_however_often_the_server_is_killed() {
    println!("{}", kill_while_ticking(Mode::Folder).await);
}
