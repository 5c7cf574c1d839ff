//! Finding entities.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, json_schema};

use super::{
    Body, CONDITION, Instant, NO_MODEL, Parameter, Tag, Told,
    entity::Entity,
    of,
    parameter::{POINT_IN_TIME, texts, truth, uuid},
};
use crate::error::Code;
use crate::event::payload::search::Condition;

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

pub(in crate::rest) const DIRECT: Told = Told {
    text: "One entity per line. If more than `limit` match, the answer is `SEARCH_RESULT_LIMIT`.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING, EXPLAIN_INSTEAD],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION, &[Code::SearchResultLimit]],
    ..Told::new(Tag::Search, "search", "Search entities", of::<Entity>)
};

/// How a search was served.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Explanation {
    /// `INDEX`, or `SCAN` where every entity of the model was looked at.
    access: String,
    /// The paths of the indexes that served it; `state`, if it was found by that.
    served_by: Vec<String>,
    /// How many entities were looked at.
    visited: u64,
    returned: u64,
    micros: u64,
    /// The paths by which an index could serve it.
    indexable: Vec<String>,
    /// The indexes of the model.
    indexes: Vec<Index>,
}

/// A search index of a model.
#[derive(JsonSchema)]
pub(super) struct Index {
    path: String,
    /// `FILLING`, `READY` or `DROPPING`.
    state: String,
    /// Whether it was declared.
    declared: bool,
}

pub(in crate::rest) const EXPLAIN: Told = Told {
    ..Told::new(
        Tag::Search,
        "explainSearch",
        "Explain how a search is served",
        of::<Explanation>,
    )
};

pub(in crate::rest) const CUT_OFF: Told = Told {
    text: "For existing clients: a list of at most `limit` entities.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Told::new(
        Tag::Search,
        "searchUpToLimit",
        "Search entities, up to a limit",
        of::<Entity>,
    )
};

/// How a search job stands.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Job {
    /// `RUNNING`, `SUCCESSFUL`, `FAILED` or `CANCELLED`.
    search_job_status: String,
    create_time: Instant,
    /// How many entities were found; 0 until all are.
    entities_count: i64,
    calculation_time_millis: i64,
    /// Until when its result is kept; a guess, while it runs.
    expiration_date: Instant,
    /// When it ended, if it has.
    finish_time: Option<Instant>,
}

pub(in crate::rest) const SUBMIT: Told = Told {
    text: "The search runs in the background, without a limit on matches, over what was committed \
           before it was started, or up to `pointInTime`.",
    parameters: &[POINT_IN_TIME, SORT],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION],
    ..Told::new(
        Tag::Search,
        "submitSearch",
        "Start a background search; returns its id",
        uuid,
    )
};

pub(in crate::rest) const STATUS: Told = Told {
    codes: &[NO_JOB],
    ..Told::new(
        Tag::Search,
        "getSearchStatus",
        "The status of a background search",
        of::<Job>,
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
#[derive(JsonSchema)]
struct Results {
    content: Vec<Entity>,
    page: Page,
}

/// Which entities these are.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Page {
    number: i64,
    size: i64,
    total_elements: i64,
    total_pages: i64,
}

pub(in crate::rest) const RESULTS: Told = Told {
    text: "The entities as of the start of the search, or of its `pointInTime`.",
    parameters: &[PAGE_SIZE, PAGE_NUMBER],
    codes: &[NO_JOB],
    ..Told::new(
        Tag::Search,
        "getSearchResults",
        "The result of a background search",
        of::<Results>,
    )
};

/// A search job that was cancelled.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct End {
    is_cancelled: bool,
    cancelled: bool,
    current_search_job_status: String,
}

pub(in crate::rest) const CANCEL: Told = Told {
    codes: &[NO_JOB, &[Code::SearchJobAlreadyTerminal]],
    ..Told::new(
        Tag::Search,
        "cancelSearch",
        "Cancel a background search",
        of::<End>,
    )
};
