//! Payloads of writes to entities (`grpc.md` §8.2, `stream.md` §3.1).

use std::{borrow::Cow, collections::BTreeMap};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Answer, AsText, DataFormat, ModelName, ModelSpec, Object, RequestId, RequiredText, as_texts,
    json, search::Condition,
};
use crate::clock::PointInTime;
use crate::error::{Code, Failure};
use crate::id::{EntityId, ModelId, ModelKey, TransactionId, TransitionName};

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
    /// The version to delete, by the transaction that wrote it; `*` is any version.
    #[serde(default)]
    pub if_match: Option<String>,
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
    /// The version to take it in, by the transaction that wrote it; `*` is any version.
    #[serde(default)]
    pub if_match: Option<String>,
}

/// The version that a request names, as it is written; an empty text is none, because clients whose
/// type always has the member send it so.
pub fn named_version(if_match: Option<String>) -> Option<String> {
    if_match.filter(|named| !named.is_empty())
}

/// The version that a request names; none if it may be any.
pub fn expected_version(if_match: Option<String>) -> Option<Box<str>> {
    let expected = named_version(if_match).filter(|expected| expected != "*");
    expected.map(Into::into)
}

/// An id in a payload is not checked when it is read: a text that is not an id names no entity
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

/// What a write did: one transaction, or several.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntityTransaction")]
pub struct Written {
    /// What the transaction did; of several, the first.
    pub transaction_info: TransactionInfo,
    /// What each transaction did, if the request was one for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Vec<WrittenChunk>>,
}

/// What one transaction wrote.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionInfo {
    /// Absent if nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<AsText<TransactionId>>,
    pub entity_ids: Vec<AsText<EntityId>>,
}

/// What one transaction of several wrote, or why it wrote nothing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TransactionChunk")]
pub struct WrittenChunk {
    #[serde(flatten)]
    pub info: TransactionInfo,
    /// Items that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedItem>,
    /// Why nothing of the transaction was done; the ones before it were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ChunkError>,
}

/// An item that was left out of a transaction.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedItem {
    pub entity_id: AsText<EntityId>,
    pub error: ItemError,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ItemError {
    /// An error code.
    pub code: Cow<'static, str>,
    pub message: String,
    /// The place of the item in its transaction, from 0.
    pub item_index: usize,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ChunkError {
    /// An error code.
    pub code: Cow<'static, str>,
    pub message: String,
    /// The place of the transaction, from 0.
    pub chunk_index: usize,
}

impl From<Chunk> for TransactionInfo {
    fn from(chunk: Chunk) -> Self {
        Self {
            transaction_id: chunk.transaction.map(AsText),
            entity_ids: as_texts(chunk.ids),
        }
    }
}

impl WrittenChunk {
    fn new(index: usize, chunk: Chunk) -> Self {
        let failed = chunk.failed.iter().map(|(id, item, failure)| FailedItem {
            entity_id: AsText(*id),
            error: ItemError {
                code: failure.code().as_str().into(),
                message: failure.message().to_owned(),
                item_index: *item,
            },
        });
        Self {
            failed: failed.collect(),
            error: chunk.error.as_ref().map(|failure| ChunkError {
                code: failure.code().as_str().into(),
                message: failure.to_string(),
                chunk_index: index,
            }),
            info: chunk.into(),
        }
    }
}

impl Written {
    /// A write in one transaction.
    pub fn one(chunk: Chunk) -> Self {
        Self {
            transaction_info: chunk.into(),
            chunks: None,
        }
    }

    /// A write in several transactions.
    pub fn several(chunks: Vec<Chunk>) -> Self {
        let chunks = chunks.into_iter().enumerate();
        let chunks: Vec<_> = chunks
            .map(|(index, chunk)| WrittenChunk::new(index, chunk))
            .collect();
        Self {
            transaction_info: chunks
                .first()
                .map(|first| first.info.clone())
                .unwrap_or_default(),
            chunks: Some(chunks),
        }
    }
}

impl TransactionInfo {
    fn write(&self, object: Object) -> Object {
        let object = match &self.transaction_id {
            Some(id) => object.plain("transactionId", id.0),
            None => object,
        };
        object.plain_list("entityIds", self.entity_ids.iter().map(|id| id.0))
    }
}

impl Answer for Written {
    const BY_HAND: Option<fn(&Self, Object) -> Object> = Some(|written, object| {
        let object = object.object("transactionInfo", |info| {
            written.transaction_info.write(info)
        });
        match &written.chunks {
            Some(chunks) => object.raw("chunks", &json(chunks)),
            None => object,
        }
    });

    fn placeholder() -> Option<Self> {
        Some(Self {
            transaction_info: TransactionInfo::default(),
            chunks: None,
        })
    }
}

/// An entity that was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntityDeleted")]
pub struct Deleted {
    pub entity_id: AsText<EntityId>,
    pub model: ModelName,
    pub transaction_id: AsText<TransactionId>,
}

impl Answer for Deleted {
    fn placeholder() -> Option<Self> {
        Some(Self {
            entity_id: AsText(EntityId::NIL),
            model: ModelName::default(),
            transaction_id: AsText(TransactionId::NIL),
        })
    }
}

/// The entities of a model that were deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntitiesDeleted")]
pub struct AllDeleted {
    /// The deleted entities, if `verbose` was true.
    pub entity_ids: Vec<AsText<EntityId>>,
    pub model_id: AsText<ModelId>,
    pub num_deleted: usize,
    /// Why entities that matched were not deleted, by their ids.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub errors_by_id: IndexMap<String, String>,
}

impl AllDeleted {
    pub fn of(model: &ModelKey) -> Self {
        Self {
            entity_ids: Vec::new(),
            model_id: AsText(model.id()),
            num_deleted: 0,
            errors_by_id: IndexMap::new(),
        }
    }
}

impl Answer for AllDeleted {
    fn placeholder() -> Option<Self> {
        Some(Self {
            entity_ids: Vec::new(),
            model_id: AsText(ModelId::NIL),
            num_deleted: 0,
            errors_by_id: IndexMap::new(),
        })
    }
}

/// The transitions that can be requested next.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AvailableTransitions")]
pub struct Transitioned {
    /// The transitions that the state declares where the entity is now.
    pub available_transitions: Vec<AsText<TransitionName>>,
}

impl Answer for Transitioned {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            available_transitions: Vec::new(),
        })
    }
}
