//! How long a change takes from its commit at one node to a reader of the feed at another.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hdrhistogram::Histogram;
use interlock::clock::Timestamp;
use tokio::{task::JoinHandle, time};

use super::{
    Line, Outcome,
    base::{Base, create, set_up},
};
use crate::{
    Plan,
    feed::{after, subscribe},
    load,
    message::{Model, decode, succeeded, text},
    process::Process,
    report::milliseconds,
};

/// How often something is created where the nodes are not busy.
const PACE: Duration = Duration::from_millis(5);

/// How many creations are in flight where they are.
const IN_FLIGHT: usize = 16;

/// What is later than that counts as that late.
const LATEST_US: u64 = 60_000_000;

/// How long what is on its way may take.
const SPARE: Duration = Duration::from_millis(500);

const GOAL: Duration = Duration::from_millis(10);

type Late = Arc<Mutex<Histogram<u64>>>;

/// Reads the feed of a node, until it is aborted.
async fn follow(node: &Process) -> (Late, JoinHandle<()>) {
    let late = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    let late = Arc::new(Mutex::new(late));
    let mut changes = subscribe(&node.client().await, None).await;
    let kept = Arc::clone(&late);
    let reading = tokio::spawn(async move {
        while let Ok(Some(change)) = changes.message().await {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = i64::try_from(now.expect("later").as_micros()).expect("this age");
            let change = decode(change);
            let at = after(text(&change), "timeOfChange").split('"').nth(1);
            let at = Timestamp::parse(at.expect("a text")).expect("a time");
            let micros = u64::try_from(now - at.micros()).unwrap_or(0);
            kept.lock().expect("no panic").saturating_record(micros);
        }
    });
    // Until the subscription has begun, what is created is not of it.
    time::sleep(SPARE).await;
    (late, reading)
}

/// What both readers have had, in the end: the one at the other node first.
async fn end(readers: [(Late, JoinHandle<()>); 2]) -> [Histogram<u64>; 2] {
    time::sleep(SPARE).await;
    readers.map(|(late, reading)| {
        reading.abort();
        late.lock().expect("no panic").clone()
    })
}

fn line(workload: &str, [other, same]: &[Histogram<u64>; 2]) -> Line {
    let at =
        |late: &Histogram<u64>, quantile| Duration::from_micros(late.value_at_quantile(quantile));
    let p99 = at(other, 0.99);
    Line {
        workload: format!("{workload}, p99; floor: at the same node"),
        measured: milliseconds(p99),
        floor: milliseconds(at(same, 0.99)),
        ratio: format!("p50 {}", milliseconds(at(other, 0.5))),
        goal: "≤ 10 ms".to_owned(),
        reached: p99 <= GOAL,
    }
}

pub(super) async fn measure(base: &Base, plan: &Plan) -> Outcome {
    let url = base.database("service");
    let [a, b] = ["a", "b"].map(|name| base.node(&url, name, plan));
    let mut client = a.client().await;
    set_up(&mut client, Model::Plain).await;
    create(&mut client, Model::Plain, "first").await;
    let rounds = u32::try_from(plan.rounds).expect("few");

    let readers = [follow(&b).await, follow(&a).await];
    let mut ticks = time::interval(PACE);
    let until = time::Instant::now() + plan.service.in_all() * rounds;
    let mut count = 0;
    while time::Instant::now() < until {
        ticks.tick().await;
        let request = Model::Plain.create(&format!("p-{count}"));
        let answer = client.entity_manage(request).await.expect("an answer");
        succeeded(answer.into_inner());
        count += 1;
    }
    let paced = end(readers).await;
    assert_eq!(paced[0].len(), count, "each comes once");

    let readers = [follow(&b).await, follow(&a).await];
    let clients = a.clients(IN_FLIGHT).await;
    let request = |id: &str| Model::Plain.create(id);
    let load = load::unary(&clients, IN_FLIGHT, plan.service, request).await;
    let busy = end(readers).await;
    assert_eq!(busy[0].len(), u64::from(load.total), "each comes once");

    let mut outcome = Outcome {
        lines: vec![
            line("a change at another node, 200 a second", &paced),
            line("a change at another node, 16 creations in flight", &busy),
        ],
        ..Outcome::default()
    };
    outcome.keep("creations meanwhile", &load);
    outcome
}
