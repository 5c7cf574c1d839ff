//! Runs of step workflows (`runs.md` §4).

mod cancel;
mod deliver;
mod end;
mod follow;
mod get;
mod history;
mod list;
mod plan;
mod signal;
mod start;

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::entity::{DEPTH_MAX, Position, is_too_deep, is_unicode};
use crate::error::Failure;
use crate::event::payload::{
    AsText, RawJson,
    runs::{CompensationFault, DefinitionName, Event, Fault, Run, Signal, StepResult, Waiting},
    sagas,
};
use crate::operation::Context;
use crate::program::{HistoryEvent, Purpose, Then, Waiting as WaitsFor};
use crate::runtime::runs::{RunDetails, RunKind, Shown};

pub(super) use cancel::CancelRun;
pub(super) use end::wait_for_end;
pub(super) use follow::FollowRuns;
pub(super) use get::GetRun;
pub(super) use history::GetHistory;
pub(super) use list::ListRuns;
pub(super) use plan::GetPlan;
pub(super) use signal::SignalRun;
pub(super) use start::StartRun;

/// The JSON of an input or a payload, which must be text, and not nest too deep.
pub(in crate::operation) fn json(
    given: Option<&RawValue>,
    otherwise: &str,
    what: &'static str,
) -> Result<String, Failure> {
    let text = given.map_or(otherwise, RawValue::get);
    let refused = |why: String| {
        let message = format!("the {what} {why}");
        Failure::bad_parameter(what, message)
    };
    if is_too_deep(text) {
        let why = format!("is nested deeper than {DEPTH_MAX} levels");
        return Err(refused(why));
    }
    if !is_unicode(text) {
        return Err(refused(
            "has half a surrogate pair in a `\\u` escape".to_owned(),
        ));
    }
    Ok(text.to_owned())
}

/// The kind of a definition or a run.
fn kind(name: &str) -> Result<RunKind, Failure> {
    RunKind::from_name(name).ok_or_else(|| {
        let message = format!("\"{name}\" is not a kind; use flo, saga or manager");
        Failure::bad_parameter("kind", message)
    })
}

/// Refuses an input or a payload that is larger than the settings allow.
pub(in crate::operation) fn check_size(
    cx: &Context,
    text: &str,
    what: &'static str,
) -> Result<(), Failure> {
    let (bytes, max) = (text.len(), cx.runtime().run_payload_max());
    if bytes > max {
        let message = format!("the {what} has {bytes} bytes; at most {max} are allowed");
        return Err(Failure::bad_parameter(what, message));
    }
    Ok(())
}

impl From<Shown> for Run {
    fn from(shown: Shown) -> Self {
        let (stored, state) = (shown.stored, shown.state);
        let run = &state.run;
        let unwound = run.saga.as_ref().filter(|saga| saga.has_unwound);
        let saga = unwound.filter(|_| run.status.is_end());
        let errors = unwound.iter().flat_map(|saga| &saga.errors);
        let errors = errors.map(|error| CompensationFault {
            step: error.step.to_string(),
            message: error.message.to_string(),
        });
        // Nobody has said yet how their calls ended.
        let open = saga.iter().flat_map(|_| run.given_up());
        let open = open.filter_map(|task| match &task.purpose {
            Some(Purpose::Action(step)) => Some(CompensationFault {
                step: step.to_string(),
                message: "it is not known yet whether the step was done".to_owned(),
            }),
            Some(Purpose::Undo(_) | Purpose::OnComplete | Purpose::OnFailure) | None => None,
        });
        let to_undo = saga.iter().flat_map(|_| run.to_undo());
        let to_undo = to_undo.map(|step| CompensationFault {
            step: step.to_owned(),
            message: "the step is not undone yet".to_owned(),
        });
        let attributes = run.attributes.iter();
        let attributes =
            attributes.map(|(name, json)| (name.to_string(), RawJson::trusted(&**json)));
        Self {
            run_id: run.id.to_string(),
            kind: state.kind().as_str(),
            namespace: stored.name.namespace.to_string(),
            definition: DefinitionName {
                name: stored.name.name.to_string(),
                version: state.version.to_string(),
                digest: Some(state.digest.to_string()),
            },
            status: run.status.as_str(),
            current_step: run.position.as_ref().map(|at| at.name().to_owned()),
            input: None,
            output: None,
            error: run.error.as_ref().map(|error| Fault {
                code: error.code.as_deref().map(Into::into),
                message: (&*error.message).into(),
            }),
            steps: None,
            signals: None,
            signals_omitted: None,
            waiting: run.waiting.as_ref().map(waiting),
            search_attributes: attributes.collect(),
            parent_run_id: shown.parent.map(Into::into),
            entity_id: stored.entity.map(|entity| entity.to_string()),
            idempotency_key: state.key.as_deref().map(Into::into),
            started_by: run.started_by.as_str(),
            created_at: AsText(run.created),
            started_at: run.started.map(AsText),
            finished_at: run.ended.map(AsText),
            last_sequence: run.sequence,
            compensated: saga.map(|_| run.is_compensated()),
            compensation_errors: errors.chain(open).chain(to_undo).collect(),
            saga: None,
        }
    }
}

