//! What must hold in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Value, json};

use super::load::{Kind, Load};
use crate::support::Connection;

/// What was there in the end.
pub(super) struct Found {
    orders: usize,
    children: usize,
    notes: usize,
    ticks: usize,
    tasks: usize,
    repeated: usize,
    events: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            orders,
            children,
            notes,
            ticks,
            tasks,
            repeated,
            events,
        } = self;
        write!(
            f,
            "{orders} orders, {children} children, {notes} runs of a trigger, {ticks} of a \
             schedule, {events} events of history, {tasks} tasks of which {repeated} were \
             delivered again; nothing was lost, and nothing done twice"
        )
    }
}

/// A run and its history.
struct Reported {
    run: Value,
    history: Vec<Value>,
}

impl Reported {
    fn id(&self) -> &str {
        self.run["runId"].as_str().expect("an id")
    }

    fn count(&self, kind: &str) -> usize {
        let of_it = self
            .history
            .iter()
            .filter(|event| event["eventType"] == kind);
        of_it.count()
    }

    fn count_of(&self, kind: &str, detail: &str) -> usize {
        let is = |event: &&Value| event["eventType"] == kind && event["detail"] == detail;
        self.history.iter().filter(is).count()
    }

    /// When that first happened, in milliseconds.
    fn millis(&self, kind: &str) -> i64 {
        let event = self.history.iter().find(|event| event["eventType"] == kind);
        let time = event.expect(kind)["time"].as_str().expect("a time");
        let time = interlock::clock::Timestamp::parse(time).expect("a time");
        time.micros() / 1_000
    }
}

/// The runs of a definition, with their histories.
async fn reported(connection: &Connection, definition: &str) -> Vec<Reported> {
    let listed = connection
        .every("RunsGetRequest", json!({"definition": definition}))
        .await;
    let mut all = Vec::new();
    for some in listed.chunks(64) {
        let reading = some.iter().map(async |run| {
            let of_it = json!({"runId": run["runId"]});
            let (mut shown, history) = tokio::join!(
                connection.ok("RunGetRequest", of_it.clone()),
                connection.every("RunHistoryGetRequest", of_it.clone())
            );
            Reported {
                run: shown["run"].take(),
                history,
            }
        });
        all.extend(futures_util::future::join_all(reading).await);
    }
    all
}

/// The entities of a model: the number of each, and its state.
async fn entities(connection: &Connection, model: &str) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    for page in 0.. {
        let model = json!({"name": model, "version": 1});
        let payload = json!({"model": model, "pageSize": 1_000, "pageNumber": page});
        let (found, _) = connection.all("EntityGetAllRequest", payload).await;
        all.extend(found.iter().map(|entity| {
            let entity = &entity["payload"];
            let number = entity["data"]["n"].as_u64().expect("a number");
            let state = entity["meta"]["state"].as_str().expect("a state");
            (number, state.to_owned())
        }));
        if found.len() < 1_000 {
            return all;
        }
    }
    unreachable!("pages end")
}

/// Each number once; its state.
fn once(entities: Vec<(u64, String)>, what: &str) -> BTreeMap<u64, String> {
    let mut states = BTreeMap::new();
    for (number, state) in entities {
        let before = states.insert(number, state);
        assert!(before.is_none(), "two {what} of {number}");
    }
    states
}

pub(super) async fn check(connection: &Connection, load: &Load) -> Found {
    let orders = reported(connection, "order").await;
    let children = reported(connection, "ship").await;
    let noted = reported(connection, "noted").await;
    let ticks = reported(connection, "tick").await;
    for reported in [&orders, &children, &noted, &ticks].into_iter().flatten() {
        history_is_whole(reported);
        tasks_are_as_recorded(reported, load);
    }
    let states = once(entities(connection, "order").await, "orders");
    let receipts = once(entities(connection, "receipt").await, "receipts");
    let shipped = by_parent(&children);
    let numbers: BTreeSet<u64> = load.ledger().orders.keys().copied().collect();
    let seen = orders
        .iter()
        .map(|reported| reported.run["input"]["n"].as_u64());
    let seen: BTreeSet<u64> = seen.map(|number| number.expect("a number")).collect();
    assert_eq!(seen, numbers, "each start with a key is one run");
    assert_eq!(orders.len(), numbers.len(), "no start is two runs");
    assert_eq!(states.keys().copied().collect::<BTreeSet<_>>(), numbers);
    assert_eq!(receipts.keys().copied().collect::<BTreeSet<_>>(), numbers);
    for reported in &orders {
        order_is_as_documented(reported, load, &states, &shipped);
    }
    let kept = once(entities(connection, "note").await, "notes");
    let published = load.ledger().published.clone();
    assert_eq!(kept.into_keys().collect::<BTreeSet<_>>(), published);
    assert_eq!(noted.len(), published.len(), "a run for each event");
    let seconds = entities(connection, "second").await;
    assert_eq!(seconds.len(), ticks.len(), "an entity for each run");
    for reported in noted.iter().chain(&ticks).chain(&children) {
        assert_eq!(reported.run["status"], "completed", "{}", reported.run);
    }
    let ledger = load.ledger();
    let all = [&orders, &children, &noted, &ticks].into_iter().flatten();
    Found {
        orders: orders.len(),
        children: children.len(),
        notes: noted.len(),
        ticks: ticks.len(),
        tasks: ledger.tasks.len(),
        repeated: ledger.tasks.values().filter(|task| task.times > 1).count(),
        events: all.map(|reported| reported.history.len()).sum(),
    }
}

