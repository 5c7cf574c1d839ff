//! Runs as they are shown (`runs.md` §3).

use std::{collections::HashMap, sync::Arc};

use super::{State, events};
use crate::clock::Timestamp;
use crate::compute::Principal;
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{
    EventKind, HistoryEvent, Kind, Payload, Program, Run, RunError, START, START_IN_PATHS, Status,
    Then, Waiting,
};
use crate::runtime::Runtime;
use crate::storage::StoredRun;

/// How many advances of a history are read at a time.
const PAGE: i64 = 32;

/// The error that is shown of a run whose state cannot be read.
const UNREADABLE: &str = "the state of the run cannot be read";

/// How many signals of a run are shown.
const SIGNALS_MAX: usize = 1_000;

/// How many bytes of signals are shown; one signal more may go beyond.
const SIGNALS_BYTES: u64 = 4 << 20;

/// A run without its values.
#[derive(Debug)]
pub struct Shown {
    pub stored: Arc<StoredRun>,
    pub state: Arc<State>,
    /// The identifier of the run above it.
    pub parent: Option<Box<str>>,
}

/// A run with its values.
#[derive(Debug)]
pub struct RunDetails {
    pub shown: Shown,
    pub input: Arc<str>,
    pub output: Option<Arc<str>>,
    pub steps: Vec<ShownStep>,
    pub signals: Vec<ShownSignal>,
    /// How many signals are not shown because there are too many, or they are too large.
    pub signals_omitted: usize,
    /// Of a saga only.
    pub saga: Option<ShownSaga>,
}

/// What a run of a saga shows beside that.
#[derive(Debug)]
pub struct ShownSaga {
    /// Its steps in their order.
    pub order: Vec<Box<str>>,
    /// The word for its status that endpoints and tables of sagas have.
    pub status: &'static str,
    /// The place of the step that is next, or at which it ended.
    pub at: usize,
    pub deadline: Option<Timestamp>,
    /// The payload of the last signal.
    pub signal: Option<Arc<str>>,
    /// When it was changed last.
    pub updated: Timestamp,
}

/// A step that has finished; of several executions the latest.
#[derive(Debug)]
pub struct ShownStep {
    pub name: Box<str>,
    pub outcome: Box<str>,
    pub output: Arc<str>,
    pub executions: u32,
}

/// A signal that was delivered.
#[derive(Debug)]
pub struct ShownSignal {
    pub kind: Arc<str>,
    pub payload: Arc<str>,
    pub at: Timestamp,
    pub is_consumed: bool,
}

/// The status of a run of a saga in the words of its endpoints and tables (`orchestration.md` 2.4).
pub(super) const fn instance_status(run: &Run) -> &'static str {
    match (run.status, &run.waiting) {
        (Status::Pending | Status::Running, _) | (Status::Waiting, Some(Waiting::Task { .. })) => {
            "running"
        }
        (Status::Waiting, _) => "paused",
        (Status::TimedOut, _) => "timeout",
        (Status::Completed | Status::Failed | Status::Cancelled, _) => run.status.as_str(),
    }
}

/// The place of the step that is next, in the words of endpoints and tables: a run in a delay has
/// moved past a step that is nothing but the delay.
pub(super) fn instance_step(at: usize, run: &Run, program: &Program, order: &[Box<str>]) -> usize {
    let is_in_delay = matches!(
        run.waiting,
        Some(Waiting::Timer {
            then: Then::Delay,
            ..
        })
    );
    let step = order.get(at).and_then(|name| program.steps.get(name));
    let is_over = is_in_delay
        && step.is_some_and(|step| matches!(&step.kind, Kind::Saga(step) if step.call.is_none()));
    at + usize::from(is_over)
}

impl Runtime {
    /// A run with all of its values.
    pub async fn run_details(&self, tenant: &Tenant, id: &str) -> Result<RunDetails, Failure> {
        let stored = self.stored_run(tenant, id).await?;
        let details = self.details_of(tenant, Arc::clone(&stored)).await;
        match details {
            Err(failure)
                if failure.code() == Code::ServerError
                    && self.is_being_removed(&stored).await? =>
            {
                Err(super::not_found(id))
            }
            details => details,
        }
    }

    /// Whether a run that has ended is past its time: its history is removed first, part by part.
    pub(super) async fn is_being_removed(&self, stored: &StoredRun) -> Result<bool, Failure> {
        if stored.ended.is_none() {
            return Ok(false);
        }
        let oldest = self.storage().run_events(stored.id, 0, 1).await?;
        let mut oldest = oldest.iter().map(|advance| events(&advance.record));
        let oldest = oldest.next().transpose()?;
        let oldest = oldest.and_then(|events| events.first().map(|event| event.sequence));
        Ok(oldest != Some(1))
    }

