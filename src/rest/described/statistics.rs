//! How many entities there are.

use super::super::write::search::Query;
use super::{
    Body, CONDITION, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{POINT_IN_TIME, texts},
};
use crate::error::Code;
use crate::event::payload::{
    search::{Count, CountInState},
    statistics::Bucket,
};

const STATES: Parameter = Parameter::query(
    "states",
    texts,
    "Only these; repeat the parameter for more than one.",
);

pub(in crate::rest) const COUNT: Description = Description {
    parameters: &[POINT_IN_TIME],
    ..Description::new(
        Tag::Statistics,
        "countEntities",
        "How many entities each model has",
        of::<Count>,
    )
};

pub(in crate::rest) const COUNT_OF_MODEL: Description = Description {
    parameters: &[POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Statistics,
        "countEntitiesOfModel",
        "How many entities a model has",
        of::<Count>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE: Description = Description {
    parameters: &[STATES, POINT_IN_TIME],
    ..Description::new(
        Tag::Statistics,
        "countEntitiesByState",
        "How many entities are in each state",
        of::<CountInState>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE_OF_MODEL: Description = Description {
    parameters: &[STATES, POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Statistics,
        "countEntitiesOfModelByState",
        "How many entities of a model are in each state",
        of::<CountInState>,
    )
};

pub(in crate::rest) const GROUP: Description = Description {
    text: "Those of most entities first. In a transaction its own changes count, unless \
           `pointInTime` is given.",
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
    ..Description::new(
        Tag::Statistics,
        "groupEntities",
        "Count entities by what they hold, and add up their numbers",
        of::<Vec<Bucket>>,
    )
};
