//! Executes due tasks: fires timers and resumes runs (`workflow-engine.md` §6.4 and §9.4).

use std::{sync::Arc, time::Duration};

use tokio::time::MissedTickBehavior;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, info, warn};

use super::{
    Initiator, Runtime,
    anchor::{Anchor, DueTask, Origin, Rest, Resumption, parsed},
    drive::Stopped,
    incidents::{Fault, Held, Verdict, contained, lasting},
    later::{Continuation, TimerBody, timer_kind},
    promise::{Promise, free, provisional},
    turns::{Room, TaskInFlight, Turns},
};
use crate::compute::Principal;
use crate::engine::{self, Entry, Fate, Run, RunRecord, Start, StartKind};
use crate::entity::{Actor, ActorKind};
use crate::error::{Code, Failure};
use crate::id::{EntityId, StateName, TransitionName};
use crate::storage::{Attribution, Due, NextTask, Subject, Task, TaskKind};

/// How many tasks are executed at once.
const AT_ONCE: usize = 256;

/// How many tasks are read at once, even if fewer slots are free: a read for each finished task
/// would cost more than the task.
const READ_AT_ONCE: usize = AT_ONCE / 2;

/// How many tasks of one tenant may be in flight, including those that wait for members. It is at
/// most half of the calls that the tenant may have in flight; the rest is reserved for requests.
const IN_FLIGHT_MAX: usize = 1_000;

/// How long data read for an entity remains usable while its task waits for a slot.
const FRESH: Duration = Duration::from_millis(200);

/// The pause after a conflict, which means that the entity has just moved.
const AFTER_CONFLICT: Duration = Duration::from_millis(50);

/// The smallest interval at which tasks of other processes are looked for.
const SCAN_MIN: Duration = Duration::from_millis(10);

/// The pause after tasks could not be read.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// The pause between looks whether writes are taken again.
const WHILE_REFUSED: Duration = Duration::from_millis(100);

/// The smallest difference between times: at the exact end of its grace period a timer has not
/// expired.
const TICK: Duration = Duration::from_micros(1);

/// The result of executing a task.
pub(super) enum Done {
    /// The task was removed.
    Yes,
    /// The task is retried after that time.
    Again(Duration),
}

/// The result of looking for due tasks.
enum Ahead {
    /// There may be more work now.
    More,
    /// There is no work for that time; none if no task exists.
    Nothing(Option<Duration>),
}

