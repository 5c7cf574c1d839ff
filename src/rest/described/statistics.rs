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
    "Only these states; repeat the parameter for more than one.",
);

pub(in crate::rest) const COUNT: Description = Description {
    parameters: &[POINT_IN_TIME],
    ..Description::new(
        Tag::Statistics,
        "countEntities",
        "Count the entities of all models",
        of::<Count>,
    )
};

pub(in crate::rest) const COUNT_OF_MODEL: Description = Description {
    parameters: &[POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Statistics,
        "countEntitiesOfModel",
        "Count the entities of a model",
        of::<Count>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE: Description = Description {
    parameters: &[STATES, POINT_IN_TIME],
    ..Description::new(
        Tag::Statistics,
        "countEntitiesByState",
        "Count the entities of all models by state",
        of::<CountInState>,
    )
};

pub(in crate::rest) const COUNT_BY_STATE_OF_MODEL: Description = Description {
    parameters: &[STATES, POINT_IN_TIME],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Statistics,
        "countEntitiesOfModelByState",
        "Count the entities of a model by state",
        of::<CountInState>,
    )
};

pub(in crate::rest) const GROUP: Description = Description {
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
    ..Description::new(
        Tag::Statistics,
        "groupEntities",
        "Group and aggregate entities",
        of::<Vec<Bucket>>,
    )
};
