//! Payloads of writes to entities (`grpc.md` §8.2, `stream.md` §3.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    DataFormat, ModelSpec, Object, RequiredText, list, model::spec, search::Condition, success,
    text_list,
};
use crate::clock::PointInTime;
use crate::error::{Code, Failure};
use crate::id::{EntityId, ModelKey, TransactionId, TransitionName};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Create<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub data_format: DataFormat,
    #[serde(borrow)]
    pub payload: NewEntity<'a>,
    /// For a list: entities per transaction; all if absent.
    #[serde(default)]
    pub chunk_size: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
pub struct NewEntity<'a> {
    pub model: ModelSpec,
    #[serde(borrow)]
    pub data: &'a RawValue,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateCollection<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub data_format: DataFormat,
    #[serde(borrow)]
    pub payloads: Vec<NewEntity<'a>>,
    /// Items per transaction; all if absent.
    #[serde(default)]
    pub chunk_size: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub data_format: DataFormat,
    #[serde(borrow)]
    pub payload: Change<'a>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateCollection<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub data_format: DataFormat,
    #[serde(borrow)]
    pub payloads: Vec<Change<'a>>,
    #[serde(default)]
    pub chunk_size: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change<'a> {
    pub entity_id: String,
    #[serde(borrow)]
    pub data: &'a RawValue,
    #[serde(default)]
    pub transition: Option<String>,
    #[serde(default)]
    pub if_match: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Patch<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub patch_format: PatchFormat,
    #[serde(borrow)]
    pub payload: PatchPayload<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PatchFormat {
    /// RFC 7386.
    #[serde(rename = "MERGE_PATCH")]
    Merge,
    /// RFC 6902.
    #[serde(rename = "JSON_PATCH")]
    Json,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchPayload<'a> {
    pub entity_id: String,
    #[serde(borrow)]
    pub patch: &'a RawValue,
    #[serde(default)]
    pub transition: Option<String>,
    /// Required; `*` is any version.
    #[serde(default)]
    pub if_match: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteAll<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub verbose: Option<bool>,
    /// The entities to delete; all if absent. Null is not a valid condition, and deletes nothing.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<Condition>")]
    pub condition: Option<&'a RawValue>,
}

/// A member that is there, be it null.
fn given<'de: 'a, 'a, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    pub transition: String,
}

/// An id in a payload is not checked when it is read: what is no id names no entity
/// (`grpc.md` §5.1).
pub fn entity_id(text: &str) -> Result<EntityId, Failure> {
    text.parse()
        .map_err(|_| Failure::new(Code::EntityNotFound, "entity not found").with("entityId", text))
}

/// An instant in a payload.
pub fn point_in_time(text: Option<&str>) -> Result<Option<PointInTime>, Failure> {
    let parse = |text| {
        PointInTime::parse(text)
            .map_err(|error| Failure::malformed(format!("invalid payload: pointInTime: {error}")))
    };
    text.map(parse).transpose()
}

/// The transition a request names; an empty text is none.
pub fn transition(name: Option<String>) -> Option<TransitionName> {
    name.filter(|name| !name.is_empty()).map(Into::into)
}

/// What one transaction of a request did.
#[derive(Debug)]
pub struct Chunk {
    pub transaction: Option<TransactionId>,
    pub ids: Vec<EntityId>,
    /// Items that were left out, by their place in the chunk.
    pub failed: Vec<(EntityId, usize, Failure)>,
    /// Why nothing of the chunk was done.
    pub error: Option<Failure>,
}

impl Chunk {
    pub const fn done(transaction: TransactionId, ids: Vec<EntityId>) -> Self {
        Self {
            transaction: Some(transaction),
            ids,
            failed: Vec::new(),
            error: None,
        }
    }

    /// A chunk of which nothing was done.
    pub const fn failed(failure: Failure) -> Self {
        Self {
            transaction: None,
            ids: Vec::new(),
            failed: Vec::new(),
            error: Some(failure),
        }
    }

    fn info(&self, object: Object) -> Object {
        let object = match self.transaction {
            Some(transaction) => object.plain("transactionId", transaction),
            None => object,
        };
        object.plain_list("entityIds", &self.ids)
    }

