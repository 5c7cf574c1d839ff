//! Models and their workflows.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::parts::{Parts, spec};
use super::{Written, bad, begin, body_of, known_format, optional};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::event::payload::{
    Answer as _, AsText, ModelName, RawJson,
    answer::{json, write},
    list as json_list,
    model::{Exported, Imported, IndexSpec, Listed, LockState, Model, UniqueKey, Validated},
    workflow::{self, Definition},
};
use crate::id::{ModelId, ModelKey};
use crate::operation::Success;

pub(in crate::rest) fn nothing(_: &Parts, id: &str) -> Written {
    Ok(begin(id).finish())
}

pub(in crate::rest) fn model(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).raw("model", &spec(parts.model()?)).finish())
}

fn format(parts: &Parts) -> Result<&str, Failure> {
    known_format(parts.path("dataFormat"))
}

pub(in crate::rest) fn import_model(parts: &Parts, id: &str) -> Written {
    let (format, converter) = (format(parts)?, parts.path("converter"));
    if converter != "SAMPLE_DATA" {
        return Err(bad(format!(
            "unsupported import converter `{converter}`; use SAMPLE_DATA"
        )));
    }
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .text("dataFormat", format)
        .text("converter", converter);
    Ok(object.raw("payload", &body_of(parts, format)?).finish())
}

pub(in crate::rest) fn export_model(parts: &Parts, id: &str) -> Written {
    let converter = parts.path("converter");
    if !matches!(converter, "JSON_SCHEMA" | "SIMPLE_VIEW") {
        return Err(bad(format!(
            "unsupported export converter `{converter}`; use JSON_SCHEMA or SIMPLE_VIEW"
        )));
    }
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .text("converter", converter)
        .finish())
}

pub(in crate::rest) fn lock(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .text("transition", "LOCK")
        .finish())
}

pub(in crate::rest) fn unlock(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .text("transition", "UNLOCK")
        .finish())
}

pub(in crate::rest) fn change_level(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .text("changeLevel", parts.path("changeLevel"))
        .finish())
}

pub(in crate::rest) fn change_level_set(parts: &Parts, _: Success) -> Written {
    let level = parts.path("changeLevel");
    action(parts, |model| {
        format!("model {model} now at change level {level}")
    })
}

pub(in crate::rest) fn validate(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("payload", parts.json_within()?)
        .finish())
}

/// A document that is not valid is not a failure: the check has succeeded (`rest.md` §2.2).
pub(in crate::rest) fn validated(parts: &Parts, answer: Success) -> Written {
    let answer: Validated = answer.take()?;
    if answer.valid {
        return action(parts, |_| "Validation passed".to_owned());
    }
    let more = answer.error_count - answer.errors.len();
    let mut messages: Vec<_> = answer.errors.into_iter().map(|one| one.message).collect();
    if more > 0 {
        messages.push(format!("and {more} more"));
    }
    let message = format!("Validation failed: {}", messages.join("; "));
    outcome(parts, false, |_| message)
}

/// The unique keys of a model, instead of those it has.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct UniqueKeys<'a> {
    #[serde(borrow)]
    #[schemars(with = "Vec<UniqueKey>")]
    unique_keys: &'a RawValue,
}

pub(in crate::rest) fn unique_keys(parts: &Parts, id: &str) -> Written {
    let keys: UniqueKeys<'_> = parts.json_as("unique keys")?;
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("uniqueKeys", keys.unique_keys.get())
        .finish())
}

/// The paths that a model is to have search indexes by.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "IndexList")]
pub(in crate::rest) struct Indexes<'a> {
    #[serde(borrow)]
    #[schemars(with = "Vec<IndexSpec>")]
    indexes: &'a RawValue,
}

pub(in crate::rest) fn set_indexes(parts: &Parts, id: &str) -> Written {
    let indexes: Indexes<'_> = parts.json_as("indexes")?;
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("indexes", indexes.indexes.get())
        .finish())
}

/// The workflows of a model, and how they are to meet those it has.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkflowImport")]
pub(in crate::rest) struct Import<'a> {
    /// `MERGE` replaces those of the same name, `REPLACE` all; `ACTIVATE` leaves the others
    /// inactive.
    #[serde(default)]
    #[serde(rename = "importMode")]
    #[schemars(extend("examples" = ["MERGE", "REPLACE", "ACTIVATE"]))]
    mode: Option<String>,
    /// Take definitions in which a run could go round by itself for ever.
    #[serde(default)]
    allow_cycles: Option<bool>,
    #[serde(default, borrow)]
    #[schemars(with = "Vec<Definition>", !default)]
    workflows: Option<Vec<&'a RawValue>>,
}

