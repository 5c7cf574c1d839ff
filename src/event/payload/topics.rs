//! Payloads about topics (`runs.md` §5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, AsText, RawJson, RequestId, RequiredText, paging::Pagination};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "TopicPublication")]
pub struct Publish<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// 1 to 256 bytes.
    pub topic: String,
    /// 1 to 1000.
    #[serde(borrow)]
    pub events: Vec<NewEvent<'a>>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// An event to be added to a topic.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewTopicEvent")]
pub struct NewEvent<'a> {
    /// Any JSON, of at most 1 MiB.
    #[serde(borrow)]
    pub payload: &'a RawValue,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Events of one key keep their order in triggers of the mode `key_shared`.
    #[serde(default)]
    pub key: Option<String>,
    /// An event whose id the topic has already is not added again.
    #[serde(default)]
    pub id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TopicGet")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub topic: String,
    /// The sequence after which to begin; 0 if absent.
    #[serde(default)]
    pub from_sequence: Option<i64>,
    /// How many events, 1 to 1000; 100 if absent. Fewer are answered if they are large.
    #[serde(default)]
    pub limit: Option<i64>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "TopicsGet")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// How many items, 1 to 1000; 100 if absent.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// Events that were published.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TopicPublished")]
pub struct Published {
    /// The sequence of each event, that of the first with its id if it is a repeat. Empty if the
    /// request joined a transaction: they are given when that commits.
    pub sequences: Vec<i64>,
}

impl Answer for Published {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A part of a topic.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicPart")]
pub struct Part {
    /// The sequence of the oldest event that is kept; that of the next one if none is.
    pub first: i64,
    /// The sequence of the newest event.
    pub last: i64,
    pub items: Vec<Event>,
}

impl Answer for Part {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn extra_bytes(&self) -> usize {
        let bytes = |event: &Event| event.payload.as_str().len() + 200;
        self.items.iter().map(bytes).sum()
    }
}

/// An event of a topic.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicEvent")]
pub struct Event {
    /// 1, 2, 3… in its topic.
    pub sequence: i64,
    pub payload: RawJson,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it was published.
    pub time: AsText<Timestamp>,
}

/// A topic.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Topic")]
pub struct Item {
    pub topic: String,
    /// The sequence of the oldest event that is kept; that of the next one if none is.
    pub first: i64,
    /// The sequence of the newest event.
    pub last: i64,
}

/// A page of topics, by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Topics")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}
