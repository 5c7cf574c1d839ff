//! Finding entities.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, CONDITION, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{POINT_IN_TIME, texts, truth, uuid},
};
use crate::error::Code;
use crate::event::payload::search::{Condition, Explanation, Page};
use crate::rest::write::{
    entity::Entity,
    search::{JobCancelled, JobStatus},
};

const NO_JOB: &[Code] = &[Code::SearchJobNotFound];

const LIMIT: Parameter = Parameter::query(
    "limit",
    |_| json_schema!({"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000}),
    "How many may match.",
);

const SORT: Parameter = Parameter::query(
    "sort",
    texts,
    "What to order by: `path`, `path:desc`, or `@field` of what is known about the entity, like \
     `@creationDate`; repeat the parameter for more than one.",
);

const TRACKING: Parameter = Parameter::query(
    "trackingRead",
    truth,
    "Within a transaction: what was found must not have changed when it commits.",
);

const EXPLAIN_INSTEAD: Parameter = Parameter::query(
    "explain",
    truth,
    "Tell how the search is served, in one object, instead of what it finds.",
);

pub(in crate::rest) const DIRECT: Description = Description {
    text: "One entity to a line. If more than `limit` match, the answer is `SEARCH_RESULT_LIMIT`.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING, EXPLAIN_INSTEAD],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION, &[Code::SearchResultLimit]],
    ..Description::new(
        Tag::Search,
        "search",
        "The entities that fit a condition",
        of::<Entity>,
    )
};

pub(in crate::rest) const EXPLAIN: Description = Description {
    ..Description::new(
        Tag::Search,
        "explainSearch",
        "How a search is served",
        of::<Explanation>,
    )
};

pub(in crate::rest) const CUT_OFF: Description = Description {
    text: "For existing clients: a list, of at most `limit`.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Search,
        "searchUpToLimit",
        "The first entities that fit a condition",
        of::<Entity>,
    )
};

pub(in crate::rest) const SUBMIT: Description = Description {
    text: "It runs in the background, whatever the number of matches, and finds what was \
        committed before it was started, or up to `pointInTime`.",
    parameters: &[POINT_IN_TIME, SORT],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Search,
        "submitSearch",
        "Start a search job; its id is answered",
        uuid,
    )
};

pub(in crate::rest) const STATUS: Description = Description {
    codes: &[NO_JOB],
    ..Description::new(
        Tag::Search,
        "getSearchStatus",
        "How a search job stands",
        of::<JobStatus>,
    )
};

const PAGE_SIZE: Parameter = Parameter::query(
    "pageSize",
    |_| json_schema!({"type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": 10000, "default": 1000}),
    "How many entities are on a page; the default, if it is not above 0.",
);

const PAGE_NUMBER: Parameter = Parameter::query(
    "pageNumber",
    |_| json_schema!({"type": "integer", "minimum": 0, "maximum": 214_748, "default": 0}),
    "Which page, from 0; one beyond the last is empty.",
);

/// Some of the entities that a search job has found.
fn results(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "description": "Some of the entities that a search job has found, and which these are.",
        "properties": {"content": of::<Vec<Entity>>(generator), "page": of::<Page>(generator)},
        "required": ["content", "page"]
    })
}

pub(in crate::rest) const RESULTS: Description = Description {
    text: "The entities are as they were when the job was started, or at its `pointInTime`.",
    parameters: &[PAGE_SIZE, PAGE_NUMBER],
    codes: &[NO_JOB],
    ..Description::new(
        Tag::Search,
        "getSearchResults",
        "What a search job found",
        results,
    )
};

pub(in crate::rest) const CANCEL: Description = Description {
    codes: &[NO_JOB, &[Code::SearchJobAlreadyTerminal]],
    ..Description::new(
        Tag::Search,
        "cancelSearch",
        "Cancel a search job",
        of::<JobCancelled>,
    )
};