pub(in crate::rest) fn import_workflows(parts: &Parts, id: &str) -> Written {
    let (import, unknown): (Import<'_>, _) = parts.json_noting("workflow import")?;
    let object = begin(id).raw("model", &spec(parts.model()?));
    let object = optional(object, "importMode", import.mode.as_deref());
    let object = object.truth("allowCycles", import.allow_cycles == Some(true));
    // One that is missing stays so: an empty list removes all in some modes.
    let object = match &import.workflows {
        Some(given) => {
            let workflows = json_list(given.iter().map(|workflow| workflow.get()));
            object.raw("workflows", &workflows)
        }
        None => object,
    };
    // Unknown members are reported where the payload is read, which knows these two.
    let unknown = unknown
        .iter()
        .filter(|name| !matches!(name.as_str(), "id" | "model"));
    let object = unknown.fold(object, |object, name| object.raw(name, "null"));
    Ok(object.finish())
}

pub(in crate::rest) fn model_id(_: &Parts, answer: Success) -> Written {
    let (imported, _) = answer.take_outcome::<Imported>()?;
    Ok(json(&imported.model_id))
}

pub(in crate::rest) fn payload(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Exported>()?.payload))
}

/// What was done to a model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct ActionResult {
    success: bool,
    /// In words.
    message: String,
    model_id: AsText<ModelId>,
    model_key: ModelName,
}

/// What was done to a model, said of the one in the path.
fn action(parts: &Parts, message: impl FnOnce(&str) -> String) -> Written {
    outcome(parts, true, message)
}

fn outcome(parts: &Parts, success: bool, message: impl FnOnce(&str) -> String) -> Written {
    let (name, version) = parts.model()?;
    let key = ModelKey::new(name, version);
    Ok(json(&ActionResult {
        success,
        message: message(&key.to_string()),
        model_id: AsText(key.id()),
        model_key: key.into(),
    }))
}

pub(in crate::rest) fn locked(parts: &Parts, _: Success) -> Written {
    action(parts, |model| format!("Model {model} locked"))
}

pub(in crate::rest) fn unlocked(parts: &Parts, _: Success) -> Written {
    action(parts, |model| format!("Model {model} unlocked"))
}

pub(in crate::rest) fn keys_set(parts: &Parts, _: Success) -> Written {
    action(parts, |model| format!("unique keys set on model {model}"))
}

pub(in crate::rest) fn model_deleted(parts: &Parts, _: Success) -> Written {
    action(parts, |model| format!("model {model} deleted"))
}

/// A model in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct EntityModel {
    /// Made of name and version: the same everywhere.
    id: AsText<ModelId>,
    model_name: Arc<str>,
    model_version: i32,
    current_state: LockState,
    /// When it was last imported.
    model_update_date: AsText<Timestamp>,
}

impl From<Model> for EntityModel {
    fn from(model: Model) -> Self {
        Self {
            id: model.id,
            model_name: model.name,
            model_version: model.version,
            current_state: model.state,
            model_update_date: model.model_update_date,
        }
    }
}

pub(in crate::rest) fn models(_: &Parts, answer: Success) -> Written {
    let models = answer.take::<Listed>()?.models.into_iter();
    let models: Vec<EntityModel> = models.map(Into::into).collect();
    Ok(json(&models))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WorkflowImportResult")]
pub(in crate::rest) struct WorkflowsImported {
    success: bool,
    /// What was accepted, but cannot have been meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

pub(in crate::rest) fn workflows_imported(_: &Parts, answer: Success) -> Written {
    let (_, warnings) = answer.take_outcome::<workflow::Imported>()?;
    Ok(json(&WorkflowsImported {
        success: true,
        warnings,
    }))
}

/// The workflows of a model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct ExportedWorkflows {
    entity_name: Arc<str>,
    model_version: i32,
    #[schemars(with = "Vec<Definition>")]
    workflows: Vec<RawJson>,
}

pub(in crate::rest) fn workflows(_: &Parts, answer: Success) -> Written {
    let exported: workflow::Exported = answer.take()?;
    let bytes = exported.extra_bytes();
    let body = ExportedWorkflows {
        entity_name: exported.model.name,
        model_version: exported.model.version,
        workflows: exported.workflows,
    };
    Ok(write(&body, bytes))
}

/// An entity that is not there.
#[derive(Deserialize, JsonSchema)]
pub(in crate::rest) struct Supposed<'a> {
    /// Its document.
    #[serde(borrow)]
    data: &'a RawValue,
    /// The state it is in; without one it is about to be made.
    #[serde(default)]
    state: Option<String>,
    /// The transition to take.
    #[serde(default)]
    transition: Option<String>,
}

pub(in crate::rest) fn explain(parts: &Parts, id: &str) -> Written {
    let supposed: Supposed<'_> = parts.json_as("explain request")?;
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("data", supposed.data.get());
    let object = optional(object, "state", supposed.state.as_deref());
    Ok(optional(object, "transition", supposed.transition.as_deref()).finish())
}

/// An answer that REST knows no other form of.
pub(in crate::rest) fn payload_as_is(parts: &Parts, answer: Success) -> Written {
    Ok(answer.into_text(parts.id()))
}

pub(in crate::rest) fn draw_workflows(parts: &Parts, id: &str) -> Written {
    let format = parts.query("format");
    if let Some(other) = format.filter(|format| !matches!(*format, "mermaid" | "dot")) {
        return Err(Failure::bad_parameter(
            "format",
            format!("unsupported diagram format `{other}`; use mermaid or dot"),
        ));
    }
    Ok(optional(
        begin(id).raw("model", &spec(parts.model()?)),
        "format",
        format,
    )
    .finish())
}

pub(in crate::rest) fn diagram(_: &Parts, answer: Success) -> Written {
    Ok(answer.take::<workflow::Drawn>()?.text)
}
