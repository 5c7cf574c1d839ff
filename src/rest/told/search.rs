//! Finding entities.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, json_schema};
use uuid::Uuid;

use super::{
    Body, CONDITION, Instant, NO_MODEL, Parameter, Tag, Told,
    entity::Entity,
    of,
    parameter::{POINT_IN_TIME, texts, truth, uuid},
};
use crate::error::Code;
use crate::event::payload::search::Condition;

const NOT_YET: &[Code] = &[Code::NotImplemented];

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

pub(in crate::rest) const DIRECT: Told = Told {
    text: "One entity to a line. If more than `limit` match, the answer is `SEARCH_RESULT_LIMIT`.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING, EXPLAIN_INSTEAD],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION, &[Code::SearchResultLimit], NOT_YET],
    ..Told::new(
        Tag::Search,
        "search",
        "The entities that fit a condition",
        of::<Entity>,
    )
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
    /// Whether someone asked for it.
    declared: bool,
}

pub(in crate::rest) const EXPLAIN: Told = Told {
    ..Told::new(
        Tag::Search,
        "explainSearch",
        "How a search is served",
        of::<Explanation>,
    )
};

pub(in crate::rest) const CUT_OFF: Told = Told {
    text: "For existing clients: a list, of at most `limit`.",
    parameters: &[LIMIT, POINT_IN_TIME, SORT, TRACKING],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION, NOT_YET],
    ..Told::new(
        Tag::Search,
        "searchUpToLimit",
        "The first entities that fit a condition",
        of::<Entity>,
    )
};

/// How a search job stands.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Job {
    snapshot_id: Uuid,
    status: String,
    expiration_date: Option<Instant>,
    entities_count: Option<i64>,
}

pub(in crate::rest) const SUBMIT: Told = Told {
    parameters: &[POINT_IN_TIME, SORT],
    body: Body::Json(of::<Condition>),
    codes: &[NO_MODEL, CONDITION, NOT_YET],
    ..Told::new(
        Tag::Search,
        "submitSearch",
        "Start a search job; its id is answered",
        uuid,
    )
};

pub(in crate::rest) const STATUS: Told = Told {
    codes: &[NOT_YET],
    ..Told::new(
        Tag::Search,
        "getSearchStatus",
        "How a search job stands",
        of::<Job>,
    )
};

pub(in crate::rest) const RESULTS: Told = Told {
    codes: &[NOT_YET],
    ..Told::new(
        Tag::Search,
        "getSearchResults",
        "What a search job found",
        of::<Entity>,
    )
};

pub(in crate::rest) const CANCEL: Told = Told {
    codes: &[NOT_YET],
    ..Told::new(
        Tag::Search,
        "cancelSearch",
        "Cancel a search job",
        of::<Job>,
    )
};
