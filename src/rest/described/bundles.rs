//! Bundles and state machines (`runs.md` §7).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, Description, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
};
use crate::error::Code;
use crate::event::payload::bundles::{Applied, Deleted, Described, Machines, Page};

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
