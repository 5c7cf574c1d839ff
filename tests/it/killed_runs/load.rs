//! Clients that start, signal and cancel runs and publish events, members that cannot be relied
//! on, and a worker. What was not acknowledged is asked for again after the crash.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use interlock::event::{AttributeValue, EventType};
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinHandle, time::sleep};

use crate::support::{
    Connection, Random, Server,
    lossy::{answer_of, try_call},
    payload_of, request,
};

/// How an order is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Paid, approved and shipped.
    Approved,
    /// The same, but the first payment fails.
    Flaky,
    /// Nobody approves it in time.
    Brief,
    /// The payment is refused.
    Refused,
    /// Cancelled while it waits to be approved.
    Cancelled,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Approved,
        Self::Flaky,
        Self::Brief,
        Self::Refused,
        Self::Cancelled,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Flaky => "flaky",
            Self::Brief => "brief",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome of the payment.
    fn outcome(kind: &str) -> &str {
        match kind {
            "brief" | "refused" => kind,
            _ => "approved",
        }
    }
}

/// What a client still has to do, until it is acknowledged.
#[derive(Debug, Clone)]
enum Todo {
    Start(u64),
    Signal(u64),
    Cancel(u64),
    Publish(u64),
}

#[derive(Debug)]
pub(super) struct Order {
    pub(super) kind: Kind,
    pub(super) run: Option<String>,
}

/// A task, as members and workers have seen it.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// The input and the idempotency key.
    pub(super) bytes: String,
    pub(super) times: usize,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    todo: VecDeque<Todo>,
    /// Begun and not acknowledged.
    in_flight: usize,
    pub(super) orders: BTreeMap<u64, Order>,
    pub(super) published: BTreeSet<u64>,
    pub(super) tasks: BTreeMap<String, Delivered>,
    acknowledged: u64,
    is_last: bool,
}

/// What all of them share.
pub(super) struct Load {
    random: Mutex<Random>,
    next: AtomicU64,
    ledger: Mutex<Ledger>,
    changed: Notify,
}

/// How many clients there are.
const CLIENTS: usize = 4;
/// How many members; the first never leaves.
const MEMBERS: usize = 3;