impl From<RunDetails> for Run {
    fn from(details: RunDetails) -> Self {
        let omitted = details.signals_omitted;
        let signals = details.signals.into_iter().map(|signal| Signal {
            kind: signal.kind.to_string(),
            payload: RawJson::trusted(signal.payload),
            received_at: AsText(signal.at),
            consumed: signal.is_consumed,
        });
        let results = details.saga.as_ref().map(|saga| &saga.order);
        let results = results.into_iter().flatten().filter_map(|name| {
            let step = details.steps.iter().find(|step| step.name == *name)?;
            let output = RawJson::trusted(Arc::clone(&step.output));
            (&*step.outcome == "success").then(|| (name.to_string(), output))
        });
        let results = results.collect();
        let saga = details.saga.map(|saga| sagas::Details {
            status: saga.status,
            at: saga.at,
            step: saga.order.get(saga.at).map(ToString::to_string),
            deadline: saga.deadline,
            signal: saga.signal.map(RawJson::trusted),
            updated: saga.updated,
            results,
        });
        let steps = details.steps.into_iter().map(|step| {
            let result = StepResult {
                outcome: step.outcome.into(),
                output: RawJson::trusted(step.output),
                executions: step.executions,
            };
            (String::from(step.name), result)
        });
        Self {
            saga,
            input: Some(RawJson::trusted(details.input)),
            output: details.output.map(RawJson::trusted),
            steps: Some(steps.collect()),
            signals: Some(signals.collect()),
            signals_omitted: (omitted > 0).then_some(omitted),
            ..Self::from(details.shown)
        }
    }
}

fn waiting(waits: &WaitsFor) -> Waiting {
    let (what, name, until) = match waits {
        WaitsFor::Signal { kind, until } => ("signal", kind.to_string(), *until),
        WaitsFor::Task { task, until, .. } => ("task", task.action.to_string(), *until),
        WaitsFor::Child { run } => ("child", run.to_string(), None),
        WaitsFor::Timer { then, until } => {
            let name = match then {
                Then::Retry | Then::Attempt | Then::Deferred => "retry",
                Then::Poll => "poll",
                Then::Delay => "delay",
            };
            ("timer", name.to_owned(), Some(*until))
        }
        WaitsFor::Entity { entity, until, .. } => ("entity", entity.to_string(), *until),
    };
    Waiting {
        what,
        name: Some(name),
        until: until.map(AsText),
    }
}

/// An event whose last of the same advance stands at a position.
fn event(run: &str, event: HistoryEvent, last: (u64, Position)) -> Event {
    let before = i64::try_from(last.0.saturating_sub(event.sequence)).unwrap_or(0);
    Event {
        run_id: run.to_owned(),
        sequence: event.sequence,
        position: last.1.0 - before,
        event_type: event.kind.as_str(),
        detail: event.detail.to_string(),
        time: AsText(event.at()),
        data: event.data.map(RawJson::trusted),
    }
}
