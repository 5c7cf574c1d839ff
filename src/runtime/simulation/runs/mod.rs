//! The driver of runs in a world in which everything goes wrong: random documents that are
//! replaced meanwhile, members and workers that repeat, lose and contradict answers, signals,
//! cancels, events of a topic, a schedule, transitions that start and signal runs, and crashes.
#![cfg(test)]

mod check;
mod documents;
mod lost;

mod people;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard};
use serde_json::value::to_raw_value;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Base, Life, Report, SETTINGS, attribution, begin, definition::Plan, end, given, lives,
    people::initiator, random::Random, report, run, until_crash, world::World, world::tenant,
};
use crate::compute::{
    Members,
    tasks::{End, Ends, Reported, Standing, TaskSpec, Used},
};
use crate::dialect::flo::generate::Chance;
use crate::entity::{ActorKind, Document};
use crate::error::{Code, Failure};
use crate::id::{EntityId, ModelKey, Tenant};
use crate::model::Schema;
use crate::program::Limits;
use crate::registry::{self, Action, ActionDispatch, NewDefinition};
use crate::runtime::{Inner, RunSettings, Runtime, Session, Settings};
use crate::storage::{ModelChange, Storage};
use crate::workflow::{ImportMode, Workflow, WorkflowSet};

pub(super) use check::entities;
use people::Person;

/// Few steps, so that every run ends.
const RUN_SETTINGS: Settings = Settings {
    runs: RunSettings {
        limits: Limits {
            steps_max: 40,
            ..Limits::DEFAULT
        },
        tasks_wait: Duration::from_secs(3),
        ..RunSettings::DEFAULT
    },
    ..SETTINGS
};

const NAMESPACE: &str = "default";

/// The actions that are registered.
const ACTIONS: [&str; 3] = ["charge", "look", "ship"];

/// What all of one schedule share.
struct Stage {
    world: Arc<World>,
    notes: Mutex<Notes>,
}

/// What clients, members and workers know.
#[derive(Debug, Default)]
struct Notes {
    /// The runs that were acknowledged to clients.
    runs: Vec<Box<str>>,
    /// By definition and key.
    keyed: BTreeMap<(&'static str, String), Box<str>>,
    /// The signals that were acknowledged: to which run, of which type, and its number.
    signals: Vec<(Box<str>, &'static str, u64)>,
    cancelled: BTreeSet<Box<str>>,
    /// The events that were published, and those of them that were acknowledged.
    published: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
    /// The entities with a workflow.
    entities: Vec<EntityId>,
    deliveries: Vec<Delivered>,
    /// What each task was delivered with.
    tasks: BTreeMap<Arc<str>, String>,
    /// Numbers of signals and events.
    next: u64,
}

/// One delivery of a task; answers name it.
#[derive(Debug)]
struct Delivered {
    task: Arc<str>,
    /// What was written with its token.
    wrote: Option<EntityId>,
}

impl Stage {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock()
    }

    fn number(&self) -> u64 {
        let mut notes = self.notes();
        notes.next += 1;
        notes.next
    }
}

/// The store of how tasks end, without a share in the runtime: a service that has crashed is gone,
/// and its database with it.
#[derive(Debug)]
pub(super) struct LooseEnds(pub(super) Weak<Inner>);

impl LooseEnds {
    fn get(&self) -> Option<Arc<dyn Ends>> {
        let runtime = Runtime(self.0.upgrade()?);
        Some(runtime.task_ends())
    }

    fn live(&self) -> Result<Arc<dyn Ends>, Failure> {
        self.get()
            .ok_or_else(|| Failure::internal("the service is gone"))
    }
}

impl Ends for LooseEnds {
    fn ended<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
        end: End,
    ) -> BoxFuture<'a, Result<Reported, Failure>> {
        async move { self.live()?.ended(tenant, task, end).await }.boxed()
    }

    fn token(&self, spec: &TaskSpec, attempt: u32) -> Option<Arc<str>> {
        self.get()?.token(spec, attempt)
    }

    fn discard(&self, tenant: &Tenant, task: &str, attempt: u32) {
        if let Some(ends) = self.get() {
            ends.discard(tenant, task, attempt);
        }
    }

    fn load<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Option<TaskSpec>, Failure>> {
        async move { self.live()?.load(tenant, task).await }.boxed()
    }

    fn keep<'a>(&'a self, tenant: &'a Tenant, task: &'a str, used: Used) -> BoxFuture<'a, ()> {
        async move {
            if let Some(ends) = self.get() {
                ends.keep(tenant, task, used).await;
            }
        }
        .boxed()
    }

    fn left<'a>(&'a self, tenant: &'a Tenant, task: &'a str) -> BoxFuture<'a, ()> {
        async move {
            if let Some(ends) = self.get() {
                ends.left(tenant, task).await;
            }
        }
        .boxed()
    }

    fn standing<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Standing, Failure>> {
        async move { self.live()?.standing(tenant, task).await }.boxed()
    }
}

