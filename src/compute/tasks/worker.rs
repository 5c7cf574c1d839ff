//! Members, which are sent tasks, and workers, which pull them.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    lanes::{Actions, Offer},
    spec::{Labels, TaskSpec},
};
use crate::clock::Timestamp;
use crate::dispatch::Tags;
use crate::id::CallId;

/// How long a worker may be silent before it counts as unhealthy.
const SILENCE: Duration = Duration::from_secs(90);

/// How many deliveries that ended without an answer are remembered for each member, so that a late
/// answer can be recorded.
const ENDED_MAX: usize = 256;

/// What a member or worker announces.
#[derive(Debug, Clone, Default)]
pub struct Announced {
    pub namespace: Option<Arc<str>>,
    /// Names of actions; `*` stands for all.
    pub actions: Vec<String>,
    pub tags: Tags,
    pub labels: Labels,
    /// None for the usual number.
    pub max_concurrency: Option<u32>,
    pub machine_id: Option<Arc<str>>,
    /// JSON.
    pub metadata: Option<Arc<str>>,
}

/// A task on its way to a member.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub spec: Arc<TaskSpec>,
    /// The answer names it.
    pub call: CallId,
    /// From 1.
    pub attempt: u32,
    /// When it counts as not answered.
    pub deadline: Timestamp,
}

/// What a member is sent.
#[derive(Debug, Clone)]
pub enum Sent {
    Task(Delivery),
    /// The task is not wanted any more.
    Cancel {
        task: Arc<str>,
        call: CallId,
        reason: Arc<str>,
    },
}

/// A task that a worker has taken.
#[derive(Debug, Clone)]
pub struct Leased {
    pub spec: Arc<TaskSpec>,
    pub attempt: u32,
    pub taken_by: Arc<str>,
    pub until: Timestamp,
}

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) id: Arc<str>,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) actions: Actions,
    pub(super) tags: Tags,
    pub(super) labels: Labels,
    pub(super) max: u32,
    /// As it was announced.
    pub(super) announced_max: Option<u32>,
    pub(super) machine_id: Option<Arc<str>>,
    pub(super) metadata: Option<Arc<str>>,
    pub(super) draining: bool,
    /// Whether it has registered, or joined, since the service started. Another one is known by a
    /// lease only.
    pub(super) is_known: bool,
    pub(super) load: Option<f64>,
    running: HashSet<Arc<str>>,
    /// Their number, for who must not wait for the lock.
    pub(super) busy: Arc<AtomicUsize>,
    /// When it was last chosen, as a count of deliveries.
    pub(super) last_turn: u64,
    /// When something last arrived from it.
    pub(super) seen: Timestamp,
    pub(super) channel: Channel,
}

#[derive(Debug)]
pub(super) enum Channel {
    Stream(Stream),
    /// Requests that wait for tasks, in the order of their arrival.
    Pull(VecDeque<Parked>),
}

#[derive(Debug)]
pub(super) struct Stream {
    /// As long as what is in flight, which is limited.
    pub(super) outbox: mpsc::UnboundedSender<Sent>,
    pub(super) calls: HashMap<CallId, Arc<str>>,
    /// Deliveries that ended without an answer: the task and the attempt.
    ended: VecDeque<(CallId, Arc<str>, u32)>,
}

/// A request that waits for tasks.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) number: u64,
    pub(super) actions: Actions,
    /// How many it takes.
    pub(super) most: usize,
    pub(super) hand: oneshot::Sender<Vec<Leased>>,
}

impl Stream {
    pub(super) fn new(outbox: mpsc::UnboundedSender<Sent>) -> Self {
        Self {
            outbox,
            calls: HashMap::new(),
            ended: VecDeque::new(),
        }
    }