impl Runtime {
    /// Executes due tasks until `stop` is cancelled.
    pub async fn look_after_tasks(self, tasks: TaskTracker, stop: CancellationToken) {
        let each_max = IN_FLIGHT_MAX.min(self.0.settings.calls.out_max.div_ceil(2));
        let turns = Turns::new(AT_ONCE, each_max);
        tasks.spawn({
            let (runtime, stop) = (self.clone(), stop.clone());
            async move {
                stop.run_until_cancelled(lasting(|| runtime.resume_runs()))
                    .await
            }
        });
        tasks.spawn({
            let (runtime, stop) = (self.clone(), stop.clone());
            async move {
                stop.run_until_cancelled(lasting(|| runtime.retry_runs()))
                    .await
            }
        });
        if self.storage().is_shared() {
            let (runtime, stop) = (self.clone(), stop.clone());
            tasks.spawn(async move {
                let finding = lasting(|| runtime.find_tasks());
                stop.run_until_cancelled(finding).await
            });
        }
        while !stop.is_cancelled() {
            let woken = self.storage().woken_runs();
            for (tenant, note) in self.storage().task_notes() {
                self.take_note(&tenant, note);
            }
            turns.admit(woken.into_iter().map(Due::of_run).collect());
            let waits = if self.storage().check_takes_writes().is_ok() {
                while let Some((due, slot)) = turns.begin() {
                    tasks.spawn(self.clone().look_after_one(due, slot));
                }
                match turns.room() {
                    Some(room) => match self.look_ahead(&turns, &room, &tasks).await {
                        Ahead::More => continue,
                        Ahead::Nothing(waits) => waits,
                    },
                    None => None,
                }
            } else {
                // Every task ends with a commit, and members are not called for one that is refused.
                Some(WHILE_REFUSED)
            };
            let pause = async {
                match waits {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => {}
                () = self.storage().tasks_changed() => {}
                () = self.storage().runs_woken() => {}
                () = turns.changed() => {}
                () = stop.cancelled() => {}
            }
        }
        turns.close();
    }

    /// Admits known due tasks, and starts reading more of the table.
    async fn look_ahead(&self, turns: &Turns, room: &Room, tasks: &TaskTracker) -> Ahead {
        let storage = self.storage();
        let limit = room.free.max(READ_AT_ONCE);
        match storage.next_task(limit, &room.paused) {
            NextTask::Due(due) => match storage.due(&due).await {
                Ok(due) => turns.admit(due),
                Err(error) => {
                    warn!(%error, "due tasks could not be read; retrying");
                    for task in due {
                        storage.postpone(task, AFTER_TROUBLE);
                    }
                }
            },
            // Known tasks are executed meanwhile.
            NextTask::Read(page) => {
                let storage = storage.clone();
                tasks.spawn(async move {
                    if let Err(error) = storage.read_tasks(page).await {
                        warn!(%error, "tasks could not be read; retrying");
                    }
                });
            }
            NextTask::Wait(pause) => return Ahead::Nothing(Some(pause)),
            NextTask::Nothing => return Ahead::Nothing(None),
        }
        Ahead::More
    }

    async fn look_after_one(self, due: Due, slot: TaskInFlight) {
        let task = due.task.clone();
        match self.held(&task.tenant, &Self::work_of(&task)) {
            Held::No => {}
            Held::For(pause) => return self.again(&task, pause),
            // An operator has it done again.
            Held::Stopped => return,
        }
        let pause = match contained(Box::pin(self.look_after(due, slot))).await {
            Ok(Done::Yes) => return,
            Ok(Done::Again(pause)) => pause,
            Err(Fault::Failed(failure)) if failure.code() == Code::Conflict => AFTER_CONFLICT,
            Err(fault) => match self.task_failed(&task, fault).await {
                Verdict::Again(pause) => pause,
                Verdict::Stopped => return,
            },
        };
        self.again(&task, pause);
    }

    async fn look_after(&self, due: Due, slot: TaskInFlight) -> Result<Done, Failure> {
        match (due.task.subject, due.task.kind) {
            (Subject::Run(run), _) => self.look_at_run(&due.task, run, slot).await,
            (Subject::Entity(entity), TaskKind::Continuation) => {
                self.go_on_with(due.task, entity, slot).await
            }
            (Subject::Entity(entity), _) => self.fire(due, entity, slot).await,
        }
    }

    /// Has a task looked at again after a pause.
    fn again(&self, task: &Task, pause: Duration) {
        match task.subject {
            Subject::Run(run) if !task.is_stored() => {
                self.0.retries.put(&task.tenant, run, pause);
            }
            Subject::Run(_) | Subject::Entity(_) => self.storage().postpone(task.handle(), pause),
        }
    }

    /// Finds tasks that other processes wrote, and those of processes that are gone.
    async fn find_tasks(&self) {
        let interval = self.0.settings.scan_interval.max(SCAN_MIN);
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.storage().find_tasks(interval).await {
                warn!(%error, "could not look for tasks of other processes; retrying");
            }
        }
    }

    /// Has runs looked at again whose pause is over.
    async fn retry_runs(&self) {
        loop {
            for (tenant, run) in self.0.retries.due().await {
                if let Err(error) = self.storage().wake_run(&tenant, run).await {
                    warn!(%error, run.id = %run, "a run could not be looked at again; retrying");
                    self.0.retries.put(&tenant, run, AFTER_TROUBLE);
                }
            }
        }
    }

