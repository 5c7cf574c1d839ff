//! Payloads about what an operator may change while the process runs (`rest.md` §8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, RawJson, RequiredText};

/// A request for a setting as it is.
#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

#[derive(Deserialize, JsonSchema)]
pub struct SetLogLevel {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub level: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetTraceSampler {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub sampler: String,
    #[serde(default)]
    pub ratio: Option<f64>,
    #[serde(default)]
    pub parent_based: Option<bool>,
}

/// What is logged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogLevel {
    #[schemars(extend("enum" = ["debug", "info", "warn", "error", ""]))]
    pub level: &'static str,
    /// The level before a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<&'static str>,
}

impl Answer for LogLevel {
    fn placeholder() -> Option<Self> {
        Some(Self {
            level: "",
            previous: None,
        })
    }
}

/// Which requests are traced.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceSampler {
    #[schemars(extend("enum" = ["always", "never", "ratio", ""]))]
    pub sampler: &'static str,
    /// With `ratio`: which share of the requests, above 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub ratio: Option<RawJson>,
    /// Whether a request that is part of a trace is traced if that is.
    pub parent_based: bool,
}

impl TraceSampler {
    pub fn new(sampler: &'static str, ratio: Option<f64>, parent_based: bool) -> Self {
        Self {
            sampler,
            ratio: ratio.map(|ratio| RawJson::trusted(ratio.to_string())),
            parent_based,
        }
    }
}

impl Answer for TraceSampler {
    fn placeholder() -> Option<Self> {
        Some(Self::new("", None, true))
    }
}
