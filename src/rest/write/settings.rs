//! What an operator may change while the process runs (`rest.md` §8).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, begin};
use crate::event::payload::{RawJson, json, settings::TraceSampler};
use crate::operation::Success;

/// What is to be logged.
#[derive(Deserialize, JsonSchema)]
pub(in crate::rest) struct NewLogLevel {
    #[schemars(schema_with = "level")]
    level: String,
}

fn level(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["debug", "info", "warn", "error"]})
}

pub(in crate::rest) fn set_log_level(parts: &Parts, id: &str) -> Written {
    let body: NewLogLevel = parts.json_as("log level")?;
    Ok(begin(id).text("level", &body.level).finish())
}

/// Which requests are to be traced.
#[derive(Deserialize, JsonSchema)]
pub(in crate::rest) struct NewSampler<'a> {
    #[schemars(schema_with = "sampler")]
    sampler: String,
    /// With `ratio`, and only with it: above 0, and at most 1.
    #[serde(borrow, default)]
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0, "maximum" = 1))]
    ratio: Option<&'a RawValue>,
    /// A request that is part of a trace is traced if that is; `true` if absent.
    #[serde(borrow, default, alias = "parentBased")]
    #[schemars(with = "Option<bool>")]
    parent_based: Option<&'a RawValue>,
}

fn sampler(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["always", "never", "ratio"]})
}

pub(in crate::rest) fn set_trace_sampler(parts: &Parts, id: &str) -> Written {
    let body: NewSampler<'_> = parts.json_as("sampler")?;
    let object = begin(id).text("sampler", &body.sampler);
    let members = [("ratio", body.ratio), ("parentBased", body.parent_based)];
    let given = members
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Ok(given
        .fold(object, |object, (name, value)| {
            object.raw(name, value.get())
        })
        .finish())
}

/// Which requests are traced, as REST spells it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TraceSampler")]
pub(in crate::rest) struct Tracing {
    #[schemars(extend("enum" = ["always", "never", "ratio"]))]
    sampler: &'static str,
    /// With `ratio`, and only with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    ratio: Option<RawJson>,
    /// A request that is part of a trace is traced if that is.
    parent_based: bool,
}

pub(in crate::rest) fn trace_sampler(_: &Parts, answer: Success) -> Written {
    let answer: TraceSampler = answer.take()?;
    Ok(json(&Tracing {
        sampler: answer.sampler,
        ratio: answer.ratio,
        parent_based: answer.parent_based,
    }))
}
