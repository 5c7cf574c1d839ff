//! Processors of transitions that start runs or send signals, in the commit of the transition
//! (`runs.md` §6).

use std::sync::Arc;

use tracing::{info, warn};

use super::{Advance, ReadRun, State, start::StartRun};
use crate::engine::RunsCall;
use crate::entity::Image;
use crate::error::{Code, Failure};
use crate::expr::{MappingError, quoted};
use crate::id::{EntityId, RunId};
use crate::program::{Arrival, Refusal, StartedBy};
use crate::runtime::{Initiator, Runtime, Session};
use crate::storage::{RunName, RunsWanted};
use crate::workflow::{OnRuns, SignalsRuns, StartsRun};

/// How many runs of an entity are read at a time.
const PAGE: i64 = 100;

/// The signal that a processor sends.
struct Signal {
    kind: Arc<str>,
    payload: Arc<str>,
}

impl Runtime {
    /// Starts a run for an entity, or signals its runs. What fails because of the definitions says
    /// so with the code `WORKFLOW_FAILED`.
    pub(in crate::runtime) async fn do_on_runs(
        &self,
        session: &mut Session,
        by: &Initiator,
        call: &RunsCall,
        image: &Image,
    ) -> Result<(), Failure> {
        let scope = scope(call, image).into();
        let done = match &*call.task {
            OnRuns::Start(start) => {
                self.start_for(session, by, (call, start), image.id, &scope)
                    .await
            }
            OnRuns::Signal(signals) => {
                self.signal_for(session, by, signals, image.id, &scope)
                    .await
            }
        };
        done.map_err(|failure| {
            let is_about_definitions = matches!(
                failure.code(),
                Code::BadRequest | Code::RunDefinitionNotFound | Code::RunDefinitionDisabled
            );
            if is_about_definitions {
                failure.as_known(Code::WorkflowFailed, Code::WorkflowFailed.status())
            } else {
                failure
            }
        })
    }

    async fn start_for(
        &self,
        session: &mut Session,
        by: &Initiator,
        (call, start): (&RunsCall, &StartsRun),
        entity: EntityId,
        scope: &Arc<str>,
    ) -> Result<(), Failure> {
        let max = self.0.settings.runs.limits.payload_max;
        let (starts, scope) = (start.clone(), Arc::clone(scope));
        let mapped =
            move || Ok::<_, MappingError>((starts.input(max, &scope)?, starts.key(&scope)?));
        let mapped = self.evaluate(&by.tenant, mapped).await?;
        let (input, key) = mapped.map_err(|error| unmapped(&error))?;
        let key = key.unwrap_or_else(|| {
            let transition = &call.transition_context.transition;
            format!("{entity}:{transition}:{}", session.entry())
        });
        let name = RunName {
            namespace: Arc::clone(&start.namespace),
            name: Arc::clone(&start.definition),
        };
        let start = StartRun {
            version: start.version.clone(),
            key: Some(key.into()),
            entity: Some(entity),
            ..StartRun::new(name, input.into(), StartedBy::Transition)
        };
        self.start_run(session, by, start).await?;
        Ok(())
    }

    /// Signals every run of an entity that can take the signal, those included that this
    /// transaction has started.
    async fn signal_for(
        &self,
        session: &mut Session,
        by: &Initiator,
        signals: &SignalsRuns,
        entity: EntityId,
        scope: &Arc<str>,
    ) -> Result<(), Failure> {
        let max = self.0.settings.runs.limits.payload_max;
        let kind = Arc::clone(&signals.signal);
        let (signals, scope) = (signals.clone(), Arc::clone(scope));
        let payload = self.evaluate(&by.tenant, move || signals.payload(max, &scope));
        let payload = payload.await?.map_err(|error| unmapped(&error))?.into();
        let signal = Signal { kind, payload };
        let mut wanted = RunsWanted {
            entity: Some(entity),
            ..RunsWanted::default()
        };
        let mut runs = session.unit()?.runs_begun_for(entity);
        loop {
            let page = self.storage().runs(&by.tenant, &wanted, PAGE).await?;
            let live = page.iter().filter(|run| run.ended.is_none());
            runs.extend(live.map(|run| run.id));
            match page.last() {
                Some(last) if i64::try_from(page.len()).is_ok_and(|count| count == PAGE) => {
                    wanted.before = Some(last.id);
                }
                Some(_) | None => break,
            }
        }
        let acting = session.acting().cloned();
        session.moves(entity);
        let signalled = self.signal_all(session, by, runs, &signal).await;
        session.has_moved();
        // What the runs have done has keys of its own.
        session.acts_for(acting);
        signalled
    }

    async fn signal_all(
        &self,
        session: &mut Session,
        by: &Initiator,
        runs: Vec<RunId>,
        signal: &Signal,
    ) -> Result<(), Failure> {
        for run in runs {
            self.signal_one(session, by, run, signal).await?;
        }
        Ok(())
    }

    async fn signal_one(
        &self,
        session: &mut Session,
        by: &Initiator,
        run: RunId,
        signal: &Signal,
    ) -> Result<(), Failure> {
        let unit = session.unit()?;
        // It may have ended in this transaction.
        let stored = unit.run(run).await?;
        let Some(stored) = stored.filter(|run| run.ended.is_none()) else {
            return Ok(());
        };
        let Signal { kind, payload } = signal;
        // A run that is being advanced in this transaction takes its signals after its turn.
        if unit.puts_off_signal(run, kind, payload) {
            return Ok(());
        }
        let arrival = Arrival::Signal {
            kind: (&**kind).into(),
            payload: Arc::clone(payload),
        };
        let state = self.0.parsed.read(&stored)?;
        if !takes_signal(&state, &arrival) {
            session.unit()?.leave_run(&stored);
            return Ok(());
        }
        let advance = Advance {
            read: Some(ReadRun { stored, state }),
            ..Advance::of(run, arrival)
        };
        let mut arrived = self.advance_in(session, by, advance).await?;
        self.follows_commit(session, &mut arrived)
    }
}

/// Whether a run takes a signal of a transition as it is now. One that it cannot take is dropped, so
/// that no run keeps its entity in a state.
pub(super) fn takes_signal(state: &State, arrival: &Arrival) -> bool {
    let Arrival::Signal { kind, payload } = arrival else {
        return true;
    };
    let run = &state.run;
    let Err(refusal) = run.check_signal(kind, payload.len()) else {
        return true;
    };
    if matches!(refusal, Refusal::NotAwaited(_)) {
        // A saga keeps no signals.
        info!(run.id = %run.id, signal = %kind, "a saga does not wait for the signal of a transition");
    } else {
        warn!(run.id = %run.id, signal = %kind, %refusal, "a signal of a transition was dropped");
    }
    false
}

/// What paths of the configuration lead into: also the input of a run, if it has no mapping.
fn scope(call: &RunsCall, image: &Image) -> String {
    let model = serde_json::json!({"name": &*image.model.name, "version": image.model.version});
    // The document is copied as a text, so that its digits stay.
    format!(
        r#"{{"entity":{{"id":"{}","model":{model},"state":{},"data":{}}},"transition":{}}}"#,
        image.id,
        quoted(image.state.as_str()),
        image.document.as_str(),
        quoted(call.transition_context.transition.as_str()),
    )
}

fn unmapped(error: &MappingError) -> Failure {
    Failure::new(Code::BadRequest, error.to_string())
}
