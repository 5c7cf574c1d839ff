//! Anomalies in what was recorded of the service are found.

use super::{
    Course,
    checker::{
        Anomaly, check,
        history::{History, Key, Op, Outcome, Value},
    },
    plan::Plan,
    single,
};

/// How to plant an anomaly, and as which it may be found.
type Plant = (fn(&mut History), &'static [Anomaly]);

/// Where an op is.
type Place = (usize, usize);

fn ops(history: &History) -> impl Iterator<Item = (Place, &Op)> {
    let transactions = history.transactions.iter().enumerate();
    transactions.flat_map(|(at, one)| {
        let ops = one.ops.iter().enumerate();
        ops.map(move |(nth, op)| ((at, nth), op))
    })
}

/// The list whose elements are the most, and these.
fn longest(history: &History) -> (Key, Vec<Value>) {
    let lists = ops(history).filter_map(|(_, op)| match op {
        Op::List(key, elements) => Some((*key, elements.clone())),
        Op::Register(..) | Op::Write(..) => None,
    });
    let longest = lists.max_by_key(|(_, elements)| elements.len());
    longest.expect("a list was read")
}

/// Who wrote a value.
fn writer(history: &History, value: Value) -> usize {
    let mut all = ops(history);
    let found = all.find(|(_, op)| matches!(op, Op::Write(_, other) if *other == value));
    found.expect("it was written").0.0
}

/// Changes every read of a list.
fn change_reads(history: &mut History, of: Key, change: impl Fn(&mut Vec<Value>)) {
    for op in history.transactions.iter_mut().flat_map(|one| &mut one.ops) {
        if let Op::List(key, elements) = op
            && *key == of
        {
            change(elements);
        }
    }
}

/// The acknowledged write of a list is in no read.
fn forget(history: &mut History) {
    let (key, elements) = longest(history);
    let committed = |value: &&Value| {
        let writer = &history.transactions[writer(history, **value)];
        // A transaction that saw its own write would show more than that.
        let reads = writer.ops.iter();
        writer.outcome == Outcome::Committed
            && reads
                .filter(|op| matches!(op, Op::List(other, _) if *other == key))
                .count()
                == 0
    };
    let lost = *elements.iter().find(committed).expect("an append");
    change_reads(history, key, |elements| {
        elements.retain(|value| *value != lost);
    });
}

/// A transaction that was seen is said to have failed.
fn fail(history: &mut History) {
    let (_, elements) = longest(history);
    let writer = writer(history, elements[0]);
    history.transactions[writer].outcome = Outcome::Failed;
}

/// An append is there twice from then on.
fn double(history: &mut History) {
    let (key, elements) = longest(history);
    let doubled = elements[0];
    change_reads(history, key, |elements| {
        if elements.first() == Some(&doubled) {
            elements.insert(0, doubled);
        }
    });
}

/// The last to read a list sees it as it was before everything.
fn age(history: &mut History) {
    let (key, _) = longest(history);
    let all = history.transactions.iter_mut();
    let reads = |op: &Op| matches!(op, Op::List(other, _) if *other == key);
    let readers = all.filter(|one| one.ops.iter().any(reads));
    let last = readers.max_by_key(|one| one.begun).expect("a reader");
    for op in &mut last.ops {
        if let Op::List(other, elements) = op
            && *other == key
        {
            elements.clear();
        }
    }
}

/// A register has two of its values in the other order.
fn swap(history: &mut History) {
    let orders = history.registers.values_mut();
    let order = orders.max_by_key(|order| order.len()).expect("a register");
    let last = order.len() - 1;
    order.swap(0, last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_anomaly_that_is_planted_in_a_recorded_history_is_found() {
    let servers = single();
    let mut course = Course::begin(&servers, 7).await;
    let recorded = course.window(300, Plan::draw).await;
    let report = check(&recorded);
    assert!(report.findings.is_empty(), "{report}");
    let plants: [Plant; 5] = [
        (forget, &[Anomaly::Lost]),
        (fail, &[Anomaly::Aborted]),
        (double, &[Anomaly::Doubled]),
        // Which cycle is the simplest depends on what others have read.
        (age, &[Anomaly::Stale, Anomaly::MissedWrite]),
        (
            swap,
            &[
                Anomaly::AgainstTime,
                Anomaly::WriteCycle,
                Anomaly::CircularReads,
            ],
        ),
    ];
    for (plant, expected) in plants {
        let mut history = recorded.clone();
        plant(&mut history);
        let report = check(&history);
        let found = report.anomalies();
        let is_found = expected.iter().any(|one| found.contains(one));
        assert!(is_found, "{expected:?}: {report}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_neither_use_a_token_nor_compare_are_found_to_lose_updates() {
    let servers = single();
    let mut course = Course::begin(&servers, 7).await;
    let history = course.window(300, Plan::careless).await;
    let found = check(&history).anomalies();
    assert!(found.contains(&Anomaly::LostUpdate), "{found:?}");
}
