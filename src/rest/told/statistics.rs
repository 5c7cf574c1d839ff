//! How many entities there are.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::super::write::search::Query;
use super::{
    Body, CONDITION, NO_MODEL, Parameter, Tag, Told, of,
    parameter::{POINT_IN_TIME, texts},
};
use crate::error::Code;

/// How many entities a model has.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ModelStats {
    model_name: String,
    model_version: i32,
    count: i64,
}

/// How many entities of a model are in a state.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ModelStateStats {
    model_name: String,
    model_version: i32,
    state: String,
    count: i64,
}

const STATES: Parameter = Parameter::query(
    "states",
    texts,
    "Only these states; repeat the parameter for more than one.",
);

pub(in crate::rest) const COUNT: Told = Told {
    parameters: &[POINT_IN_TIME],
    ..Told::new(
        Tag::Statistics,
        "countEntities",
        "Count the entities of all models",
        of::<ModelStats>,
    )
};

pub(in crate::rest) const COUNT_OF_MODEL: Told = Told {
    parameters: &[POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Statistics,
        "countEntitiesOfModel",
        "Count the entities of a model",
        of::<ModelStats>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE: Told = Told {
    parameters: &[STATES, POINT_IN_TIME],
    ..Told::new(
        Tag::Statistics,
        "countEntitiesByState",
        "Count the entities of all models by state",
        of::<ModelStateStats>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE_OF_MODEL: Told = Told {
    parameters: &[STATES, POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Statistics,
        "countEntitiesOfModelByState",
        "Count the entities of a model by state",
        of::<ModelStateStats>,
    )
};

/// What one group holds.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct StatsGroup {
    group_key: Vec<StatsGroupKey>,
    count: i64,
    /// By their names; a number that there is none of is null. Absent if none was asked for.
    aggregations: Option<BTreeMap<String, Option<f64>>>,
}

/// A value that the entities of a group have in common.
#[derive(JsonSchema)]
struct StatsGroupKey {
    path: String,
    /// Its text; null where it is missing, or no scalar.
    #[schemars(extend("type" = ["string", "null"]))]
    value: Option<String>,
}

pub(in crate::rest) const GROUP: Told = Told {
    text: "The largest groups first. In a transaction its own changes are included, unless \
           `pointInTime` is set.",
    body: Body::Json(of::<Query<'_>>),
    codes: &[
        NO_MODEL,
        CONDITION,
        &[
            Code::DuplicateAggregationAlias,
            Code::DuplicateGroupBy,
            Code::GroupCardinalityExceeded,
            Code::InvalidAggregationField,
            Code::InvalidAggregationOp,
            Code::InvalidGroupByPath,
            Code::InvalidLimit,
            Code::MalformedRequest,
            Code::MissingGroupBy,
        ],
    ],
    ..Told::new(
        Tag::Statistics,
        "groupEntities",
        "Group and aggregate entities",
        of::<Vec<StatsGroup>>,
    )
};
