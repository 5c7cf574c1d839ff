//! Payloads of the change feed (`stream.md` §3).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ModelSpec, Object, RequiredText, model::spec_in, success_in};
use crate::entity::{Changed, Json};

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
    let document = change.document.as_ref().map(Json::as_str);
    let object = Object::with_room(USUAL_BYTES + document.map_or(0, str::len));
    let object = success_in(object, request)
        .text("requestId", request)
        .number("sequence", change.position.0)
        .plain("entityId", change.entity)
        .object("model", |object| spec_in(object, &change.model))
        .text("state", change.state.as_str())
        .text("changeType", change.kind.as_str())
        .plain("transactionId", change.transaction)
        .plain("timeOfChange", change.at);
    match document {
        Some(document) => object.raw("data", document).finish(),
        None => object.finish(),
    }
}

/// A change takes about this many bytes more than other answers, without its document.
const USUAL_BYTES: usize = 128;
