//! Looking at runs: what is to be done for one, after a commit, at its time, and after a restart.

use super::{ReadRun, State};
use crate::clock::Timestamp;
use crate::compute::tasks::Reported;
use crate::entity::Actor;
use crate::error::Failure;
use crate::id::RunId;
use crate::program::{Arrival, Status, Waiting};
use crate::runtime::{Initiator, Runtime, due_tasks::Done, turns::TaskInFlight};
use crate::storage::{Attribution, Task};
use crate::telemetry::measure;

impl Runtime {
    /// Does what a run needs done now: it takes its first step, or its time has come, or a task of
    /// it is to be sent. A timer that is of no use any more is removed.
    pub(in crate::runtime) async fn look_at_run(
        &self,
        task: &Task,
        run: RunId,
        mut slot: TaskInFlight,
    ) -> Result<Done, Failure> {
        self.storage().refresh().await?;
        let Some(stored) = self.storage().run(&task.tenant, run).await? else {
            return self.drop_timer(task).await;
        };
        let read = self.read_of(stored)?;
        let ReadRun { stored, state } = &read;
        let now = self.0.clock.now();
        // What the agenda handed out is due, also if the clock was set back meanwhile.
        let has_come = |at: Timestamp| at <= now || (task.is_stored() && at == task.due);
        let due = state.run.due().filter(|due| has_come(*due));
        let arrival = match (state.run.status, due, &state.run.waiting) {
            (Status::Pending, ..) if state.not_before().is_some_and(|at| !has_come(at)) => None,
            (Status::Pending, ..) => Some(Arrival::Start),
            (_, Some(at), _) => {
                measure::run_timer_late(now.since(at));
                Some(Arrival::Due { at })
            }
            (_, None, Some(Waiting::Entity { .. })) => Some(Arrival::EntityMoved),
            // Only a retry by an operator looks at it.
            (_, None, Some(Waiting::Child { run: child })) => {
                self.missed_end(&task.tenant, child).await?
            }
            (_, None, _) => None,
        };
        if let Some(arrival) = arrival {
            let arriving = self.arrive(&task.tenant, read, arrival, 0, Some(slot));
            let arrived = arriving.await?;
            return Ok(self.postponed_unless(arrived.is_taken, task));
        }
        if self.storage().is_shared() && !self.storage().drives(stored) {
            self.leave_tasks(&task.tenant, &read);
            return self.keep_timer(task, state).await;
        }
        for out in state
            .run
            .outstanding()
            .into_iter()
            .chain(state.run.given_up())
        {
            let is_given_up = state.run.has_given_up(out.ordinal);
            if is_given_up && self.is_call_out(&task.tenant, &state.run.id, out) {
                continue;
            }
            let unsent = self.send_task(&task.tenant, stored, state, out).await?;
            if let Some((id, end)) = unsent {
                // The steps that follow may wait.
                slot.leave();
                let _: Reported = self.task_ended(&task.tenant, &id, end).await?;
            }
        }
        self.keep_timer(task, state).await
    }

    /// Removes a timer that is of no use any more.
    async fn keep_timer(&self, task: &Task, state: &State) -> Result<Done, Failure> {
        let is_held_back = state.run.status == Status::Pending;
        if task.is_stored() && state.run.due().is_none() && !is_held_back {
            return self.drop_timer(task).await;
        }
        Ok(self.postponed_unless(false, task))
    }

    /// A timer that was handed out and changed nothing is looked at again, as long as it is stored:
    /// the agenda has forgotten it.
    fn postponed_unless(&self, is_done: bool, task: &Task) -> Done {
        if is_done || !task.is_stored() {
            Done::Yes
        } else {
            Done::Again(self.0.settings.task_pause)
        }
    }

