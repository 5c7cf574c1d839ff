//! The change feed, and live searches.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;
use serde_json::Value;

use super::{
    Body, CONDITION, NO_MODEL, Parameter, Tag, Told,
    entity::change_type,
    of,
    parameter::{instant, int32, int64, name, text, texts, truth, uuid},
};
use crate::event::payload::search::Condition;

/// One change of an entity.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct FeedEntry {
    /// Its place in the feed, and the event's `id`.
    sequence: i64,
    #[schemars(schema_with = "uuid")]
    entity_id: String,
    model: Model,
    /// After the change; the last one, if the entity was deleted.
    state: String,
    #[schemars(schema_with = "change_type")]
    change_type: String,
    #[schemars(schema_with = "uuid")]
    transaction_id: String,
    #[schemars(schema_with = "instant")]
    time_of_change: String,
    /// The document, if it was asked for; a deletion has none.
    data: Option<Value>,
}

/// What a change did to the result of a live search.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct LiveEntry {
    /// What the change did: `entered`, `changed` or `left`.
    change: String,
    #[serde(flatten)]
    entry: FeedEntry,
}

#[derive(JsonSchema)]
#[schemars(inline)]
struct Model {
    name: String,
    version: i32,
}

pub(in crate::rest) const SUBSCRIBE: Told = Told {
    text: "Server-sent events until the call is closed: every change once, in commit order, and \
           new changes as they are committed. The `id` of each is its sequence, so a client that \
           reconnects with `Last-Event-ID` misses nothing. An event `failure` is the last one.",
    parameters: &[
        Parameter::query(
            "entityName",
            name,
            "Only changes of this model; with `modelVersion`.",
        ),
        Parameter::query("modelVersion", int32, "Its version."),
        Parameter::query(
            "states",
            texts,
            "Only changes that leave the entity in one of these states.",
        ),
        Parameter::query(
            "fromSequence",
            int64,
            "The last sequence received, 0 for all changes; without it, the feed begins now.",
        ),
        Parameter::query("includeData", truth, "Whether to include the documents."),
        Parameter::header(
            "Last-Event-ID",
            text,
            "The last sequence received; takes precedence over `fromSequence`.",
        ),
    ],
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Events,
        "followChanges",
        "Follow the change feed",
        of::<FeedEntry>,
    )
};

pub(in crate::rest) const SUBSCRIBE_SEARCH: Told = Told {
    text: "Server-sent events until the call is closed: an event `entity` for each match, ordered \
           by id; an event `complete`; then, in commit order, the effect of each later change: \
           `change` is `entered`, `changed` or `left`. The `id` of these, and of `complete`, is \
           their sequence: with `Last-Event-ID` the search resumes after it, without the entities. \
           An event `failure` is the last one.",
    parameters: &[
        Parameter::query(
            "fromSequence",
            int64,
            "The last sequence received; without it, the matching entities are sent first.",
        ),
        Parameter::query(
            "includeData",
            truth,
            "Whether to include the documents of entities that enter or change.",
        ),
        Parameter::header(
            "Last-Event-ID",
            text,
            "The last sequence received; takes precedence over `fromSequence`.",
        ),
    ],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Told::new(
        Tag::Search,
        "searchLive",
        "Follow the result of a search",
        of::<LiveEntry>,
    )
};
