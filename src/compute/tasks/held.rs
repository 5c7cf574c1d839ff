//! A task that a channel holds.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    desk::Timer,
    lanes::{LanePosition, Requirement},
    spec::{Reported, TaskKind, TaskSpec},
    used::{Keeping, Used},
    worker::Limit,
};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::error::Failure;
use crate::id::CallId;

/// A task that is not over.
#[derive(Debug)]
pub(super) struct Held {
    /// None while it waits and only its id is kept.
    pub(super) spec: Option<Arc<TaskSpec>>,
    pub(super) required: Requirement,
    pub(super) kind: TaskKind,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) priority: u8,
    pub(super) wait: Duration,
    pub(super) position: Position,
    /// Its number here, for tasks of one position.
    pub(super) number: u64,
    /// How many deliveries were made.
    pub(super) attempt: u32,
    /// How many of them do not count as retries: they ended in a conflict, their writes were lost,
    /// or their member had not begun.
    pub(super) conflicts: u32,
    /// Of how many of those the writes were lost.
    pub(super) lost: u32,
    /// How many of those a member that was about to leave had not begun.
    pub(super) declined: u32,
    /// How long it has waited for a taker, and since when it does so now.
    pub(super) waited: Duration,
    pub(super) waits_since: Option<Instant>,
    /// What is stored of that, or about to be.
    pub(super) kept: Used,
    pub(super) keeping: Option<Keeping>,
    pub(super) phase: Phase,
    pub(super) timer: Option<Timer>,
    /// Whether a delivery was lost with its worker, which may have done it.
    pub(super) was_lost: bool,
    /// The worker that had it last.
    pub(super) last: Option<u64>,
    pub(super) progress: Option<Arc<str>>,
    /// The member that has answered `pending`, and the delivery.
    pub(super) accepted: Option<(u64, CallId)>,
}

/// Who has accepted tasks by `pending`, so that it can be notified when one is given up.
#[derive(Debug, Default)]
pub(super) struct Accepted {
    by_task: HashMap<Arc<str>, AcceptedBy>,
    /// Its tasks by their numbers, hence in the order in which they were accepted.
    in_order: BTreeMap<u64, Arc<str>>,
    newest: u64,
}

#[derive(Debug)]
struct AcceptedBy {
    number: u64,
    by: (u64, CallId),
}

/// How many accepted tasks of a tenant are remembered.
const ACCEPTED_MAX: usize = 10_000;

impl Accepted {
    pub(super) fn add(&mut self, task: &Arc<str>, by: (u64, CallId)) {
        self.take(task);
        if self.in_order.len() >= ACCEPTED_MAX
            && let Some((_, oldest)) = self.in_order.pop_first()
        {
            self.by_task.remove(&oldest);
        }
        self.newest += 1;
        let number = self.newest;
        self.in_order.insert(number, Arc::clone(task));
        let accepted = AcceptedBy { number, by };
        self.by_task.insert(Arc::clone(task), accepted);
    }

    pub(super) fn take(&mut self, task: &str) -> Option<(u64, CallId)> {
        let accepted = self.by_task.remove(task)?;
        self.in_order.remove(&accepted.number);
        Some(accepted.by)
    }

    pub(super) fn leave(&mut self, worker: u64) {
        self.by_task.retain(|_, accepted| accepted.by.0 != worker);
        self.in_order
            .retain(|_, task| self.by_task.contains_key(task));
    }
}

#[derive(Debug)]
pub(super) enum Phase {
    /// For a taker.
    Waiting,
    /// Before it is delivered again.
    Paused,
    Loading,
    Out(Out),
    /// Its end is being stored. A worker keeps the task until it is.
    Reporting(Option<Out>),
}

/// A delivery in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Out {
    pub(super) worker: u64,
    /// None if a worker has pulled it.
    pub(super) call: Option<CallId>,
    pub(super) limit: Limit,
}

/// What a task looks like from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// Whether a worker has it.
    pub running: bool,
    /// Deliveries so far.
    pub attempt: u32,
    pub taken_by: Option<Arc<str>>,
    /// JSON, as the worker reported it.
    pub progress: Option<Arc<str>>,
    /// When the lease or the time for an answer ends.
    pub until: Option<Timestamp>,
}

/// What follows the report of a worker.
#[derive(Debug)]
pub(super) enum Ending {
    /// The task ends; what became of it is received.
    Reported(oneshot::Receiver<Result<Reported, Failure>>),
    /// It is delivered again. That is stored once this is cancelled.
    Again(Option<CancellationToken>),
}

/// Why a worker may not act on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotYours {
    /// No channel holds it.
    NotHeld,
    /// Another worker has it, or is about to get it.
    LeaseLost,
}

impl Held {
    /// A task that nobody has here.
    pub(super) fn new(spec: TaskSpec, number: u64) -> Self {
        let used = spec.used;
        Self {
            required: Requirement::from(&spec),
            kind: spec.kind,
            namespace: Arc::clone(&spec.namespace),
            name: Arc::clone(&spec.name),
            priority: spec.priority,
            wait: spec.wait,
            position: spec.position,
            spec: Some(Arc::new(spec)),
            number,
            attempt: used.attempt,
            conflicts: used.conflicts,
            lost: used.lost,
            declined: used.declined,
            waited: used.waited(),
            waits_since: None,
            was_lost: false,
            kept: used,
            keeping: None,
            phase: Phase::Paused,
            timer: None,
            last: None,
            progress: None,
            accepted: None,
        }
    }

    pub(super) fn place(&self) -> LanePosition {
        (Reverse(self.priority), self.position, self.number)
    }

    pub(super) fn bytes(&self) -> usize {
        let text = |spec: &Arc<TaskSpec>| {
            let context = spec.context.as_deref().map_or(0, str::len);
            spec.input.len() + context + size_of::<TaskSpec>()
        };
        self.spec.as_ref().map_or(0, text)
    }

    /// The delivery in flight.
    pub(super) const fn out(&self) -> Option<Out> {
        match self.phase {
            Phase::Out(out) | Phase::Reporting(Some(out)) => Some(out),
            Phase::Waiting | Phase::Paused | Phase::Loading | Phase::Reporting(None) => None,
        }
    }

    pub(super) const fn is_out(&self) -> bool {
        matches!(self.phase, Phase::Out(_))
    }

    pub(super) const fn runs(&self) -> bool {
        self.out().is_some()
    }
}