    /// `workflow-engine.md` §9.4.
    async fn fire(&self, due: Due, entity: EntityId, slot: TaskInFlight) -> Result<Done, Failure> {
        let Due { task, seen } = due;
        if self.storage().is_peer() {
            debug!(entity.id = %entity, "scheduled task peer fire resolved");
        }
        let body = TimerBody::read(&task)?;
        let state = StateName::from(body.state());
        let timeout = body.timeout();
        let attribution = Attribution {
            author: body.author()?,
            executor: Some(system().actor),
        };
        let by = Initiator {
            tenant: task.tenant.clone(),
            principal: system(),
            cancel: CancellationToken::new(),
        };
        let mut session = self.session_for(&by, attribution);
        session.occupy(slot);
        let unit = session.unit()?;
        let now = self.0.clock.now();
        let mut tasks = None;
        let base = match seen.filter(|seen| now.since(seen.at) < FRESH) {
            Some(seen) => {
                let (base, of_it) = unit.begin_with(seen).await?;
                tasks = Some(of_it);
                Some(base)
            }
            None => unit.read(entity).await?,
        };
        let Some(base) = base.filter(|base| base.image.state == state) else {
            unit.drop_task(&task);
            session.finish(&by.cancel).await?;
            return Ok(Done::Yes);
        };
        let late = now.since(task.due);
        let grace = self.0.settings.expiry_grace;
        match timeout {
            Some(timeout) if late > timeout + grace => {
                let stored = match tasks {
                    Some(tasks) => tasks,
                    None => unit.tasks(&base).await?,
                };
                if stored.iter().all(|stored| stored.key != task.key) {
                    return Ok(Done::Yes);
                }
                let record = RunRecord {
                    start: StartKind::Timer,
                    asked: Some(task.name.to_string()),
                    at: now.micros(),
                    entries: vec![Entry::Expired {
                        transition: task.name.to_string(),
                        state: state.to_string(),
                    }],
                    ended: Vec::new(),
                };
                unit.note(&base, record)?;
                unit.drop_task(&task);
                session.finish(&by.cancel).await?;
                return Ok(Done::Yes);
            }
            Some(timeout) if late > timeout => {
                let over = (timeout + grace).saturating_sub(late) + TICK;
                return Ok(Done::Again(over));
            }
            Some(_) | None => {}
        }
        let Some(kind) = timer_kind(task.kind) else {
            return Ok(Done::Yes);
        };
        let definitions = self.definitions(&mut session, &base.image.model).await?;
        let run = Run::update(
            &base.image,
            parsed(&base.image.document)?,
            Start::Fired {
                kind,
                transition: TransitionName::from(&*task.name),
            },
            session.id(),
            now,
        );
        let pause = self.0.settings.task_pause;
        let due = DueTask { task, tasks, pause };
        let anchor = Anchor::new(definitions, Origin::Fired(base, due), None);
        let run = Box::new(self.as_known(run));
        self.drive(&mut session, run, anchor, &by).await?;
        session.finish(&by.cancel).await?;
        Ok(Done::Yes)
    }

    /// Resumes a partially committed run, unless the entity has moved since.
    async fn go_on_with(
        &self,
        task: Task,
        entity: EntityId,
        slot: TaskInFlight,
    ) -> Result<Done, Failure> {
        let continuation = Continuation::read(&task)?;
        let by = Initiator {
            tenant: task.tenant.clone(),
            principal: continuation.principal,
            cancel: CancellationToken::new(),
        };
        // A run that a timer began is retried until it succeeds, like the timer
        // (`workflow-engine.md` §9.4).
        let is_of_timer = continuation.armed_by.is_some();
        let attribution = match continuation.armed_by {
            Some(author) => Attribution {
                author,
                executor: Some(by.principal.actor.clone()),
            },
            None => by.attribution(),
        };
        let mut session = self.session_for(&by, attribution);
        session.occupy(slot);
        session.follow(continuation.entry)?;
        let promised = match continuation.once {
            Some(once) => provisional(self.storage(), &by.tenant, &once)
                .await?
                .map(|answer| (once, answer)),
            None => None,
        };
        let unit = session.unit()?;
        let base = unit.read(entity).await?;
        let written = continuation.written;
        let Some(base) = base.filter(|base| base.image.transaction == written) else {
            unit.drop_task(&task);
            if let Some((once, _)) = &promised {
                free(unit, once)?;
            }
            session.finish(&by.cancel).await?;
            return Ok(Done::Yes);
        };
        info!(entity.id = %entity, "a partially committed run resumes");
        let mut so_far = String::new();
        if let Some((once, answer)) = &promised {
            so_far.clone_from(answer);
            let has_more = continuation.has_more;
            session.promise(Promise::resumed(once.clone(), answer.clone(), has_more));
        }
        let definitions = self.definitions(&mut session, &base.image.model).await?;
        let run = Run::update(
            &base.image,
            parsed(&base.image.document)?,
            Start::Resumed(continuation.suspended),
            session.id(),
            self.0.clock.now(),
        );
        let resumption = Resumption {
            rest: Rest {
                task: task.clone(),
                pause: is_of_timer.then_some(self.0.settings.task_pause),
            },
            dispatch: continuation.dispatch,
        };
        let mut anchor = Anchor::new(definitions, Origin::Resumed(base, resumption), None);
        let run = Box::new(self.as_known(run));
        // There is no caller to receive warnings.
        let mut warnings = Vec::new();
        let driven = self.drive_to_end(&mut session, run, &mut anchor, &by, &mut warnings);
        match driven.await {
            Ok(Fate::Dropped) => {
                // Another process has given the rest up and freed the key, which stays free.
                session.finish(&by.cancel).await?;
                Ok(Done::Yes)
            }
            Ok(Fate::Saved | Fate::Declined | Fate::Rested) => {
                session.finish_with(&so_far, &by.cancel).await?;
                Ok(Done::Yes)
            }
            // Members may reconnect; every other failure would repeat.
            Err(Stopped::Engine(error))
                if matches!(error, engine::Error::NotResumable { .. })
                    || (!is_of_timer && !error.is_about_members()) =>
            {
                warn!(%error, entity.id = %entity, "a partially committed run failed; the entity stays as it is");
                session.abandon_unfinished().await;
                drop(session);
                let once = promised.as_ref().map(|(once, _)| once);
                self.give_up(&task, by.attribution(), once).await?;
                Ok(Done::Yes)
            }
            Err(stopped) => Err(stopped.failure(self.0.settings.compat)),
        }
    }
}

