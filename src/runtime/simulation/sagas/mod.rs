//! The driver of sagas in a world in which everything goes wrong: random sagas over a member that
//! does each thing once for a key, and over entities, with refusals, late and lost answers,
//! signals, cancels, time limits and crashes. What is left is all of a saga or nothing.
#![cfg(test)]

mod check;
mod files;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Base, Life, Report, SETTINGS, attribution, begin, definition::Plan, end, given, lives,
    people::initiator, random::Random, report, run, runs::LooseEnds, until_crash, world::World,
    world::tenant,
};
use crate::compute::{
    Members,
    tasks::{Announced, Answered, Delivery, Form, Sent, TaskMembership, TaskSpec},
};
use crate::connector::Trust;
use crate::dispatch::Tags;
use crate::entity::{ActorKind, Document};
use crate::error::{Code, Failure};
use crate::id::{MemberId, ModelKey};
use crate::model::Schema;
use crate::program::{StartedBy, Waiting};
use crate::registry::bundle::{Applied, BundleFile, NewBundle, Variables};
use crate::runtime::{
    Initiator, RunSettings, Runtime, Session, Settings,
    runs::{StartRun, events},
};
use crate::storage::{ModelChange, RunName, RunsWanted, Storage};

use check::CheckedSaga;
use files::{SAGAS, hcl};

const SAGA_SETTINGS: Settings = Settings {
    runs: RunSettings {
        tasks_wait: Duration::from_secs(3),
        connectors_timeout: Duration::from_millis(250),
        ..RunSettings::DEFAULT
    },
    ..SETTINGS
};

const NAMESPACE: &str = "default";

/// What all of one schedule share.
struct Stage {
    world: Arc<World>,
    notes: Mutex<Notes>,
}

/// What clients know, and what members have done.
#[derive(Debug, Default)]
struct Notes {
    runs: Vec<Box<str>>,
    next: u64,
    /// What was answered to each key.
    known: BTreeMap<Arc<str>, bool>,
    /// By run and step.
    done: BTreeSet<String>,
    undone: BTreeSet<String>,
    /// What each task was delivered with.
    tasks: BTreeMap<Arc<str>, String>,
    deliveries: usize,
}

impl Stage {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock()
    }
}

impl Notes {
    /// Does what a call asks for, once for its key; whether that is a success.
    fn act(&mut self, spec: &TaskSpec, refuses: bool) -> Result<bool, String> {
        self.deliveries += 1;
        let bytes = format!("{} {}", spec.idempotency_key, spec.input);
        let known = self.tasks.entry(Arc::clone(&spec.id));
        if *known.or_insert_with(|| bytes.clone()) != bytes {
            return Err(format!("two deliveries of {} differ", spec.id));
        }
        let key = Arc::clone(&spec.idempotency_key);
        let is_new = !self.known.contains_key(&key);
        let undone = key.strip_suffix(":compensate");
        let done = key.strip_suffix(":action");
        let is_done = *self
            .known
            .entry(key.clone())
            .or_insert_with(|| !refuses || done.is_none());
        if let (true, true, Some(step)) = (is_new, is_done, done) {
            self.done.insert(step.to_owned());
        }
        if let (true, Some(step)) = (is_new, undone)
            && (!self.done.contains(step) || !self.undone.insert(step.to_owned()))
        {
            return Err(format!("{step} is undone and was not done"));
        }
        Ok(is_done)
    }

