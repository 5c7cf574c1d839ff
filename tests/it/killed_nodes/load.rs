//! Clients at every node. What was asked for with a key and not acknowledged is asked for again, at
//! any node; of everything else it is noted what was answered.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};

use super::nodes::{self, Nodes};
use crate::support::{Connection, Random, code, lossy::try_call, new_entity};

/// How many clients each node has.
const CLIENTS: usize = 3;

/// How long a client waits after it was refused.
const PAUSE: Duration = Duration::from_millis(20);

/// Of how many values entities with a unique key take one.
const CODES: u64 = 400;

/// What a client does, with the number that its entity gets.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// A create without a key.
    Create(u64),
    /// A create with one, which is done once however often it is asked for.
    Keyed(u64),
    /// An entity that a timer moves, made with a key.
    Timed(u64),
    /// A create of an entity that a member processes.
    Processed(u64),
    /// A create of an entity with a unique value.
    Unique(u64),
    /// Adds one to a number that everyone adds to.
    Add,
    /// A background search, which is begun, and looked at in the end.
    Search,
    /// A run, started with a key.
    Run(u64),
}

impl Work {
    fn model(self) -> Option<(&'static str, u64)> {
        Some(match self {
            Self::Create(n) => ("plain", n),
            Self::Keyed(n) => ("keyed", n),
            Self::Timed(n) => ("timed", n),
            Self::Processed(n) => ("processed", n),
            Self::Unique(n) => ("unique", n % CODES),
            Self::Add | Self::Search | Self::Run(_) => return None,
        })
    }

    /// The key that it is done once by.
    fn key(self) -> Option<String> {
        match self {
            Self::Keyed(n) | Self::Timed(n) => Some(format!("create-{n}")),
            Self::Create(_)
            | Self::Processed(_)
            | Self::Unique(_)
            | Self::Add
            | Self::Search
            | Self::Run(_) => None,
        }
    }

    /// Whether it is asked for until it is acknowledged.
    fn is_repeated(self) -> bool {
        matches!(self, Self::Keyed(_) | Self::Timed(_) | Self::Run(_))
    }
}

/// What became of a create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Unknown,
    Refused,
    Made(Made),
}

/// An acknowledged write: the entity, and the transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Made {
    pub(super) entity: String,
    pub(super) transaction: String,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    todo: VecDeque<Work>,
    in_flight: usize,
    /// Nothing new is begun.
    is_last: bool,
    /// By model, then by number.
    pub(super) creates: BTreeMap<&'static str, BTreeMap<u64, Vec<Fate>>>,
    /// Additions that were not refused and not acknowledged.
    pub(super) adds_unknown: usize,
    pub(super) adds: usize,
    /// Every acknowledged write, in the order of the acknowledgements.
    pub(super) acknowledged: Vec<Made>,
    /// When each node has acknowledged something.
    pub(super) answered: Vec<(Instant, usize)>,
    pub(super) searches: Vec<String>,
    pub(super) runs: BTreeMap<u64, Option<String>>,
    /// How often each code was answered.
    pub(super) refused: BTreeMap<String, usize>,
    /// What a member has seen: how often each task was delivered.
    pub(super) tasks: BTreeMap<String, usize>,
}

pub(super) struct Load {
    pub(super) nodes: Arc<Nodes>,
    random: Mutex<Random>,
    next: AtomicU64,
    ledger: Mutex<Ledger>,
    /// The entity that everyone adds to.
    pub(super) sum: String,
}

