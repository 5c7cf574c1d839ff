//! What the simulation knows: who did what, and what came of it.
#![cfg(test)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::{definition::Plan, random::Random};
use crate::clock::{Clock, Timestamp};
use crate::compute::Request;
use crate::entity::{Changed, Document, Json};
use crate::id::{CallId, DispatchKey, EntityId, Tenant, TransactionId};

/// Everything that one schedule has in common.
#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) crash: Notify,
    ledger: Mutex<Ledger>,
}

/// Who did what.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) random: Random,
    pub(super) clock: Option<Clock>,
    /// The entities that were acknowledged to someone.
    pub(super) entities: Vec<EntityId>,
    /// What the reader of the feed received, in that order.
    pub(super) heard: Vec<Changed>,
    pub(super) ops: Vec<Op>,
    /// Whose each numbered document is.
    pub(super) writes: Vec<Action>,
    pub(super) calls: BTreeMap<DispatchKey, CallNote>,
    /// When a member was last called for an entity.
    pub(super) tried: BTreeMap<EntityId, Timestamp>,
    /// The attempts whose answers were taken.
    pub(super) accepted: BTreeSet<CallId>,
    /// Whether storage may fail, members may be unreliable, and so on.
    pub(super) rough: bool,
    /// How many boundaries there are before the crash.
    pub(super) until_crash: Option<u64>,
    pub(super) failures: Vec<String>,
    pub(super) trace: Option<String>,
    names: BTreeMap<EntityId, usize>,
    /// In the order in which they were completed.
    pub(super) completed: Vec<Action>,
}

/// One of the things an op did: the number of the op, and of the deed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Action {
    pub(super) op: usize,
    pub(super) deed: usize,
}

/// One session at work.
#[derive(Debug)]
pub(super) struct Op {
    pub(super) origin: Origin,
    /// The transaction it began with.
    pub(super) began: Option<TransactionId>,
    /// The transaction it was in last.
    pub(super) last: Option<TransactionId>,
    pub(super) deeds: Vec<Deed>,
    pub(super) outcome: OpOutcome,
}

#[derive(Debug)]
pub(super) enum Origin {
    Client,
    /// A member that was called for an entity, in a transaction.
    Callback {
        anchor: EntityId,
        /// The attempt that it was called in.
        call: CallId,
        /// Whether its writes stay although it fails.
        is_crossover: bool,
        parent: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpOutcome {
    /// Under way, or nobody knows: it was dropped or it crashed.
    Open,
    Done,
    Failed,
}

#[derive(Debug)]
pub(super) struct Deed {
    pub(super) kind: DeedKind,
    /// None of a new one that is not finished.
    pub(super) entity: Option<EntityId>,
    /// The transaction of the version it was based on.
    pub(super) seen: Option<TransactionId>,
    /// The transaction it was in when it was complete.
    pub(super) transaction: Option<TransactionId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeedKind {
    Create,
    Update,
    Delete,
}

/// A call that was made.
#[derive(Debug)]
pub(super) struct CallNote {
    entity: EntityId,
    callee: String,
}

pub(super) fn tenant() -> Tenant {
    "t".into()
}

impl World {
    pub(super) fn new(plan: Plan, random: Random, traced: bool) -> Arc<Self> {
        Arc::new(Self {
            plan,
            crash: Notify::new(),
            ledger: Mutex::new(Ledger {
                random,
                clock: None,
                entities: Vec::new(),
                heard: Vec::new(),
                ops: Vec::new(),
                writes: Vec::new(),
                calls: BTreeMap::new(),
                tried: BTreeMap::new(),
                accepted: BTreeSet::new(),
                rough: true,
                until_crash: None,
                failures: Vec::new(),
                trace: traced.then(String::new),
                names: BTreeMap::new(),
                completed: Vec::new(),
            }),
        })
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }

    /// A place where everything may end.
    pub(super) async fn boundary(&self, place: &str) {
        let is_end = {
            let mut ledger = self.ledger();
            let left = ledger.until_crash.map(|left| left.saturating_sub(1));
            ledger.until_crash = left;
            if left == Some(0) {
                ledger.note(|_| format!("crash: {place}"));
            }
            left == Some(0)
        };
        if is_end {
            self.crash.notify_one();
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn note(&self, what: impl FnOnce(&mut Ledger) -> String) {
        self.ledger().note(what);
    }

    pub(super) fn fail(&self, what: impl Into<String>) {
        let what = what.into();
        let mut ledger = self.ledger();
        ledger.note(|_| format!("FAILURE: {what}"));
        ledger.failures.push(what);
    }

    /// A request arrived at a member; calls of one key are about one thing.
    pub(super) fn called(&self, request: &Request) {
        let work = &request.work;
        let mut ledger = self.ledger();
        if let Some(now) = ledger.clock.as_ref().map(Clock::now) {
            ledger.tried.insert(work.entity, now);
        }
        let note = ledger
            .calls
            .entry(request.dispatch)
            .or_insert_with(|| CallNote {
                entity: work.entity,
                callee: work.callee.name().to_owned(),
            });
        let same = note.entity == work.entity && note.callee == work.callee.name();
        ledger.note(|ledger| {
            let entity = ledger.name(work.entity);
            format!("call {} for {entity}", work.callee.name())
        });
        if !same {
            ledger
                .failures
                .push("two calls have one dispatch key".to_owned());
        }
    }
}

impl Ledger {
    pub(super) fn note(&mut self, what: impl FnOnce(&mut Self) -> String) {
        let Some(mut trace) = self.trace.take() else {
            return;
        };
        let now = self.clock.as_ref().map_or(0, |clock| clock.now().millis());
        let _ = writeln!(trace, "{now:>8} {}", what(self));
        self.trace = Some(trace);
    }

    /// The entity, by the order in which it was first reported.
    pub(super) fn name(&mut self, id: EntityId) -> String {
        let next = self.names.len();
        format!("e{}", self.names.entry(id).or_insert(next))
    }

    pub(super) fn begin(&mut self, origin: Origin) -> usize {
        self.ops.push(Op {
            origin,
            began: None,
            last: None,
            deeds: Vec::new(),
            outcome: OpOutcome::Open,
        });
        self.ops.len() - 1
    }

    pub(super) fn begin_deed(&mut self, op: usize, kind: DeedKind) -> Action {
        let deeds = &mut self.ops[op].deeds;
        deeds.push(Deed {
            kind,
            entity: None,
            seen: None,
            transaction: None,
        });
        let deed = deeds.len() - 1;
        Action { op, deed }
    }

    pub(super) fn deed(&mut self, action: Action) -> &mut Deed {
        &mut self.ops[action.op].deeds[action.deed]
    }

    /// A document that nobody else writes.
    pub(super) fn document(&mut self, action: Action, a: u64) -> Document {
        self.writes.push(action);
        let n = self.writes.len() - 1;
        Document::parse(&format!(r#"{{"n":{n},"a":{a}}}"#)).expect("JSON")
    }

    /// Whose a document is.
    pub(super) fn writer(&self, document: &Json) -> Option<Action> {
        let text = document.as_str().strip_prefix(r#"{"n":"#)?;
        let n: usize = text.split_once(',')?.0.parse().ok()?;
        self.writes.get(n).copied()
    }
}