/// The sequences have no gaps; it begins once, and ends once, as its last event.
fn history_is_whole(reported: &Reported) {
    let history = &reported.history;
    for (index, event) in history.iter().enumerate() {
        assert_eq!(event["sequence"], json!(index + 1), "{history:#?}");
    }
    assert_eq!(reported.run["lastSequence"], json!(history.len()));
    let positions: Vec<_> = history
        .iter()
        .map(|event| event["position"].as_i64())
        .collect();
    assert!(
        positions.is_sorted_by(|one, next| one < next),
        "{history:#?}"
    );
    let is_end = |event: &&Value| {
        [
            "workflow_completed",
            "workflow_failed",
            "workflow_cancelled",
            "workflow_timed_out",
        ]
        .iter()
        .any(|kind| event["eventType"] == *kind)
    };
    assert_eq!(history.iter().filter(is_end).count(), 1, "{history:#?}");
    // Only answers that come too late are recorded behind the end.
    let last = history
        .iter()
        .rfind(|event| event["eventType"] != "late_answer");
    assert!(last.as_ref().is_some_and(is_end), "{history:#?}");
    for step in ["start", "pay", "approval", "short", "ship", "shipped"] {
        let begun = reported.count_of("step_started", step);
        assert!(begun <= 1, "{step} is entered once: {history:#?}");
        assert!(
            reported.count_of("step_completed", step) <= begun,
            "{history:#?}"
        );
    }
}

/// Each recorded task was delivered, and no other was.
fn tasks_are_as_recorded(reported: &Reported, load: &Load) {
    let of_it = format!("{}.", reported.id());
    let ledger = load.ledger();
    let delivered = ledger.tasks.range(of_it.clone()..);
    let delivered = delivered
        .take_while(|(id, _)| id.starts_with(&of_it))
        .count();
    let recorded = reported.count("awaiting_action");
    assert_eq!(
        delivered, recorded,
        "{}: {:#?}",
        reported.run, reported.history
    );
    let answered = reported.count("action_completed") + reported.count("action_lost");
    assert!(answered >= recorded, "{:#?}", reported.history);
}

/// The parents of children, each once.
fn by_parent(children: &[Reported]) -> BTreeSet<String> {
    let mut parents = BTreeSet::new();
    for reported in children {
        let parent = reported.run["parentRunId"]
            .as_str()
            .expect("a parent")
            .to_owned();
        assert!(
            parents.insert(parent),
            "two children of one run: {}",
            reported.run
        );
    }
    parents
}

fn order_is_as_documented(
    reported: &Reported,
    load: &Load,
    states: &BTreeMap<u64, String>,
    shipped: &BTreeSet<String>,
) {
    let n = reported.run["input"]["n"].as_u64().expect("a number");
    let (kind, run) = {
        let ledger = load.ledger();
        let order = &ledger.orders[&n];
        (order.kind, order.run.clone())
    };
    let why = || format!("{n} is {kind:?}: {} {:#?}", reported.run, reported.history);
    assert_eq!(run.as_deref(), Some(reported.id()), "{}", why());
    let expected = match kind {
        Kind::Approved | Kind::Flaky => "completed",
        Kind::Brief => "timed_out",
        Kind::Refused => "failed",
        Kind::Cancelled => "cancelled",
    };
    assert_eq!(reported.run["status"], expected, "{}", why());
    let is_shipped = expected == "completed";
    assert_eq!(states[&n] == "SHIPPED", is_shipped, "{}", why());
    assert_eq!(shipped.contains(reported.id()), is_shipped, "{}", why());
    let signals = usize::from(is_shipped);
    for event in ["signal_received", "signal_matched", "child_completed"] {
        assert_eq!(reported.count(event), signals, "{event}: {}", why());
    }
    let retried = reported.count_of("step_retry", "pay");
    assert_eq!(retried > 0, kind == Kind::Flaky, "{}", why());
    if kind == Kind::Brief {
        let waited = reported.millis("signal_timeout") - reported.millis("waiting_for_signal");
        assert!(waited >= 80, "{waited} ms: {}", why());
    }
    if is_shipped {
        assert_eq!(reported.run["output"]["n"], json!(n), "{}", why());
    }
}
