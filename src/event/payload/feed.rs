//! Payloads of the change feed and of live searches (`stream.md` §3).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ModelSpec, Object, RequiredText, model::spec_in, search::Condition, success_in};
use crate::entity::{Changed, Json, Position, Sequence};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscribe {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub model: Option<ModelSpec>,
    #[serde(default)]
    pub states: Option<Vec<String>>,
    /// The last sequence received; 0 for all changes, absent for new changes only.
    #[serde(default)]
    pub from_sequence: Option<i64>,
    #[serde(default)]
    pub include_data: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeSearch<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(borrow)]
    #[schemars(with = "Condition")]
    pub condition: &'a RawValue,
    /// The last sequence received, for later changes only; absent to receive the result first.
    #[serde(default)]
    pub from_sequence: Option<i64>,
    /// Whether changes include documents; the result always does.
    #[serde(default)]
    pub include_data: Option<bool>,
}

/// One change.
pub fn change(request: &str, change: &Changed) -> String {
    tell(change, request, None)
}

/// One change, and what it did to the result of a live search.
pub fn turn(request: &str, change: &Changed, turn: &str) -> String {
    tell(change, request, Some(turn))
}

/// The result of a live search has been told, as of a sequence.
pub fn complete(request: &str, at: Sequence) -> String {
    begin(Object::new(), request, Position(at.0))
        .text("change", "complete")
        .finish()
}

fn begin(object: Object, request: &str, position: Position) -> Object {
    success_in(object, request)
        .text("requestId", request)
        .number("sequence", position.0)
}

fn tell(change: &Changed, request: &str, turn: Option<&str>) -> String {
    let document = change.document.as_ref().map(Json::as_str);
    let object = Object::with_room(USUAL_BYTES + document.map_or(0, str::len));
    let object = begin(object, request, change.position);
    let object = match turn {
        Some(turn) => object.text("change", turn),
        None => object,
    };
    let object = object
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
