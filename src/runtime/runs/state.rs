//! A run as it is stored: what it follows, whose it is, and where it stands.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::compute::tasks::Used;
use crate::error::Failure;
use crate::program::{self, Arrival, EventKind, HistoryEvent, Run, Status, Task, Waiting};
use crate::runtime::{Initiator, later::By};
use crate::storage::{RunAdvance, StoredRun};

/// The state of a run, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunState {
    /// The version of its definition.
    pub version: Arc<str>,
    /// The digest of the form that it follows, whatever the definition becomes.
    pub digest: Arc<str>,
    pub(super) by: By,
    /// The idempotency key that it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<str>>,
    /// What an invocation of an action asks for beside its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) invoked: Option<Invoked>,
    /// What tasks that are out have used up, by their ordinals.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) used: BTreeMap<u64, Used>,
    pub run: Run,
}

/// What an invocation of an action asks for (`runs.md` §5).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invoked {
    pub priority: u8,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<Box<str>, Box<str>>,
    /// The task is held back until then, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<i64>,
}

/// What metrics call invocations of actions.
const INVOCATION: &str = "action";

/// What the digest of a run says that is a tick of managers, which has no document.
pub(super) const TICK: &str = "@tick";

/// What a run follows (`runs.md` §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A step workflow.
    Flo,
    Saga,
    /// A tick of managers.
    Manager,
}

impl RunKind {
    const ALL: [Self; 3] = [Self::Flo, Self::Saga, Self::Manager];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flo => "flo",
            Self::Saga => "saga",
            Self::Manager => "manager",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What messages call it.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Flo => "step workflow",
            Self::Saga => "saga",
            Self::Manager => "tick of managers",
        }
    }
}

/// The priority of tasks for which none is given.
pub(super) const PRIORITY: u8 = 10;

/// A run as it was read, and what its state says.
#[derive(Debug)]
pub(super) struct ReadRun {
    pub(super) stored: Arc<StoredRun>,
    pub(super) state: Arc<RunState>,
}

impl RunState {
    pub(super) fn read(stored: &StoredRun) -> Result<Self, Failure> {
        serde_json::from_str(&stored.state).map_err(|error| {
            Failure::internal(format!("run {} is not readable: {error}", stored.id))
        })
    }

    /// The principal of the run, as tasks carry it.
    pub(super) fn principal(&self) -> Result<crate::compute::Principal, Failure> {
        self.by.clone().principal()
    }

    pub(super) fn labels(&self) -> BTreeMap<Box<str>, Box<str>> {
        let invoked = self.invoked.as_ref();
        invoked
            .map(|invoked| invoked.labels.clone())
            .unwrap_or_default()
    }

    pub(super) fn priority(&self) -> u8 {
        self.invoked
            .as_ref()
            .map_or(PRIORITY, |invoked| invoked.priority)
    }

    /// When its first step may be taken at the earliest.
    pub(super) fn not_before(&self) -> Option<Timestamp> {
        let invoked = self.invoked.as_ref()?;
        invoked.not_before.map(Timestamp::from_micros)
    }

    /// Whether it is one of the runs that callers see, and not an invocation.
    pub(super) const fn is_listed(&self) -> bool {
        self.invoked.is_none()
    }

    /// The ordinals of the tasks that are out.
    pub(super) fn out(&self) -> Vec<u64> {
        let out = self.run.outstanding().into_iter();
        out.chain(self.run.given_up())
            .map(|task| task.ordinal)
            .collect()
    }

    /// The call of a saga that is out and is waited for.
    pub(super) fn call_out(&self) -> Option<&Task> {
        let task = self.run.outstanding();
        task.filter(|task| task.purpose.is_some())
    }

    /// What the task of that ordinal has used up.
    pub(super) fn used(&self, ordinal: u64) -> Used {
        self.used.get(&ordinal).copied().unwrap_or_default()
    }

    /// The same state, with what a task that is out has used up.
    pub(super) fn with_used(&self, ordinal: u64, used: Used) -> Self {
        let mut state = self.clone();
        if used == Used::default() {
            state.used.remove(&ordinal);
        } else {
            state.used.insert(ordinal, used);
        }
        state
    }

    /// Forgets what tasks have used up that nobody waits for any more.
    pub(super) fn forget_used(&mut self) {
        if !self.used.is_empty() {
            let mut out = self.out();
            out.extend(self.awaited_task());
            self.used.retain(|ordinal, _| out.contains(ordinal));
        }
    }

    /// The ordinal of the task whose outcome is waited for, whether or not it answered `pending`.
    fn awaited_task(&self) -> Option<u64> {
        match &self.run.waiting {
            Some(Waiting::Task { task, .. }) => Some(task.ordinal),
            Some(_) | None => None,
        }
    }

