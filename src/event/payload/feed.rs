//! Payloads of the change feed (`stream.md` §3).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ModelSpec, RequiredText, model::spec, success};
use crate::entity::Changed;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscribe {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub model: Option<ModelSpec>,
    #[serde(default)]
    pub states: Option<Vec<String>>,
    /// The sequence that the caller has seen last; 0 if none, and absent to hear of what is
    /// committed from now on.
    #[serde(default)]
    pub from_sequence: Option<i64>,
    #[serde(default)]
    pub include_data: Option<bool>,
}

/// One change.
pub fn change(request: &str, change: &Changed) -> String {
    let object = success(request, &[])
        .text("requestId", request)
        .number("sequence", change.position.0)
        .text("entityId", &change.entity.to_string())
        .raw("model", &spec(&change.model))
        .text("state", change.state.as_str())
        .text("changeType", change.kind.as_str())
        .text("transactionId", &change.transaction.to_string())
        .text("timeOfChange", &change.at.to_string());
    match &change.document {
        Some(document) => object.raw("data", document.as_str()).finish(),
        None => object.finish(),
    }
}
