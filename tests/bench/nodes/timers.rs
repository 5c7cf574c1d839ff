//! How late the timers of three nodes are.

use std::time::Duration;

use hdrhistogram::Histogram;
use sqlx_postgres::PgConnection;
use tokio::time::sleep;

use super::{
    Line, Outcome,
    base::{Base, connect, set_up},
};
use crate::{
    Plan,
    member::Member,
    message::Model,
    report::milliseconds as text_of,
    timers::{GLANCE, LATEST_US, SPARE, arm, milliseconds, now_ms, sleep_until},
};

const TIMERS: u32 = 10_000;

/// How many come due in a second.
const RATE: u32 = 2_000;

/// How many are armed to see how long that takes.
const TRIED: u32 = 1_000;

/// How long the last one may take to fire.
const PATIENCE: Duration = Duration::from_mins(1);

const GOAL: Duration = Duration::from_millis(100);

const LEFT: &str = "select count(*) from task where due < $1";

const FIRED: &str = r#"select c.at, (v.data::json ->> 'reference')::bigint
  from version v join "commit" c on c.seq = v.seq where v.kind = 1"#;

pub(super) async fn measure(base: &Base, plan: &Plan) -> Outcome {
    let url = base.database("service");
    let nodes = ["a", "b", "c"].map(|name| base.node(&url, name, plan));
    let mut clients = Vec::new();
    for node in &nodes {
        clients.extend(node.clients(plan.connections).await);
    }
    set_up(&mut clients[0].clone(), Model::Timed).await;
    let mut members = Vec::new();
    for node in &nodes {
        members.push(Member::join(node.client().await).await);
    }
    // Due in an hour: they only show how long the others need.
    let far = now_ms() + 3_600_000;
    let began = now_ms();
    arm(&clients, (0..TRIED).map(|n| far + i64::from(n)).collect()).await;
    let took = (now_ms() - began) * i64::from(TIMERS / TRIED);
    let start = now_ms() + 2 * took + milliseconds(SPARE);
    let due = |n: u32| start + i64::from(n) * 1_000 / i64::from(RATE);
    arm(&clients, (0..TIMERS).map(due).collect()).await;
    assert!(now_ms() < start, "the machine is too slow to arm in time");
    drop(members);
    sleep_until(due(TIMERS)).await;
    let mut database = connect(&url).await;
    let last = now_ms() + milliseconds(PATIENCE);
    while left(&mut database, far).await > 0 {
        assert!(now_ms() < last, "timers never fire");
        sleep(GLANCE).await;
    }
    let fired: Vec<(i64, i64)> = sqlx::query_as(FIRED)
        .fetch_all(&mut database)
        .await
        .expect("reads");
    assert_eq!(
        fired.len(),
        usize::try_from(TIMERS).expect("small"),
        "each once"
    );
    let mut late: Histogram<u64> = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds");
    for (at, due_ms) in fired {
        let micros = u64::try_from(at - due_ms * 1_000).expect("no timer is early");
        late.saturating_record(micros);
    }
    let at = |quantile| Duration::from_micros(late.value_at_quantile(quantile));
    let mut outcome = Outcome::default();
    outcome.lines.push(Line {
        workload: "10,000 timers over three nodes, 2,000 a second: lateness, p99".to_owned(),
        measured: text_of(at(0.99)),
        floor: "—".to_owned(),
        ratio: format!("p50 {}", text_of(at(0.5))),
        goal: "≤ 100 ms".to_owned(),
        reached: at(0.99) <= GOAL,
    });
    outcome
}

/// How many are due before some time.
async fn left(database: &mut PgConnection, before_ms: i64) -> i64 {
    let count = sqlx::query_scalar(LEFT)
        .bind(before_ms * 1_000)
        .fetch_one(database);
    count.await.expect("reads")
}