    async fn drop_timer(&self, task: &Task) -> Result<Done, Failure> {
        if task.is_stored() {
            let attribution = Attribution {
                author: Actor::system(),
                executor: None,
            };
            let by = Initiator::system(&task.tenant);
            let mut session = self.session_for(&by, attribution);
            session.unit()?.drop_task(task);
            session.finish(&by.cancel).await?;
        }
        Ok(Done::Yes)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use serde_json::{json, value::to_raw_value};
    use tokio::time::timeout;
    use tokio_util::{sync::CancellationToken, task::TaskTracker};

    use super::*;
    use crate::clock::ManualClock;
    use crate::entity::Document;
    use crate::id::{EntityId, ModelKey, TransitionName};
    use crate::model::Schema;
    use crate::program::StartedBy;
    use crate::registry::{self, NewDefinition, WasmAction, put_module};
    use crate::runtime::{
        Content, NewEntity, RunSettings, Session, Update,
        runs::{Invoked, StartRun},
        testing::runtime_with,
        turns::Turns,
    };
    use crate::storage::{Due, ModelChange, RunName, Subject};
    use crate::workflow::{ImportMode, Workflow, WorkflowSet};

    pub(in crate::runtime::runs) const NAMESPACE: &str = "default";

    const PATIENCE: Duration = Duration::from_secs(30);

    const LOOPS: &str = r#"(module (memory (export "memory") 1)
        (func (export "alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "dealloc") (param i32 i32))
        (func (export "handle") (param i32 i32) (result i64) (loop (br 0)) (unreachable)))"#;

    const WORKFLOW: &str = r#"{"name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "toB", "next": "B", "manual": true}]},
        "B": {"transitions": [{"name": "toC", "next": "C", "manual": true}]},
        "C": {}}}"#;

    pub(in crate::runtime::runs) fn caller() -> Initiator {
        Initiator::system(&"t".into())
    }

    fn model() -> ModelKey {
        ModelKey::new("m", 1)
    }

