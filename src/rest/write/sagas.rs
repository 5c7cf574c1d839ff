//! Sagas as Mycel's endpoints show them (`runs.md` §7, `orchestration.md` 2.4 and 2.5).

use axum::http::StatusCode;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, bad, begin, optional};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::event::payload::{
    AsText, RawJson,
    answer::json,
    runs::{self, Got, Started},
    sagas::{Cancelled, CompensationError, Ended, Instance, Running, Signalled},
};
use crate::id::RunId;
use crate::operation::Success;

/// The saga whose end was waited for, as it stands in the answer to its start.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunThen {
    status: String,
    #[serde(default)]
    steps: IndexMap<String, StepThen>,
    error: Option<ErrorThen>,
    #[serde(default)]
    compensated: bool,
    #[serde(default)]
    compensation_errors: Vec<CompensationError>,
}

#[derive(Deserialize)]
struct StepThen {
    outcome: String,
    output: Box<RawValue>,
}

#[derive(Deserialize)]
struct ErrorThen {
    message: String,
}

/// The body is the input.
pub(in crate::rest) fn start(parts: &Parts, id: &str) -> Written {
    let body = parts.text()?.trim();
    let body = if body.is_empty() {
        "{}"
    } else {
        parts.json()?.get()
    };
    if !body.starts_with('{') {
        return Err(bad("the body is not a JSON object"));
    }
    let object = begin(id).text("definition", parts.path("saga"));
    let object = object.text("kind", "saga");
    let object = optional(object, "namespace", parts.query("namespace"));
    Ok(object.raw("input", body).finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("runId", parts.path("runId")).finish())
}

/// The body, if there is one, is the payload.
pub(in crate::rest) fn signal(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .text("runId", parts.path("runId"))
        .text("type", parts.path("event"));
    let body = parts.text()?.trim();
    if body.is_empty() {
        return Ok(object.finish());
    }
    let body = parts.json()?.get();
    if !body.starts_with('{') {
        return Err(bad("the body is not a JSON object"));
    }
    Ok(object.raw("payload", body).finish())
}

/// The end of a simple saga is answered with 200, the start of another with 202.
pub(in crate::rest) fn started(
    _: &Parts,
    answer: Success,
) -> Result<(StatusCode, String), Failure> {
    answered(answer)
}

/// Writes the answer to the start of a saga: 200 if it has ended, 202 if it is running.
pub(in crate::rest) fn answered(answer: Success) -> Result<(StatusCode, String), Failure> {
    let started = answer.take_outcome::<Started>()?.0;
    let saga = started.definition.name;
    let Some(run) = started.run else {
        // The number of a run is when it was created, in nanoseconds, made unique.
        let number = RunId::parse(&started.run_id).map_or(0, RunId::number);
        let running = Running {
            workflow_id: started.run_id,
            // The repeat of a start may meet a run that has ended.
            status: match started.status.as_str() {
                "pending" | "waiting" => "running".to_owned(),
                "timed_out" => "timeout".to_owned(),
                _ => started.status,
            },
            started_at: AsText(Timestamp::from_micros(number / 1_000)),
            saga,
        };
        return Ok((StatusCode::ACCEPTED, json(&running)));
    };
    let run: RunThen = serde_json::from_str(run.get())
        .map_err(|error| Failure::internal(format!("an answer is not readable: {error}")))?;
    let results = run.steps.into_iter();
    let results = results.filter(|(_, step)| step.outcome == "success");
    let ended = Ended {
        saga_name: saga,
        instance_id: started.run_id,
        status: match (&*run.status, run.compensated) {
            ("completed", _) => "completed",
            (_, true) => "compensated",
            (_, false) => "failed",
        },
        steps: results.map(|(name, step)| (name, step.output)).collect(),
        error: run.error.map(|error| error.message),
        compensation_errors: run.compensation_errors,
    };
    Ok((StatusCode::OK, json(&ended)))
}

pub(in crate::rest) fn instance(parts: &Parts, answer: Success) -> Written {
    let run = answer.take::<Got>()?.run;
    let Some(saga) = run.saga else {
        let id = parts.path("runId");
        return Err(Failure::new(
            Code::RunNotFound,
            format!("the run {id} is not one of a saga; use /runs/{id}"),
        ));
    };
    let waiting = run.waiting.as_ref();
    let until = |what: &str| {
        let waiting = waiting.filter(|waiting| waiting.what == what);
        waiting.and_then(|waiting| waiting.until.as_ref())
    };
    let awaited = waiting.filter(|waiting| waiting.what == "signal");
    let instance = Instance {
        saga_name: run.definition.name,
        status: saga.status,
        compensated: run.compensated,
        current_step: saga.at,
        current_step_name: saga.step,
        input: run.input.unwrap_or_else(|| RawJson::trusted("null")),
        step_results: saga.results,
        signal_data: saga.signal,
        resume_at: until("timer").map(|at| AsText(at.0)),
        await_event: awaited.and_then(|waiting| waiting.name.clone()),
        expires_at: saga.deadline.map(AsText),
        step_expires_at: until("signal").map(|at| AsText(at.0)),
        error: run.error.map(|error| error.message),
        compensation_errors: run
            .compensation_errors
            .into_iter()
            .map(|error| CompensationError {
                step: error.step,
                message: error.message,
            })
            .collect(),
        created_at: run.created_at,
        updated_at: AsText(saga.updated),
        id: run.run_id,
    };
    Ok(json(&instance))
}

pub(in crate::rest) fn signalled(parts: &Parts, answer: Success) -> Written {
    answer.take_outcome::<runs::Signalled>()?;
    Ok(json(&Signalled {
        status: "signaled",
        id: parts.path("runId").to_owned(),
        event: parts.path("event").to_owned(),
    }))
}

pub(in crate::rest) fn cancelled(parts: &Parts, answer: Success) -> Written {
    let (cancelled, _) = answer.take_outcome::<runs::Cancelled>()?;
    Ok(json(&Cancelled {
        status: match &*cancelled.status {
            "pending" => "running".to_owned(),
            "waiting" => "paused".to_owned(),
            "timed_out" => "timeout".to_owned(),
            _ => cancelled.status,
        },
        id: parts.path("runId").to_owned(),
    }))
}

/// What has ended is a bad request here (`runs.md` §7).
pub(in crate::rest) fn fault(failure: Failure) -> Failure {
    if failure.code() == Code::RunFinished {
        return failure.as_known(Code::RunFinished, StatusCode::BAD_REQUEST);
    }
    failure
}
