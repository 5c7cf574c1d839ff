//! What memory a node takes: idle, and to search and follow many entities.

use std::time::{Duration, Instant};

use interlock::event::frame::Frame;
use tokio::{task::JoinSet, time::sleep};

use super::{
    Line, Outcome,
    base::{Base, set_up},
};
use crate::{
    Plan,
    feed::subscribe,
    message::{Model, decode, event, text},
    process::{Client, Process},
    weight::megabytes,
};

/// How many entities there are, and how many in the long form.
const ENTITIES: u32 = 100_000;
pub(super) const ENTITIES_LONG: u32 = 5_000_000;

/// How many one request makes, and how many such requests are in flight.
const AT_ONCE: u32 = 500;
const REQUESTS: u32 = 4;

/// How long a node is left alone before it counts as idle.
const REST: Duration = Duration::from_secs(2);

const IDLE_MAX: f64 = 40.0;
const LARGE_MAX: f64 = 256.0;

fn line(workload: String, measured: f64, most: f64, ratio: String) -> Line {
    Line {
        workload,
        measured: format!("{measured:.0} MB"),
        floor: "—".to_owned(),
        ratio,
        goal: format!("≤ {most:.0} MB"),
        reached: measured <= most,
    }
}

pub(super) async fn memory(base: &Base, plan: &Plan) -> Outcome {
    let url = base.database("idle");
    let node = base.node(&url, "a", plan);
    node.client().await;
    sleep(REST).await;
    let idle = megabytes(node.memory());
    drop(node);
    let mut outcome = measure(base, plan, ENTITIES).await;
    let line = line(
        "memory of an idle node".to_owned(),
        idle,
        IDLE_MAX,
        "—".to_owned(),
    );
    outcome.lines.insert(0, line);
    outcome
}

/// Makes entities, and then searches and follows them with another process.
pub(super) async fn measure(base: &Base, plan: &Plan, entities: u32) -> Outcome {
    let url = base.database("large");
    {
        let maker = base.node(&url, "maker", plan);
        set_up(&mut maker.client().await, Model::Searched).await;
        fill(&maker, entities).await;
    }
    let node = base.node(&url, "a", plan);
    let mut client = node.client().await;
    let began = Instant::now();
    // No index: every entity is looked at, and a few are found.
    let condition = r#"{"type":"simple","jsonPath":"$.batch","operatorType":"EQUALS","value":7}"#;
    let found = search(&mut client, condition).await;
    assert!(found > 0, "an entity of the batch");
    let searched = began.elapsed();
    let began = Instant::now();
    let mut changes = subscribe(&client, Some(true)).await;
    for _ in 0..entities {
        let frame = changes.message().await.expect("an open stream");
        checked(frame.expect("a change"));
    }
    let followed = began.elapsed();
    let rate = |took: Duration| f64::from(entities) / took.as_secs_f64() / 1e3;
    let mut outcome = Outcome::default();
    outcome.lines.push(line(
        format!("memory to search {entities} entities without an index, and follow them"),
        megabytes(node.peak_memory()),
        LARGE_MAX,
        format!(
            "{:.0} k/s searched, {:.0} k/s followed",
            rate(searched),
            rate(followed)
        ),
    ));
    outcome
}

async fn fill(node: &Process, entities: u32) {
    let mut makers = JoinSet::new();
    let each = entities / REQUESTS;
    for maker in 0..REQUESTS {
        let mut client = node.client().await;
        makers.spawn(async move {
            for first in (0..each).step_by(usize::try_from(AT_ONCE).expect("small")) {
                let first = maker * each + first;
                let request = Model::create_searched(first..first + AT_ONCE);
                let answers = client.entity_manage_collection(request).await;
                let mut answers = answers.expect("answers").into_inner();
                let answer = answers.message().await.expect("an answer");
                checked(answer.expect("an answer"));
            }
        });
    }
    while let Some(ended) = makers.join_next().await {
        ended.expect("a maker does not panic");
    }
}

fn checked(frame: Frame) {
    let answer = decode(frame);
    let text = text(&answer);
    assert!(text.contains(r#""success":true"#), "{text}");
}

/// How many are found.
async fn search(client: &mut Client, condition: &str) -> usize {
    let payload = format!(
        r#"{{"id":"1","model":{{"name":"searched","version":1}},"condition":{condition}}}"#
    );
    let request = event("EntitySearchRequest", "1", payload, []);
    let answers = client.entity_search_collection(request).await;
    let mut answers = answers.expect("answers").into_inner();
    let mut found = 0;
    while let Some(frame) = answers.message().await.expect("an open stream") {
        checked(frame);
        found += 1;
    }
    found
}