    /// The task that ends with what arrives, or answers `pending`, and the number of its delivery:
    /// the one that is reported, or that was kept of it.
    pub(super) fn ending(&self, arrival: &Arrival, reported: u32) -> Option<(u64, u32)> {
        let awaited = self.awaited_task()?;
        let is_its = match arrival {
            Arrival::Answered { ordinal, .. } => *ordinal == awaited,
            Arrival::Due { .. } => true,
            Arrival::Start
            | Arrival::Signal { .. }
            | Arrival::Cancel { .. }
            | Arrival::ChildEnded { .. }
            | Arrival::EntityMoved
            | Arrival::Replied(_) => false,
        };
        let attempt = match reported {
            0 => self.used(awaited).attempt,
            reported => reported,
        };
        (is_its && attempt > 0).then_some((awaited, attempt))
    }

    /// Keeps the number of a delivery with the end of its task, or until that comes.
    pub(super) fn keep_attempt(
        &mut self,
        (ordinal, attempt): (u64, u32),
        history: &mut [HistoryEvent],
    ) {
        let mut events = history.iter_mut();
        match events.find(|event| event.is_end_of_task()) {
            Some(end) => end.attempt = Some(attempt),
            None => self.used.entry(ordinal).or_default().attempt = attempt,
        }
    }

    /// Whether a process that has these tasks out keeps driving the run: there is work, and no other.
    pub(super) fn stays_with(&self, out: &[u64]) -> bool {
        let now = self.out();
        !now.is_empty() && now.iter().all(|ordinal| out.contains(ordinal))
    }

    /// What it follows.
    pub fn kind(&self) -> RunKind {
        if self.run.saga.is_some() {
            RunKind::Saga
        } else if *self.digest == *TICK {
            RunKind::Manager
        } else {
            RunKind::Flo
        }
    }

    /// Who started it.
    pub(super) fn initiator(&self, by: &Initiator) -> Result<Initiator, Failure> {
        Ok(Initiator {
            tenant: by.tenant.clone(),
            principal: self.by.clone().principal()?,
            cancel: by.cancel.clone(),
        })
    }

    /// What is to be stored, with the events that are new.
    pub(super) fn stored(&self, history: &[HistoryEvent]) -> Result<RunAdvance, Failure> {
        let run = &self.run;
        let awaits = match &run.waiting {
            Some(Waiting::Entity { entity, .. }) => entity.parse().ok(),
            Some(_) | None => None,
        };
        let events = history.iter().map(encode).collect::<Result<_, _>>()?;
        let is_pending = run.status == Status::Pending;
        let held_back = self.not_before().filter(|_| is_pending);
        // A run is not removed before it has undone what succeeded too late.
        let undoes_late = run.status.is_end() && run.to_undo().next().is_some();
        let is_out = run.outstanding().is_some() || run.given_up().next().is_some();
        Ok(RunAdvance {
            status: run.status.number(),
            is_out: held_back.is_none() && (is_pending || is_out || undoes_late),
            stays: false,
            due: held_back.or_else(|| run.due()),
            awaits,
            ended: run.ended,
            state: encode(self)?,
            events,
            last: run.sequence,
            kind: if self.is_listed() {
                self.kind().as_str()
            } else {
                INVOCATION
            },
            status_name: run.status.as_str(),
            compensations: if run.saga.is_some() {
                [
                    EventKind::CompensationCompleted,
                    EventKind::CompensationFailed,
                ]
                .map(|kind| count(history, kind))
            } else {
                [0; 2]
            },
        })
    }
}

fn count(history: &[HistoryEvent], kind: EventKind) -> u32 {
    let events = history.iter().filter(|event| event.kind == kind);
    u32::try_from(events.count()).unwrap_or(u32::MAX)
}

fn encode(value: &impl Serialize) -> Result<Arc<str>, Failure> {
    let text = serde_json::to_string(value);
    text.map(Into::into)
        .map_err(|error| Failure::internal(error.to_string()))
}

/// The events of an advance, as they are stored.
pub fn events(record: &str) -> Result<Vec<HistoryEvent>, Failure> {
    serde_json::from_str(record)
        .map_err(|error| Failure::internal(format!("a history is not readable: {error}")))
}

/// An event that is to be committed.
pub(super) fn event(text: &str) -> Result<HistoryEvent, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::internal(format!("a history is not readable: {error}")))
}

/// The failure that a machine's refusal is.
pub(super) fn refused(id: &str, refusal: program::Refusal) -> Failure {
    use crate::error::Code;
    match refusal {
        program::Refusal::Finished(status) => Failure::new(
            Code::RunFinished,
            format!("run {id} is {}", status.as_str()),
        )
        .with("status", status.as_str()),
        program::Refusal::NotAwaited(awaited) => {
            let (message, awaited) = match awaited {
                Some(event) => (format!("run {id} waits for the event {event}"), event),
                None => (format!("run {id} does not wait for an event"), "".into()),
            };
            let failure = Failure::new(Code::SignalNotAwaited, message);
            if awaited.is_empty() {
                failure
            } else {
                failure.with("awaited", &*awaited)
            }
        }
        program::Refusal::TooManySignals => {
            Failure::new(Code::TooManyRequests, format!("run {id}: {refusal}"))
        }
        program::Refusal::HistoryFull => {
            Failure::new(Code::BadRequest, format!("run {id}: {refusal}"))
        }
        program::Refusal::NotAsked => Failure::internal(format!("run {id}: {refusal}")),
    }
}