impl Load {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Mutex::new(Random::new(seed)),
            next: AtomicU64::new(1),
            ledger: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no panic")
    }

    pub(super) fn below(&self, end: u64) -> u64 {
        let end = usize::try_from(end).expect("small");
        self.random.lock().expect("no panic").below(end) as u64
    }

    fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Puts everyone to work at a server, until it is gone.
    pub(super) async fn begin(self: &Arc<Self>, server: &Server) -> Vec<JoinHandle<()>> {
        self.ledger().acknowledged = 0;
        let mut working = Vec::new();
        for member in 0..MEMBERS {
            let connection = server.connect().await;
            let join = json!({"actions": ["pay"], "maxConcurrency": 50});
            let join = request("CalculationMemberJoinEvent", "join", join);
            connection.send(join).await;
            working.push(tokio::spawn(
                Arc::clone(self).member(Arc::new(connection), member > 0),
            ));
        }
        working.push(tokio::spawn(
            Arc::clone(self).worker(server.connect().await),
        ));
        for _ in 0..CLIENTS {
            working.push(tokio::spawn(
                Arc::clone(self).client(server.connect().await),
            ));
        }
        working
    }

    /// The same, with nothing new, and members that can be relied on.
    pub(super) async fn begin_last(self: &Arc<Self>, server: &Server) -> Vec<JoinHandle<()>> {
        self.ledger().is_last = true;
        self.begin(server).await
    }

    async fn until(&self, is: impl Fn(&Ledger) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is(&self.ledger()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until so much was acknowledged since the last start.
    pub(super) async fn acknowledged(&self, enough: u64) {
        self.until(|ledger| ledger.acknowledged >= enough).await;
    }

    /// Waits until nothing is left to do.
    pub(super) async fn done(&self) {
        self.until(|ledger| ledger.todo.is_empty() && ledger.in_flight == 0)
            .await;
    }

    /// What a client does next: mostly what is left, else something new.
    fn take(&self) -> Option<Todo> {
        let is_new = self.chance(30);
        let mut ledger = self.ledger();
        let left = if is_new && !ledger.is_last {
            None
        } else {
            ledger.todo.pop_front()
        };
        if left.is_none() && ledger.is_last {
            return None;
        }
        ledger.in_flight += 1;
        drop(ledger);
        Some(left.unwrap_or_else(|| {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if self.chance(20) {
                self.ledger().published.insert(n);
                return Todo::Publish(n);
            }
            let kind = Kind::ALL[usize::try_from(self.below(5)).expect("small")];
            self.ledger().orders.insert(n, Order { kind, run: None });
            Todo::Start(n)
        }))
    }

    /// What became of it; the rest is to be done later.
    fn did(&self, rest: Option<Todo>, is_acknowledged: bool) {
        let mut ledger = self.ledger();
        ledger.in_flight -= 1;
        ledger.acknowledged += u64::from(is_acknowledged);
        ledger.todo.extend(rest);
        drop(ledger);
        self.changed.notify_waiters();
    }

    async fn client(self: Arc<Self>, connection: Connection) {
        loop {
            let Some(todo) = self.take() else {
                // What others have in flight may leave something.
                if self.ledger().in_flight == 0 {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
                continue;
            };
            match self.attempt(&connection, &todo).await {
                Attempt::Done(rest) => self.did(rest, true),
                Attempt::Later => {
                    self.did(Some(todo), false);
                    sleep(Duration::from_millis(2)).await;
                }
                Attempt::Lost => return self.did(Some(todo), false),
            }
        }
    }

    async fn attempt(&self, connection: &Connection, todo: &Todo) -> Attempt {
        match *todo {
            Todo::Start(n) => self.start(connection, n).await,
            Todo::Signal(n) => {
                let payload = json!({"runId": self.run_of(n), "type": "approve", "payload": n});
                let key = format!("signal-{n}");
                accepted(try_call(connection, "RunSignalRequest", payload, Some(&key)).await)
            }
            Todo::Cancel(n) => {
                let run = json!({"runId": self.run_of(n)});
                let Some(shown) = try_call(connection, "RunGetRequest", run.clone(), None).await
                else {
                    return Attempt::Lost;
                };
                let is_over = shown["run"]["status"] == "cancelled";
                if !is_over && shown["run"]["waiting"]["for"] != "signal" {
                    return Attempt::Later;
                }
                let key = format!("cancel-{n}");
                accepted(try_call(connection, "RunCancelRequest", run, Some(&key)).await)
            }
            Todo::Publish(n) => {
                let event = json!({"id": n.to_string(), "payload": {"n": n}});
                let payload = json!({"topic": "events", "events": [event]});
                accepted(try_call(connection, "TopicPublishRequest", payload, None).await)
            }
        }
    }

    async fn start(&self, connection: &Connection, n: u64) -> Attempt {
        let kind = self.ledger().orders[&n].kind;
        let payload = json!({"definition": "order", "idempotencyKey": format!("order-{n}"),
            "input": {"n": n, "kind": kind.name()}});
        let Some(started) = try_call(connection, "RunStartRequest", payload, None).await else {
            return Attempt::Lost;
        };
        assert_eq!(started["success"], true, "{started}");
        let run = started["runId"].as_str().expect("an id").to_owned();
        if let Some(order) = self.ledger().orders.get_mut(&n) {
            order.run = Some(run);
        }
        Attempt::Done(match kind {
            Kind::Approved | Kind::Flaky => Some(Todo::Signal(n)),
            Kind::Cancelled => Some(Todo::Cancel(n)),
            Kind::Brief | Kind::Refused => None,
        })
    }

    fn run_of(&self, n: u64) -> String {
        self.ledger().orders[&n]
            .run
            .clone()
            .expect("it was started")
    }

    /// Notes a delivery; whether members may be unreliable.
    fn delivered(&self, task: &Value) -> bool {
        let id = task["taskId"].as_str().expect("an id").to_owned();
        let bytes = format!("{} {}", task["input"], task["idempotencyKey"]);
        let mut ledger = self.ledger();
        let is_rough = !ledger.is_last;
        let known = ledger.tasks.entry(id.clone()).or_default();
        if known.times == 0 {
            known.bytes = bytes;
        } else {
            assert_eq!(
                known.bytes, bytes,
                "each delivery of {id} has the same bytes"
            );
        }
        known.times += 1;
        is_rough
    }

    /// A member on a stream: some deliveries are answered late, twice or never.
    async fn member(self: Arc<Self>, connection: Arc<Connection>, may_leave: bool) {
        while let Some(event) = connection.unasked_or_end().await {
            if event.kind != EventType::TaskCalculationRequest {
                continue;
            }
            let token = event.attribute("cyodatxtoken").expect("a token").to_owned();
            let task = payload_of(&event);
            let is_rough = self.delivered(&task);
            if is_rough && may_leave && self.chance(4) {
                return connection.abort();
            }
            tokio::spawn(Arc::clone(&self).pay(Arc::clone(&connection), task, token, is_rough));
        }
    }

    /// Writes a receipt with the token of the task, and answers.
    async fn pay(
        self: Arc<Self>,
        connection: Arc<Connection>,
        task: Value,
        token: String,
        is_rough: bool,
    ) {
        if is_rough && self.chance(20) {
            sleep(Duration::from_millis(self.below(30))).await;
        }
        let model = json!({"name": "receipt", "version": 1});
        let receipt = json!({"n": task["input"]["n"], "task": task["taskId"]});
        let receipt = json!({"dataFormat": "JSON", "payload": {"model": model, "data": receipt}});
        let mut create = request("EntityCreateRequest", &connection.fresh_id(), receipt);
        create = create.with("cyodatxtoken", AttributeValue::String(token.into()));
        let Some(written) = answer_of(&connection, create).await else {
            return;
        };
        let has_written = written["success"] == true;
        let id = task["taskId"].as_str().expect("an id");
        let kind = task["input"]["kind"].as_str().expect("a kind");
        let is_first = id.ends_with(".1");
        let mut answer = if kind == "flaky" && is_first {
            json!({"success": false, "error": {"message": "not today"}})
        } else if !has_written || is_rough && self.chance(5) {
            json!({"success": false, "error": {"message": "again", "retryable": true}})
        } else {
            json!({"outcome": Kind::outcome(kind), "output": {"task": id}})
        };
        answer["requestId"] = task["requestId"].clone();
        let times = if is_rough && self.chance(5) { 2 } else { 1 };
        for _ in 0..times {
            let id = connection.fresh_id();
            let event = request("TaskCalculationResponse", &id, answer.clone());
            let _ = connection.try_begin(event).await;
        }
    }

    /// A worker that pulls; it forgets some tasks.
    async fn worker(self: Arc<Self>, connection: Connection) {
        let register = json!({"workerId": "w", "actions": ["pack"], "maxConcurrency": 50});
        if try_call(&connection, "WorkerRegisterRequest", register, None)
            .await
            .is_none()
        {
            return;
        }
        loop {
            let wait = json!({"workerId": "w", "actions": ["pack"], "blockMs": 1_000, "max": 10});
            let Some(taken) = try_call(&connection, "TaskAwaitRequest", wait, None).await else {
                return;
            };
            for task in taken["tasks"].as_array().into_iter().flatten() {
                let is_rough = self.delivered(task);
                if is_rough && self.chance(5) {
                    continue;
                }
                let done = json!({"taskId": task["taskId"], "workerId": "w"});
                let done = try_call(&connection, "TaskCompleteRequest", done, None).await;
                let Some(done) = done else { return };
                assert_eq!(done["success"], true, "{done}");
            }
        }
    }
}

/// What a client's attempt came to.
enum Attempt {
    /// Acknowledged; this is left to do.
    Done(Option<Todo>),
    Later,
    /// Nobody knows: the connection is gone.
    Lost,
}

fn accepted(answer: Option<Value>) -> Attempt {
    match answer {
        Some(answer) => {
            assert_eq!(answer["success"], true, "{answer}");
            Attempt::Done(None)
        }
        None => Attempt::Lost,
    }
}
