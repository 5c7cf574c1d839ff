//! Payloads of the change feed and of live searches (`stream.md` §3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Answer, AsText, ModelName, ModelSpec, Object, RawJson, RequiredText,
    search::{ChangeType, Condition, Entity},
};
use crate::clock::Timestamp;
use crate::entity::{Changed, Sequence};
use crate::event::EventType;
use crate::id::{EntityId, StateName, TransactionId};

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

/// A change of an entity, or that the result of a live search is complete.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeEvent {
    /// The position in the feed. A client that connects again gives the last one that it has
    /// seen.
    pub sequence: i64,
    /// Of a live search: what the change did to its result, or that the result is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Effect>,
    /// Absent if `change` is `complete`.
    #[serde(flatten)]
    pub entry: Option<Entry>,
}

/// What a change did to the result of a live search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Effect {
    Entered,
    Changed,
    Left,
    /// Every entity of the result has been sent, as of this sequence.
    Complete,
}

/// One change of an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Entry {
    entity_id: AsText<EntityId>,
    model: ModelName,
    /// After the change; the last one, if the entity was deleted.
    state: AsText<StateName>,
    change_type: ChangeType,
    transaction_id: AsText<TransactionId>,
    time_of_change: AsText<Timestamp>,
    /// The document, if it was asked for; a deletion has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<RawJson>,
}

impl ChangeEvent {
    /// About how many bytes it is written in.
    pub fn bytes(&self) -> usize {
        let data = self.entry.as_ref().and_then(|entry| entry.data.as_ref());
        USUAL_BYTES + data.map_or(0, |data| data.as_str().len())
    }

    /// A change, and what it did to the result of a live search.
    pub fn new(change: Changed, effect: Option<Effect>) -> Self {
        Self {
            sequence: change.position.0,
            change: effect,
            entry: Some(Entry {
                entity_id: AsText(change.entity),
                model: change.model.into(),
                state: AsText(change.state),
                change_type: change.kind.into(),
                transaction_id: AsText(change.transaction),
                time_of_change: AsText(change.at),
                data: change.document.map(RawJson),
            }),
        }
    }

    /// The result of a live search is complete, as of a sequence.
    pub const fn complete(at: Sequence) -> Self {
        Self {
            sequence: at.0,
            change: Some(Effect::Complete),
            entry: None,
        }
    }
}

/// A change takes about this many bytes more than other answers, without its document.
const USUAL_BYTES: usize = 128;

impl Effect {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Entered => "entered",
            Self::Changed => "changed",
            Self::Left => "left",
            Self::Complete => "complete",
        }
    }
}

impl Entry {
    fn write(&self, object: Object) -> Object {
        let object = object
            .plain("entityId", self.entity_id.0)
            .object("model", |model| self.model.write(model))
            .text("state", self.state.0.as_str())
            .text("changeType", self.change_type.as_str())
            .plain("transactionId", self.transaction_id.0)
            .plain("timeOfChange", self.time_of_change.0);
        match &self.data {
            Some(data) => object.raw("data", data.as_str()),
            None => object,
        }
    }
}

impl Answer for ChangeEvent {
    const BY_HAND: Option<fn(&Self, Object) -> Object> = Some(|change, object| {
        let object = object.number("sequence", change.sequence);
        let object = match change.change {
            Some(effect) => object.text("change", effect.as_str()),
            None => object,
        };
        match &change.entry {
            Some(entry) => entry.write(object),
            None => object,
        }
    });

    fn extra_bytes(&self) -> usize {
        self.bytes()
    }
}

/// What a live search sends: the entities that match, then what changes them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "LiveSearchEvent")]
pub enum News {
    Entity(Box<Entity>),
    Change(ChangeEvent),
}

impl Answer for News {
    fn event_type(&self) -> Option<EventType> {
        match self {
            Self::Entity(_) => Some(EventType::EntityResponse),
            Self::Change(_) => None,
        }
    }

    fn extra_bytes(&self) -> usize {
        match self {
            Self::Entity(entity) => entity.extra_bytes(),
            Self::Change(change) => change.extra_bytes(),
        }
    }
}