    async fn details_of(
        &self,
        tenant: &Tenant,
        stored: Arc<StoredRun>,
    ) -> Result<RunDetails, Failure> {
        let shown = self.shown_run(tenant, stored).await?;
        let run = &shown.state.run;
        let of = shown.stored.id;
        let input = self.shown_value(of, &run.input).await?;
        let output = match &run.output {
            Some(output) => Some(self.shown_value(of, output).await?),
            None => None,
        };
        let mut steps = Vec::with_capacity(run.results.len());
        for (name, result) in &run.results {
            let name = if **name == *START_IN_PATHS {
                START.into()
            } else {
                name.clone()
            };
            steps.push(ShownStep {
                name,
                outcome: result.outcome.clone(),
                output: self.shown_value(of, &result.output).await?,
                executions: result.executions,
            });
        }
        let (name, digest) = (&shown.stored.name, &shown.state.digest);
        let program = match self.program_of(tenant, name, digest).await {
            Ok(program) => Some(program),
            // A run whose form cannot be read is still shown.
            Err(failure) if failure.code() == Code::ServerError => None,
            Err(failure) => return Err(failure),
        };
        let may_wait = program.as_ref().is_none_or(|program| waits(program));
        let (signals, signals_omitted) = if may_wait || !run.signals.is_empty() {
            self.shown_signals(&shown.stored).await?
        } else {
            (Vec::new(), 0)
        };
        let program = program.as_deref();
        let form = program.and_then(|program| Some((program, program.saga.as_ref()?)));
        let saga = match (&run.saga, form) {
            (Some(state), Some((program, form))) => {
                let signal = match &state.signal {
                    Some(signal) => Some(self.shown_value(of, signal).await?),
                    None => None,
                };
                Some(ShownSaga {
                    order: form.order.clone(),
                    status: instance_status(run),
                    at: instance_step(state.at, run, program, &form.order),
                    deadline: state.deadline,
                    signal,
                    updated: self.last_event_at(of, run.sequence).await?,
                })
            }
            _ => None,
        };
        Ok(RunDetails {
            shown,
            input,
            output,
            steps,
            signals,
            signals_omitted,
            saga,
        })
    }

    /// The time of the last event of a run.
    pub(super) async fn last_event_at(&self, run: RunId, last: u64) -> Result<Timestamp, Failure> {
        let found = self.storage().run_events(run, last - 1, 1).await?;
        let mut events = found.iter().map(|advance| events(&advance.record));
        let last = events.next().transpose()?;
        let last = last.and_then(|events| events.last().map(HistoryEvent::at));
        last.ok_or_else(|| Failure::internal(format!("run {run} has no history")))
    }

    pub(super) async fn shown_run(
        &self,
        tenant: &Tenant,
        stored: Arc<StoredRun>,
    ) -> Result<Shown, Failure> {
        let state = self.shown_state(&stored);
        let parent = match stored.parent {
            None => None,
            Some(parent) => match self.storage().run(tenant, parent).await? {
                Some(parent) => Some(self.shown_state(&parent).run.id.clone()),
                None => Some(parent.to_string().into()),
            },
        };
        Ok(Shown {
            stored,
            state,
            parent,
        })
    }

    /// The state of a run; of one whose state cannot be read what is known beside it, with an error
    /// that says so.
    fn shown_state(&self, stored: &StoredRun) -> Arc<State> {
        self.0.parsed.read(stored).unwrap_or_else(|_| {
            let id = stored.id.to_string().into();
            let mut state = State::unreadable(stored, id, &Principal::system());
            state.run.status = Status::of(stored.status).unwrap_or(Status::Running);
            state.run.ended = stored.ended;
            state.run.error = Some(RunError {
                code: None,
                message: UNREADABLE.into(),
            });
            Arc::new(state)
        })
    }

    pub(super) async fn shown_value(
        &self,
        run: RunId,
        payload: &Payload,
    ) -> Result<Arc<str>, Failure> {
        match payload {
            Payload::Inline(text) => Ok(Arc::from(&**text)),
            Payload::At(sequence) => self.stored_value(run, *sequence).await,
        }
    }

    /// The first signals of a run, oldest first, and which of them a wait has taken: each takes the
    /// oldest of its type. With them comes how many signals there are beside these.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most events are not about signals"
    )]
    async fn shown_signals(
        &self,
        stored: &StoredRun,
    ) -> Result<(Vec<ShownSignal>, usize), Failure> {
        let mut signals: Vec<ShownSignal> = Vec::new();
        let mut taken: HashMap<Arc<str>, usize> = HashMap::new();
        let (mut bytes, mut omitted) = (0, 0);
        let mut after = 0;
        loop {
            let page = self.storage().run_events(stored.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.last;
            for advance in page {
                for event in events(&advance.record)? {
                    match event.kind {
                        EventKind::SignalReceived
                            if signals.len() < SIGNALS_MAX && bytes < SIGNALS_BYTES =>
                        {
                            bytes += event.bytes();
                            signals.push(ShownSignal {
                                kind: Arc::clone(&event.detail),
                                payload: event.data.clone().unwrap_or_else(|| "null".into()),
                                at: event.at(),
                                is_consumed: false,
                            });
                        }
                        EventKind::SignalReceived => omitted += 1,
                        EventKind::SignalMatched => {
                            *taken.entry(Arc::clone(&event.detail)).or_default() += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        for signal in &mut signals {
            if let Some(left) = taken.get_mut(&signal.kind)
                && *left > 0
            {
                *left -= 1;
                signal.is_consumed = true;
            }
        }
        Ok((signals, omitted))
    }
}

/// Whether a step of it waits for signals.
fn waits(program: &Program) -> bool {
    let steps = program.steps.values().chain(&program.entry);
    steps
        .map(|step| &step.kind)
        .any(|kind| matches!(kind, Kind::Wait(_) | Kind::Saga(_)))
}
