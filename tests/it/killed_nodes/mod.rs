//! Three nodes on one database under load, while nodes are killed and frozen, connections are lost
//! around commits, and the database itself crashes: nothing that was acknowledged is lost, nothing
//! is done twice, and the feeds of all nodes are the same (`help/design/storage.md` §13). The topic
//! `contributing` has the command of the long form.

mod fault;
mod feed;
mod load;
mod member;
mod nodes;
mod proof;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{
    Connection, Random, create, governed_model, locked_model, processed_by, sync_processor,
};

use fault::{Fault, Happened};
use feed::Feed;
use load::Load;
use nodes::Nodes;
use proof::Proof;

/// How long anything may take to be well again, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many entities background searches look at.
const FIXED: u64 = 300;
/// They find those with this number or a higher one.
const FOUND_FROM: u64 = 100;

/// Has a task done by a member, and notes that it was.
const ERRAND: &str = r#"
kind: Workflow
name: errand
version: "1"
idempotency: required
start:
  run: "@actions/do"
  inputMapping: {"n": "$.input.n"}
  transitions: {success: note, failure: flo.Failed}
steps:
  note:
    run: "@entity/create"
    inputMapping: {"model": {"name": "note", "version": 1}, "data": {"n": "$.input.n"}}
    transitions: {success: flo.Completed, failure: flo.Failed}
"#;

/// A number from the environment, or another.
fn given(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// Makes the models and the entities that are there from the start; the one that everyone adds to.
async fn prepare(connection: &Connection) -> String {
    for name in ["plain", "keyed"] {
        locked_model(connection, name, json!({"n": 1})).await;
    }
    let unique = json!({"name": "unique", "version": 1});
    let import = json!({"model": unique, "dataFormat": "JSON", "converter": "SAMPLE_DATA",
        "payload": {"n": 1}});
    connection.ok("EntityModelImportRequest", import).await;
    let keys = json!({"model": unique, "uniqueKeys": [{"id": "n", "fields": ["$.n"]}]});
    connection.ok("EntityModelSetUniqueKeysRequest", keys).await;
    let lock = json!({"model": unique, "transition": "LOCK"});
    connection.ok("EntityModelTransitionRequest", lock).await;
    let timed = json!({"version": "1", "name": "timed", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "GO", "next": "B", "manual": false, "schedule": {"delayMs": 700}}]},
        "B": {"transitions": []},
    }});
    governed_model(connection, "timed", json!({"n": 1}), timed).await;
    let processor = sync_processor("p", json!({"calculationNodesTags": "red"}));
    let processed = processed_by(json!([processor]));
    let sample = json!({"n": 1, "seen": true});
    governed_model(connection, "processed", sample, processed).await;
    let fixed = locked_model(connection, "fixed", json!({"n": 1})).await;
    let payloads: Vec<Value> = (0..FIXED)
        .map(|n| json!({"model": fixed, "data": {"n": n}}))
        .collect();
    let all = json!({"dataFormat": "JSON", "payloads": payloads});
    connection.ok("EntityCreateCollectionRequest", all).await;
    locked_model(connection, "note", json!({"n": 1})).await;
    let action = json!({"name": "do", "maxRetries": 100, "retryDelayMs": 5});
    connection.ok("ActionRegisterRequest", action).await;
    let document = json!({"document": ERRAND});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let sum = locked_model(connection, "sum", json!({"n": 1})).await;
    create(connection, &sum, json!({"n": 0})).await
}

/// What there was to see of faults of one kind.
#[derive(Default)]
struct Seen {
    times: usize,
    /// The longest time in which no other node has acknowledged anything.
    others: Duration,
    /// The longest time until every node has acknowledged something after the end.
    again: Duration,
}

/// The longest time without an answer of a node but this one, from the beginning of a fault to the
/// first answer after its end.
fn longest_wait(load: &Load, happened: &Happened) -> Duration {
    let ledger = load.ledger();
    let others = ledger
        .answered
        .iter()
        .filter(|(_, node)| Some(*node) != happened.node);
    let (mut before, mut longest) = (happened.begun, Duration::ZERO);
    for (at, _) in others.filter(|(at, _)| *at > happened.begun) {
        longest = longest.max(*at - before);
        before = *at;
        if *at > happened.ended {
            break;
        }
    }
    longest
}

