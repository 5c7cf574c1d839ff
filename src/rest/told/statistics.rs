//! How many entities there are.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;

use super::{
    NO_MODEL, Parameter, Tag, Told, of,
    parameter::{POINT_IN_TIME, texts},
};

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
    "Only these; repeat the parameter for more than one.",
);

pub(in crate::rest) const COUNT: Told = Told {
    parameters: &[POINT_IN_TIME],
    ..Told::new(
        Tag::Statistics,
        "countEntities",
        "How many entities each model has",
        of::<ModelStats>,
    )
};

pub(in crate::rest) const COUNT_OF_MODEL: Told = Told {
    parameters: &[POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Statistics,
        "countEntitiesOfModel",
        "How many entities a model has",
        of::<ModelStats>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE: Told = Told {
    parameters: &[STATES, POINT_IN_TIME],
    ..Told::new(
        Tag::Statistics,
        "countEntitiesByState",
        "How many entities are in each state",
        of::<ModelStateStats>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE_OF_MODEL: Told = Told {
    parameters: &[STATES, POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Statistics,
        "countEntitiesOfModelByState",
        "How many entities of a model are in each state",
        of::<ModelStateStats>,
    )
};