async fn live(stage: &Arc<Stage>, base: &Base, life: Life) {
    let world = &stage.world;
    begin(world, &life);
    let Life {
        clock,
        mut random,
        is_first,
        is_last,
    } = life;
    if is_first {
        world.ledger().rough = false;
    }
    let committing = TaskTracker::new();
    let storage = base.open(world, clock.clone(), &committing).await;
    let members = Members::default();
    let runtime = Runtime::alone(storage.clone(), members, clock, &RUN_SETTINGS);
    if is_first {
        set_up(&runtime, &storage, &mut random).await;
        world.ledger().rough = true;
    }
    let (looking, stop) = (TaskTracker::new(), CancellationToken::new());
    let due = runtime.clone();
    looking.spawn(due.look_after_tasks(looking.clone(), stop.clone()));
    looking.spawn(runtime.clone().look_after_producers(stop.clone()));
    let channels = runtime.0.channels.clone();
    let ends = Arc::new(LooseEnds(Arc::downgrade(&runtime.0)));
    looking.spawn(channels.run(ends, stop.clone()));
    let mut person = || Person {
        stage: Arc::clone(stage),
        runtime: runtime.clone(),
        random: random.fork(),
    };
    for _ in 0..2 {
        tokio::spawn(person().member());
    }
    tokio::spawn(person().worker());
    if is_last {
        settle(stage, &runtime).await;
        end(world, &looking, &stop).await;
        world.note(|_| "the end".to_owned());
        return check::check(stage, &runtime).await;
    }
    let mut clients = JoinSet::new();
    for _ in 0..3 {
        clients.spawn(person().client());
    }
    until_crash(world, &mut random, clients).await;
}

