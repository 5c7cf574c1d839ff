//! Payloads about what an operator may change while the process runs (`rest.md` §8).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{RequiredText, success};

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

/// The level of the log, and the one it has replaced.
pub fn log_level(request: &str, level: &str, previous: Option<&str>) -> String {
    let object = success(request, &[])
        .text("requestId", request)
        .text("level", level);
    match previous {
        Some(previous) => object.text("previous", previous),
        None => object,
    }
    .finish()
}

pub fn trace_sampler(
    request: &str,
    sampler: &str,
    ratio: Option<f64>,
    parent_based: bool,
    warnings: &[String],
) -> String {
    let object = success(request, warnings)
        .text("requestId", request)
        .text("sampler", sampler);
    match ratio {
        Some(ratio) => object.raw("ratio", &ratio.to_string()),
        None => object,
    }
    .truth("parentBased", parent_based)
    .finish()
}