/// Waits until every node has acknowledged something from now on; how long that took.
async fn all_write(load: &Load, why: &str) -> Duration {
    let begun = Instant::now();
    loop {
        let has = |node: usize| {
            let ledger = load.ledger();
            let mut answers = ledger.answered.iter().rev();
            answers.any(|(at, by)| *by == node && *at > begun)
        };
        if (0..nodes::COUNT).all(has) {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < PATIENCE, "{why}: a node does not write");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
async fn nothing_is_lost_or_done_twice_whatever_happens_to_nodes_and_connections() {
    let rounds = given("INTERLOCK_FAULT_ROUNDS", 20);
    let seed = given("INTERLOCK_FAULT_SEED", 1);
    let freeze_max = if rounds > 20 { 8_000 } else { 2_500 };
    let nodes = Nodes::start().await;
    let nodes = Arc::new(nodes);
    let sum = prepare(&nodes.try_connect(0).await.expect("a node")).await;
    let load = Arc::new(Load::new(Arc::clone(&nodes), seed, sum));
    let feeds: Vec<_> = (0..nodes::COUNT)
        .map(|_| Arc::new(Feed::default()))
        .collect();
    let mut working = load.begin();
    for (node, feed) in feeds.iter().enumerate() {
        let reader = Arc::clone(feed).follow(Arc::clone(&nodes), node);
        working.push(tokio::spawn(reader));
    }
    working.extend(member::begin(&load));
    let mut proof = Proof::default();
    let mut random = Random::new(seed);
    let mut by_fault: BTreeMap<&'static str, Seen> = BTreeMap::new();
    all_write(&load, "the start").await;
    for round in 1..=rounds {
        let node = random.below(nodes::COUNT);
        let mut faults = vec![Fault::pick(&mut random, node, freeze_max)];
        if random.chance(40) {
            let other = (node + 1) % nodes::COUNT;
            let second = Fault::pick(&mut random, other, freeze_max);
            if !(faults[0].is_of_process() && second.is_of_process()) {
                faults.push(second);
            }
        }
        let why = format!("seed {seed}, round {round}, {faults:?}");
        println!("{why}");
        let happening = faults.into_iter().map(|fault| fault.happen(&nodes));
        let happened = futures_util::future::join_all(happening).await;
        let again = all_write(&load, &why).await;
        proof.check_feeds(&load, &feeds, &why).await;
        for happened in happened {
            let of_fault = by_fault.entry(happened.name).or_default();
            of_fault.times += 1;
            of_fault.others = of_fault.others.max(longest_wait(&load, &happened));
            of_fault.again = of_fault.again.max(again);
        }
        load.ledger().answered.clear();
        for task in working.extract_if(.., |task| task.is_finished()) {
            task.await.unwrap_or_else(|error| panic!("{why}: {error}"));
        }
    }
    load.finish();
    let why = format!("seed {seed}, the end");
    let begun = Instant::now();
    while !load.is_done() {
        assert!(
            begun.elapsed() < PATIENCE,
            "{why}: something is not acknowledged"
        );
        sleep(Duration::from_millis(20)).await;
    }
    let found = proof.check(&load, &feeds, &why).await;
    working.iter().for_each(tokio::task::JoinHandle::abort);
    println!("{rounds} rounds with seed {seed}: {found}");
    for (
        name,
        Seen {
            times,
            others,
            again,
        },
    ) in &by_fault
    {
        println!(
            "{name}: {times} times; others waited at most {others:.1?}, all wrote again after at \
             most {again:.1?}"
        );
    }
    for (name, seen) in by_fault.iter().filter(|(name, _)| name.contains("freeze")) {
        assert!(
            seen.others < Duration::from_secs(20),
            "{name}: {:?}",
            seen.others
        );
    }
}
