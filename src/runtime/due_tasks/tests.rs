use std::sync::Arc;

use super::*;
use crate::clock::ManualClock;
use crate::entity::Document;
use crate::id::{EntityId, ModelKey};
use crate::model::Schema;
use crate::runtime::{Content, Initiator, NewEntity, RunSettings, Update, testing::runtime_with};
use crate::storage::ModelChange;
use crate::workflow::{ImportMode, Workflow, WorkflowSet};

const WORKFLOW: &str = r#"{"name":"w","initialState":"A","states":{
    "A":{"transitions":[{"name":"T","next":"B","manual":false,"schedule":{"delayMs":1000}}]},
    "B":{}}}"#;

async fn runtime(clock: &ManualClock) -> Runtime {
    runtime_with(clock, RunSettings::DEFAULT).await
}

/// The task, once its turn has come.
fn begun(task: Task) -> (Due, TaskInFlight) {
    let turns = Turns::new(1, 1);
    turns.admit(vec![Due { task, seen: None }]);
    turns.begin().expect("a place")
}

fn caller() -> Initiator {
    Initiator::system(&"t".into())
}

fn document() -> Document {
    Document::parse(r#"{"n":1}"#).expect("JSON")
}

async fn set_up(runtime: &Runtime, by: &Initiator) {
    let model = ModelKey::new("m", 1);
    let workflow = Arc::new(Workflow::parse(WORKFLOW).expect("a workflow").workflow);
    for change in [
        ModelChange::Import(Schema::infer(&document())),
        ModelChange::SetWorkflows {
            seen: 0,
            workflows: WorkflowSet::default().import(ImportMode::Merge, vec![workflow.into()]),
        },
        ModelChange::Lock,
    ] {
        let storage = runtime.storage();
        let changed = storage
            .change_model(&by.tenant, by.attribution(), &model, change)
            .await;
        changed.expect("changes");
    }
}

/// An entity with a timer that is due in a second.
async fn arm(runtime: &Runtime, by: &Initiator) -> EntityId {
    let mut session = runtime.session(by, None).await.expect("a session");
    let entity = NewEntity {
        model: ModelKey::new("m", 1),
        document: document(),
    };
    let created = runtime.create(&mut session, entity, by).await;
    let id = created.expect("creates").id;
    session.finish(&by.cancel).await.expect("commits");
    id
}

async fn state(runtime: &Runtime, by: &Initiator, id: EntityId) -> String {
    let mut unit = runtime.storage().unit(&by.tenant, by.attribution());
    let version = unit.read(id).await.expect("reads").expect("there");
    version.image.state.to_string()
}

#[tokio::test]
async fn a_timer_that_was_armed_again_after_it_was_read_does_not_fire() {
    let clock = ManualClock::default();
    let (runtime, by) = (runtime(&clock).await, caller());
    set_up(&runtime, &by).await;
    let id = arm(&runtime, &by).await;

    let mut unit = runtime.storage().unit(&by.tenant, by.attribution());
    let version = unit.read(id).await.expect("reads").expect("there");
    let due = unit.tasks(&version).await.expect("reads").remove(0);

    clock.advance_ms(1_000);
    let mut session = runtime.session(&by, None).await.expect("a session");
    let update = Update {
        id,
        content: Content::Kept,
        transition: None,
        if_match: None,
    };
    runtime
        .update(&mut session, update, &by)
        .await
        .expect("updates");
    session.finish(&by.cancel).await.expect("commits");

    let (due, slot) = begun(due);
    let done = runtime.fire(due, id, slot).await;
    assert!(matches!(done, Ok(Done::Yes)));
    assert_eq!(state(&runtime, &by, id).await, "A");
    let mut unit = runtime.storage().unit(&by.tenant, by.attribution());
    let version = unit.read(id).await.expect("reads").expect("there");
    let armed = unit.tasks(&version).await.expect("reads").remove(0);
    assert_eq!(armed.due.micros(), 2_000_000);
    clock.advance_ms(1_000);
    let (due, slot) = begun(armed);
    let done = runtime.fire(due, id, slot).await;
    assert!(matches!(done, Ok(Done::Yes)));
    assert_eq!(state(&runtime, &by, id).await, "B");
}

#[tokio::test]
async fn a_clock_that_is_set_delays_no_timer() {
    let clock = ManualClock::default();
    clock.advance_ms(86_400_000);
    let (runtime, by) = (runtime(&clock).await, caller());
    set_up(&runtime, &by).await;
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let looking = runtime
        .clone()
        .look_after_tasks(tasks.clone(), stop.clone());
    tasks.spawn(looking);
    // Set back: the second still passes. Set forward: the timer is due.
    for (step_ms, passes_ms) in [(-3_600_000, 1_000), (7_200_000, 0)] {
        let id = arm(&runtime, &by).await;
        clock.step_ms(step_ms);
        clock.advance_ms(passes_ms);
        let firing = async {
            while state(&runtime, &by, id).await == "A" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let fired = tokio::time::timeout(Duration::from_secs(30), firing).await;
        fired.unwrap_or_else(|_| panic!("not fired after {step_ms} ms"));
    }
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}
