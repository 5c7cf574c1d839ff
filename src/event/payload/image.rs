//! An entity in answers, and what is known about it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Answer, AsText, ModelName, Object, RawJson};
use crate::clock::{PointInTime, Timestamp};
use crate::entity::Image;
use crate::id::{EntityId, StateName, TransactionId, TransitionName};

/// The answer that is an entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Entity {
    pub payload: EntityPayload,
}

/// An entity, and what is known about it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntityPayload {
    r#type: DataType,
    /// The document, as it was written. Absent if `success` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
    /// Absent if `success` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum DataType {
    Json,
}

/// What is known about an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntityMeta")]
pub struct Meta {
    #[serde(flatten)]
    committed: CommittedMeta,
    /// The transition that led to this version; `loopback`, if none was named.
    #[schemars(with = "String")]
    transition_for_latest_save: LatestTransition,
    /// The instant that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    point_in_time: Option<Arc<str>>,
}

/// The part of that which compute members are sent too.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommittedMeta {
    id: AsText<EntityId>,
    model_key: ModelName,
    /// The state of its workflow that it is in.
    state: AsText<StateName>,
    creation_date: AsText<Timestamp>,
    last_update_time: AsText<Timestamp>,
    /// The transaction that wrote this version: what `ifMatch` takes.
    transaction_id: AsText<TransactionId>,
}

/// The transition that a writer named, if one did.
#[derive(Debug)]
struct LatestTransition(Option<TransitionName>);

impl LatestTransition {
    fn as_str(&self) -> &str {
        let named = self.0.as_ref();
        named.map_or(Image::LOOPBACK, TransitionName::as_str)
    }
}

impl Serialize for LatestTransition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl From<&Image> for CommittedMeta {
    fn from(image: &Image) -> Self {
        Self {
            id: AsText(image.id),
            model_key: image.model.clone().into(),
            state: AsText(image.state.clone()),
            creation_date: AsText(image.created),
            last_update_time: AsText(image.updated),
            transaction_id: AsText(image.transaction),
        }
    }
}

/// What an entity says of itself takes about this many bytes.
const USUAL_META_BYTES: usize = 256;

impl Entity {
    /// About how many bytes it is written in.
    pub fn bytes(&self) -> usize {
        let data = self.payload.data.as_ref();
        USUAL_META_BYTES + data.map_or(0, |data| data.as_str().len())
    }

    /// An entity, as of the instant that was asked for, if one was.
    pub fn new(image: Image, asked: Option<&PointInTime>) -> Self {
        let committed = CommittedMeta {
            id: AsText(image.id),
            model_key: image.model.into(),
            state: AsText(image.state),
            creation_date: AsText(image.created),
            last_update_time: AsText(image.updated),
            transaction_id: AsText(image.transaction),
        };
        let meta = Meta {
            committed,
            transition_for_latest_save: LatestTransition(image.transition),
            point_in_time: asked.map(|instant| Arc::clone(&instant.text)),
        };
        Self {
            payload: EntityPayload {
                r#type: DataType::Json,
                data: Some(RawJson(image.document)),
                meta: Some(meta),
            },
        }
    }
}

impl CommittedMeta {
    pub(super) fn write(&self, object: Object) -> Object {
        object
            .plain("id", self.id.0)
            .object("modelKey", |model| self.model_key.write(model))
            .text("state", self.state.0.as_str())
            .plain("creationDate", self.creation_date.0)
            .plain("lastUpdateTime", self.last_update_time.0)
            .plain("transactionId", self.transaction_id.0)
    }
}

impl Meta {
    /// Writes the members.
    pub fn write(&self, object: Object) -> Object {
        let meta = self.committed.write(object).text(
            "transitionForLatestSave",
            self.transition_for_latest_save.as_str(),
        );
        match &self.point_in_time {
            Some(instant) => meta.text("pointInTime", instant),
            None => meta,
        }
    }
}

impl EntityPayload {
    fn write(&self, object: Object) -> Object {
        let object = object.text("type", "JSON");
        let object = match &self.data {
            Some(data) => object.raw("data", data.as_str()),
            None => object,
        };
        match &self.meta {
            Some(meta) => object.object("meta", |object| meta.write(object)),
            None => object,
        }
    }
}

impl Answer for Entity {
    const BY_HAND: Option<fn(&Self, Object) -> Object> =
        Some(|entity, object| object.object("payload", |payload| entity.payload.write(payload)));

    fn placeholder() -> Option<Self> {
        Some(Self {
            payload: EntityPayload {
                r#type: DataType::Json,
                data: None,
                meta: None,
            },
        })
    }

    fn extra_bytes(&self) -> usize {
        self.bytes()
    }
}
