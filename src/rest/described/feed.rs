//! The change feed, and live searches.

use super::{
    Body, CONDITION, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{int32, int64, name, text, texts, truth},
};
use crate::event::payload::{feed::ChangeEvent, search::Condition};

pub(in crate::rest) const SUBSCRIBE: Description = Description {
    text: "Server-sent events that go on until the call is closed: every change in the order of \
           commits, once, and what is committed later as it is. The `id` of each is its sequence, \
           so a client that connects again with `Last-Event-ID` misses nothing. An event `failure` \
           is the last one.",
    parameters: &[
        Parameter::query(
            "entityName",
            name,
            "Only of this model; with `modelVersion`.",
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
            "What was seen last, 0 for nothing; without it, the feed begins now.",
        ),
        Parameter::query("includeData", truth, "Whether to send the documents."),
        Parameter::header(
            "Last-Event-ID",
            text,
            "What was seen last; before `fromSequence`.",
        ),
    ],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Events,
        "followChanges",
        "Every change, as it is committed",
        of::<ChangeEvent>,
    )
};

pub(in crate::rest) const SUBSCRIBE_SEARCH: Description = Description {
    text: "Server-sent events that go on until the call is closed: an event `entity` for each entity \
           that fits, in the order of their ids; an event `complete`; then, in the order of commits, \
           what each later change does to that: `change` is `entered`, `changed` or `left`. The `id` \
           of those, and of `complete`, is their sequence: with `Last-Event-ID` it goes on after it, \
           without the entities. An event `failure` is the last one.",
    parameters: &[
        Parameter::query(
            "fromSequence",
            int64,
            "What was seen last; without it, what fits comes first.",
        ),
        Parameter::query(
            "includeData",
            truth,
            "Whether to send the documents of what enters or is changed.",
        ),
        Parameter::header(
            "Last-Event-ID",
            text,
            "What was seen last; before `fromSequence`.",
        ),
    ],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Search,
        "searchLive",
        "What fits a condition, and how that changes",
        of::<ChangeEvent>,
    )
};
