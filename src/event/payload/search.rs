//! Payloads of reads (`grpc.md` §8.3).

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    ModelSpec, Object, RequiredText,
    model::{IndexItem, indexes, spec_in},
    success, success_in, text_list,
};
use crate::clock::{PointInTime, Timestamp};
pub use crate::condition::Form as Condition;
use crate::entity::{Change, ChangeKind, Image};
use crate::error::{Code, Failure};
use crate::id::{JobId, ModelKey, StateName, TransitionName};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub transaction_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAll {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub page_size: Option<i64>,
    #[serde(default)]
    pub page_number: Option<i64>,
    #[serde(default)]
    pub point_in_time: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Search<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(borrow)]
    #[schemars(with = "Condition")]
    pub condition: &'a RawValue,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
    /// What more matches than the limit mean; ours, so that REST can say what it means.
    #[serde(default)]
    pub limit_exceeded: Option<LimitExceeded>,
    #[serde(default)]
    pub order_by: Option<Vec<OrderBy>>,
    #[serde(default)]
    pub tracking_read: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum LimitExceeded {
    Fail,
    Truncate,
}

/// A sort key; as text in the form of REST: `[@]path[:asc|:desc]`.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a sort key must be `{path, source?, desc?}`, or a text like `path:desc`"
)]
pub enum OrderBy {
    Key(OrderKey),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
pub struct OrderKey {
    pub path: String,
    #[serde(default)]
    pub source: Option<OrderSource>,
    #[serde(default)]
    pub desc: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrderSource {
    Data,
    Meta,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub model: Option<ModelSpec>,
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    #[serde(default)]
    pub point_in_time: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotSearch<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(borrow)]
    #[schemars(with = "Condition")]
    pub condition: &'a RawValue,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub order_by: Option<Vec<OrderBy>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub snapshot_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPage {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub snapshot_id: String,
    #[serde(default)]
    pub page_size: Option<i64>,
    #[serde(default)]
    pub page_number: Option<i64>,
}

/// Reads the id of a search that runs on its own.
pub fn snapshot_id(text: &str) -> Result<JobId, Failure> {
    text.parse()
        .map_err(|_| Failure::new(Code::SearchJobNotFound, format!("no search job {text}")))
}

/// How a search that runs on its own stands.
pub struct SnapshotStatus<'a> {
    pub id: JobId,
    pub status: &'a str,
    pub created: Timestamp,
    pub finished: Option<Timestamp>,
    pub expires: Timestamp,
    pub count: i64,
    pub took: Duration,
}

/// The answer that is such a status (`grpc.md` §8.3); it says what REST says of it, too
/// (`stream.md` §3.1).
pub fn snapshot_status(request: &str, status: &SnapshotStatus<'_>) -> String {
    let object = Object::new()
        .text("snapshotId", &status.id.to_string())
        .text("status", status.status)
        .text("expirationDate", &status.expires.to_string())
        .number("entitiesCount", status.count)
        .text("createTime", &status.created.to_string())
        .number(
            "calculationTimeMillis",
            i64::try_from(status.took.as_millis()).unwrap_or(i64::MAX),
        );
    let object = match status.finished {
        Some(finished) => object.text("finishTime", &finished.to_string()),
        None => object,
    };
    success(request, &[])
        .raw("status", &object.finish())
        .finish()
}

/// Which of how many entities a page tells of.
pub fn page(number: i64, size: i64, total: i64) -> String {
    Object::new()
        .number("number", number)
        .number("size", size)
        .number("totalElements", total)
        .number("totalPages", (total + size.max(1) - 1) / size.max(1))
        .finish()
}

/// The answer that is an entity.
pub fn entity(request: &str, image: &Image, asked: Option<&PointInTime>) -> String {
    let document = image.document.as_str();
    let object = Object::with_room(document.len() + USUAL_META_BYTES);
    success_in(object, request)
        .text("requestId", request)
        .object("payload", |payload| {
            payload
                .text("type", "JSON")
                .raw("data", document)
                .object("meta", |object| meta_in(object, image, asked))
        })
        .finish()
}

