//! A task, and the interface to what started it.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use super::used::Used;
use crate::clock::Timestamp;
use crate::compute::Principal;
use crate::dispatch::Tags;
use crate::entity::Position;
use crate::error::Failure;
use crate::id::Tenant;
use crate::program::Answer;

/// The labels that a worker has or a task requires.
pub type Labels = BTreeMap<Box<str>, Box<str>>;

/// A task whose intent is stored.
#[derive(Debug, Clone)]
pub struct TaskSpec {
    /// The same for every delivery, also after a restart.
    pub id: Arc<str>,
    pub tenant: Tenant,
    pub namespace: Arc<str>,
    pub kind: TaskKind,
    /// The action, the connector, or the worker of a manager.
    pub name: Arc<str>,
    pub dispatch: Dispatch,
    /// What a member must have.
    pub tags: Tags,
    pub labels: Labels,
    /// Higher ones are sent first.
    pub priority: u8,
    /// JSON.
    pub input: Arc<str>,
    pub run: Option<OfRun>,
    pub context: Option<Arc<str>>,
    pub idempotency_key: Arc<str>,
    pub principal: Principal,
    /// How long one delivery may take.
    pub timeout: Duration,
    /// How many deliveries may follow the first, conflicts aside.
    pub retries_max: u32,
    /// The pause before the second delivery; each further one is twice as long.
    pub retry_delay: Duration,
    /// How long it waits for a taker.
    pub wait: Duration,
    /// How many bytes its output may have.
    pub output_max: usize,
    pub created: Timestamp,
    /// What it has used up at processes that had it before.
    pub used: Used,
    /// Of two tasks, the one with the smaller position was created first; the same in every process
    /// and after a restart.
    pub position: Position,
}

/// The run of a task, and the step in it.
#[derive(Debug, Clone)]
pub struct OfRun {
    pub run: Arc<str>,
    pub definition: Arc<str>,
    pub version: Arc<str>,
    pub step: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    Action,
    Connector,
    Item,
}

/// The form in which a task is sent to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// As a task.
    Task,
    /// As a call of a processor, which every member understands.
    Processor,
}

impl TaskKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Connector => "connector",
            Self::Item => "item",
        }
    }
}

/// How a task ended.
#[derive(Debug, Clone)]
pub struct End {
    /// The delivery that was answered or failed, from 1; 0 if none is known.
    pub attempt: u32,
    pub answer: Answer,
    /// Whether what the member wrote with the token of that delivery is kept.
    pub keeps_writes: bool,
    /// Whether the delivery had ended before, so that this is recorded and not applied.
    pub is_late: bool,
}

impl End {
    /// An end of no known delivery.
    pub const fn of(answer: Answer) -> Self {
        Self {
            attempt: 0,
            answer,
            keeps_writes: false,
            is_late: false,
        }
    }
}

/// What became of a reported end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    Applied,
    /// Nobody waited for it any more; it is recorded.
    Late,
    /// There is no such task.
    Unknown,
    /// The commit met a conflict; the task is to be delivered again.
    Conflict,
    /// What was written with it was lost, since the storage did not take it; the task is to be
    /// delivered again.
    Lost,
}

impl Reported {
    /// Whether the task is to be delivered again.
    pub fn is_repeated(self) -> bool {
        matches!(self, Self::Conflict | Self::Lost)
    }
}

/// What is known of a task that no channel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It answered `pending`, and its outcome is waited for: until then, or without a limit.
    Accepted {
        until: Option<Timestamp>,
    },
    /// It is out: held by another process, or about to be sent by this one.
    Open,
    /// Nobody waits for it; the status of its run or of itself.
    Closed(&'static str),
    Unknown,
}

/// What became of a task that no channel of this process holds, and that is to be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// This process holds it now, with the worker that has it.
    Here,
    /// It is not the worker's that asks: another one has it.
    Lost,
    /// No worker has pulled it at another process.
    Not,
}

/// What became of a task that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// No delivery of it was made by this process.
    Undelivered,
    /// Nobody has it; a delivery was made before, and failed or was lost.
    Idle,
    /// A worker has it, its end is being reported, or it is not known here.
    Elsewhere,
}

/// The part that started tasks, and stores how they end.
pub trait Ends: fmt::Debug + Send + Sync {
    /// Records the end of a task. After an error it is reported again, unless a worker asked for
    /// it, which then receives the error.
    fn ended<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
        end: End,
    ) -> BoxFuture<'a, Result<Reported, Failure>>;

    /// After which pause a report that failed is repeated; none if it is not, and the task is
    /// forgotten until it is sent again.
    fn again<'a>(
        &'a self,
        _tenant: &'a Tenant,
        _task: &'a str,
        pause: Duration,
    ) -> BoxFuture<'a, Option<Duration>> {
        Box::pin(std::future::ready(Some(pause)))
    }

    /// The transaction token of a delivery on a stream.
    fn token(&self, spec: &TaskSpec, attempt: u32) -> Option<Arc<str>>;

    /// Discards what was written with the token of a delivery: it has failed.
    fn discard(&self, tenant: &Tenant, task: &str, attempt: u32);

    /// The worker has left that had a task which nobody here wants any more.
    fn left<'a>(&'a self, _tenant: &'a Tenant, _task: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// A task that waited for so long that only its id was kept; none if it is not wanted any more.
    fn load<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Option<TaskSpec>, Failure>>;

    /// Stores what a task has used up. If that fails it is known to this process only.
    fn keep<'a>(&'a self, tenant: &'a Tenant, task: &'a str, used: Used) -> BoxFuture<'a, ()>;

    /// Takes over a task that a worker has pulled at another process: it reports here now. Fails
    /// with a conflict if the task is still there, or on its way here.
    fn adopt<'a>(
        &'a self,
        _tenant: &'a Tenant,
        _task: &'a str,
        _worker: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Adopted, Failure>> {
        Box::pin(std::future::ready(Ok(Adopted::Not)))
    }

    /// What is known of a task that no channel holds.
    fn standing<'a>(
        &'a self,
        tenant: &'a Tenant,
        task: &'a str,
    ) -> BoxFuture<'a, Result<Standing, Failure>>;
}
