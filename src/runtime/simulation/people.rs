//! Those who use the service: clients, and members that cannot be relied on.
#![cfg(test)]

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    MODEL,
    random::Random,
    world::{Action, DeedKind, OpOutcome, Origin, World, tenant},
};
use crate::compute::{Members, Membership, Principal, Rejection, Request, Response};
use crate::dispatch::{Callee, CriterionResult, Reply, Tags};
use crate::entity::{Actor, ActorKind, Document};
use crate::error::Failure;
use crate::id::{CallId, EntityId, MemberId, ModelKey, TransitionName};
use crate::runtime::{Content, Initiator, NewEntity, Runtime, Session, Update};

/// How many sessions there are before members leave it at that.
const OPS_MAX: usize = 60;

/// One who works with the service.
#[derive(Clone)]
pub(super) struct Person {
    pub(super) world: Arc<World>,
    pub(super) runtime: Runtime,
    pub(super) random: Random,
}

pub(super) fn initiator(kind: ActorKind, name: &str) -> Initiator {
    Initiator {
        tenant: tenant(),
        principal: Principal {
            actor: Actor {
                kind,
                name: name.into(),
            },
            roles: Arc::default(),
            trace: None,
        },
        cancel: CancellationToken::new(),
    }
}

impl Person {
    /// A client: some requests, one after the other.
    pub(super) async fn client(mut self) {
        for _ in 0..self.random.between(1, 5) {
            sleep(Duration::from_millis(self.random.below(150))).await;
            let by = initiator(ActorKind::User, "u");
            let soon = Duration::from_millis(self.random.below(60));
            match self.random.below(12) {
                0 => {
                    let cancel = by.cancel.clone();
                    tokio::spawn(async move {
                        sleep(soon).await;
                        cancel.cancel();
                    });
                    self.act(&by, None, Origin::Client, &[]).await;
                }
                1 => {
                    // The connection is lost, and the request with it.
                    let act = Box::pin(self.act(&by, None, Origin::Client, &[]));
                    let _ = timeout(soon, act).await;
                }
                2 => self.look_twice(soon).await,
                _ => self.act(&by, None, Origin::Client, &[]).await,
            }
        }
    }

    /// What was read of a snapshot stays as it was.
    async fn look_twice(&mut self, pause: Duration) {
        let storage = self.runtime.storage().clone();
        let Some(id) = self.any_entity(&[]) else {
            return;
        };
        let snapshot = storage.snapshot(&tenant(), storage.latest()).await;
        let snapshot = snapshot.expect("a snapshot");
        let first = snapshot.version(id).await.expect("reads");
        sleep(pause).await;
        let second = snapshot.version(id).await.expect("reads");
        let position = |version: &Option<crate::storage::Version>| {
            version.as_ref().map(|version| version.position)
        };
        if position(&first) != position(&second) {
            self.world.fail("a snapshot has changed");
        }
    }

    fn any_entity(&mut self, except: &[EntityId]) -> Option<EntityId> {
        let ledger = self.world.ledger();
        let known: Vec<_> = ledger
            .entities
            .iter()
            .filter(|id| !except.contains(id))
            .copied()
            .collect();
        self.random.pick(&known).copied()
    }

    /// One session: a few deeds, together.
    async fn act(
        &mut self,
        by: &Initiator,
        token: Option<&str>,
        origin: Origin,
        except: &[EntityId],
    ) {
        let op = self.world.ledger().begin(origin);
        let outcome = self.try_to_act(op, by, token, except).await;
        let mut ledger = self.world.ledger();
        ledger.ops[op].outcome = match &outcome {
            Ok(()) => OpOutcome::Done,
            Err(_) => OpOutcome::Failed,
        };
        ledger.note(|_| match outcome {
            Ok(()) => format!("op {op} done"),
            Err(failure) => format!("op {op} failed: {}", failure.code()),
        });
    }

