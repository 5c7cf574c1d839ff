//! Clients that start, signal and cancel sagas, and members that serve one of their connectors.
//! What was not acknowledged is asked for again after the crash.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use interlock::event::EventType;
use serde_json::{Value, json};
use tokio::{sync::Notify, task::JoinHandle, time::sleep};

use super::{
    outside::{Moment, Systems},
    plan::Saga,
};
use crate::support::{Connection, Random, Server, code, lossy::try_call, payload_of, request};

/// What a client still has to do, until it is acknowledged.
#[derive(Debug, Clone, Copy)]
enum Todo {
    Start(u64),
    Signal(u64),
    Cancel(u64),
}

/// What a client wants of a saga.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) saga: usize,
    /// The step that is to fail.
    pub(super) bad: Option<&'static str>,
    pub(super) is_cancelled: bool,
    pub(super) run: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    todo: VecDeque<Todo>,
    /// Begun and not acknowledged.
    in_flight: usize,
    pub(super) wishes: BTreeMap<u64, Wish>,
    is_last: bool,
}

/// What all of them share.
pub(super) struct Load {
    pub(super) sagas: Vec<Saga>,
    systems: Arc<Systems>,
    random: Mutex<Random>,
    ledger: Mutex<Ledger>,
    changed: Notify,
}

/// How many clients there are.
const CLIENTS: usize = 4;
/// How many members; the first never leaves.
const MEMBERS: usize = 2;

impl Load {
    pub(super) fn new(sagas: Vec<Saga>, systems: Arc<Systems>, random: Random) -> Self {
        Self {
            sagas,
            systems,
            random: Mutex::new(random),
            ledger: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no panic")
    }

    fn random(&self) -> MutexGuard<'_, Random> {
        self.random.lock().expect("no panic")
    }

    pub(super) fn below(&self, end: usize) -> usize {
        self.random().below(end)
    }

    fn chance(&self, percent: usize) -> bool {
        self.random().chance(percent)
    }

    /// Puts everyone to work at a server, until it is gone.
    pub(super) async fn begin(self: &Arc<Self>, server: &Server) -> Vec<JoinHandle<()>> {
        let mut working = Vec::new();
        for member in 0..MEMBERS {
            let connection = server.connect().await;
            let join = json!({"tags": ["connector:ledger"], "maxConcurrency": 50});
            let join = request("CalculationMemberJoinEvent", "join", join);
            connection.send(join).await;
            let member = Arc::clone(self).member(Arc::new(connection), member > 0);
            working.push(tokio::spawn(member));
        }
        for _ in 0..CLIENTS {
            let client = Arc::clone(self).client(server.connect().await);
            working.push(tokio::spawn(client));
        }
        working
    }

    /// The same, with nothing new, and members that stay.
    pub(super) async fn begin_last(self: &Arc<Self>, server: &Server) -> Vec<JoinHandle<()>> {
        self.ledger().is_last = true;
        self.begin(server).await
    }

    /// Waits until nothing is left to do.
    pub(super) async fn done(&self) {
        loop {
            let changed = self.changed.notified();
            let is_done = {
                let ledger = self.ledger();
                ledger.todo.is_empty() && ledger.in_flight == 0
            };
            if is_done {
                return;
            }
            changed.await;
        }
    }

    /// What a client does next: mostly what is left, else something new.
    fn take(&self) -> Option<Todo> {
        let is_new = self.chance(20);
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
        if let Some(left) = left {
            return Some(left);
        }
        let n = ledger.wishes.len() as u64 + 1;
        let wish = self.wish();
        ledger.wishes.insert(n, wish);
        drop(ledger);
        Some(Todo::Start(n))
    }

    fn wish(&self) -> Wish {
        let mut random = self.random();
        let saga = random.below(self.sagas.len());
        let steps = self.sagas[saga].steps.iter();
        let can_fail: Vec<_> = steps.filter(|step| step.can_fail()).collect();
        let fails = random.chance(50) && !can_fail.is_empty();
        Wish {
            saga,
            bad: fails.then(|| random.pick(&can_fail).name),
            is_cancelled: random.chance(15),
            run: None,
        }
    }