    /// Remembers a delivery that ended without an answer; the task of the one that is forgotten
    /// for it, of which no answer is understood any more.
    pub(super) fn end(&mut self, call: CallId, task: &Arc<str>, attempt: u32) -> Option<Arc<str>> {
        self.calls.remove(&call);
        let is_full = self.ended.len() == ENDED_MAX;
        let oldest = is_full.then(|| self.ended.pop_front()).flatten();
        self.ended.push_back((call, Arc::clone(task), attempt));
        oldest.map(|(_, task, _)| task)
    }

    /// The tasks of deliveries that ended without an answer.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Arc<str>> {
        self.ended.iter().map(|(_, task, _)| task)
    }

    /// The delivery that a late answer is for; once.
    pub(super) fn late(&mut self, call: CallId) -> Option<(Arc<str>, u32)> {
        let at = self.ended.iter().position(|(ended, ..)| *ended == call)?;
        let (_, task, attempt) = self.ended.remove(at)?;
        Some((task, attempt))
    }

    pub(super) fn knows(&self, call: CallId) -> bool {
        self.calls.contains_key(&call) || self.ended.iter().any(|(ended, ..)| *ended == call)
    }
}

impl Worker {
    pub(super) fn new(
        id: Arc<str>,
        announced: Announced,
        max: u32,
        now: Timestamp,
        channel: Channel,
    ) -> Self {
        Self {
            id,
            namespace: announced.namespace,
            actions: announced.actions.iter().map(String::as_str).collect(),
            tags: announced.tags,
            labels: announced.labels,
            max: announced.max_concurrency.unwrap_or(max),
            announced_max: announced.max_concurrency,
            machine_id: announced.machine_id,
            metadata: announced.metadata,
            draining: false,
            is_known: true,
            load: None,
            running: HashSet::new(),
            busy: Arc::default(),
            last_turn: 0,
            seen: now,
            channel,
        }
    }

    pub(super) const fn is_member(&self) -> bool {
        matches!(self.channel, Channel::Stream(_))
    }

    pub(super) fn running(&self) -> &HashSet<Arc<str>> {
        &self.running
    }

    pub(super) fn begin(&mut self, task: &Arc<str>) {
        self.running.insert(Arc::clone(task));
        self.busy.store(self.running.len(), Ordering::Relaxed);
    }

    pub(super) fn end(&mut self, task: &str) {
        self.running.remove(task);
        self.busy.store(self.running.len(), Ordering::Relaxed);
    }

    /// Takes over what it had from its registration before.
    pub(super) fn inherit(&mut self, before: Self) {
        self.running = before.running;
        self.busy = before.busy;
        self.channel = before.channel;
        self.last_turn = before.last_turn;
    }

    pub(super) fn has_room(&self) -> bool {
        !self.draining && self.running.len() < self.max as usize
    }

    pub(super) fn offer(&self) -> Offer<'_> {
        self.offer_of(&self.actions)
    }

    /// What it offers in a request for these actions.
    pub(super) fn offer_of<'a>(&'a self, actions: &'a Actions) -> Offer<'a> {
        Offer {
            namespace: self.namespace.as_ref(),
            actions,
            tags: &self.tags,
            labels: &self.labels,
            is_member: self.is_member(),
        }
    }

    /// A member is healthy as long as its stream is open, a worker as long as it waits for tasks,
    /// and a while longer.
    pub(super) fn is_healthy(&self, now: Timestamp) -> bool {
        match &self.channel {
            Channel::Stream(_) => true,
            Channel::Pull(parked) => !parked.is_empty() || now.since(self.seen) <= SILENCE,
        }
    }
}

/// When a delivery ends by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// It counts as not answered.
    pub(super) deadline: Instant,
    /// The worker counts as lost; none for a member.
    pub(super) lease: Option<Instant>,
    /// The same in wall-clock time: of the lease, or of the deadline.
    pub(super) until: Timestamp,
    /// The deadline in wall-clock time.
    pub(super) ends: Timestamp,
}

impl Limit {
    pub(super) fn first(&self) -> Instant {
        self.lease
            .map_or(self.deadline, |lease| lease.min(self.deadline))
    }
}
