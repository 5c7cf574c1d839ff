//! Runs, their histories and plans (`runs.md` §4).

use schemars::json_schema;

use super::{
    Body, Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
    parameter::{LAST_EVENT_ID, text, texts},
};
use crate::error::Code;
use crate::event::payload::runs::{
    Cancel, Cancelled, Deliver, Event, History, Page, Plan, Run, Signalled, Start, Started,
};

const NO_RUN: &[Code] = &[Code::RunNotFound];

/// What can come of a signal or a cancel: a run that has ended, or a step of a saga whose connector
/// cannot be reached.
pub(super) const ENDING: &[Code] = &[Code::ConnectorUnavailable, Code::RunFinished];

const FROM_SEQUENCE: Parameter = Parameter::query(
    "fromSequence",
    |_| json_schema!({"type": "integer", "minimum": 0}),
    "The last event that is known; later ones follow.",
);

const DEFINITION: Parameter = Parameter::query(
    "definition",
    text,
    "Only runs of the definition of this name.",
);

pub(in crate::rest) const START: Description = Description {
    text: "The run takes its first step after the answer. Where the definition says so, a repeated \
           `idempotencyKey` answers with the run that has it.",
    parameters: &[NAMESPACE],
    body: Body::Json(of::<Start<'static>>),
    codes: &[&[
        Code::ConnectorUnavailable,
        Code::RunDefinitionNotFound,
        Code::RunDefinitionDisabled,
        Code::RunExists,
    ]],
    ..Description::new(Tag::Runs, "startRun", "Start a run", of::<Started>)
};

pub(in crate::rest) const GET: Description = Description {
    codes: &[NO_RUN],
    ..Description::new(Tag::Runs, "getRun", "Show a run", of::<Run>)
};

pub(in crate::rest) const LIST: Description = Description {
    text: "The newest runs first, without their values.",
    parameters: &[
        NAMESPACE,
        DEFINITION,
        Parameter::query("version", text, "Only runs of this version."),
        Parameter::query("kind", text, "`flo`, `saga` or `manager`."),
        Parameter::query(
            "status",
            texts,
            "Only runs of this status; may be repeated.",
        ),
        Parameter::query(
            "search",
            text,
            "A part of an id, name, step, input or search attribute, whatever its case.",
        ),
        Parameter::query(
            "attribute",
            texts,
            "A filter by a search attribute, such as `customer=c1`, `amount<5` or `amount>5`; may \
             be repeated.",
        ),
        Parameter::query(
            "entityId",
            text,
            "Only runs that were started for this entity.",
        ),
        Parameter::query("parentRunId", text, "Only runs that this run has started."),
        LIMIT,
        CURSOR,
    ],
    codes: &[&[Code::SearchTimeout]],
    ..Description::new(Tag::Runs, "listRuns", "List runs", of::<Page>)
};

pub(in crate::rest) const SIGNAL: Description = Description {
    text: "A signal that no step waits for is kept for the first step that does.",
    body: Body::Json(of::<Deliver<'static>>),
    codes: &[NO_RUN, ENDING, &[Code::SignalNotAwaited]],
    ..Description::new(Tag::Runs, "signalRun", "Deliver a signal", of::<Signalled>)
};

pub(in crate::rest) const CANCEL: Description = Description {
    text: "Runs below it are cancelled in the same commit.",
    body: Body::Json(of::<Cancel>),
    codes: &[NO_RUN, ENDING],
    ..Description::new(Tag::Runs, "cancelRun", "Cancel a run", of::<Cancelled>)
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "The same as `POST /runs/{runId}/cancel`.",
    body: Body::Json(of::<Cancel>),
    codes: &[NO_RUN, ENDING],
    ..Description::new(Tag::Runs, "deleteRun", "Cancel a run", of::<Cancelled>)
};

pub(in crate::rest) const HISTORY: Description = Description {
    parameters: &[FROM_SEQUENCE, LIMIT],
    codes: &[NO_RUN],
    ..Description::new(
        Tag::Runs,
        "getRunHistory",
        "List the events of a run",
        of::<History>,
    )
};

pub(in crate::rest) const FOLLOW_ONE: Description = Description {
    text: "The events so far after `fromSequence`, then each new one, until the run has ended. The \
           id of an event is its number. Status 204 if the run has ended and no event follows.",
    parameters: &[FROM_SEQUENCE, LAST_EVENT_ID],
    codes: &[NO_RUN],
    ..Description::new(Tag::Runs, "followRun", "Follow a run", of::<Event>)
};

pub(in crate::rest) const FOLLOW: Description = Description {
    text: "The events after the position `fromSequence`, then each new one, without end. The id of \
           an event is its position.",
    parameters: &[NAMESPACE, DEFINITION, FROM_SEQUENCE, LAST_EVENT_ID],
    ..Description::new(Tag::Runs, "followRuns", "Follow many runs", of::<Event>)
};

pub(in crate::rest) const PLAN: Description = Description {
    text: "What is known since the start of the service.",
    parameters: &[NAMESPACE],
    codes: &[&[Code::RunDefinitionNotFound]],
    ..Description::new(
        Tag::Runs,
        "getPlan",
        "Show the executors of a plan",
        of::<Plan>,
    )
};