    /// What became of it; the rest is to be done later.
    fn did(&self, rest: impl IntoIterator<Item = Todo>, is_acknowledged: bool) {
        let mut ledger = self.ledger();
        ledger.in_flight -= 1;
        ledger.todo.extend(rest);
        drop(ledger);
        self.changed.notify_waiters();
        if is_acknowledged {
            self.systems.alarm.count(Moment::Answered);
        }
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
            let Some(rest) = self.attempt(&connection, todo).await else {
                return self.did([todo], false);
            };
            let is_same = matches!(
                (todo, &*rest),
                (Todo::Signal(_), [Todo::Signal(_)]) | (Todo::Cancel(_), [Todo::Cancel(_)])
            );
            self.did(rest, !is_same);
            if is_same {
                sleep(Duration::from_millis(2)).await;
            }
        }
    }

    /// What is left to do; none if the connection is lost before that is known.
    async fn attempt(&self, connection: &Connection, todo: Todo) -> Option<Vec<Todo>> {
        match todo {
            Todo::Start(n) => self.start(connection, n).await,
            Todo::Signal(n) => self.signal(connection, n).await,
            Todo::Cancel(n) => self.cancel(connection, n).await,
        }
    }

    async fn start(&self, connection: &Connection, n: u64) -> Option<Vec<Todo>> {
        let (saga, bad, is_cancelled) = {
            let ledger = self.ledger();
            let wish = &ledger.wishes[&n];
            (wish.saga, wish.bad, wish.is_cancelled)
        };
        let saga = &self.sagas[saga];
        let input = json!({"id": format!("s{n}"), "bad": bad.unwrap_or_default()});
        let payload = json!({"definition": saga.name, "idempotencyKey": format!("start-{n}"),
            "waitMs": 0, "input": input});
        let started = try_call(connection, "RunStartRequest", payload, None).await?;
        assert_eq!(started["success"], true, "{started}");
        let run = started["runId"].as_str().expect("an id").to_owned();
        if let Some(wish) = self.ledger().wishes.get_mut(&n) {
            wish.run = Some(run);
        }
        let mut rest = Vec::new();
        if saga.waits_for_signals() {
            rest.push(Todo::Signal(n));
        }
        if is_cancelled {
            rest.push(Todo::Cancel(n));
        }
        Some(rest)
    }

    fn run_of(&self, n: u64) -> String {
        let ledger = self.ledger();
        ledger.wishes[&n].run.clone().expect("it was started")
    }

    /// Signals a saga whenever it waits for that, until it has ended.
    async fn signal(&self, connection: &Connection, n: u64) -> Option<Vec<Todo>> {
        let run = self.run_of(n);
        let shown = try_call(connection, "RunGetRequest", json!({"runId": run}), None).await?;
        let shown = &shown["run"];
        if shown["finishedAt"].is_string() {
            return Some(Vec::new());
        }
        let again = Some(vec![Todo::Signal(n)]);
        let waiting = &shown["waiting"];
        if waiting["for"] != "signal" || waiting["name"] != "go" {
            return again;
        }
        let payload = json!({"runId": run, "type": "go", "payload": {"n": n}});
        let key = format!("signal-{n}-{}", shown["currentStep"]);
        let signalled = try_call(connection, "RunSignalRequest", payload, Some(&key)).await?;
        if signalled["success"] == true {
            self.systems.alarm.count(Moment::Signalled);
        }
        again
    }

    async fn cancel(&self, connection: &Connection, n: u64) -> Option<Vec<Todo>> {
        if self.chance(60) {
            return Some(vec![Todo::Cancel(n)]);
        }
        let run = json!({"runId": self.run_of(n)});
        let key = format!("cancel-{n}");
        let cancelled = try_call(connection, "RunCancelRequest", run, Some(&key)).await?;
        if cancelled["success"] != true {
            match &*code(&cancelled) {
                "RUN_FINISHED" => {}
                "CONFLICT" => return Some(vec![Todo::Cancel(n)]),
                other => panic!("{other}: {cancelled}"),
            }
        }
        Some(Vec::new())
    }

    /// A member that serves the connector `ledger`.
    async fn member(self: Arc<Self>, connection: Arc<Connection>, may_leave: bool) {
        while let Some(event) = connection.unasked_or_end().await {
            if event.kind != EventType::TaskCalculationRequest {
                continue;
            }
            let is_last = self.ledger().is_last;
            if may_leave && !is_last && self.chance(3) {
                return connection.abort();
            }
            let task = payload_of(&event);
            tokio::spawn(Arc::clone(&self).serve(Arc::clone(&connection), task));
        }
    }

    async fn serve(self: Arc<Self>, connection: Arc<Connection>, task: Value) {
        assert_eq!(
            (&task["kind"], &task["name"]),
            (&json!("connector"), &json!("ledger")),
            "{task}"
        );
        let input = &task["input"];
        let undoes = input["operation"] == "POST /releases";
        let key = task["idempotencyKey"].as_str().expect("a key");
        let is_done = {
            let mut ledger = self.systems.ledger.lock().expect("no panic");
            ledger.act(undoes, key, &input["payload"])
        };
        if self.systems.alarm.count(Moment::Delivered) {
            return;
        }
        if self.chance(15) {
            let pause = u64::try_from(self.below(100)).expect("small");
            sleep(Duration::from_millis(pause)).await;
        }
        let mut answer = if is_done {
            json!({"outcome": "success", "output": {}})
        } else {
            json!({"success": false, "error": {"message": "locked"}})
        };
        answer["requestId"] = task["requestId"].clone();
        let times = if self.chance(5) { 2 } else { 1 };
        for _ in 0..times {
            let event = request(
                "TaskCalculationResponse",
                &connection.fresh_id(),
                answer.clone(),
            );
            let _ = connection.try_begin(event).await;
        }
    }
}
