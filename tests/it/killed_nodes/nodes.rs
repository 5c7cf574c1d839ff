//! Three nodes over one database. Each reaches it, and is reached by the others, by a relay.

use std::{
    net::SocketAddr,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::{sync::watch, task::block_in_place, time::timeout};

use crate::support::{Connection, Server, backend, postgres::Postgres, relay::Relay};

pub(super) const COUNT: usize = 3;

const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// How long it may take to connect to a node that is there.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    pub(super) postgres: Postgres,
}

pub(super) struct Node {
    server: Mutex<Server>,
    /// Where clients reach it; none while it is not there.
    at: watch::Sender<Option<SocketAddr>>,
    /// Between the node and the database.
    pub(super) database: Relay,
    /// Between the other nodes and this one.
    pub(super) peers: Relay,
}

impl Nodes {
    pub(super) async fn start() -> Self {
        let postgres = Postgres::start();
        backend::migrate(&url(postgres.port));
        let mut all = Vec::new();
        for name in 0..COUNT {
            all.push(Node::start(name, postgres.port).await);
        }
        Self { all, postgres }
    }

    /// A connection to a node; none while it is not there.
    pub(super) async fn try_connect(&self, node: usize) -> Option<Connection> {
        let address = (*self.all[node].at.borrow())?;
        timeout(PATIENCE, Connection::try_open(address))
            .await
            .ok()?
    }
}

fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
}

impl Node {
    async fn start(name: usize, postgres: u16) -> Self {
        let database = Relay::to(Some(postgres)).await;
        let peers = Relay::to(None).await;
        let (url, name) = (url(database.port), format!("node-{name}"));
        let address = format!("http://127.0.0.1:{}", peers.port);
        let settings = [
            ("CYODA_STORAGE_BACKEND", "postgres"),
            ("CYODA_POSTGRES_URL", url.as_str()),
            ("CYODA_POSTGRES_MAX_CONNS", "8"),
            ("CYODA_POSTGRES_MIN_CONNS", "1"),
            ("CYODA_CLUSTER_ENABLED", "true"),
            ("CYODA_NODE_ID", name.as_str()),
            ("CYODA_HMAC_SECRET", SECRET),
            ("CYODA_GRPC_NODE_ADDR", address.as_str()),
            ("CYODA_DISPATCH_WAIT_TIMEOUT", "500ms"),
            ("CYODA_DISPATCH_FORWARD_TIMEOUT", "2s"),
            ("INTERLOCK_TASKS_LEASE", "1s"),
        ];
        let server = block_in_place(|| Server::on_disk(&settings));
        peers.aim(server.grpc);
        Self {
            at: watch::Sender::new(Some(server.grpc)),
            server: Mutex::new(server),
            database,
            peers,
        }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().expect("no panic")
    }

    pub(super) fn kill(&self) {
        self.at.send_replace(None);
        self.server().kill();
    }

    pub(super) fn restart(&self) {
        let address = block_in_place(|| {
            let mut server = self.server();
            server.restart();
            server.grpc
        });
        self.peers.aim(address);
        self.at.send_replace(Some(address));
    }

    pub(super) fn freeze(&self) {
        self.server().freeze();
    }

    pub(super) fn thaw(&self) {
        self.server().signal("-CONT");
    }

    /// The last lines that it has printed.
    pub(super) fn said(&self) -> Vec<String> {
        let Ok(server) = self.server.lock() else {
            return Vec::new();
        };
        let log = server.log.lock().expect("no panic");
        let from = log.len().saturating_sub(200);
        log[from..].to_vec()
    }
}

impl Drop for Nodes {
    /// What the nodes have said shows why a test has failed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for (name, node) in self.all.iter().enumerate() {
            for line in node.said() {
                let _ = std::io::Write::write_fmt(
                    &mut std::io::stderr(),
                    format_args!("node-{name}: {line}\n"),
                );
            }
        }
    }
}
