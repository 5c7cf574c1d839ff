//! Isolation: clients write and read under contention, at every node, and a checker that knows
//! nothing of the service looks for anomalies in what they saw. The topic `contributing` has the
//! command of the long form.

mod checker;
mod client;
mod feeds;
mod plan;
mod planted;
mod record;
mod world;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use checker::{Report, check, history::History};
use feeds::Feeds;
use plan::Plan;
use world::{Entities, World};

use crate::support::{Member, Random, Server, backend, database::Database};

/// How many transactions are checked together; their entities are of their own, so that no cycle
/// leads out of them.
const WINDOW: usize = 1_000;

const CLIENTS: u64 = 16;

/// A number from the environment, or another.
fn given(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// Nodes under load, and what is recorded of it.
struct Course {
    world: Arc<World>,
    /// Those of the window.
    entities: Arc<Mutex<Arc<Entities>>>,
    feeds: Feeds,
    random: Random,
    _members: Vec<Member>,
}

impl Course {
    /// At most two of the nodes have a member, so that one asks others.
    async fn begin(servers: &[Server], seed: usize) -> Self {
        let world = Arc::new(World::prepare(servers).await);
        let feeds = Feeds::follow(servers).await;
        let entities = Arc::new(Mutex::new(Arc::new(world.refresh().await)));
        let mut members = Vec::new();
        for server in servers.iter().rev().take(2) {
            let member = Member::join(server, &["work"]).await;
            let (world, entities) = (Arc::clone(&world), Arc::clone(&entities));
            member.serve(move |call, _| {
                let (world, entities) = (Arc::clone(&world), current(&entities));
                async move { client::serve(&call, &world, &entities).await }
            });
            members.push(member);
        }
        Self {
            world,
            entities,
            feeds,
            random: Random::new(u64::try_from(seed).expect("a number")),
            _members: members,
        }
    }

    /// So many transactions, and what they saw.
    async fn window(&mut self, count: usize, draw: fn(&mut Random) -> Plan) -> History {
        let entities = Arc::new(self.world.refresh().await);
        *lock(&self.entities) = Arc::clone(&entities);
        let left = Arc::new(AtomicUsize::new(count));
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..CLIENTS {
            let seed = self.random.below(usize::MAX);
            let mut random = Random::new(u64::try_from(seed).expect("a number"));
            let (world, entities) = (Arc::clone(&self.world), Arc::clone(&entities));
            let left = Arc::clone(&left);
            let take = |left: usize| left.checked_sub(1);
            clients.spawn(async move {
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                    .is_ok()
                {
                    let plan = draw(&mut random);
                    client::execute(&world, &entities, plan, &mut random).await;
                }
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended.expect("no panic");
        }
        // What each node shows at the end, so that every version has been read.
        for connections in &self.world.nodes {
            client::read_all(&self.world, &entities, &connections[0]).await;
        }
        let registers = self.feeds.registers(&self.world, &entities).await;
        assert_eq!(self.world.record.complaints(), [""; 0]);
        History {
            transactions: self.world.record.take(),
            registers,
        }
    }
}

fn current(entities: &Mutex<Arc<Entities>>) -> Arc<Entities> {
    Arc::clone(&lock(entities))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks as many transactions as are asked for, in windows.
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
async fn check_all(backend: &str, servers: &[Server]) {
    let total = given("INTERLOCK_HISTORY_TRANSACTIONS", 1_000);
    let seed = given("INTERLOCK_HISTORY_SEED", 1);
    let begun = Instant::now();
    let mut course = Course::begin(servers, seed).await;
    let mut report = Report::default();
    let mut next_said = 1;
    while report.transactions() < total {
        let count = WINDOW.min(total - report.transactions());
        let history = course.window(count, Plan::draw).await;
        report.add(check(&history));
        assert!(
            report.findings.is_empty(),
            "{backend}, seed {seed}: {report}"
        );
        if report.transactions() >= next_said {
            println!("{backend}, seed {seed}, {:.0?}: {report}", begun.elapsed());
            let said = report.transactions();
            next_said = said + (9 * said).min(100_000);
        }
    }
    println!("{backend}, seed {seed}, {:.0?}: {report}", begun.elapsed());
    assert!(report.committed > total / 4, "{report}");
    assert!(
        report.failed > total / 50,
        "nothing was contended: {report}"
    );
    assert!(report.skews > 0, "nothing was concurrent: {report}");
}

/// Three nodes over one database.
fn cluster(database: &Database) -> Vec<Server> {
    let url = database.url();
    let secret = "5e".repeat(32);
    let node = |name| {
        Server::on_disk(&[
            ("CYODA_STORAGE_BACKEND", "postgres"),
            ("CYODA_POSTGRES_URL", url.as_str()),
            ("CYODA_CLUSTER_ENABLED", "true"),
            ("CYODA_NODE_ID", name),
            ("CYODA_HMAC_SECRET", secret.as_str()),
        ])
    };
    ["a", "b", "c"].map(node).into()
}

fn single() -> Vec<Server> {
    vec![Server::on_disk(&[("CYODA_STORAGE_BACKEND", "sqlite")])]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_one_process_over_sqlite_are_snapshot_isolated() {
    check_all("sqlite", &single()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_three_nodes_over_postgres_are_snapshot_isolated() {
    let database = Database::new(backend::migrate);
    check_all("postgres, three nodes", &cluster(&database)).await;
}
