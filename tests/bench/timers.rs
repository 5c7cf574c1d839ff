//! Row T7: how late timers are, how many fire in a second, and what memory one takes.
//!
//! A member says when each timer shall fire, so that they come due as the row wants it: at a
//! steady rate, then many at one instant, while others stay armed. When they fired is read from
//! the file of the service: it is the time of the commit.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use hdrhistogram::Histogram;
use sqlx::ConnectOptions as _;
use sqlx_sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    Plan,
    machine::{self, Cores},
    member::Member,
    message::{Model, event, succeeded},
    process::{Client, Process, database, folder},
};

pub(crate) const NAME: &str = "T7";

/// Those that stay armed while the others fire.
pub(crate) const ARMED: u32 = 100_000;

/// How many come due in a second while lateness is measured.
pub(crate) const STEADY_RATE: u32 = 4_000;
const STEADY: u32 = 10 * STEADY_RATE;

/// How many come due at one instant.
pub(crate) const BURST: u32 = 50_000;

/// What counts as never, for a row of a few minutes.
pub(crate) const FAR_MS: i64 = 86_400_000;

/// What is later than that counts as that late.
pub(crate) const LATEST_US: u64 = 600_000_000;

/// Timers are armed before the first is due, with this to spare.
pub(crate) const SPARE: Duration = Duration::from_secs(3);

/// How many creations are in flight while timers are armed.
pub(crate) const IN_FLIGHT: usize = 256;

/// How often the file is asked whether all have fired.
pub(crate) const GLANCE: Duration = Duration::from_millis(250);

/// What was measured.
pub(crate) struct Outcome {
    /// Of those at a steady rate, in microseconds.
    pub(crate) late: Histogram<u64>,
    /// Of the others: how many fired in a second.
    pub(crate) fires: f64,
    /// By how many bytes one that is armed makes the process larger.
    pub(crate) memory_each: f64,
    /// What one fire costs the service on a core, at the steady rate.
    pub(crate) cpu_each: Duration,
    /// The share of the machine that other programs used while timers fired.
    pub(crate) others: f64,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let service = Process::service(folder.path(), plan);
    let clients = service.clients(plan.connections).await;
    let mut client = clients[0].clone();
    for (kind, payload) in Model::Timed.set_up() {
        let request = event(kind, "set-up", payload, []);
        let answer = client.entity_model_manage(request).await.expect("answers");
        succeeded(answer.into_inner());
    }
    let member = Member::join(service.client().await).await;
    // The first ones fill what is bounded, and what follows shows what each takes.
    let far = now_ms() + FAR_MS;
    arm(&clients, (0..ARMED).map(|n| far + i64::from(n)).collect()).await;
    let before = service.memory();
    let began = Instant::now();
    let first = far + i64::from(ARMED);
    arm(&clients, (0..ARMED).map(|n| first + i64::from(n)).collect()).await;
    let took = began.elapsed();
    let grown = service.memory().saturating_sub(before);

    let count = STEADY + BURST;
    let start = now_ms() + milliseconds(took.mul_f64(f64::from(count) / f64::from(ARMED)) + SPARE);
    let steady = |n: u32| start + i64::from(n) * 1_000 / i64::from(STEADY_RATE);
    let burst = steady(STEADY) + 1_000;
    let dues = (0..STEADY).map(steady);
    let all = dues.chain((0..BURST).map(|_| burst)).collect();
    arm(&clients, all).await;
    assert!(now_ms() < start, "the machine is too slow to arm in time");
    drop(member);

    sleep_until(start).await;
    let (cores, ours) = (Cores::now(), machine::cpu_time_of(std::process::id()));
    let on_core = service.cpu_time();
    sleep_until(burst - 500).await;
    let cpu_each = service.cpu_time().saturating_sub(on_core) / STEADY;
    sleep_until(burst).await;
    let mut file = open(&database(folder.path())).await;
    while next_due(&mut file).await <= burst * 1_000 {
        sleep(GLANCE).await;
    }
    let ours = machine::cpu_time_of(std::process::id()).saturating_sub(ours)
        + service.cpu_time().saturating_sub(on_core);
    let others = Cores::now().others_since(&cores, ours);

    let fired = fired(&mut file).await;
    assert_eq!(fired.len(), usize::try_from(count).expect("small"));
    let mut late = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    let mut last = 0;
    for (at, due_ms) in fired {
        let micros = u64::try_from(at - due_ms * 1_000).expect("no timer is early");
        if due_ms < burst {
            late.saturating_record(micros);
        } else {
            last = last.max(micros);
        }
    }
    Outcome {
        late,
        fires: f64::from(BURST) / Duration::from_micros(last).as_secs_f64(),
        memory_each: bytes(grown) / f64::from(ARMED),
        cpu_each,
        others,
    }
}

/// Creates an entity with a timer for each of these times.
pub(crate) async fn arm(clients: &[Client], dues: Vec<i64>) {
    let dues = Arc::new(Mutex::new(dues.into_iter()));
    let mut callers = JoinSet::new();
    for client in clients.iter().cycle().take(IN_FLIGHT) {
        let (mut client, dues) = (client.clone(), Arc::clone(&dues));
        let next = move || dues.lock().expect("no panic").next();
        callers.spawn(async move {
            while let Some(due) = next() {
                let request = Model::Timed.create(&due.to_string());
                let answer = client.entity_manage(request).await.expect("an answer");
                succeeded(answer.into_inner());
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller does not panic");
    }
}

pub(crate) async fn open(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    options.connect().await.expect("the file can be read")
}

/// When the next timer is due, in microseconds.
pub(crate) async fn next_due(file: &mut SqliteConnection) -> i64 {
    let due = sqlx::query_scalar("select min(due) from task where t = (select min(t) from task)");
    due.fetch_one(file).await.expect("timers are armed")
}

/// When timers fired, in microseconds, and when they were due, in milliseconds.
pub(crate) async fn fired(file: &mut SqliteConnection) -> Vec<(i64, i64)> {
    const FIRED: &str = r#"select c.at, cast(json_extract(v.data, '$.reference') as integer)
        from version v join "commit" c on c.seq = v.seq where v.kind = 1"#;
    sqlx::query_as(FIRED).fetch_all(file).await.expect("reads")
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    milliseconds(since.expect("after 1970"))
}

pub(crate) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).expect("not that long")
}

pub(crate) async fn sleep_until(ms: i64) {
    let left = u64::try_from(ms - now_ms()).unwrap_or(0);
    sleep(Duration::from_millis(left)).await;
}

pub(crate) fn bytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes).expect("less than 4 GB"))
}