impl Load {
    pub(super) fn new(nodes: Arc<Nodes>, seed: u64, sum: String) -> Self {
        Self {
            nodes,
            random: Mutex::new(Random::new(seed)),
            next: AtomicU64::new(1),
            ledger: Mutex::default(),
            sum,
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no panic")
    }

    pub(super) fn begin(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let clients = (0..CLIENTS * nodes::COUNT).map(|client| client % nodes::COUNT);
        clients
            .map(|node| tokio::spawn(Arc::clone(self).client(node)))
            .collect()
    }

    /// Begins nothing new from here on.
    pub(super) fn finish(&self) {
        self.ledger().is_last = true;
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        let ledger = self.ledger();
        ledger.is_last && ledger.todo.is_empty() && ledger.in_flight == 0
    }

    fn below(&self, end: usize) -> usize {
        self.random.lock().expect("no panic").below(end)
    }

    /// What a client does next: now and then what is left, else something new.
    fn take(&self) -> Option<Work> {
        let chosen = self.below(100);
        let mut ledger = self.ledger();
        let work = if ledger.is_last || chosen.is_multiple_of(3) {
            ledger.todo.pop_front()
        } else {
            None
        };
        if work.is_none() && ledger.is_last {
            return None;
        }
        ledger.in_flight += 1;
        let work = work.unwrap_or_else(|| {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            match chosen {
                0..30 => Work::Create(n),
                30..50 => Work::Keyed(n),
                50..65 => Work::Add,
                65..75 => Work::Unique(n),
                75..85 => Work::Timed(n),
                85..95 => Work::Processed(n),
                95..96 => Work::Search,
                _ => Work::Run(n),
            }
        });
        if let Work::Run(n) = work {
            ledger.runs.entry(n).or_default();
        }
        drop(ledger);
        Some(work)
    }

    async fn client(self: Arc<Self>, node: usize) {
        loop {
            let Some(connection) = self.nodes.try_connect(node).await else {
                sleep(PAUSE).await;
                continue;
            };
            while !connection.has_ended() {
                let Some(work) = self.take() else {
                    sleep(PAUSE).await;
                    continue;
                };
                let is_answered = self.attempt(&connection, work).await;
                self.did(work, is_answered, node);
                if !is_answered {
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn did(&self, work: Work, is_answered: bool, node: usize) {
        let mut ledger = self.ledger();
        ledger.in_flight -= 1;
        if is_answered {
            ledger.answered.push((Instant::now(), node));
        } else if work.is_repeated() {
            ledger.todo.push_back(work);
        }
    }

    /// Whether it was acknowledged.
    async fn attempt(&self, connection: &Connection, work: Work) -> bool {
        match work {
            Work::Add => self.add(connection).await,
            Work::Search => self.search(connection).await,
            Work::Run(n) => self.start(connection, n).await,
            Work::Create(_)
            | Work::Keyed(_)
            | Work::Timed(_)
            | Work::Processed(_)
            | Work::Unique(_) => self.create(connection, work).await,
        }
    }

    async fn create(&self, connection: &Connection, work: Work) -> bool {
        let Some((model, n)) = work.model() else {
            return false;
        };
        let payload = new_entity(&json!({"name": model, "version": 1}), &json!({"n": n}));
        let key = work.key();
        let answer = try_call(connection, "EntityCreateRequest", payload, key.as_deref()).await;
        let fate = match self.outcome(answer) {
            Outcome::Unknown => Fate::Unknown,
            Outcome::Refused => Fate::Refused,
            Outcome::Done(answer) => Fate::Made(made(&answer)),
        };
        let mut ledger = self.ledger();
        let is_made = if let Fate::Made(made) = &fate {
            ledger.acknowledged.push(made.clone());
            true
        } else {
            false
        };
        let fates = ledger.creates.entry(model).or_default();
        fates.entry(n).or_default().push(fate);
        is_made
    }

    /// Reads the number, and writes the next one if it is still the same.
    async fn add(&self, connection: &Connection) -> bool {
        let read = json!({"entityId": self.sum});
        let read = try_call(connection, "EntityGetRequest", read, None).await;
        let Outcome::Done(read) = self.outcome(read) else {
            return false;
        };
        let (n, seen) = (&read["payload"]["data"]["n"], &read["payload"]["meta"]);
        let next = json!({"n": n.as_u64().expect("a number") + 1});
        let patch = json!({"patchFormat": "MERGE_PATCH", "payload":
            {"entityId": self.sum, "patch": next, "ifMatch": seen["transactionId"]}});
        let answer = try_call(connection, "EntityPatchRequest", patch, None).await;
        match self.outcome(answer) {
            Outcome::Unknown => self.ledger().adds_unknown += 1,
            Outcome::Refused => {}
            Outcome::Done(answer) => {
                let mut ledger = self.ledger();
                ledger.adds += 1;
                ledger.acknowledged.push(made(&answer));
                return true;
            }
        }
        false
    }

    async fn search(&self, connection: &Connection) -> bool {
        let condition = json!({"type": "simple", "jsonPath": "$.n",
            "operatorType": "GREATER_OR_EQUAL", "value": super::FOUND_FROM});
        let model = json!({"name": "fixed", "version": 1});
        let asked = json!({"model": model, "condition": condition});
        let answer = try_call(connection, "EntitySnapshotSearchRequest", asked, None).await;
        let Outcome::Done(answer) = self.outcome(answer) else {
            return false;
        };
        let id = answer["status"]["snapshotId"].as_str().expect("an id");
        self.ledger().searches.push(id.to_owned());
        true
    }

    async fn start(&self, connection: &Connection, n: u64) -> bool {
        let payload = json!({"definition": "errand", "idempotencyKey": format!("errand-{n}"),
            "input": {"n": n}});
        let answer = try_call(connection, "RunStartRequest", payload, None).await;
        let Outcome::Done(answer) = self.outcome(answer) else {
            return false;
        };
        let run = answer["runId"].as_str().expect("an id").to_owned();
        let before = self.ledger().runs.insert(n, Some(run.clone()));
        let before = before.flatten();
        assert!(before.is_none_or(|before| before == run), "one run for {n}");
        true
    }

    /// What an answer says of what was asked for; none came if the connection was lost.
    fn outcome(&self, answer: Option<Value>) -> Outcome {
        let Some(answer) = answer else {
            return Outcome::Unknown;
        };
        if answer["success"] == true {
            return Outcome::Done(answer);
        }
        let code = code(&answer);
        assert!(
            EXPECTED.contains(&code.as_str()),
            "nobody is to be answered {answer}"
        );
        let is_unknown = code == "OUTCOME_UNKNOWN";
        *self.ledger().refused.entry(code).or_default() += 1;
        if is_unknown {
            Outcome::Unknown
        } else {
            Outcome::Refused
        }
    }
}

/// What may be answered where nodes and the database come and go.
const EXPECTED: &[&str] = &[
    "STORAGE_UNAVAILABLE",
    "OUTCOME_UNKNOWN",
    "CONFLICT",
    "ENTITY_MODIFIED",
    "UNIQUE_VIOLATION",
    "NO_COMPUTE_MEMBER_FOR_TAG",
    "COMPUTE_MEMBER_DISCONNECTED",
    "DISPATCH_FORWARD_FAILED",
    "DISPATCH_TIMEOUT",
    "TRANSACTION_EXPIRED",
];

enum Outcome {
    Unknown,
    Refused,
    Done(Value),
}

fn made(answer: &Value) -> Made {
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    let info = &answer["transactionInfo"];
    Made {
        entity: text(&info["entityIds"][0]),
        transaction: text(&info["transactionId"]),
    }
}
