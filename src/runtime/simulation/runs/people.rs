//! Those who use runs: clients, and members and workers that cannot be relied on.
#![cfg(test)]

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    super::{people::initiator, random::Random, world::tenant},
    ACTIONS, Delivered, NAMESPACE, Stage, define,
    documents::NAMES,
    register, set_enabled,
};
use crate::compute::tasks::{Announced, Answered, Delivery, Form, Sent, TaskMembership, TaskSpec};
use crate::dialect::flo::generate::SIGNALS;
use crate::entity::{ActorKind, Document};
use crate::error::{Code, Failure};
use crate::id::{EntityId, MemberId, ModelKey, TransitionName};
use crate::program::StartedBy;
use crate::runtime::{Content, Initiator, NewEntity, Runtime, Session, Update, runs::StartRun};
use crate::storage::{NewTopicEvent, RunName, TopicKey};

/// One who works with the service.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) stage: Arc<Stage>,
    pub(super) runtime: Runtime,
    pub(super) random: Random,
}

/// What a member does with a task.
struct Reply {
    failed: bool,
    retryable: bool,
    outcome: Option<&'static str>,
    /// Whether it writes an entity first.
    writes: bool,
}

impl Person {
    /// A client: some requests, one after the other.
    pub(super) async fn client(mut self) {
        for _ in 0..self.random.between(3, 9) {
            sleep(Duration::from_millis(self.random.below(200))).await;
            if self.random.chance(8) {
                // The connection is lost, and the request with it.
                let soon = Duration::from_millis(self.random.below(30));
                let act = Box::pin(self.act());
                if let Ok(Err(failure)) = timeout(soon, act).await {
                    self.check_failure(&failure);
                }
                continue;
            }
            if let Err(failure) = Box::pin(self.act()).await {
                self.check_failure(&failure);
            }
        }
    }

    /// Only these may come to a client that asks for what is allowed.
    fn check_failure(&self, failure: &Failure) {
        let world = &self.stage.world;
        world.note(|_| format!("a request failed: {}", failure.code()));
        let is_known = matches!(
            failure.code(),
            Code::Conflict
                | Code::OutcomeUnknown
                | Code::StorageUnavailable
                | Code::RunFinished
                | Code::RunExists
                | Code::RunNotFound
                | Code::RunDefinitionDisabled
                | Code::BadRequest
                | Code::TransitionNotFound
                | Code::WorkflowFailed
        );
        if !is_known {
            world.fail(format!("a request failed: {failure:?}"));
        }
    }

