//! Models and their workflows.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, DOCUMENT, Description, NO_MODEL, Parameter, Tag, of,
    parameter::{EXPORT_CONVERTER, uuid},
};
use crate::error::Code;
use crate::event::payload::{
    explain::Explanation,
    model::{Indexed, Shape},
};
use crate::rest::write::model::{
    ActionResult, EntityModel, ExportedWorkflows, Import, Indexes, Supposed, UniqueKeys,
    WorkflowsImported,
};

fn sample(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "A document like those that entities will be.",
        "examples": [{"customer": {"name": "Ada", "country": "GB"}, "total": 12.5}]
    })
}

fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"description": "The document."})
}

fn diagram(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "description": "The picture, in the language that was asked for."})
}

const LOCKED: &[Code] = &[Code::ModelAlreadyLocked];
const UNLOCKED: &[Code] = &[Code::ModelAlreadyUnlocked];
const KEYS: &[Code] = &[Code::InvalidUniqueKeyDefinition];
const IN_USE: &[Code] = &[Code::ModelHasEntities];
const NO_WORKFLOW: &[Code] = &[Code::WorkflowNotFound];

pub(in crate::rest) const IMPORT: Description = Description {
    text: "The first import makes the model, unlocked. Further ones widen it: what was seen stays \
           allowed. Lock it to make entities of it. With the format `XML` the body is XML, which is \
           read as JSON; with the converter `SIMPLE_VIEW` it is what an export in that form gives.",
    body: Body::Json(sample),
    codes: &[DOCUMENT, LOCKED, KEYS],
    ..Description::new(
        Tag::Models,
        "importModel",
        "Learn a model from a sample; its id is answered",
        uuid,
    )
};

pub(in crate::rest) const EXPORT: Description = Description {
    parts: &[("converter", EXPORT_CONVERTER)],
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Models,
        "exportModel",
        "The shape of a model",
        of::<Shape>,
    )
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
        "Lock a model, so that entities can be made of it",
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
    text: "`ARRAY_LENGTH` lets arrays be longer, `ARRAY_ELEMENTS` have elements of other types, \
           `TYPE` fields have values of other types, and `STRUCTURAL` lets entities have fields \
           the model does not know. What an entity adds is committed with it. A level can be \
           changed at any time, and not be taken away.",
    codes: &[NO_MODEL, &[Code::InvalidChangeLevel]],
    ..Description::new(
        Tag::Models,
        "setChangeLevel",
        "Let new and updated entities widen a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const VALIDATE: Description = Description {
    text: "`success` says whether the document is valid; `message` names every place where it is \
           not, with what is expected and what was found. The change level does not count.",
    body: Body::Json(document),
    codes: &[NO_MODEL],
    ..Description::new(
        Tag::Models,
        "validateDocument",
        "Check a document against a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const UNIQUE_KEYS: Description = Description {
    text: "The list replaces the one there was; an empty list removes all keys. The model must be \
           unlocked.",
    body: Body::Json(of::<UniqueKeys<'static>>),
    codes: &[NO_MODEL, LOCKED, KEYS],
    ..Description::new(
        Tag::Models,
        "setUniqueKeys",
        "Set the keys of which no two entities may have the same",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const INDEXES: Description = Description {
    text: "The list replaces the one there was. An index is filled in the background, and serves \
           searches once its state is `READY`; it makes every write of the model a little dearer.",
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
    text: "A definition that breaks a rule is refused, naming the place; what only cannot have \
           been meant is taken and told in `warnings`. See the help topic `workflows`.",
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
        "Set the workflows of a model",
        of::<WorkflowsImported>,
    )
};

pub(in crate::rest) const EXPORT_WORKFLOWS: Description = Description {
    codes: &[NO_MODEL, NO_WORKFLOW],
    ..Description::new(
        Tag::Workflows,
        "exportWorkflows",
        "The workflows of a model",
        of::<ExportedWorkflows>,
    )
};

pub(in crate::rest) const DRAW_WORKFLOWS: Description = Description {
    parameters: &[Parameter::query(
        "format",
        |_| json_schema!({"type": "string", "enum": ["mermaid", "dot"], "default": "mermaid"}),
        "The language of the picture.",
    )],
    codes: &[NO_MODEL, NO_WORKFLOW],
    ..Description::new(
        Tag::Workflows,
        "drawWorkflows",
        "The workflows of a model as a picture",
        diagram,
    )
};

pub(in crate::rest) const EXPLAIN: Description = Description {
    text: "What each workflow and transition would say to that document. Nothing is written, and \
           no member is asked.",
    body: Body::Json(of::<Supposed<'static>>),
    codes: &[NO_MODEL, DOCUMENT, &[Code::TransitionNotFound]],
    ..Description::new(
        Tag::Workflows,
        "explainWorkflows",
        "What would become of a document",
        of::<Explanation>,
    )
};