    /// `errors.md` §4.
    fn whole(&self, index: i64) -> String {
        let mut object = self.info(Object::new());
        if !self.failed.is_empty() {
            let failed = self.failed.iter().map(|(id, item, failure)| {
                let error = Object::new()
                    .text("code", failure.code().as_str())
                    .text("message", failure.message())
                    .number("itemIndex", i64::try_from(*item).unwrap_or(i64::MAX));
                Object::new()
                    .text("entityId", &id.to_string())
                    .raw("error", &error.finish())
                    .finish()
            });
            object = object.raw("failed", &list(failed));
        }
        if let Some(failure) = &self.error {
            let error = Object::new()
                .text("code", failure.code().as_str())
                .text("message", &failure.to_string())
                .number("chunkIndex", index);
            object = object.raw("error", &error.finish());
        }
        object.finish()
    }
}

/// A chunk as it is stored for a repeat of its request. What was left out of it was so for being
/// modified.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredChunk {
    pub transaction: Option<String>,
    pub entities: Vec<String>,
    /// With their places in the chunk.
    pub modified: Vec<(String, usize)>,
    pub warnings: Vec<String>,
}

impl StoredChunk {
    pub fn new(chunk: &Chunk, warnings: &[String]) -> Self {
        let modified = chunk.failed.iter();
        Self {
            transaction: chunk.transaction.map(|transaction| transaction.to_string()),
            entities: chunk.ids.iter().map(ToString::to_string).collect(),
            modified: modified
                .map(|(id, item, _)| (id.to_string(), *item))
                .collect(),
            warnings: warnings.to_vec(),
        }
    }

    pub fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn decode(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The answer to a write in one transaction.
pub fn written(request: &str, chunk: &Chunk, warnings: &[String]) -> String {
    success(request, warnings)
        .text("requestId", request)
        .object("transactionInfo", |info| chunk.info(info))
        .finish()
}

/// The answer to a write in several transactions.
pub fn written_in_chunks(request: &str, chunks: &[Chunk], warnings: &[String]) -> String {
    let first = chunks.first().map_or_else(
        || r#"{"entityIds":[]}"#.to_owned(),
        |chunk| chunk.info(Object::new()).finish(),
    );
    success(request, warnings)
        .text("requestId", request)
        .raw("transactionInfo", &first)
        .raw(
            "chunks",
            &list(
                chunks
                    .iter()
                    .zip(0..)
                    .map(|(chunk, index)| chunk.whole(index)),
            ),
        )
        .finish()
}

pub fn deleted(
    request: &str,
    id: EntityId,
    model: &ModelKey,
    transaction: TransactionId,
) -> String {
    success(request, &[])
        .text("requestId", request)
        .text("entityId", &id.to_string())
        .raw("model", &spec(model))
        .text("transactionId", &transaction.to_string())
        .finish()
}

/// What deleting many has done.
#[derive(Debug, Default)]
pub struct AllDeleted {
    pub count: usize,
    /// Those that are to be told.
    pub listed: Vec<EntityId>,
    pub failed: Vec<(EntityId, Failure)>,
}

pub fn all_deleted(request: &str, model: &ModelKey, deleted: &AllDeleted) -> String {
    let object = success(request, &[])
        .text("requestId", request)
        .raw(
            "entityIds",
            &text_list(deleted.listed.iter().map(ToString::to_string)),
        )
        .text("modelId", &model.id().to_string())
        .number(
            "numDeleted",
            i64::try_from(deleted.count).unwrap_or(i64::MAX),
        );
    if deleted.failed.is_empty() {
        return object.finish();
    }
    let failed = deleted
        .failed
        .iter()
        .fold(Object::new(), |object, (id, failure)| {
            object.text(&id.to_string(), &failure.to_string())
        });
    object.raw("errorsById", &failed.finish()).finish()
}

pub fn transitioned(request: &str, available: &[TransitionName], warnings: &[String]) -> String {
    success(request, warnings)
        .raw(
            "availableTransitions",
            &text_list(available.iter().map(TransitionName::as_str)),
        )
        .finish()
}
