//! Models and their workflows.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Body, DOCUMENT, Instant, NO_MODEL, Parameter, Tag, Told, of,
    parameter::{EXPORT_CONVERTER, uuid},
    search::Index,
};
use crate::error::Code;
use crate::event::payload::workflow::Definition;
use crate::rest::write::model::{Import, Indexes, Supposed};

/// A model as a list tells it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct EntityModel {
    /// Made of name and version: the same everywhere.
    id: Uuid,
    model_name: String,
    model_version: i32,
    current_state: Lock,
    /// When it was last imported.
    model_update_date: Option<Instant>,
}

/// Entities can be made of a model that is locked; its shape can be changed while it is not.
#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE", inline)]
enum Lock {
    Locked,
    Unlocked,
}

/// Names a model.
#[derive(JsonSchema)]
pub(super) struct ModelKey {
    name: String,
    version: i32,
}

/// What was done to a model.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ActionResult {
    success: bool,
    /// In words.
    message: String,
    model_id: Uuid,
    model_key: ModelKey,
}

/// A model's shape, in the form that was asked for.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ExportedModel {
    current_state: Lock,
    /// A JSON Schema, or the simple view.
    model: Value,
    /// The keys of which no two entities may have the same.
    unique_keys: Option<Vec<UniqueKey>>,
}

/// Fields that together name one entity.
#[derive(JsonSchema)]
struct UniqueKey {
    id: String,
    /// Paths, like `$.mail`.
    fields: Vec<String>,
}

/// The keys of a model, instead of those it has.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct UniqueKeys {
    unique_keys: Vec<UniqueKey>,
}

#[derive(JsonSchema)]
struct WorkflowsImported {
    success: bool,
    /// What was taken, and cannot have been meant.
    warnings: Option<Vec<String>>,
}

/// The workflows of a model.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ExportedWorkflows {
    entity_name: String,
    model_version: i32,
    workflows: Vec<Definition>,
}

fn sample(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "A sample document.",
        "examples": [{"customer": {"name": "Ada", "country": "GB"}, "total": 12.5}]
    })
}

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

pub(in crate::rest) const IMPORT: Told = Told {
    text: "The first import creates the model, unlocked. Further ones widen it: what was accepted \
           stays accepted. Lock it before creating entities. With the format `XML` the body is \
           XML, which is read as JSON; with the converter `SIMPLE_VIEW` it is an export in that \
           form.",
    body: Body::Json(sample),
    codes: &[DOCUMENT, LOCKED, KEYS],
    ..Told::new(
        Tag::Models,
        "importModel",
        "Infer a model from a sample; returns its id",
        uuid,
    )
};

pub(in crate::rest) const EXPORT: Told = Told {
    parts: &[("converter", EXPORT_CONVERTER)],
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Models,
        "exportModel",
        "Export a model",
        of::<ExportedModel>,
    )
};

pub(in crate::rest) const LIST: Told = Told::new(
    Tag::Models,
    "listModels",
    "Every model",
    of::<Vec<EntityModel>>,
);

pub(in crate::rest) const LOCK: Told = Told {
    codes: &[NO_MODEL, LOCKED],
    ..Told::new(
        Tag::Models,
        "lockModel",
        "Lock a model, so that entities can be created",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const UNLOCK: Told = Told {
    codes: &[NO_MODEL, UNLOCKED, IN_USE],
    ..Told::new(
        Tag::Models,
        "unlockModel",
        "Unlock a model that has no entities, so that it can change",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const DELETE: Told = Told {
    codes: &[NO_MODEL, LOCKED, IN_USE],
    ..Told::new(
        Tag::Models,
        "deleteModel",
        "Delete a model that is unlocked and has no entities",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const CHANGE_LEVEL: Told = Told {
    text: "`ARRAY_LENGTH` permits longer lists, `ARRAY_ELEMENTS` elements of other types, `TYPE` \
           values of other types, and `STRUCTURAL` new fields. What an entity adds is committed \
           with it. A level can be changed at any time, but not removed.",
    codes: &[NO_MODEL, &[Code::InvalidChangeLevel]],
    ..Told::new(
        Tag::Models,
        "setChangeLevel",
        "Let entities widen a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const VALIDATE: Told = Told {
    text: "`success` is true if the document is valid; otherwise `message` lists every violation \
           with the expected and the actual type. The change level is ignored.",
    body: Body::Json(document),
    codes: &[NO_MODEL],
    ..Told::new(
        Tag::Models,
        "validateDocument",
        "Validate a document against a model",
        of::<ActionResult>,
    )
};

pub(in crate::rest) const UNIQUE_KEYS: Told = Told {
    text: "The list replaces the previous one; an empty list removes all keys. The model must be \
           unlocked.",
    body: Body::Json(of::<UniqueKeys>),
    codes: &[NO_MODEL, LOCKED, KEYS],
    ..Told::new(
        Tag::Models,
        "setUniqueKeys",
        "Set the unique keys of a model",
        of::<ActionResult>,
    )
};

/// The indexes of a model.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct IndexesSet {
    #[schemars(schema_with = "uuid")]
    model_id: String,
    indexes: Vec<Index>,
}

pub(in crate::rest) const INDEXES: Told = Told {
    text: "The list replaces the previous one. An index is filled in the background, and serves \
           searches once its state is `READY`; it makes every write of the model slightly more \
           expensive.",
    body: Body::Json(of::<Indexes<'static>>),
    codes: &[NO_MODEL, &[Code::InvalidFieldPath]],
    ..Told::new(
        Tag::Models,
        "setIndexes",
        "Declare the search indexes of a model",
        of::<IndexesSet>,
    )
};

pub(in crate::rest) const IMPORT_WORKFLOWS: Told = Told {
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
    ..Told::new(
        Tag::Workflows,
        "importWorkflows",
        "Import the workflows of a model",
        of::<WorkflowsImported>,
    )
};

pub(in crate::rest) const EXPORT_WORKFLOWS: Told = Told {
    codes: &[NO_MODEL, NO_WORKFLOW],
    ..Told::new(
        Tag::Workflows,
        "exportWorkflows",
        "Export the workflows of a model",
        of::<ExportedWorkflows>,
    )
};

pub(in crate::rest) const DRAW_WORKFLOWS: Told = Told {
    parameters: &[Parameter::query(
        "format",
        |_| json_schema!({"type": "string", "enum": ["mermaid", "dot"], "default": "mermaid"}),
        "The language of the diagram.",
    )],
    codes: &[NO_MODEL, NO_WORKFLOW],
    ..Told::new(
        Tag::Workflows,
        "drawWorkflows",
        "Draw the workflows of a model",
        diagram,
    )
};

pub(in crate::rest) const EXPLAIN: Told = Told {
    text: "The result of each workflow and transition for that document. Nothing is written, and \
           no member is called.",
    body: Body::Json(of::<Supposed<'static>>),
    codes: &[NO_MODEL, DOCUMENT, &[Code::TransitionNotFound]],
    ..Told::new(
        Tag::Workflows,
        "explainWorkflows",
        "Explain what would happen to a document",
        of::<super::audit::Explanation>,
    )
};
