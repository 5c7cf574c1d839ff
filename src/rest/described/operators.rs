//! What operators see and change.

use super::{Body, Description, STORAGE, Shape, Tag, nothing, of};
use crate::error::Code;
use crate::event::payload::settings::LogLevel;
use crate::rest::{
    page::Health,
    write::settings::{NewLogLevel, NewSampler, Tracing},
};

pub(in crate::rest) const HEALTH_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Health>)];

pub(in crate::rest) const HEALTH_REFUSALS: &[(u16, Shape)] = &[(503, of::<Health>)];

pub(in crate::rest) const HEALTH: Description = Description {
    text: "`DOWN`, with status 503, after a panic until the next start.",
    ..Description::new(
        Tag::Operators,
        "getHealth",
        "The health of the service",
        of::<Health>,
    )
};

pub(in crate::rest) const SUBSCRIPTIONS: Description = Description {
    text: "Subscriptions do not exist; always rejected.",
    codes: &[
        &[Code::Forbidden, Code::NotImplemented, Code::Unauthorized],
        STORAGE,
    ],
    ..Description::new(Tag::Account, "getSubscriptions", "Subscriptions", nothing)
};

const FOR_NOW: &str = "Requires `ROLE_ADMIN`; a change lasts until the process ends.";

pub(in crate::rest) const LOG_LEVEL: Description = Description {
    text: FOR_NOW,
    ..Description::new(
        Tag::Operators,
        "getLogLevel",
        "The log level",
        of::<LogLevel>,
    )
};

pub(in crate::rest) const SET_LOG_LEVEL: Description = Description {
    text: FOR_NOW,
    body: Body::Json(of::<NewLogLevel>),
    ..Description::new(
        Tag::Operators,
        "setLogLevel",
        "Change the log level",
        of::<LogLevel>,
    )
};

pub(in crate::rest) const TRACE_SAMPLER: Description = Description {
    text: FOR_NOW,
    ..Description::new(
        Tag::Operators,
        "getTraceSampler",
        "The trace sampler",
        of::<Tracing>,
    )
};

pub(in crate::rest) const SET_TRACE_SAMPLER: Description = Description {
    text: FOR_NOW,
    body: Body::Json(of::<NewSampler<'static>>),
    ..Description::new(
        Tag::Operators,
        "setTraceSampler",
        "Change the trace sampler",
        of::<Tracing>,
    )
};
