//! Executes the commands of the conformance runner; see `clients/conformance/README.md`.

mod commands;
mod feeds;
mod handlers;
mod output;

use std::{
    collections::HashMap,
    error::Error,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use interlock_client::{Client, Membership};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use self::{commands::Command, output::Output};

/// The clients, members and feeds by the names that the runner gives them.
struct Program {
    output: Output,
    calls: AtomicU64,
    scene: Mutex<Scene>,
}

/// What belongs to one scenario.
#[derive(Default)]
struct Scene {
    /// Is cancelled when the scenario ends.
    ended: CancellationToken,
    clients: HashMap<String, Client>,
    members: HashMap<String, Arc<Membership>>,
    feeds: HashMap<String, CancellationToken>,
    gates: HashMap<String, Arc<Semaphore>>,
}

impl Program {
    fn scene(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A gate; it is open once it is closed as a semaphore.
    fn gate(&self, name: &str) -> Arc<Semaphore> {
        let mut scene = self.scene();
        let new = || Arc::new(Semaphore::new(0));
        Arc::clone(scene.gates.entry(name.to_owned()).or_insert_with(new))
    }

    /// A client, or the stream of a member.
    fn client(&self, name: &str) -> Result<(Client, CancellationToken), Failed> {
        let scene = self.scene();
        let member = scene.members.get(name).map(|member| member.client());
        let found = member.or_else(|| scene.clients.get(name));
        let client = found.ok_or_else(|| format!("there is no client or member {name}"))?;
        Ok((client.clone(), scene.ended.clone()))
    }
}

/// Why a command failed.
type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    std::panic::set_hook(Box::new(|_| {})); // handlers are expected to panic
    let program = Arc::new(Program {
        output: Output::to_stdout(),
        calls: AtomicU64::new(0),
        scene: Mutex::default(),
    });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut running = JoinSet::new();
    while let Some(line) = lines.next_line().await? {
        let command: Command = serde_json::from_str(&line)?;
        running.spawn(commands::execute(Arc::clone(&program), command));
        while running.try_join_next().is_some() {}
    }
    Ok(())
}