    async fn try_to_act(
        &mut self,
        op: usize,
        by: &Initiator,
        token: Option<&str>,
        except: &[EntityId],
    ) -> Result<(), Failure> {
        let mut session = self.runtime.session(by, token).await?;
        self.world.ledger().ops[op].began = Some(session.id());
        let deeds = if self.random.chance(75) { 1 } else { 2 };
        for _ in 0..deeds {
            let done = self.deed(op, &mut session, by, except).await;
            self.world.ledger().ops[op].last = Some(session.id());
            let Some((action, id)) = done? else { continue };
            let mut ledger = self.world.ledger();
            let deed = ledger.deed(action);
            (deed.entity, deed.transaction) = (Some(id), Some(session.id()));
            ledger.completed.push(action);
        }
        self.world.boundary("before a session is finished").await;
        session.finish(&by.cancel).await
    }

    async fn deed(
        &mut self,
        op: usize,
        session: &mut Session,
        by: &Initiator,
        except: &[EntityId],
    ) -> Result<Option<(Action, EntityId)>, Failure> {
        let known = if self.random.chance(30) {
            None
        } else {
            self.any_entity(except)
        };
        let Some(id) = known else {
            return self.create(op, session, by).await.map(Some);
        };
        let Some(version) = session.unit()?.read(id).await? else {
            return Ok(None);
        };
        let kind = if self.random.chance(6) {
            DeedKind::Delete
        } else {
            DeedKind::Update
        };
        let transaction = version.image.transaction;
        let (action, document) = {
            let mut ledger = self.world.ledger();
            let action = ledger.begin_deed(op, kind);
            let deed = ledger.deed(action);
            deed.entity = Some(id);
            deed.seen = version.is_committed().then_some(transaction);
            let document = ledger.document(action, self.random.below(10));
            ledger.note(|ledger| {
                let name = ledger.name(id);
                format!("op {op} {kind:?} {name} {}", document.json())
            });
            (action, document)
        };
        if kind == DeedKind::Delete {
            self.runtime.delete(session, id, None, by).await?;
            return Ok(Some((action, id)));
        }
        let mut transition = None;
        if self.random.chance(55) {
            let names = self.runtime.transitions(session, &version).await?;
            transition = self.random.pick(&names).cloned();
        }
        if self.random.chance(2) {
            transition = Some(TransitionName::from("nowhere"));
        }
        let if_match = match self.random.below(20) {
            0..3 => Some(transaction.to_string().into()),
            3 => Some("another".into()),
            _ => None,
        };
        let update = Update {
            id,
            content: Content::Replaced(document),
            transition,
            if_match,
        };
        self.runtime.update(session, update, by).await?;
        Ok(Some((action, id)))
    }

    async fn create(
        &mut self,
        op: usize,
        session: &mut Session,
        by: &Initiator,
    ) -> Result<(Action, EntityId), Failure> {
        let (action, document) = {
            let mut ledger = self.world.ledger();
            let action = ledger.begin_deed(op, DeedKind::Create);
            let document = ledger.document(action, self.random.below(10));
            ledger.note(|_| format!("op {op} Create {}", document.json()));
            (action, document)
        };
        let entity = NewEntity {
            model: ModelKey::new(MODEL, 1),
            document,
        };
        let created = self.runtime.create(session, entity, by).await?;
        self.world.ledger().entities.push(created.id);
        Ok((action, created.id))
    }

    /// A member, which joins again whenever it has gone.
    pub(super) async fn member(mut self, members: Members) {
        loop {
            let (outbox, mut inbox) = mpsc::channel(4);
            let now = self.runtime.storage().now();
            let joined = members.join(&tenant(), MemberId::fresh(), Tags::parse("m"), outbox, now);
            let membership = Arc::new(Mutex::new(Some(joined)));
            while let Some(request) = inbox.recv().await {
                let clerk = Self {
                    random: self.random.fork(),
                    ..self.clone()
                };
                tokio::spawn(clerk.serve(request, Arc::clone(&membership)));
            }
            sleep(Duration::from_millis(self.random.between(1, 500))).await;
        }
    }