    async fn act(&mut self) -> Result<(), Failure> {
        match self.random.below(100) {
            0..40 => self.start().await,
            40..62 => self.signal().await,
            62..67 => self.cancel().await,
            67..77 => self.publish().await,
            77..90 => self.move_entity().await,
            90..95 => {
                let name = *self.random.pick(&NAMES).expect("some");
                define(&self.runtime, &mut self.random, name).await
            }
            95..98 => {
                let name = *self.random.pick(&NAMES).expect("some");
                let enabled = self.random.chance(60);
                set_enabled(&self.runtime, name, enabled).await
            }
            _ => {
                let name = *self.random.pick(&ACTIONS).expect("some");
                register(&self.runtime, name).await
            }
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
        let name = *self.random.pick(&NAMES).expect("some");
        let n = self.stage.number();
        let known = self.stage.notes().entities.clone();
        let entity = self.random.pick(&known).map(ToString::to_string);
        let input = serde_json::json!({"n": n, "entity": entity}).to_string();
        let of = RunName {
            namespace: NAMESPACE.into(),
            name: name.into(),
        };
        let mut start = StartRun::new(of, input.into(), StartedBy::Caller);
        let key = self
            .random
            .chance(50)
            .then(|| format!("k{}", self.random.below(4)));
        start.key = key.as_deref().map(Into::into);
        if self.random.chance(10) {
            start.id = Some(format!("chosen-{}", self.random.below(3)).into());
        }
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let started = self.runtime.start_run(&mut session, &by, start).await?;
        self.finish(session, &by).await?;
        let stage = &self.stage;
        stage
            .world
            .note(|_| format!("{} of {name} started", started.id));
        let mut notes = stage.notes();
        if !notes.runs.contains(&started.id) {
            notes.runs.push(started.id.clone());
        }
        if let Some(key) = key
            && !started.is_new
        {
            // Whatever definition it followed then, the run of a key stays.
            let known = notes.keyed.insert((name, key.clone()), started.id.clone());
            if known.is_some_and(|known| known != started.id) {
                drop(notes);
                stage
                    .world
                    .fail(format!("the key {key} of {name} has two runs"));
            }
        }
        Ok(())
    }

    fn any_run(&mut self) -> Option<Box<str>> {
        let known = self.stage.notes().runs.clone();
        self.random.pick(&known).cloned()
    }

    async fn signal(&mut self) -> Result<(), Failure> {
        let Some(run) = self.any_run() else {
            return Ok(());
        };
        let kind = *self.random.pick(&SIGNALS).expect("some");
        let n = self.stage.number();
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let payload = format!("{{\"s\":{n}}}").into();
        let runtime = &self.runtime;
        let mut arrived = runtime
            .signal_run(&mut session, &by, &run, kind, payload)
            .await?;
        self.finish(session, &by).await?;
        runtime.after_advance(&by.tenant, &mut arrived);
        self.stage.world.note(|_| format!("{run} got {kind} {n}"));
        self.stage.notes().signals.push((run, kind, n));
        Ok(())
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        let Some(run) = self.any_run() else {
            return Ok(());
        };
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let runtime = &self.runtime;
        let mut arrived = runtime
            .cancel_run(&mut session, &by, &run, "cancelled by user")
            .await?;
        self.finish(session, &by).await?;
        runtime.after_advance(&by.tenant, &mut arrived);
        self.stage.world.note(|_| format!("{run} was cancelled"));
        self.stage.notes().cancelled.insert(run);
        Ok(())
    }

    async fn publish(&mut self) -> Result<(), Failure> {
        let numbers: Vec<u64> = (0..self.random.between(1, 4))
            .map(|_| self.stage.number())
            .collect();
        self.stage.notes().published.extend(&numbers);
        let events = numbers.iter().map(|n| NewTopicEvent {
            payload: format!("{{\"n\":{n}}}").into(),
            kind: None,
            key: Some(format!("k{}", n % 3).into()),
            id: Some(n.to_string().into()),
        });
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let topic = TopicKey::new(NAMESPACE, "orders");
        session.unit()?.publish(topic, events.collect())?;
        self.finish(session, &by).await?;
        self.stage.notes().acknowledged.extend(numbers);
        Ok(())
    }

    /// Makes an entity, or takes a transition that starts or signals runs.
    async fn move_entity(&mut self) -> Result<(), Failure> {
        let by = initiator(ActorKind::User, "u");
        let mut session = self.runtime.session(&by, None).await?;
        let known = self.stage.notes().entities.clone();
        let id = if self.random.chance(30) {
            None
        } else {
            self.random.pick(&known).copied()
        };
        let Some(id) = id else {
            let entity = NewEntity {
                model: ModelKey::new("t", 1),
                document: Document::parse(r#"{"n":1}"#).expect("JSON"),
            };
            let made = self.runtime.create(&mut session, entity, &by).await?.id;
            self.finish(session, &by).await?;
            self.stage.notes().entities.push(made);
            return Ok(());
        };
        let Some(version) = session.unit()?.read(id).await? else {
            return Ok(());
        };
        let names = self.runtime.transitions(&mut session, &version).await?;
        let Some(transition) = self.random.pick(&names).cloned() else {
            return Ok(());
        };
        let update = Update {
            id,
            content: Content::Kept,
            transition: Some(TransitionName::from(transition.as_str())),
            if_match: None,
        };
        self.runtime.update(&mut session, update, &by).await?;
        self.finish(session, &by).await?;
        self.stage.world.note(|ledger| {
            let name = ledger.name(id);
            format!("{name} took {transition}")
        });
        Ok(())
    }

    /// A member, which joins again whenever it has gone.
    pub(super) async fn member(mut self) {
        let channels = self.runtime.0.channels.clone();
        loop {
            let (outbox, mut inbox) = mpsc::unbounded_channel();
            let announced = Announced {
                actions: vec!["*".to_owned()],
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

    /// Notes a delivery, which must be as those before it, and recorded; its number.
    pub(super) async fn delivered(&self, spec: &TaskSpec) -> usize {
        let world = &self.stage.world;
        let bytes = format!("{} {} {}", spec.name, spec.idempotency_key, spec.input);
        let (is_same, number) = {
            let mut notes = self.stage.notes();
            let task = Arc::clone(&spec.id);
            let known = notes.tasks.entry(task).or_insert_with(|| bytes.clone());
            let is_same = *known == bytes;
            notes.deliveries.push(Delivered {
                task: Arc::clone(&spec.id),
                wrote: None,
            });
            (is_same, notes.deliveries.len() - 1)
        };
        world.note(|_| format!("delivery {number} of {}", spec.id));
        if !is_same {
            world.fail(format!("two deliveries of {} differ", spec.id));
        }
        let (run, ordinal) = spec.id.rsplit_once('.').expect("an ordinal");
        let ordinal: u64 = ordinal.parse().expect("a number");
        match self.runtime.stored_run(&tenant(), run).await {
            Ok(stored) => {
                let state = self.runtime.run_state(&stored).expect("a state");
                if state.run.last_task() < ordinal {
                    world.fail(format!("{} was sent before it was recorded", spec.id));
                }
            }
            Err(failure) if failure.code() == Code::RunNotFound => {
                world.fail(format!("{} was sent, and its run is not there", spec.id));
            }
            Err(_) => {}
        }
        number
    }

    fn reply(&mut self, is_rough: bool) -> Reply {
        let reply = |outcome, writes| Reply {
            failed: false,
            retryable: false,
            outcome,
            writes,
        };
        let writes = self.random.chance(60);
        if !is_rough {
            return reply((!self.random.chance(15)).then_some("success"), writes);
        }
        match self.random.below(100) {
            0..8 => Reply {
                failed: true,
                ..reply(None, writes)
            },
            8..16 => Reply {
                failed: true,
                retryable: true,
                ..reply(None, writes)
            },
            16..24 => reply(Some("pending"), false),
            24..30 => reply(Some("timeout"), false),
            30..38 => reply(Some("failure"), false),
            38..50 => reply(Some("fraud"), writes),
            50..53 => reply(Some("execution_failure"), writes),
            _ => reply(Some("success"), writes),
        }
    }

    async fn serve(mut self, delivery: Delivery, membership: Arc<Mutex<Option<TaskMembership>>>) {
        let lock = || membership.lock();
        let channels = self.runtime.0.channels.clone();
        let token = channels.token(&delivery);
        let number = self.delivered(&delivery.spec).await;
        let stage = Arc::clone(&self.stage);
        stage.world.boundary("a task is out").await;
        let is_rough = stage.world.ledger().rough;
        let reply = self.reply(is_rough);
        if reply.writes
            && let Some(token) = &token
        {
            self.write(number, token).await;
        }
        let delay = if is_rough && self.random.chance(8) {
            self.random.between(150, 400)
        } else {
            self.random.below(20)
        };
        sleep(Duration::from_millis(delay)).await;
        stage.world.boundary("before an answer").await;
        let lot = if is_rough { self.random.below(100) } else { 99 };
        match lot {
            0..4 => {
                stage.world.note(|_| "a member leaves".to_owned());
                drop(lock().take());
                return;
            }
            4..9 => return,
            9..13 => {
                let unreadable = Form::Unreadable("not JSON".to_owned());
                if let Some(membership) = lock().as_ref() {
                    membership.answered(delivery.call, &unreadable);
                }
                return;
            }
            _ => {}
        }
        let answers = if lot < 25 { 2 } else { 1 };
        for answer in 0..answers {
            let output = output(number);
            // The second contradicts the first.
            let outcome = if answer == 0 {
                reply.outcome
            } else {
                Some("fraud")
            };
            let answered = Answered {
                failed: reply.failed && answer == 0,
                retryable: reply.retryable,
                outcome,
                output: (!reply.failed).then_some(output.as_str()),
                ..Answered::default()
            };
            if let Some(membership) = lock().as_ref() {
                membership.answered(delivery.call, &Form::Task(answered));
            }
        }
        if reply.outcome == Some("pending") && self.random.chance(80) {
            sleep(Duration::from_millis(self.random.below(400))).await;
            let answered = Answered {
                outcome: Some("success"),
                ..Answered::default()
            };
            let task = &delivery.spec.id;
            let _ = channels.end(&tenant(), task, None, &answered).await;
        }
    }

    /// Writes an entity with the token of a task.
    pub(super) async fn write(&self, number: usize, token: &str) {
        match self.try_to_write(number, token).await {
            Ok(id) => self.stage.notes().deliveries[number].wrote = Some(id),
            Err(failure) => self
                .stage
                .world
                .note(|_| format!("delivery {number} could not write: {}", failure.code())),
        }
    }

    async fn try_to_write(&self, number: usize, token: &str) -> Result<EntityId, Failure> {
        let by = initiator(ActorKind::Service, "m");
        let mut session = self.runtime.session(&by, Some(token)).await?;
        let entity = NewEntity {
            model: ModelKey::new("w", 1),
            document: Document::parse(&format!("{{\"d\":{number}}}")).expect("JSON"),
        };
        let id = self.runtime.create(&mut session, entity, &by).await?.id;
        session.finish(&by.cancel).await?;
        Ok(id)
    }

    /// A worker that pulls.
    pub(super) async fn worker(mut self) {
        let channels = self.runtime.0.channels.clone();
        let announced = Announced {
            actions: ACTIONS.map(ToOwned::to_owned).to_vec(),
            ..Announced::default()
        };
        let registered = channels.register(
            &tenant(),
            "w1",
            Announced {
                namespace: Some(NAMESPACE.into()),
                ..announced
            },
        );
        registered.expect("registers");
        let actions = ACTIONS.map(ToOwned::to_owned);
        loop {
            let asked = channels.ask(&tenant(), NAMESPACE, "w1", &actions, 2);
            let mut asked = asked.expect("asks");
            asked.tasks(Duration::from_millis(500)).await;
            for leased in asked.received() {
                let number = self.delivered(&leased.spec).await;
                self.stage.world.boundary("a worker has a task").await;
                let is_rough = self.stage.world.ledger().rough;
                if is_rough && self.random.chance(10) {
                    continue;
                }
                sleep(Duration::from_millis(self.random.below(30))).await;
                let reply = self.reply(is_rough);
                let output = output(number);
                let answered = Answered {
                    failed: reply.failed,
                    retryable: reply.retryable,
                    outcome: reply.outcome,
                    output: (!reply.failed).then_some(output.as_str()),
                    ..Answered::default()
                };
                let task = &leased.spec.id;
                let tenant = tenant();
                let ended = channels.end(&tenant, task, Some("w1"), &answered);
                if let Err(refused) = ended.await {
                    let world = &self.stage.world;
                    world.note(|_| format!("a worker was refused: {refused:?}"));
                }
            }
            // One who asks again at once would never let time pass.
            sleep(Duration::from_millis(self.random.between(5, 60))).await;
        }
    }
}

/// The output of a delivery. It is large, so that events hold it.
fn output(number: usize) -> String {
    format!("{{\"d\":{number},\"pad\":\"{}\"}}", "y".repeat(1_100))
}
