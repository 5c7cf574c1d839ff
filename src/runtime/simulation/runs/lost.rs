//! An answer whose commit fails does not count without what was written for it.
#![cfg(test)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{json, value::to_raw_value};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    super::{definition::Plan, people::initiator, random::Random, world::World, world::tenant},
    NAMESPACE, RUN_SETTINGS, Stage, check,
    people::Person,
    set_up,
};
use crate::clock::{Clock, Timestamp};
use crate::compute::{
    Members,
    tasks::{Announced, Answered, Form, Sent},
};
use crate::entity::ActorKind;
use crate::id::MemberId;
use crate::program::StartedBy;
use crate::registry::NewDefinition;
use crate::runtime::{Runtime, Session, runs::StartRun};
use crate::storage::{Disturbance, Moment, RunName, Simulated, Storage};

/// How long anything may take, in virtual time.
const PATIENCE: Duration = Duration::from_mins(1);

async fn define(runtime: &Runtime) {
    let document = json!({"kind": "Workflow", "name": "pays", "version": "1", "start": {
        "run": "@actions/charge", "transitions": {"success": "flo.Completed"}}});
    let sent = to_raw_value(&document).expect("JSON");
    let (new, findings) = NewDefinition::read(NAMESPACE, &sent);
    let new = new.unwrap_or_else(|| panic!("{findings}"));
    let by = initiator(ActorKind::User, "u");
    let mut session: Session = runtime.session(&by, None).await.expect("a session");
    let unit = session.unit().expect("a unit");
    let now = runtime.storage().now();
    new.create(unit, NAMESPACE, now).await.expect("creates");
    session.finish(&by.cancel).await.expect("commits");
}

async fn start(runtime: &Runtime) -> Box<str> {
    let of = RunName {
        namespace: NAMESPACE.into(),
        name: "pays".into(),
    };
    let by = initiator(ActorKind::User, "u");
    let mut session = runtime.session(&by, None).await.expect("a session");
    let start = StartRun::new(of, "{}".into(), StartedBy::Caller);
    let started = runtime.start_run(&mut session, &by, start).await;
    session.finish(&by.cancel).await.expect("commits");
    started.expect("starts").id
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_commit_fails_is_not_recorded_without_what_was_written() {
    let fails = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&fails);
    let disturbance = Disturbance::new(move |moment| {
        let fails = matches!(moment, Moment::BeforeWrite) && once.swap(false, Ordering::Relaxed);
        Box::pin(std::future::ready(!fails))
    });
    let clock = Clock::Virtual {
        origin: Instant::now(),
        from: Timestamp::from_micros(1_000_000),
    };
    let (database, tasks) = (Arc::<Simulated>::default(), TaskTracker::new());
    let opened = Storage::open_simulated(&database, disturbance, clock.clone(), &tasks).await;
    let storage = opened.expect("opens");
    let runtime = Runtime::alone(storage.clone(), Members::default(), clock, &RUN_SETTINGS);
    let mut random = Random::new(1);
    set_up(&runtime, &storage, &mut random).await;
    define(&runtime).await;
    let stop = CancellationToken::new();
    let due = runtime.clone();
    tokio::spawn(due.look_after_tasks(tasks.clone(), stop.clone()));
    let channels = runtime.0.channels.clone();
    tokio::spawn(channels.run(runtime.task_ends(), stop));
    let (outbox, mut inbox) = mpsc::unbounded_channel();
    let announced = Announced {
        actions: vec!["charge".to_owned()],
        ..Announced::default()
    };
    let membership = channels.join(&tenant(), MemberId::fresh(), announced, outbox);
    let member = Person {
        stage: Arc::new(Stage {
            world: World::new(Plan::random(&mut random.fork()), random.fork(), false),
            notes: Mutex::default(),
        }),
        runtime: runtime.clone(),
        random,
    };
    let run = start(&runtime).await;
    for attempt in 1..=2 {
        let sent = timeout(PATIENCE, inbox.recv()).await.expect("a delivery");
        let Some(Sent::Task(delivery)) = sent else {
            panic!("no task but {sent:?}");
        };
        assert_eq!(*delivery.spec.id, format!("{run}.1"));
        assert_eq!(delivery.attempt, attempt);
        let token = channels.token(&delivery).expect("a token");
        let number = member.delivered(&delivery.spec).await;
        member.write(number, &token).await;
        fails.store(attempt == 1, Ordering::Relaxed);
        membership.answered(delivery.call, &Form::Task(Answered::default()));
    }
    let ended = async {
        loop {
            let stored = runtime.stored_run(&tenant(), &run).await;
            let state = runtime.run_state(&stored.expect("there")).expect("a state");
            if state.run.status.is_end() {
                return state.run.status;
            }
            sleep(Duration::from_millis(1)).await;
        }
    };
    let status = timeout(PATIENCE, ended).await.expect("it ends");
    assert_eq!(status.as_str(), "completed");
    let written = check::entities(&runtime, "w").await.expect("readable");
    assert_eq!(written.len(), 1, "of the delivery that counts");
}
