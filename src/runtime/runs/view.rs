//! Runs as they are shown (`runs.md` §3).

use std::{collections::HashMap, sync::Arc};

use super::{State, events};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::program::{EventKind, Kind, Payload, Program, START, START_IN_PATHS};
use crate::runtime::Runtime;
use crate::storage::StoredRun;

/// How many advances of a history are read at a time.
const PAGE: i64 = 256;

/// How many signals of a run are shown.
const SIGNALS_MAX: usize = 1_000;

/// A run without its values.
#[derive(Debug)]
pub struct Shown {
    pub stored: Arc<StoredRun>,
    pub state: State,
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

impl Runtime {
    /// A run with all of its values.
    pub async fn run_details(&self, tenant: &Tenant, id: &str) -> Result<RunDetails, Failure> {
        let stored = self.stored_run(tenant, id).await?;
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
        let waits = match self.program_of(tenant, name, digest).await {
            Ok(program) => waits(&program),
            // A run whose form cannot be read is still shown.
            Err(failure) if failure.code() == Code::ServerError => true,
            Err(failure) => return Err(failure),
        };
        let signals = if waits || !run.signals.is_empty() {
            self.shown_signals(&shown.stored).await?
        } else {
            Vec::new()
        };
        Ok(RunDetails {
            shown,
            input,
            output,
            steps,
            signals,
        })
    }

    pub(super) async fn shown_run(
        &self,
        tenant: &Tenant,
        stored: Arc<StoredRun>,
    ) -> Result<Shown, Failure> {
        let state = State::read(&stored)?;
        let parent = match stored.parent {
            None => None,
            Some(parent) => match self.storage().run(tenant, parent).await? {
                Some(parent) => Some(State::read(&parent)?.run.id),
                None => Some(parent.to_string().into()),
            },
        };
        Ok(Shown {
            stored,
            state,
            parent,
        })
    }

    pub(super) async fn shown_value(
        &self,
        run: crate::id::RunId,
        payload: &Payload,
    ) -> Result<Arc<str>, Failure> {
        match payload {
            Payload::Inline(text) => Ok(Arc::from(&**text)),
            Payload::At(sequence) => self.stored_value(run, *sequence).await,
        }
    }

    /// The signals of a run, oldest first, and which of them a wait has taken: each takes the
    /// oldest of its type.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most events are not about signals"
    )]
    async fn shown_signals(&self, stored: &StoredRun) -> Result<Vec<ShownSignal>, Failure> {
        let mut signals: Vec<ShownSignal> = Vec::new();
        let mut taken: HashMap<Arc<str>, usize> = HashMap::new();
        let mut after = 0;
        loop {
            let page = self.storage().run_events(stored.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.last;
            for advance in page {
                for event in events(&advance.record)? {
                    match event.kind {
                        EventKind::SignalReceived if signals.len() < SIGNALS_MAX => {
                            signals.push(ShownSignal {
                                kind: Arc::clone(&event.detail),
                                payload: event.data.clone().unwrap_or_else(|| "null".into()),
                                at: event.at(),
                                is_consumed: false,
                            });
                        }
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
        Ok(signals)
    }
}

/// Whether a step of it waits for signals.
fn waits(program: &Program) -> bool {
    let steps = program.steps.values().chain([&program.entry]);
    steps
        .map(|step| &step.kind)
        .any(|kind| matches!(kind, Kind::Wait(_)))
}