    /// An entity of a model with a workflow.
    async fn entity(runtime: &Runtime, by: &Initiator) -> EntityId {
        let document = Document::parse(r#"{"n":1}"#).expect("JSON");
        let workflow = Workflow::parse(WORKFLOW).expect("a workflow").workflow;
        let workflows = vec![std::sync::Arc::new(workflow).into()];
        let model = model();
        for change in [
            ModelChange::Import(Schema::infer(&document)),
            ModelChange::SetWorkflows {
                seen: 0,
                workflows: WorkflowSet::default().import(ImportMode::Merge, workflows),
            },
            ModelChange::Lock,
        ] {
            let storage = runtime.storage();
            let changing = storage.change_model(&by.tenant, by.attribution(), &model, change);
            changing.await.expect("changes");
        }
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let entity = NewEntity { model, document };
        let created = runtime.create(&mut session, entity, by).await;
        let id = created.expect("creates").id;
        session.finish(&by.cancel).await.expect("commits");
        id
    }

    async fn transition(runtime: &Runtime, by: &Initiator, id: EntityId, name: &str) {
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let update = Update {
            id,
            content: Content::Kept,
            transition: Some(TransitionName::from(name)),
            if_match: None,
        };
        let updated = runtime.update(&mut session, update, by).await;
        updated.expect("updates");
        session.finish(&by.cancel).await.expect("commits");
    }

    /// Registers an action, with a module if there is code.
    pub(in crate::runtime::runs) async fn register(
        runtime: &Runtime,
        by: &Initiator,
        name: &str,
        code: Option<&str>,
    ) {
        let action = json!({"name": name, "version": 0, "dispatch": "task", "tags": [],
            "timeoutMs": 600_000, "maxRetries": 0, "retryDelayMs": 0,
            "maxOutputBytes": 1_000, "enabled": true});
        let mut action: registry::Action = serde_json::from_value(action).expect("an action");
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let unit = session.unit().expect("a unit");
        if let Some(code) = code {
            let module = put_module(unit, NAMESPACE, code.as_bytes()).await;
            action.wasm = Some(WasmAction {
                module: module.expect("a module"),
                entrypoint: "handle".into(),
                memory_limit_bytes: 16 << 20,
            });
        }
        action.register(unit, NAMESPACE).await.expect("registers");
        session.finish(&by.cancel).await.expect("commits");
    }

    /// One slot for all runs that are to be looked at.
    fn one_slot(runtime: &Runtime) -> Turns {
        let turns = Turns::new(1, 10);
        let woken = runtime.storage().woken_runs();
        turns.admit(woken.into_iter().map(Due::of_run).collect());
        turns
    }

    async fn look(runtime: &Runtime, (due, slot): (Due, TaskInFlight)) {
        let Subject::Run(run) = due.task.subject else {
            panic!("{due:?}");
        };
        let looked_at = runtime.look_at_run(&due.task, run, slot).await;
        assert!(matches!(looked_at, Ok(Done::Yes)));
    }

    /// Looks at the runs that are to be looked at now.
    pub(in crate::runtime::runs) async fn look_at_all(runtime: &Runtime) {
        let turns = one_slot(runtime);
        while let Some(begun) = turns.begin() {
            look(runtime, begun).await;
        }
    }

    pub(in crate::runtime::runs) async fn define(
        runtime: &Runtime,
        by: &Initiator,
        document: &serde_json::Value,
    ) {
        let sent = to_raw_value(document).expect("JSON");
        let (new, findings) = NewDefinition::read(NAMESPACE, &sent);
        let new = new.unwrap_or_else(|| panic!("{findings}"));
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let unit = session.unit().expect("a unit");
        let now = runtime.storage().now();
        new.create(unit, NAMESPACE, now).await.expect("creates");
        session.finish(&by.cancel).await.expect("commits");
    }

    pub(in crate::runtime::runs) async fn start(
        runtime: &Runtime,
        by: &Initiator,
        start: StartRun,
    ) -> RunId {
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let started = runtime.start_run(&mut session, by, start).await;
        session.finish(&by.cancel).await.expect("commits");
        started.expect("starts").run
    }

    pub(in crate::runtime::runs) fn of(name: &str) -> StartRun {
        let name = RunName {
            namespace: NAMESPACE.into(),
            name: name.into(),
        };
        StartRun::new(name, "{}".into(), StartedBy::Caller)
    }

    async fn status(runtime: &Runtime, by: &Initiator, run: RunId) -> Status {
        let read = runtime.read_run(&by.tenant, run).await.expect("reads");
        read.state.run.status
    }

    #[tokio::test]
    async fn a_run_whose_module_works_has_no_slot() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        let by = caller();
        register(&runtime, &by, "loops", Some(LOOPS)).await;
        let loops = json!({"kind": "Workflow", "name": "loops", "version": "1",
            "start": {"run": "@actions/loops", "transitions": {"success": "flo.Completed"}}});
        define(&runtime, &by, &loops).await;
        for _ in 0..2 {
            start(&runtime, &by, of("loops")).await;
        }
        let turns = one_slot(&runtime);
        let looking = look(&runtime, turns.begin().expect("a slot"));
        let other = async {
            loop {
                if let Some(begun) = turns.begin() {
                    return begun;
                }
                turns.changed().await;
            }
        };
        tokio::select! {
            () = looking => panic!("the module works on"),
            begun = timeout(PATIENCE, other) => drop(begun.expect("the slot")),
        }
    }

    #[tokio::test]
    async fn what_follows_a_step_that_took_long_begins_when_that_has_ended() {
        let clock = ManualClock::default();
        let runtime = runtime_with(&clock, RunSettings::DEFAULT).await;
        let by = caller();
        entity(&runtime, &by).await;
        let all = json!({"type": "group", "operator": "AND", "conditions": []});
        let searches = json!({"kind": "Workflow", "name": "searches", "version": "1",
            "start": {"run": "@entity/search",
                "input": {"model": {"name": "m", "version": 1}, "condition": all},
                "transitions": {"success": "wait"}},
            "steps": {"wait": {
                "waitForSignal": {"type": "go", "timeoutMs": 3000, "onTimeout": "flo.Failed"},
                "transitions": {"success": "flo.Completed"}}}});
        define(&runtime, &by, &searches).await;
        let run = start(&runtime, &by, of("searches")).await;
        let definitions = runtime.storage().definitions(&by.tenant, &model()).await;
        let definitions = definitions.expect("reads").expect("there");
        // The search waits for its turn, without a slot.
        let turn = runtime.storage().long_read(&definitions).await;
        let turns = one_slot(&runtime);
        let mut looking = Box::pin(look(&runtime, turns.begin().expect("a slot")));
        let left = async {
            while turns.room().is_none_or(|room| room.free == 0) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = &mut looking => panic!("the search waits"),
            () = left => {}
        }
        clock.advance_ms(4_000);
        drop(turn);
        looking.await;
        let read = runtime.read_run(&by.tenant, run).await.expect("reads");
        let until = runtime.0.clock.now().after(Duration::from_secs(3));
        assert_eq!(read.state.run.due(), Some(until), "{:?}", read.state.run);
    }