    fn is_left(&self, run: &str, step: &str) -> bool {
        let step = format!("{run}:{step}");
        self.done.contains(&step) && !self.undone.contains(&step)
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
    let runtime = Runtime::alone(storage.clone(), members, clock, &SAGA_SETTINGS);
    if is_first {
        set_up(&runtime, &storage, &mut random).await;
        world.ledger().rough = true;
    }
    let (looking, stop) = (TaskTracker::new(), CancellationToken::new());
    let due = runtime.clone();
    looking.spawn(due.look_after_tasks(looking.clone(), stop.clone()));
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
    if is_last {
        person().settle().await;
        end(world, &looking, &stop).await;
        world.note(|_| "the end".to_owned());
        return;
    }
    let mut clients = JoinSet::new();
    for _ in 0..3 {
        clients.spawn(person().client());
    }
    until_crash(world, &mut random, clients).await;
}

async fn set_up(runtime: &Runtime, storage: &Storage, random: &mut Random) {
    let sample = Document::parse(r#"{"id":"s1:a"}"#).expect("JSON");
    let key = ModelKey::new("thing", 1);
    let changes = [
        ModelChange::Import(Schema::infer(&sample)),
        ModelChange::Lock,
    ];
    for change in changes {
        storage
            .change_model(&tenant(), attribution(), &key, change)
            .await
            .expect("changes the model");
    }
    let files = vec![BundleFile {
        path: "sagas.hcl".to_owned(),
        text: hcl(random),
    }];
    let variables = Variables::new(BTreeMap::new());
    let new = NewBundle::read(Some("b"), files, variables, Trust::Uploaded);
    let new = new.unwrap_or_else(|findings| panic!("{findings}"));
    let by = initiator(ActorKind::User, "u");
    let mut session: Session = runtime.session(&by, None).await.expect("a session");
    let unit = session.unit().expect("a unit");
    let now = storage.now();
    let applied = runtime.0.registry.apply(unit, NAMESPACE, &new, now).await;
    assert!(matches!(applied, Ok(Applied::Done { .. })), "{applied:?}");
    session.finish(&by.cancel).await.expect("commits");
}

/// One who works with the service.
#[derive(Clone)]
struct Person {
    stage: Arc<Stage>,
    runtime: Runtime,
    random: Random,
}

impl Person {
    /// A client: some requests, one after the other.
    async fn client(mut self) {
        for _ in 0..self.random.between(3, 9) {
            sleep(Duration::from_millis(self.random.below(200))).await;
            let patience = if self.random.chance(8) { 30 } else { 100_000 };
            let acted = timeout(Duration::from_millis(patience), Box::pin(self.act())).await;
            let Ok(Err(failure)) = acted else { continue };
            let is_known = matches!(
                failure.code(),
                Code::Conflict
                    | Code::OutcomeUnknown
                    | Code::StorageUnavailable
                    | Code::RunFinished
                    | Code::RunNotFound
                    | Code::SignalNotAwaited
            );
            let world = &self.stage.world;
            world.note(|_| format!("a request failed: {}", failure.code()));
            if !is_known {
                world.fail(format!("a request failed: {failure:?}"));
            }
        }
    }

    async fn act(&mut self) -> Result<(), Failure> {
        let known = self.stage.notes().runs.clone();
        let run = self.random.pick(&known).cloned();
        match (self.random.below(100), run) {
            (0..50, _) | (_, None) => self.start().await,
            (50..90, Some(run)) => self.signal(&run).await,
            (_, Some(run)) => self.cancel(&run).await,
        }
    }

    /// Ends a session, with a crash before or behind it now and then.
    async fn finish(&self, session: Session, by: &Initiator) -> Result<(), Failure> {
        let world = &self.stage.world;
        world.boundary("before a session is finished").await;
        session.finish(&by.cancel).await?;
        world.boundary("before an answer arrives").await;
        Ok(())
    }

    async fn start(&mut self) -> Result<(), Failure> {
        let name = *self.random.pick(&SAGAS).expect("some");
        let n = {
            let mut notes = self.stage.notes();
            notes.next += 1;
            notes.next
        };
        let of = RunName {
            namespace: NAMESPACE.into(),
            name: name.into(),
        };
        let input = format!("{{\"id\":\"s{n}\"}}").into();
        let start = StartRun::new(of, input, StartedBy::Caller);
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let started = self.runtime.start_run(&mut session, &by, start).await?;
        self.finish(session, &by).await?;
        let world = &self.stage.world;
        world.note(|_| format!("{} of {name} started", started.id));
        self.stage.notes().runs.push(started.id);
        Ok(())
    }

    async fn signal(&self, run: &str) -> Result<(), Failure> {
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let runtime = &self.runtime;
        let mut arrived = runtime
            .signal_run(&mut session, &by, run, "go", "{}".into())
            .await?;
        self.finish(session, &by).await?;
        runtime.after_advance(&by.tenant, &mut arrived);
        Ok(())
    }

    async fn cancel(&self, run: &str) -> Result<(), Failure> {
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let runtime = &self.runtime;
        let mut arrived = runtime
            .cancel_run(&mut session, &by, run, "cancelled by user")
            .await?;
        self.finish(session, &by).await?;
        runtime.after_advance(&by.tenant, &mut arrived);
        self.stage.world.note(|_| format!("{run} was cancelled"));
        Ok(())
    }

    /// A member, which joins again whenever it has gone.
    async fn member(mut self) {
        let channels = self.runtime.0.channels.clone();
        loop {
            let (outbox, mut inbox) = mpsc::unbounded_channel();
            let announced = Announced {
                tags: Tags::parse("connector:ledger"),
                max_concurrency: Some(4),
                ..Announced::default()
            };
            let joined = channels.join(&tenant(), MemberId::fresh(), announced, outbox);
            let membership = Arc::new(Mutex::new(Some(joined)));
            while let Some(sent) = inbox.recv().await {
                let Sent::Task(delivery) = sent else { continue };
                let clerk = Self {
                    random: self.random.fork(),
                    ..self.clone()
                };
                tokio::spawn(clerk.serve(delivery, Arc::clone(&membership)));
            }
            sleep(Duration::from_millis(self.random.between(1, 300))).await;
        }
    }

    async fn serve(mut self, delivery: Delivery, membership: Arc<Mutex<Option<TaskMembership>>>) {
        let lock = || membership.lock();
        let stage = Arc::clone(&self.stage);
        let world = &stage.world;
        world.boundary("a call is out").await;
        // A compensation that takes too long is recorded as one that failed.
        let is_action = delivery.spec.idempotency_key.ends_with(":action");
        let is_rough = world.ledger().rough && is_action;
        sleep(Duration::from_millis(self.random.below(10))).await;
        let acted = stage.notes().act(&delivery.spec, self.random.chance(15));
        let is_done = match acted {
            Ok(is_done) => is_done,
            Err(finding) => return world.fail(finding),
        };
        world.note(|_| format!("{} is done: {is_done}", delivery.spec.idempotency_key));
        world.boundary("before an answer").await;
        if is_rough && self.random.chance(4) {
            world.note(|_| "a member leaves".to_owned());
            drop(lock().take());
            return;
        }
        let delay = if is_rough && self.random.chance(25) {
            self.random.between(90, 400)
        } else {
            self.random.below(20)
        };
        sleep(Duration::from_millis(delay)).await;
        let output = format!("{{\"pad\":\"{}\"}}", "y".repeat(1_100));
        let answers = if is_rough && self.random.chance(15) {
            2
        } else {
            1
        };
        for _ in 0..answers {
            let answered = Answered {
                failed: !is_done,
                outcome: is_done.then_some("success"),
                output: is_done.then_some(output.as_str()),
                ..Answered::default()
            };
            if let Some(membership) = lock().as_ref() {
                membership.answered(delivery.call, &Form::Task(answered));
            }
        }
    }

    /// Lets the service do what there is to do, and signals what waits for that.
    async fn settle(&self) {
        let mut findings = Vec::new();
        for _ in 0..600 {
            sleep(Duration::from_millis(200)).await;
            findings.clear();
            match self.sagas().await {
                Ok(all) => {
                    for saga in &all {
                        if let Some(Waiting::Signal { .. }) = saga.state.run.waiting {
                            // It may be over meanwhile.
                            let _ = self.signal(&saga.state.run.id).await;
                        }
                    }
                    let things = self.things().await.expect("readable");
                    let notes = self.stage.notes();
                    for saga in &all {
                        saga.check(&notes, &things, &mut findings);
                    }
                }
                Err(failure) => findings.push(format!("not readable: {failure}")),
            }
            if findings.is_empty() {
                return;
            }
        }
        for finding in findings {
            self.stage.world.fail(finding);
        }
    }

    /// All runs.
    async fn sagas(&self) -> Result<Vec<CheckedSaga>, Failure> {
        let (runtime, storage) = (&self.runtime, self.runtime.storage());
        let mut all = Vec::new();
        let wanted = RunsWanted::default();
        for stored in storage.runs(&tenant(), &wanted, 100_000).await? {
            let state = runtime.run_state(&stored)?;
            let mut history = Vec::new();
            for advance in storage.run_events(stored.id, 0, 100_000).await? {
                history.extend(events(&advance.record)?);
            }
            let registry = &runtime.0.registry;
            let program = registry
                .program(&tenant(), NAMESPACE, &state.digest)
                .await?;
            all.push(CheckedSaga {
                state,
                history,
                program,
            });
        }
        Ok(all)
    }

    /// The identifiers in the entities that are left.
    async fn things(&self) -> Result<Vec<String>, Failure> {
        let all = super::runs::entities(&self.runtime, "thing").await?;
        let id = |text: &str| -> String {
            let data: serde_json::Value = serde_json::from_str(text).expect("JSON");
            data["id"].as_str().expect("an identifier").to_owned()
        };
        let ids = all
            .iter()
            .map(|version| id(version.image.document.as_str()));
        Ok(ids.collect())
    }
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
    report(&stage.world, base, |_| (notes.runs.len(), notes.deliveries))
}

fn simulate_in_memory(seed: u64, traced: bool) -> Report {
    simulate(seed, &Base::Simulated(Arc::default()), traced)
}

#[test]
fn a_saga_leaves_all_or_nothing_over_the_simulated_database() {
    let schedules = given("INTERLOCK_SIMULATION_SCHEDULES", 60);
    run(
        "the simulated database",
        ["sagas", "deliveries of tasks"],
        simulate_in_memory,
        schedules,
    );
}

#[test]
fn a_saga_leaves_all_or_nothing_over_sqlite() {
    // A tenth of them: a file is more than ten times as slow.
    let schedules = given("INTERLOCK_SIMULATION_SCHEDULES", 30).div_ceil(10);
    run(
        "SQLite",
        ["sagas", "deliveries of tasks"],
        |seed, traced| {
            let folder = tempfile::tempdir().expect("a folder");
            simulate(seed, &Base::File(folder), traced)
        },
        schedules,
    );
}

/// After a crash, a call was out of a saga that had ended.
#[test]
fn sagas_that_have_failed_once_pass() {
    assert_eq!(
        simulate_in_memory(1_016, false).failures,
        Vec::<String>::new()
    );
}
