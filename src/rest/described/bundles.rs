//! Bundles and state machines (`runs.md` §7).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
    parameter::text,
};
use crate::error::Code;
use crate::event::payload::bundles::{Applied, Deleted, Described, Fired, Machines, Page};

const NO_BUNDLE: &[Code] = &[Code::BundleNotFound];

fn files(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "required": ["files"], "properties": {
        "files": {"type": "array", "minItems": 1, "maxItems": 200, "items": {
            "type": "object", "required": ["path", "text"], "properties": {
                "path": {"type": "string", "description": "The name under which findings show it."},
                "text": {"type": "string"}
            }
        }},
        "variables": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "The values of `env()`. They are sealed, and never answered."
        },
        "dryRun": {"type": "boolean", "default": false, "description": "Whether nothing is stored."},
        "namespace": {"type": "string", "description": "As the parameter, which comes before it."}
    }})
}

pub(in crate::rest) const APPLY: Description = Description {
    text: "Replaces the bundle as a whole. With an error among the findings nothing is stored. Live \
           runs keep what they started with. Requires `ROLE_ADMIN`.",
    parameters: &[NAMESPACE],
    body: Body::Json(files),
    codes: &[&[Code::ValidationFailed]],
    ..Description::new(
        Tag::Runs,
        "applyBundle",
        "Apply the HCL files of sagas and state machines",
        of::<Applied>,
    )
};

pub(in crate::rest) const LIST: Description = Description {
    text: "Requires `ROLE_ADMIN`.",
    parameters: &[NAMESPACE, LIMIT, CURSOR],
    ..Description::new(Tag::Runs, "listBundles", "List bundles by name", of::<Page>)
};

pub(in crate::rest) const GET: Description = Description {
    text: "Requires `ROLE_ADMIN`.",
    parameters: &[NAMESPACE],
    codes: &[NO_BUNDLE],
    ..Description::new(
        Tag::Runs,
        "getBundle",
        "A bundle with its files",
        of::<Described>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Live runs continue. Requires `ROLE_ADMIN`.",
    parameters: &[NAMESPACE],
    codes: &[NO_BUNDLE],
    ..Description::new(Tag::Runs, "deleteBundle", "Delete a bundle", of::<Deleted>)
};

pub(in crate::rest) const MACHINES: Description = Description {
    parameters: &[NAMESPACE, LIMIT, CURSOR],
    ..Description::new(
        Tag::Runs,
        "listMachines",
        "List state machines by name",
        of::<Machines>,
    )
};

const CONNECTOR: Parameter = Parameter::query(
    "connector",
    text,
    "The connector of the database with the table; that of the first flow that names the state \
     machine if absent.",
);

pub(in crate::rest) const FIRE: Description = Description {
    text: "The body is what guards and actions read as `input`. Where the connector is a database, \
           `entity` is a table and `id` that of a row, whose column `status` is the state; \
           otherwise they are a model, such as `orders/1`, and an entity of it. State, guard, \
           action and new state are one transaction.",
    parameters: &[NAMESPACE, CONNECTOR],
    body: Body::OptionalJson(|_| json_schema!({"type": "object"})),
    codes: &[&[
        Code::MachineNotFound,
        Code::EntityNotFound,
        Code::ModelNotFound,
        Code::TransitionNotFound,
        Code::FinalState,
        Code::GuardRejected,
        Code::GuardError,
        Code::WorkflowFailed,
        Code::ConnectorUnavailable,
    ]],
    ..Description::new(
        Tag::Runs,
        "fireMachineEvent",
        "Fire an event of a state machine",
        of::<Fired>,
    )
};