    #[tokio::test]
    async fn a_state_that_was_left_before_the_run_was_looked_at_is_reached_all_the_same() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        let by = caller();
        let id = entity(&runtime, &by).await;
        for (name, states) in [("in-b", json!(["B"])), ("in-b-or-c", json!(["C", "B"]))] {
            let awaits = json!({"kind": "Workflow", "name": name, "version": "1",
                "terminals": {"Early": {"status": "cancelled"}},
                "start": {"run": "@entity/await",
                    "input": {"entityId": id.to_string(), "states": states},
                    "transitions": {"success": "flo.Completed", "C": "Early"}}});
            define(&runtime, &by, &awaits).await;
        }
        let runs = [
            start(&runtime, &by, of("in-b")).await,
            start(&runtime, &by, of("in-b-or-c")).await,
        ];
        look_at_all(&runtime).await;
        transition(&runtime, &by, id, "toB").await;
        transition(&runtime, &by, id, "toC").await;
        look_at_all(&runtime).await;
        for run in runs {
            assert_eq!(status(&runtime, &by, run).await, Status::Completed);
        }
    }

    #[tokio::test]
    async fn a_start_that_takes_a_first_step_takes_no_other_one() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        let by = caller();
        register(&runtime, &by, "a", None).await;
        let step = |name: &str, input: serde_json::Value| {
            json!({"kind": "Workflow", "name": name, "version": "1",
                "start": {"run": "@actions/a", "input": input,
                    "transitions": {"success": "flo.Completed", "execution_failure": "next"}},
                "steps": {"next": {"run": "@entity/get", "input": {"entityId": "none"},
                    "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}}})
        };
        define(&runtime, &by, &step("parks", json!({"n": 1}))).await;
        define(&runtime, &by, &step("fails", json!("{\"a\": nonsense"))).await;
        for (name, expected) in [("parks", Status::Waiting), ("fails", Status::Pending)] {
            let at_once = StartRun {
                steps_at_once: true,
                ..of(name)
            };
            let run = start(&runtime, &by, at_once).await;
            assert_eq!(status(&runtime, &by, run).await, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_delays_no_time_of_a_run() {
        let clock = ManualClock::default();
        clock.advance_ms(86_400_000);
        let runtime = runtime_with(&clock, RunSettings::DEFAULT).await;
        let by = Initiator::system(&"t".into());
        let waits = json!({"kind": "Workflow", "name": "waits", "version": "1",
            "start": {"waitForSignal": {"type": "go", "timeoutMs": 1000, "onTimeout": "flo.Failed"},
                "transitions": {"success": "flo.Completed"}}});
        define(&runtime, &by, &waits).await;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let looking = runtime
            .clone()
            .look_after_tasks(tasks.clone(), stop.clone());
        tasks.spawn(looking);
        let limited = start(&runtime, &by, of("waits")).await;
        let becomes = async |run, is_there: fn(Status) -> bool| {
            let becoming = async {
                while !is_there(status(&runtime, &by, run).await) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let become_so = timeout(PATIENCE, becoming).await;
            become_so.expect("in time");
        };
        becomes(limited, |status| status == Status::Waiting).await;
        let later = runtime.0.clock.now().after(Duration::from_secs(1));
        let delayed = StartRun {
            invoked: Some(Invoked {
                priority: 1,
                labels: BTreeMap::new(),
                not_before: Some(later.micros()),
            }),
            ..of("@action/a")
        };
        let delayed = start(&runtime, &by, delayed).await;
        clock.step_ms(-3_600_000);
        clock.advance_ms(1_000);
        becomes(limited, Status::is_end).await;
        becomes(delayed, |status| status != Status::Pending).await;
        stop.cancel();
        tasks.close();
        tasks.wait().await;
    }
}