    async fn serve(mut self, request: Request, membership: Arc<Mutex<Option<Membership>>>) {
        let lock = || membership.lock();
        self.world.called(&request);
        self.world.boundary("a call is out").await;
        let rough = self.world.ledger().rough;
        if request.token.is_some() && self.random.chance(30) {
            self.call_back(&request).await;
        }
        let delay = if rough && self.random.chance(5) {
            self.random.between(30, 800)
        } else {
            self.random.below(12)
        };
        sleep(Duration::from_millis(delay)).await;
        self.world.boundary("before an answer").await;
        if rough && self.random.chance(5) {
            let unknown = Response {
                outcome: Ok(Reply::Processed(None)),
                warnings: Vec::new(),
            };
            if lock()
                .as_ref()
                .is_some_and(|membership| membership.answered(CallId::fresh(), unknown))
            {
                self.world.fail("an answer to an unknown call was taken");
            }
        }
        let outcome = match self.random.below(100) {
            _ if !rough => Ok(self.reply(&request)),
            0..2 => {
                self.world.note(|_| "a member leaves".to_owned());
                drop(lock().take());
                return;
            }
            2..4 => return,
            4..7 => Ok(match request.work.callee {
                Callee::Processor(_) => Reply::Evaluated(CriterionResult {
                    matches: true,
                    reason: None,
                }),
                Callee::Criterion { .. } | Callee::Schedule(_) => Reply::Processed(None),
            }),
            7..13 => Err(Rejection {
                message: "no".to_owned(),
                retryable: Some(self.random.chance(60)),
            }),
            _ => Ok(self.reply(&request)),
        };
        let is_good = matches!(&outcome, Ok(reply) if request.work.callee.is_answered_by(reply));
        let response = Response {
            outcome,
            warnings: Vec::new(),
        };
        let taken = lock()
            .as_ref()
            .is_some_and(|membership| membership.answered(request.call, response));
        if taken && is_good {
            self.world.ledger().accepted.insert(request.call);
        }
    }

    fn reply(&mut self, request: &Request) -> Reply {
        let attached = request.work.attached.as_ref();
        match &request.work.callee {
            Callee::Criterion { .. } => Reply::Evaluated(CriterionResult {
                matches: self.random.chance(65),
                reason: None,
            }),
            Callee::Schedule(_) => Reply::Computed {
                kind: "Schedule".to_owned(),
                result: Some(self.plan()),
            },
            Callee::Processor(_) => Reply::Processed(match (self.random.below(10), attached) {
                (0..3, _) | (_, None) => None,
                (3..5, Some(image)) => Document::from_json(&image.document).ok(),
                (_, Some(image)) => {
                    let mut ledger = self.world.ledger();
                    let writer = ledger.writer(&image.document);
                    writer.map(|action| ledger.document(action, self.random.below(10)))
                }
            }),
        }
    }

    fn plan(&mut self) -> Document {
        let after = self.random.between(20, 2_000);
        let rough = self.world.ledger().rough;
        let text = match self.random.below(10) {
            _ if !rough => format!(r#"{{"fireAfterMs":{after}}}"#),
            0..6 => format!(r#"{{"fireAfterMs":{after}}}"#),
            6..9 => {
                let more = self.random.below(200);
                format!(r#"{{"fireAfterMs":{after},"expireAfterMs":{more}}}"#)
            }
            _ => r#"{"colour":2}"#.to_owned(),
        };
        Document::parse(&text).expect("JSON")
    }

    /// Writes something else in the transaction of the call.
    async fn call_back(&mut self, request: &Request) {
        let work = &request.work;
        // What they write may call members in turn, and more of them each time.
        if self.world.ledger().ops.len() > OPS_MAX {
            return;
        }
        let writer = {
            let ledger = self.world.ledger();
            let attached = work.attached.as_ref();
            attached.and_then(|image| ledger.writer(&image.document))
        };
        let (Some(Action { op: parent, .. }), Some(transaction)) = (writer, work.transaction)
        else {
            return;
        };
        // Those whose runs are under way are left to them.
        let mut except = vec![work.entity];
        let mut above = parent;
        {
            let ledger = self.world.ledger();
            while let Origin::Callback { anchor, parent, .. } = &ledger.ops[above].origin
                && ledger.ops[above].began == Some(transaction)
            {
                except.push(*anchor);
                above = *parent;
            }
        }
        let origin = Origin::Callback {
            anchor: work.entity,
            call: request.call,
            is_crossover: self.world.plan.crossovers.contains(work.callee.name()),
            parent,
        };
        let by = initiator(ActorKind::Service, "m");
        Box::pin(self.act(&by, request.token.as_deref(), origin, &except)).await;
    }
}