/// The data and the meta of an answer that is an entity, as members of an object. They are found
/// by how [`entity`] writes them: to read thousands of answers again takes a quarter of the time
/// that a page takes (measured).
pub fn data_and_meta(answer: &str) -> Option<&str> {
    // No text says so: in one the quotes are escaped.
    let (_, payload) = answer.split_once(r#""payload":{"type":"JSON","#)?;
    payload.strip_suffix("}}")
}

/// What an entity says of itself takes about this many bytes.
const USUAL_META_BYTES: usize = 256;

/// What an entity says of itself (`models-and-entities.md` §6).
pub fn meta(image: &Image, asked: Option<&PointInTime>) -> String {
    meta_in(Object::new(), image, asked).finish()
}

fn meta_in(object: Object, image: &Image, asked: Option<&PointInTime>) -> Object {
    let meta = committed_meta(object, image).text(
        "transitionForLatestSave",
        image.transition_for_latest_save(),
    );
    match asked {
        Some(instant) => meta.text("pointInTime", &instant.text),
        None => meta,
    }
}

/// The part of `meta` that members are sent too.
pub(super) fn committed_meta(object: Object, image: &Image) -> Object {
    object
        .plain("id", image.id)
        .object("modelKey", |object| spec_in(object, &image.model))
        .text("state", image.state.as_str())
        .plain("creationDate", image.created)
        .plain("lastUpdateTime", image.updated)
        .plain("transactionId", image.transaction)
}

/// How a search was served.
pub struct Explanation<'a> {
    pub by: &'a [String],
    pub visited: usize,
    pub returned: usize,
    pub took: Duration,
    /// Those of the model.
    pub indexes: Vec<IndexItem>,
    /// The paths that an index could serve this search by.
    pub indexable: Vec<String>,
}

pub fn explained(request: &str, explanation: Explanation<'_>) -> String {
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    success(request, &[])
        .text("requestId", request)
        .text(
            "access",
            if explanation.by.is_empty() {
                "SCAN"
            } else {
                "INDEX"
            },
        )
        .raw("servedBy", &text_list(explanation.by))
        .number("visited", count(explanation.visited))
        .number("returned", count(explanation.returned))
        .number(
            "micros",
            i64::try_from(explanation.took.as_micros()).unwrap_or(i64::MAX),
        )
        .raw("indexable", &text_list(&explanation.indexable))
        .raw("indexes", &indexes(explanation.indexes.into_iter()))
        .finish()
}

pub fn transitions(request: &str, transitions: &[TransitionName]) -> String {
    success(request, &[])
        .text("requestId", request)
        .raw(
            "transitions",
            &text_list(transitions.iter().map(TransitionName::as_str)),
        )
        .finish()
}

pub fn count(request: &str, model: &ModelKey, count: i64) -> String {
    success(request, &[])
        .text("requestId", request)
        .text("modelName", &model.name)
        .number("modelVersion", model.version)
        .number("count", count)
        .finish()
}

pub fn count_in_state(request: &str, model: &ModelKey, state: &StateName, count: i64) -> String {
    success(request, &[])
        .text("requestId", request)
        .text("modelName", &model.name)
        .number("modelVersion", model.version)
        .text("state", state.as_str())
        .number("count", count)
        .finish()
}

/// Who made a change, be it who it is attributed to or another.
pub(super) fn executor(change: &Change) -> String {
    let executor = change.executor();
    Object::new()
        .text("id", &executor.name)
        .text("kind", executor.kind.as_str())
        .finish()
}

/// One change of an entity (`rest.md` §3.1; existing clients look for the transaction here).
pub fn change(request: &str, change: &Change) -> String {
    let meta = match change.kind {
        // Documented so; the answer to the deletion names its transaction.
        ChangeKind::Delete => Object::new(),
        ChangeKind::Create | ChangeKind::Update => {
            Object::new().text("transactionId", &change.transaction.to_string())
        }
    };
    let meta = meta
        .text("timeOfChange", &change.at.to_string())
        .text("user", &change.author.name)
        .text("changeType", change.kind.as_str())
        .text("attributedKind", change.author.kind.as_str())
        .raw("executedBy", &executor(change));
    success(request, &[])
        .text("requestId", request)
        .raw("changeMeta", &meta.finish())
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Json;
    use crate::id::{EntityId, TransactionId};

    #[test]
    fn the_parts_of_an_entity_are_found_whatever_it_and_its_request_are_called() {
        let now = Timestamp::from_micros(1);
        let image = |document: &str| Image {
            id: EntityId::NIL,
            model: ModelKey::new(r#""payload":{"type":"JSON","#, 1),
            state: "NEW".into(),
            document: Json::trusted(document),
            created: now,
            updated: now,
            transaction: TransactionId::NIL,
            transition: None,
            workflow: None,
        };
        for request in ["r1", r#""payload":{"type":"JSON","data":1}}"#] {
            for document in ["{}", "[[]]", r#"{"payload":{"type":"JSON","data":{}}}"#] {
                let image = image(document);
                let answer = entity(request, &image, None);
                let told = data_and_meta(&answer).expect("an entity");
                let expected = format!(r#""data":{document},"meta":{}"#, meta(&image, None));
                assert_eq!(told, expected);
            }
        }
        assert_eq!(data_and_meta(r#"{"id":"r1","success":false}"#), None);
    }
}
