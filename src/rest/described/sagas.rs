//! Sagas (`runs.md` §7, `orchestration.md` 2.5).

use schemars::json_schema;

use super::{Body, Description, Tag, definitions::NAMESPACE, of, runs::ENDING};
use crate::error::Code;
use crate::event::payload::sagas::{Cancelled, Ended, Instance, Running, Signalled};

pub(in crate::rest) const START: Description = Description {
    text: "The body is the input. A saga without delays and signals is answered with its end, \
           whatever that is; another, or one that takes longer than `INTERLOCK_RUNS_SYNC_TIMEOUT`, \
           is answered with 202 and continues.",
    parameters: &[NAMESPACE],
    body: Body::OptionalJson(|_| json_schema!({"type": "object"})),
    accepted: Some(of::<Running>),
    codes: &[&[
        Code::ConnectorUnavailable,
        Code::RunDefinitionNotFound,
        Code::RunDefinitionDisabled,
    ]],
    ..Description::new(Tag::Runs, "startSaga", "Start a saga", of::<Ended>)
};

pub(in crate::rest) const GET: Description = Description {
    codes: &[&[Code::RunNotFound]],
    ..Description::new(Tag::Runs, "getSaga", "Show a run of a saga", of::<Instance>)
};

pub(in crate::rest) const SIGNAL: Description = Description {
    text: "The body, if there is one, is what the steps after the wait read as `input.signal`. A run that has ended is a bad \
           request here (`RUN_FINISHED`).",
    body: Body::OptionalJson(|_| json_schema!({"type": "object"})),
    codes: &[ENDING, &[Code::RunNotFound, Code::SignalNotAwaited]],
    ..Description::new(
        Tag::Runs,
        "signalSaga",
        "Deliver the signal that a saga waits for",
        of::<Signalled>,
    )
};

pub(in crate::rest) const CANCEL: Description = Description {
    text: "What has been done is undone; the answer comes when that is over, or after \
           `INTERLOCK_RUNS_SYNC_TIMEOUT`. A run that has ended is a bad request here (`RUN_FINISHED`).",
    codes: &[ENDING, &[Code::RunNotFound]],
    ..Description::new(Tag::Runs, "cancelSaga", "Cancel a saga", of::<Cancelled>)
};