/// The principal of work that no request asked for.
pub(super) fn system() -> Principal {
    Principal {
        actor: Actor {
            kind: ActorKind::System,
            name: "system".into(),
        },
        roles: Arc::default(),
        trace: None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::clock::{Clock, ManualClock};
    use crate::compat::Compat;
    use crate::compute::{self, Members};
    use crate::engine::Limits;
    use crate::entity::Document;
    use crate::id::{EntityId, ModelKey};
    use crate::model::Schema;
    use crate::runtime::{Content, NewEntity, Settings, Update};
    use crate::storage::{
        self, DatabaseLocation, Durability, IndexSettings, Migrate, ModelChange, Storage,
    };
    use crate::workflow::{ImportMode, Workflow, WorkflowSet};

    const WORKFLOW: &str = r#"{"name":"w","initialState":"A","states":{
        "A":{"transitions":[{"name":"T","next":"B","manual":false,"schedule":{"delayMs":1000}}]},
        "B":{}}}"#;

    async fn runtime(clock: &ManualClock) -> Runtime {
        runtime_with(clock, crate::runtime::RunSettings::DEFAULT).await
    }

    /// A runtime in memory, with these settings of runs.
    pub(in crate::runtime) async fn runtime_with(
        clock: &ManualClock,
        runs: crate::runtime::RunSettings,
    ) -> Runtime {
        let settings = storage::Settings {
            place: DatabaseLocation::Memory,
            durability: Durability::Full,
            busy_timeout: Duration::from_secs(1),
            cache_kib: 1_000,
            scan_max: 0,
            absent_lists_are_null: false,
            queue_bytes: 64 << 20,
            start_check: Duration::ZERO,
            migrate: Migrate::Yes,
            indexes: IndexSettings::default(),
        };
        let clock = Clock::Manual(clock.clone());
        let opening = Storage::open(&settings, clock.clone(), CancellationToken::new());
        let (storage, committer) = opening.await.expect("opens");
        tokio::spawn(committer);
        let settings = Settings {
            limits: Limits::default(),
            calls: compute::Settings {
                wait_for_member: Duration::ZERO,
                response_timeout: Duration::from_secs(1),
                out_max: 1,
            },
            compat: Compat::default(),
            token_life: Duration::from_secs(1),
            expiry_grace: Duration::ZERO,
            task_pause: Duration::from_secs(1),
            scan_interval: Duration::from_secs(1),
            retry_pause: Duration::from_secs(1),
            runs,
        };
        Runtime::alone(storage, Members::default(), clock, &settings)
    }

    /// The task, once its turn has come.
    fn begun(task: Task) -> (Due, TaskInFlight) {
        let turns = Turns::new(1, 1);
        turns.admit(vec![Due { task, seen: None }]);
        turns.begin().expect("a place")
    }

    fn caller() -> Initiator {
        Initiator {
            tenant: "t".into(),
            principal: system(),
            cancel: CancellationToken::new(),
        }
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
}
