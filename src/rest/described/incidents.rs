//! Incidents (`runs.md` §11).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT},
    of,
};
use crate::error::Code;
use crate::event::payload::incidents::{Closed, Page};

const KIND: Parameter = Parameter::query("kind", kind, "Only incidents of that kind.");

const NO_INCIDENT: &[Code] = &[Code::IncidentNotFound];

fn kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["run", "timer", "producer"]})
}

pub(in crate::rest) const LIST: Description = Description {
    text: "Work of the service that failed 20 times or panicked 3 times stops and waits for an \
           operator.",
    parameters: &[KIND, LIMIT, CURSOR],
    ..Description::new(
        Tag::Operators,
        "listIncidents",
        "List work that has stopped",
        of::<Page>,
    )
};

pub(in crate::rest) const RETRY: Description = Description {
    text: "The work is tried again at once, and its failures are counted from the beginning.",
    codes: &[NO_INCIDENT],
    ..Description::new(
        Tag::Operators,
        "retryIncident",
        "Retry work that has stopped",
        of::<Closed>,
    )
};

pub(in crate::rest) const CANCEL: Description = Description {
    text: "A run ends as `cancelled`, a timer is dropped. A schedule or trigger starts nothing until \
           its definition is enabled or created again.",
    codes: &[NO_INCIDENT],
    ..Description::new(
        Tag::Operators,
        "cancelIncident",
        "Cancel work that has stopped",
        of::<Closed>,
    )
};
