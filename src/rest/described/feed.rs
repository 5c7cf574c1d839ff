//! The change feed, and live searches.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, CONDITION, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{LAST_EVENT_ID, int32, int64, name, texts, truth},
};
use crate::event::payload::{feed::ChangeEvent, search::Condition};
use crate::rest::write::entity::Entity;

pub(in crate::rest) const SUBSCRIBE: Description = Description {
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
        LAST_EVENT_ID,
    ],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Events,
        "followChanges",
        "Follow the change feed",
        of::<ChangeEvent>,
    )
};

/// A match, or a change.
fn news(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [of::<Entity>(generator), of::<ChangeEvent>(generator)]})
}

pub(in crate::rest) const SUBSCRIBE_SEARCH: Description = Description {
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
        LAST_EVENT_ID,
    ],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Search,
        "searchLive",
        "Follow the result of a search",
        news,
    )
};