async fn set_up(runtime: &Runtime, storage: &Storage, random: &mut Random) {
    let governed = Workflow::parse(
        r#"{"version": "1", "name": "t", "initialState": "NEW", "states": {
            "NEW": {"transitions": [{"name": "go", "next": "GONE", "manual": true, "processors": [
                {"type": "run", "name": "starts", "config": {"definition": "one"}}]}]},
            "GONE": {"transitions": [{"name": "nudge", "next": "GONE", "manual": true, "processors": [
                {"type": "signal", "name": "nudges", "config": {"signal": "approval"}}]}]}}}"#,
    );
    let governed = Arc::new(governed.expect("a workflow").workflow);
    for (name, sample, workflow) in [
        ("e", r#"{"run":"r","step":"s"}"#, None),
        ("w", r#"{"d":1000000}"#, None),
        ("t", r#"{"n":1000000}"#, Some(governed)),
    ] {
        let sample = Document::parse(sample).expect("JSON");
        let key = ModelKey::new(name, 1);
        let mut changes = vec![ModelChange::Import(Schema::infer(&sample))];
        if let Some(workflow) = workflow {
            changes.push(ModelChange::SetWorkflows {
                seen: 0,
                workflows: WorkflowSet::default().import(ImportMode::Merge, vec![workflow.into()]),
            });
        }
        changes.push(ModelChange::Lock);
        for change in changes {
            storage
                .change_model(&tenant(), attribution(), &key, change)
                .await
                .expect("changes the model");
        }
    }
    for name in ACTIONS {
        register(runtime, name).await.expect("registers");
    }
    for name in documents::NAMES {
        define(runtime, random, name).await.expect("defines");
    }
}

async fn register(runtime: &Runtime, name: &str) -> Result<(), Failure> {
    let by = initiator(ActorKind::User, "u");
    let mut session: Session = runtime.session(&by, None).await?;
    let mut action = Action {
        name: name.into(),
        version: 0,
        dispatch: ActionDispatch::Task,
        tags: Vec::new(),
        owner: None,
        description: None,
        context: None,
        timeout_ms: 200,
        max_retries: 2,
        retry_delay_ms: 20,
        wait_ms: None,
        max_input_bytes: None,
        max_output_bytes: 1 << 20,
        enabled: true,
        wasm: None,
    };
    action.register(session.unit()?, NAMESPACE).await?;
    session.finish(&by.cancel).await
}

/// Creates a version of a definition, or replaces it.
async fn define(runtime: &Runtime, random: &mut Random, name: &str) -> Result<(), Failure> {
    let mut chance = Chance(random.below(u64::MAX));
    let sent = to_raw_value(&documents::random(&mut chance, name)).expect("JSON");
    let (new, findings) = NewDefinition::read(NAMESPACE, &sent);
    let new = new.unwrap_or_else(|| panic!("{findings}: {sent}"));
    loop {
        let by = initiator(ActorKind::User, "u");
        let mut session: Session = runtime.session(&by, None).await?;
        let now = runtime.storage().now();
        new.create(session.unit()?, NAMESPACE, now).await?;
        match session.finish(&by.cancel).await {
            Err(failure) if failure.code() == Code::Conflict => {}
            outcome => return outcome,
        }
    }
}

async fn set_enabled(runtime: &Runtime, name: &str, enabled: bool) -> Result<(), Failure> {
    loop {
        let by = initiator(ActorKind::User, "u");
        let mut session: Session = runtime.session(&by, None).await?;
        let now = runtime.storage().now();
        registry::set_enabled(session.unit()?, NAMESPACE, name, None, enabled, now).await?;
        match session.finish(&by.cancel).await {
            Err(failure) if failure.code() == Code::Conflict => {}
            outcome => return outcome,
        }
    }
}

/// Lets the service do what there is to do, with members that can be relied on.
async fn settle(stage: &Stage, runtime: &Runtime) {
    set_enabled(runtime, "timed", false)
        .await
        .expect("disables");
    for name in ["one", "two", "leaf", "fed"] {
        set_enabled(runtime, name, true).await.expect("enables");
    }
    let mut busy = None;
    for _ in 0..3_000 {
        sleep(Duration::from_millis(200)).await;
        busy = check::busy(runtime).await;
        if busy.is_none() {
            return;
        }
    }
    let busy = busy.unwrap_or_default();
    stage.world.fail(format!("it never comes to rest: {busy}"));
}

fn simulate(seed: u64, base: &Base, traced: bool) -> Report {
    let mut random = Random::new(seed);
    // The workflow of the entities is not used here.
    let plan = Plan::random(&mut random.fork());
    let stage = Arc::new(Stage {
        world: World::new(plan, random.fork(), traced),
        notes: Mutex::default(),
    });
    lives(&mut random, async |life| live(&stage, base, life).await);
    let notes = stage.notes();
    report(&stage.world, base, |_| {
        (notes.runs.len(), notes.deliveries.len())
    })
}

fn simulate_in_memory(seed: u64, traced: bool) -> Report {
    simulate(seed, &Base::Simulated(Arc::default()), traced)
}

fn simulate_over_sqlite(seed: u64, traced: bool) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    simulate(seed, &Base::File(folder), traced)
}

/// What is counted of each schedule.
const COUNTED: [&str; 2] = ["runs", "deliveries of tasks"];

#[test]
fn the_same_seed_gives_the_same_runs() {
    for seed in 1..10 {
        let [one, other] = [(); 2].map(|()| simulate_in_memory(seed, true).trace);
        assert_eq!(one, other, "seed {seed}");
    }
}

#[test]
fn no_run_is_lost_early_or_advanced_twice_over_the_simulated_database() {
    let schedules = given("INTERLOCK_SIMULATION_SCHEDULES", 60);
    run(
        "the simulated database",
        COUNTED,
        simulate_in_memory,
        schedules,
    );
}

#[test]
fn no_run_is_lost_early_or_advanced_twice_over_sqlite() {
    // A tenth of them: a file is more than ten times as slow.
    let schedules = given("INTERLOCK_SIMULATION_SCHEDULES", 30).div_ceil(10);
    run("SQLite", COUNTED, simulate_over_sqlite, schedules);
}
