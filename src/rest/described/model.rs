//! Models and their workflows.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, DOCUMENT, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{EXPORT_CONVERTER, text, uuid},
};
use crate::error::Code;
use crate::event::payload::{
    answer,
    explain::Explanation,
    model::{Indexed, Shape},
};
use crate::rest::write::model::{
    ActionResult, EntityModel, ExportedWorkflows, Import, Indexes, Supposed, UniqueKeys,
    WorkflowsImported,
};

fn sample(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "A sample document.",
        "examples": [{"customer": {"name": "Ada", "country": "GB"}, "total": 12.5}]
    })
}

const JSON_OR_XML: Body = Body::Media(&[("application/json", sample), ("application/xml", text)]);

fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"description": "The document."})
}

fn diagram(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "description": "The diagram, in the requested language."})
}

const LOCKED: &[Code] = &[Code::ModelAlreadyLocked];
const UNLOCKED: &[Code] = &[Code::ModelAlreadyUnlocked];
const KEYS: &[Code] = &[Code::InvalidUniqueKeyDefinition];
const IN_USE: &[Code] = &[Code::ModelHasEntities];
const NO_WORKFLOW: &[Code] = &[Code::WorkflowNotFound];

pub(in crate::rest) const IMPORT: Description = Description {
    text: "The first import creates the model, unlocked. Further ones widen it: what was accepted \
           stays accepted. Lock it before creating entities. With the format `XML` the body is \
           XML, which is read as JSON; with the converter `SIMPLE_VIEW` it is an export in that \
           form.",
    body: JSON_OR_XML,
    codes: &[DOCUMENT, LOCKED, KEYS],
    ..Description::new(
        Tag::Models,
        "importModel",
        "Infer a model from a sample; returns its id",
        uuid,
    )
};

pub(in crate::rest) const EXPORT: Description = Description {
    parts: &[("converter", EXPORT_CONVERTER)],
    codes: &[NO_MODEL],
    ..Description::new(Tag::Models, "exportModel", "Export a model", of::<Shape>)
};

pub(in crate::rest) const LIST: Description = Description::new(
    Tag::Models,
    "listModels",
    "Every model",
    of::<Vec<EntityModel>>,
);

pub(in crate::rest) const LOCK: Description = Description {
    codes: &[NO_MODEL, LOCKED],
    ..Description::new(
        Tag::Models,
        "lockModel",
        "Lock a model, so that entities can be created",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const UNLOCK: Description = Description {
    codes: &[NO_MODEL, UNLOCKED, IN_USE],
    ..Description::new(
        Tag::Models,
        "unlockModel",
        "Unlock a model that has no entities, so that it can change",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    codes: &[NO_MODEL, LOCKED, IN_USE],
    ..Description::new(
        Tag::Models,
        "deleteModel",
        "Delete a model that is unlocked and has no entities",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const CHANGE_LEVEL: Description = Description {
    text: "`ARRAY_LENGTH` permits longer lists, `ARRAY_ELEMENTS` elements of other types, `TYPE` \
           values of other types, and `STRUCTURAL` new fields. What an entity adds is committed \
           with it. A level can be changed at any time, but not removed.",
    codes: &[NO_MODEL, &[Code::InvalidChangeLevel]],
    ..Description::new(
        Tag::Models,
        "setChangeLevel",
        "Let entities widen a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const VALIDATE: Description = Description {
    text: "`success` is true if the document is valid; otherwise `message` lists every violation \
           with the expected and the actual type. The change level is ignored.",
    body: Body::Json(document),
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Models,
        "validateDocument",
        "Validate a document against a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const UNIQUE_KEYS: Description = Description {
    text: "The list replaces the previous one; an empty list removes all keys. The model must be \
           unlocked.",
    body: Body::Json(of::<UniqueKeys<'static>>),
    codes: &[NO_MODEL, LOCKED, KEYS],
    ..Description::new(
        Tag::Models,
        "setUniqueKeys",
        "Set the unique keys of a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const INDEXES: Description = Description {
    text: "The list replaces the previous one. An index is filled in the background, and serves \
           searches once its state is `READY`; it makes every write of the model slightly more \
           expensive.",
    body: Body::Json(of::<Indexes<'static>>),
    codes: &[NO_MODEL, &[Code::InvalidFieldPath]],
    ..Description::new(
        Tag::Models,
        "setIndexes",
        "Declare the search indexes of a model",
        of::<Indexed>,
    )
};

pub(in crate::rest) const IMPORT_WORKFLOWS: Description = Description {
    text: "A definition that violates a rule is rejected, naming the place; likely mistakes are \
           accepted and listed in `warnings`. See the help topic `workflows`.",
    body: Body::Json(of::<Import<'static>>),
    codes: &[
        NO_MODEL,
        &[
            Code::ValidationFailed,
            Code::WorkflowSchemaVersionUnsupported,
        ],
    ],
    ..Description::new(
        Tag::Workflows,
        "importWorkflows",
        "Import the workflows of a model",
        of::<WorkflowsImported>,
    )
};

pub(in crate::rest) const EXPORT_WORKFLOWS: Description = Description {
    codes: &[NO_MODEL, NO_WORKFLOW],
    ..Description::new(
        Tag::Workflows,
        "exportWorkflows",
        "Export the workflows of a model",
        of::<ExportedWorkflows>,
    )
};

pub(in crate::rest) const DRAW_WORKFLOWS: Description = Description {
    parameters: &[Parameter::query(
        "format",
        |_| json_schema!({"type": "string", "enum": ["mermaid", "dot"], "default": "mermaid"}),
        "The language of the diagram.",
    )],
    codes: &[NO_MODEL, NO_WORKFLOW],
    ..Description::new(
        Tag::Workflows,
        "drawWorkflows",
        "Draw the workflows of a model",
        diagram,
    )
};

pub(in crate::rest) const EXPLAIN: Description = Description {
    text: "The result of each workflow and transition for that document. Nothing is written, and \
           no member is called.",
    body: Body::Json(of::<Supposed<'static>>),
    codes: &[NO_MODEL, DOCUMENT, &[Code::TransitionNotFound]],
    ..Description::new(
        Tag::Workflows,
        "explainWorkflows",
        "Explain what would happen to a document",
        answer::schema::<Explanation>,
    )
};
