//! A world in which everything goes wrong: random workflows, members, clients and crashes, over
//! a simulated database or over `SQLite`, in virtual time.
//!
//! A seed decides everything, so it repeats a failure; the topic `contributing` says how.
#![cfg(test)]

mod batch;
mod check;
mod definition;
mod people;
mod random;
mod reader;
mod runs;
mod sagas;
mod world;

use std::{num::NonZero, sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use definition::Plan;
use people::Person;
use random::Random;
use world::{World, tenant};

use crate::clock::{Clock, Timestamp};
use crate::compat::Compat;
use crate::compute::{self, Members};
use crate::engine::Limits;
use crate::entity::{Actor, ActorKind, Document};
use crate::id::ModelKey;
use crate::model::Schema;
use crate::runtime::{Runtime, Settings};
use crate::storage::{
    self, Attribution, DatabaseLocation, Disturbance, Durability, IndexSettings, Migrate,
    ModelChange, Moment, Simulated, Storage,
};
use crate::workflow::{ImportMode, WorkflowSet};

const MODEL: &str = "m";

const SETTINGS: Settings = Settings {
    limits: Limits {
        state_visits: 10,
        depth: 100,
        time: Duration::from_mins(10),
    },
    calls: compute::Settings {
        wait_for_member: Duration::from_millis(600),
        response_timeout: Duration::from_millis(200),
        out_max: 64,
    },
    compat: Compat::Documented,
    token_life: Duration::from_mins(1),
    expiry_grace: Duration::from_millis(100),
    task_pause: Duration::from_secs(1),
    scan_interval: Duration::from_secs(1),
    retry_pause: Duration::from_secs(1),
    runs: crate::runtime::RunSettings::DEFAULT,
};

/// Where everything is kept, and what outlives a crash.
enum Base {
    Simulated(Arc<Simulated>),
    File(tempfile::TempDir),
}

impl Base {
    async fn open(&self, world: &Arc<World>, clock: Clock, tasks: &TaskTracker) -> Storage {
        let world = Arc::clone(world);
        // A file is slow to come back: only the simulated database fails and comes back.
        let may_fail = matches!(self, Self::Simulated(_));
        let disturbance = Disturbance::new(move |moment| {
            let world = Arc::clone(&world);
            Box::pin(async move { disturb(&world, moment, may_fail).await })
        });
        let opened = match self {
            Self::Simulated(database) => {
                Storage::open_simulated(database, disturbance, clock, tasks).await
            }
            Self::File(folder) => {
                let settings = storage::Settings {
                    place: DatabaseLocation::File(folder.path().join("interlock.db")),
                    durability: Durability::Relaxed,
                    busy_timeout: Duration::from_secs(5),
                    cache_kib: 1_000,
                    scan_max: 0,
                    absent_lists_are_null: false,
                    queue_bytes: 64 << 20,
                    start_check: Duration::ZERO,
                    migrate: Migrate::Yes,
                    indexes: IndexSettings::default(),
                };
                Storage::open_disturbed(&settings, disturbance, clock, tasks).await
            }
        };
        opened.expect("opens")
    }
}

/// What the disk does to the writer.
async fn disturb(world: &World, moment: Moment, may_fail: bool) -> bool {
    world
        .boundary(match moment {
            Moment::BeforeWrite => "before a write",
            Moment::AfterWrite => "after a write",
            Moment::Syncing => "before the disk has it",
            Moment::Reopening => "while the database is opened again",
        })
        .await;
    let (pause, is_well) = {
        let mut ledger = world.ledger();
        let rough = ledger.rough;
        let pause = if ledger.random.chance(20) {
            ledger.random.between(1, 6)
        } else {
            0
        };
        let is_well = !(ledger.random.chance(1) && rough && may_fail);
        if !is_well {
            ledger.note(|_| format!("the disk fails: {moment:?}"));
        }
        (pause, is_well)
    };
    if pause > 0 {
        sleep(Duration::from_millis(pause)).await;
    }
    is_well
}

fn attribution() -> Attribution {
    Attribution {
        author: Actor {
            kind: ActorKind::User,
            name: "u".into(),
        },
        executor: None,
    }
}

/// What came of a schedule.
struct Report {
    failures: Vec<String>,
    trace: String,
    ops: usize,
    calls: usize,
}

/// One life of the service.
struct Life {
    clock: Clock,
    random: Random,
    is_first: bool,
    /// The quiet one in the end.
    is_last: bool,
}

/// A few lives of the service that end in crashes, and a quiet one.
fn lives(random: &mut Random, live: impl AsyncFn(Life)) {
    let mut now = Timestamp::from_micros(1_000_000);
    let lives = random.between(1, 3);
    for life in 0..=lives {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let random = random.fork();
        // What is not finished when this returns is dropped with the runtime: a crash.
        now = runtime.block_on(async {
            let clock = Clock::Virtual {
                origin: Instant::now(),
                from: now,
            };
            live(Life {
                clock: clock.clone(),
                random,
                is_first: life == 0,
                is_last: life == lives,
            })
            .await;
            clock.now()
        });
        now = now.after(Duration::from_millis(3));
    }
}

/// One schedule: a few lives of the service that end in crashes, and a quiet one.
fn simulate(seed: u64, base: &Base, traced: bool) -> Report {
    let mut random = Random::new(seed);
    let plan = Plan::random(&mut random.fork());
    let world = World::new(plan, random.fork(), traced);
    lives(&mut random, async |life| live(&world, base, life).await);
    report(&world, base, |ledger| {
        (ledger.ops.len(), ledger.calls.len())
    })
}

/// What came of the lives; `counted` are the sessions, and the calls of members.
fn report(
    world: &World,
    base: &Base,
    counted: impl FnOnce(&world::Ledger) -> (usize, usize),
) -> Report {
    if let Base::Simulated(database) = base {
        for violation in database.violations() {
            world.fail(violation);
        }
    }
    let mut ledger = world.ledger();
    let (ops, calls) = counted(&ledger);
    Report {
        failures: std::mem::take(&mut ledger.failures),
        trace: ledger.trace.take().unwrap_or_default(),
        ops,
        calls,
    }
}

/// Begins a life: where it ends is not known yet.
fn begin(world: &World, life: &Life) {
    let mut ledger = world.ledger();
    ledger.clock = Some(life.clock.clone());
    ledger.until_crash = None;
    ledger.rough = !life.is_last;
    ledger.note(|_| "the service starts".to_owned());
}

/// Lets clients work until they are done, or the service crashes.
async fn until_crash(world: &World, random: &mut Random, mut clients: JoinSet<()>) {
    if random.chance(70) {
        world.ledger().until_crash = Some(random.between(1, 60));
    }
    let work = async {
        while let Some(ended) = clients.join_next().await {
            if let Err(error) = ended {
                world.fail(format!("a client panicked: {error}"));
            }
        }
        sleep(Duration::from_millis(random.below(2_000))).await;
    };
    tokio::select! {
        biased;
        () = world.crash.notified() => {}
        ended = timeout(Duration::from_hours(2), work) => if ended.is_err() {
            world.fail("a request never ends");
        }
    }
}

async fn live(world: &Arc<World>, base: &Base, life: Life) {
    begin(world, &life);
    let Life {
        clock,
        mut random,
        is_first,
        is_last,
    } = life;
    let committing = TaskTracker::new();
    let storage = base.open(world, clock.clone(), &committing).await;
    if is_first {
        set_up(world, &storage).await;
    }
    let members = Members::default();
    let runtime = Runtime::alone(storage.clone(), members.clone(), clock.clone(), &SETTINGS);
    let (looking, stop) = (TaskTracker::new(), CancellationToken::new());
    looking.spawn(
        runtime
            .clone()
            .look_after_tasks(looking.clone(), stop.clone()),
    );
    if !is_last && random.chance(70) {
        tokio::spawn(reader::read(Arc::clone(world), storage.clone()));
    }
    let mut person = || Person {
        world: Arc::clone(world),
        runtime: runtime.clone(),
        random: random.fork(),
    };
    for _ in 0..2 {
        tokio::spawn(person().member(members.clone()));
    }
    if is_last {
        return settle(world, &storage, &clock, &looking, &stop).await;
    }
    let mut clients = JoinSet::new();
    for _ in 0..3 {
        clients.spawn(person().client());
    }
    until_crash(world, &mut random, clients).await;
}

async fn set_up(world: &World, storage: &Storage) {
    let key = ModelKey::new(MODEL, 1);
    let sample = Document::parse(r#"{"n":1000000,"a":9}"#).expect("JSON");
    let entries = vec![Arc::clone(&world.plan.workflow).into()];
    let changes = [
        ModelChange::Import(Schema::infer(&sample)),
        ModelChange::SetWorkflows {
            seen: 0,
            workflows: WorkflowSet::default().import(ImportMode::Merge, entries),
        },
        ModelChange::Lock,
    ];
    for change in changes {
        storage
            .change_model(&tenant(), attribution(), &key, change)
            .await
            .expect("changes the model");
    }
}

/// Lets the service do what there is to do, with members that can be relied on.
async fn settle(
    world: &World,
    storage: &Storage,
    clock: &Clock,
    looking: &TaskTracker,
    stop: &CancellationToken,
) {
    // What is due again and again is never all done, so only the rests of runs are waited for.
    for _ in 0..100 {
        sleep(Duration::from_millis(200)).await;
        if let Ok(false) = check::is_anything_unfinished(storage).await {
            break;
        }
    }
    end(world, looking, stop).await;
    world.note(|_| format!("the end, {}", clock.now()));
    check::check(world, storage).await;
}

/// Stops the service.
async fn end(world: &World, looking: &TaskTracker, stop: &CancellationToken) {
    stop.cancel();
    looking.close();
    if timeout(Duration::from_hours(2), looking.wait())
        .await
        .is_err()
    {
        world.fail("a task never ends");
    }
}

fn simulate_in_memory(seed: u64, traced: bool) -> Report {
    simulate(seed, &Base::Simulated(Arc::default()), traced)
}

fn simulate_over_sqlite(seed: u64, traced: bool) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    simulate(seed, &Base::File(folder), traced)
}

/// A number from the environment, or another.
fn given(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// Runs schedules from the seed that is given, on all processors; one that fails is reported with all
/// that happened.
#[expect(clippy::print_stdout, reason = "this is what the command is run for")]
fn run(store: &str, counted: [&str; 2], simulate: fn(u64, bool) -> Report, schedules: u64) {
    let first = given("INTERLOCK_SIMULATION_SEED", 1);
    let began = std::time::Instant::now();
    let hands = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (ops, calls, failed) = std::thread::scope(|scope| {
        let shares: Vec<_> = (0..hands)
            .map(|hand| {
                let seeds = (first..first + schedules).skip(hand).step_by(hands);
                scope.spawn(move || some(seeds, simulate))
            })
            .collect();
        let share = |share: std::thread::ScopedJoinHandle<'_, _>| share.join().expect("no panic");
        let shares = shares.into_iter().map(share);
        shares.fold((0, 0, None), |(ops, calls, failed), more: Share| {
            let failed = [failed, more.failed].into_iter().flatten().min();
            (ops + more.ops, calls + more.calls, failed)
        })
    });
    if let Some(seed) = failed {
        let Report {
            trace, failures, ..
        } = simulate(seed, true);
        println!("{trace}");
        panic!(
            "seed {seed} over {store}: {failures:#?}\nagain: INTERLOCK_SIMULATION_SEED={seed} INTERLOCK_SIMULATION_SCHEDULES=1 cargo test --release --lib simulation -- --nocapture"
        );
    }
    let took = began.elapsed();
    let count = u32::try_from(schedules).expect("few schedules");
    let [what, other] = counted;
    println!(
        "{schedules} schedules over {store} from seed {first} in {took:.1?} ({:.0}/s): {ops} {what}, {calls} {other}, nothing wrong",
        f64::from(count) / took.as_secs_f64()
    );
}

/// What came of some schedules, up to the first that failed.
struct Share {
    ops: usize,
    calls: usize,
    failed: Option<u64>,
}

fn some(seeds: impl Iterator<Item = u64>, simulate: fn(u64, bool) -> Report) -> Share {
    let mut share = Share {
        ops: 0,
        calls: 0,
        failed: None,
    };
    for seed in seeds {
        let report = simulate(seed, false);
        share.ops += report.ops;
        share.calls += report.calls;
        if !report.failures.is_empty() {
            share.failed = Some(seed);
            break;
        }
    }
    share
}

/// What is counted of each schedule.
const COUNTED: [&str; 2] = ["sessions", "calls of members"];

#[test]
fn nothing_is_torn_lost_or_early_over_the_simulated_database() {
    let schedules = given("INTERLOCK_SIMULATION_SCHEDULES", 300);
    run(
        "the simulated database",
        COUNTED,
        simulate_in_memory,
        schedules,
    );
}

#[test]
fn nothing_is_torn_lost_or_early_over_sqlite() {
    // A tenth of them: a file is more than ten times as slow.
    let schedules = given("INTERLOCK_SIMULATION_SCHEDULES", 200).div_ceil(10);
    run("SQLite", COUNTED, simulate_over_sqlite, schedules);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..20 {
        let [one, other] = [(); 2].map(|()| simulate_in_memory(seed, true).trace);
        assert_eq!(one, other, "seed {seed}");
    }
}
