//! What operators see and change.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Body, Shape, Tag, Told, nothing, of};
use crate::error::Code;

/// Whether the service is well.
#[derive(JsonSchema)]
struct Health {
    #[schemars(schema_with = "health")]
    status: String,
}

fn health(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["UP", "DOWN"]})
}

pub(in crate::rest) const HEALTH_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Health>)];

pub(in crate::rest) const HEALTH: Told = Told {
    text: "`DOWN`, with status 503, after a panic until the next start.",
    ..Told::new(
        Tag::Operators,
        "getHealth",
        "The health of the service",
        of::<Health>,
    )
};

pub(in crate::rest) const SUBSCRIPTIONS: Told = Told {
    text: "Subscriptions do not exist; always rejected.",
    codes: &[&[Code::NotImplemented, Code::Unauthorized]],
    ..Told::new(Tag::Account, "getSubscriptions", "Subscriptions", nothing)
};

/// What is logged.
#[derive(JsonSchema)]
struct LogLevel {
    #[schemars(schema_with = "level")]
    level: String,
    /// What it was before, where it was changed.
    #[schemars(with = "Option<String>")]
    previous: Option<String>,
}

/// What shall be logged.
#[derive(JsonSchema)]
struct NewLogLevel {
    #[schemars(schema_with = "level")]
    level: String,
}

fn level(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["debug", "info", "warn", "error"]})
}

const FOR_NOW: &str = "Requires `ROLE_ADMIN`; a change lasts until the process ends.";

pub(in crate::rest) const LOG_LEVEL: Told = Told {
    text: FOR_NOW,
    ..Told::new(
        Tag::Operators,
        "getLogLevel",
        "The log level",
        of::<LogLevel>,
    )
};

pub(in crate::rest) const SET_LOG_LEVEL: Told = Told {
    text: FOR_NOW,
    body: Body::Json(of::<NewLogLevel>),
    ..Told::new(
        Tag::Operators,
        "setLogLevel",
        "Change the log level",
        of::<LogLevel>,
    )
};

/// Which requests would be traced.
#[derive(JsonSchema)]
struct TraceSampler {
    #[schemars(schema_with = "sampler")]
    sampler: String,
    /// With `ratio`, and only with it: above 0, and at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    ratio: Option<f64>,
    /// A request that is part of a trace is traced if that is; `true` if absent.
    parent_based: Option<bool>,
}

fn sampler(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["always", "never", "ratio"]})
}

pub(in crate::rest) const TRACE_SAMPLER: Told = Told {
    text: FOR_NOW,
    ..Told::new(
        Tag::Operators,
        "getTraceSampler",
        "The trace sampler",
        of::<TraceSampler>,
    )
};

pub(in crate::rest) const SET_TRACE_SAMPLER: Told = Told {
    text: FOR_NOW,
    body: Body::Json(of::<TraceSampler>),
    ..Told::new(
        Tag::Operators,
        "setTraceSampler",
        "Change the trace sampler",
        of::<TraceSampler>,
    )
};
