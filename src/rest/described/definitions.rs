//! Definitions of runs (`runs.md` §4).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{Body, Description, Parameter, Tag, of, parameter::text};
use crate::error::Code;
use crate::event::payload::definitions::{Created, Deleted, Described, Enabled, Page, Validated};

/// The part of the tenant.
pub(in crate::rest) const NAMESPACE: Parameter = Parameter::query(
    "namespace",
    |_| json_schema!({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "default": "default"}),
    "The part of the tenant; it exists by being used.",
);

pub(in crate::rest) const LIMIT: Parameter = Parameter::query(
    "limit",
    |_| json_schema!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
    "Items of the page.",
);

pub(in crate::rest) const CURSOR: Parameter =
    Parameter::query("cursor", text, "The `nextCursor` of the previous page.");

const VERSION: Parameter = Parameter::query("version", text, "The version; if absent, the latest.");

const ONE_VERSION: Parameter =
    Parameter::query("version", text, "One version; if absent, all of them.");

const KIND: Parameter = Parameter::query(
    "kind",
    |_| json_schema!({"type": "string", "enum": ["flo", "saga"]}),
    "Only definitions of this kind.",
);

const NO_DEFINITION: &[Code] = &[Code::RunDefinitionNotFound];

fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "description": "A step workflow, of at most 1 MiB."})
}

fn which(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "properties": {
        "version": {"type": "string", "description": "As the parameter, which comes before it."},
        "namespace": {"type": "string", "description": "As the parameter, which comes before it."}
    }})
}

const DOCUMENT: Body = Body::Media(&[("application/json", document), ("application/yaml", text)]);

pub(in crate::rest) const CREATE: Description = Description {
    text: "The body is the document, YAML or JSON, whatever its content type. A version that \
           exists is replaced: runs that start from then on follow the new document, live runs the \
           one they started with. With an error among the findings nothing is stored.",
    parameters: &[NAMESPACE],
    body: DOCUMENT,
    codes: &[&[Code::ValidationFailed]],
    ..Description::new(
        Tag::Runs,
        "createDefinition",
        "Create a version of a definition",
        of::<Created>,
    )
};

pub(in crate::rest) const VALIDATE: Description = Description {
    text: "Nothing is stored. Findings do not make the request fail.",
    parameters: &[NAMESPACE],
    body: DOCUMENT,
    ..Description::new(
        Tag::Runs,
        "validateDefinition",
        "Check the document of a definition",
        of::<Validated>,
    )
};

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[NAMESPACE, KIND, LIMIT, CURSOR],
    ..Description::new(
        Tag::Runs,
        "listDefinitions",
        "List definitions by name",
        of::<Page>,
    )
};

pub(in crate::rest) const GET: Description = Description {
    parameters: &[NAMESPACE, VERSION],
    codes: &[NO_DEFINITION],
    ..Description::new(
        Tag::Runs,
        "getDefinition",
        "A definition with its document",
        of::<Described>,
    )
};

pub(in crate::rest) const ENABLE: Description = Description {
    text: "Of a name and its versions each has a flag of its own: a run starts only if both are \
           enabled.",
    parameters: &[NAMESPACE, ONE_VERSION],
    body: Body::OptionalJson(which),
    codes: &[NO_DEFINITION],
    ..Description::new(
        Tag::Runs,
        "enableDefinition",
        "Enable a definition or one version",
        of::<Enabled>,
    )
};

pub(in crate::rest) const DISABLE: Description = Description {
    text: "Nothing starts by it until it is enabled again. Live runs continue.",
    ..Description {
        name: "disableDefinition",
        summary: "Disable a definition or one version",
        ..ENABLE
    }
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Live runs continue.",
    parameters: &[NAMESPACE, ONE_VERSION],
    codes: &[NO_DEFINITION],
    ..Description::new(
        Tag::Runs,
        "deleteDefinition",
        "Delete a definition or one version",
        of::<Deleted>,
    )
};
