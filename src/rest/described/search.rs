//! Finding entities.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, CONDITION, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{POINT_IN_TIME, texts, truth, uuid},
};
use crate::error::Code;
use crate::event::payload::{
    answer,
    search::{Condition, Explanation, Page},
};
use crate::rest::write::{
    entity::Entity,
    search::{JobCancelled, JobStatus},
};

const NO_JOB: &[Code] = &[Code::SearchJobNotFound];

const LIMIT: Parameter = Parameter::query(
    "limit",
    |_| json_schema!({"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000}),
    "The maximum number of matches.",
);

const SORT: Parameter = Parameter::query(
    "sort",
    texts,
    "Sort key: `path`, `path:desc`, or `@field` for metadata such as `@creationDate`; repeat the \
     parameter for more keys.",
);

const TRACKING: Parameter = Parameter::query(
    "trackingRead",
    truth,
    "In a transaction: the commit fails if a found entity has changed.",
);

const EXPLAIN_INSTEAD: Parameter = Parameter::query(
    "explain",
    truth,
    "Report how the search was served, as one object, instead of its result.",
);

pub(in crate::rest) const DIRECT: Description = Description {
    text: "One entity per line. If more than `limit` match, the answer is `SEARCH_RESULT_LIMIT`.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING, EXPLAIN_INSTEAD],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION, &[Code::SearchResultLimit]],
    ..Description::new(Tag::Search, "search", "Search entities", of::<Entity>)
};

pub(in crate::rest) const EXPLAIN: Description = Description {
    ..Description::new(
        Tag::Search,
        "explainSearch",
        "Explain how a search is served",
        answer::schema::<Explanation>,
    )
};

pub(in crate::rest) const CUT_OFF: Description = Description {
    text: "For existing clients: a list of at most `limit` entities.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Search,
        "searchUpToLimit",
        "Search entities, up to a limit",
        of::<Entity>,
    )
};

pub(in crate::rest) const SUBMIT: Description = Description {
    text: "The search runs in the background, without a limit on matches, over what was committed \
           before it was started, or up to `pointInTime`.",
    parameters: &[POINT_IN_TIME, SORT],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Description::new(
        Tag::Search,
        "submitSearch",
        "Start a background search; returns its id",
        uuid,
    )
};

pub(in crate::rest) const STATUS: Description = Description {
    codes: &[NO_JOB],
    ..Description::new(
        Tag::Search,
        "getSearchStatus",
        "The status of a background search",
        of::<JobStatus>,
    )
};

const PAGE_SIZE: Parameter = Parameter::query(
    "pageSize",
    |_| json_schema!({"type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": 10000, "default": 1000}),
    "Entities per page; the default if it is not above 0.",
);

const PAGE_NUMBER: Parameter = Parameter::query(
    "pageNumber",
    |_| json_schema!({"type": "integer", "minimum": 0, "maximum": 214_748, "default": 0}),
    "The page number, from 0; a page beyond the last is empty.",
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
    text: "The entities as of the start of the search, or of its `pointInTime`.",
    parameters: &[PAGE_SIZE, PAGE_NUMBER],
    codes: &[NO_JOB],
    ..Description::new(
        Tag::Search,
        "getSearchResults",
        "The result of a background search",
        results,
    )
};

pub(in crate::rest) const CANCEL: Description = Description {
    codes: &[NO_JOB, &[Code::SearchJobAlreadyTerminal]],
    ..Description::new(
        Tag::Search,
        "cancelSearch",
        "Cancel a background search",
        of::<JobCancelled>,
    )
};
