//! Models and their workflows.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::{Parts, spec};
use super::{Written, bad, begin, body_of, known_format, optional, read};
use crate::error::Failure;
use crate::event::payload::model::IndexSpec;
use crate::event::payload::{Object, list as json_list, text_list, workflow::Definition};
use crate::id::ModelKey;

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
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
    if !matches!(converter, "SAMPLE_DATA" | "SIMPLE_VIEW") {
        return Err(bad(format!(
            "unsupported import converter `{converter}`; use SAMPLE_DATA or SIMPLE_VIEW"
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

pub(in crate::rest) fn change_level_set(parts: &Parts, _: &str) -> Written {
    let level = parts.path("changeLevel");
    action(parts, |model| {
        format!("model {model} now at change level {level}")
    })
}

pub(in crate::rest) fn validate(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("payload", parts.json()?.get())
        .finish())
}

/// A document that is not valid is no failure: the check has succeeded (`rest.md` §2.2).
pub(in crate::rest) fn validated(parts: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Violation {
        message: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Validated {
        valid: bool,
        errors: Vec<Violation>,
        error_count: usize,
    }
    let answer: Validated = read(payload)?;
    if answer.valid {
        return action(parts, |_| "Validation passed".to_owned());
    }
    let more = answer.error_count - answer.errors.len();
    let mut told: Vec<_> = answer.errors.into_iter().map(|one| one.message).collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    let message = format!("Validation failed: {}", told.join("; "));
    outcome(parts, false, |_| message)
}

pub(in crate::rest) fn unique_keys(parts: &Parts, id: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Keys<'a> {
        #[serde(borrow)]
        unique_keys: &'a RawValue,
    }
    let keys: Keys<'_> = parts.json_as("unique keys")?;
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

pub(in crate::rest) fn indexes_set(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Set<'a> {
        model_id: String,
        #[serde(borrow)]
        indexes: &'a RawValue,
    }
    let set: Set<'_> = read(payload)?;
    Ok(Object::new()
        .text("modelId", &set.model_id)
        .raw("indexes", set.indexes.get())
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
    #[schemars(with = "Vec<Definition>")]
    workflows: Vec<&'a RawValue>,
}

pub(in crate::rest) fn import_workflows(parts: &Parts, id: &str) -> Written {
    let (import, unknown): (Import<'_>, _) = parts.json_noting("workflow import")?;
    let object = begin(id).raw("model", &spec(parts.model()?));
    let object = optional(object, "importMode", import.mode.as_deref());
    let object = object.truth("allowCycles", import.allow_cycles == Some(true));
    let workflows = json_list(import.workflows.iter().map(|workflow| workflow.get()));
    // What is not known is told by who reads the payload, where these two are known.
    let unknown = unknown
        .iter()
        .filter(|name| !matches!(name.as_str(), "id" | "model"));
    let object = unknown.fold(object, |object, name| object.raw(name, "null"));
    Ok(object.raw("workflows", &workflows).finish())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelIdOnly {
    model_id: String,
}

pub(in crate::rest) fn model_id(_: &Parts, payload: &str) -> Written {
    let answer: ModelIdOnly = read(payload)?;
    Ok(serde_json::Value::from(answer.model_id).to_string())
}

pub(in crate::rest) fn payload(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Exported<'a> {
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let answer: Exported<'_> = read(payload)?;
    Ok(answer.payload.get().to_owned())
}

/// What was done to a model, said of the one in the path.
fn action(parts: &Parts, message: impl FnOnce(&str) -> String) -> Written {
    outcome(parts, true, message)
}

fn outcome(parts: &Parts, success: bool, message: impl FnOnce(&str) -> String) -> Written {
    let (name, version) = parts.model()?;
    let key = ModelKey::new(name, version);
    let object = Object::new()
        .truth("success", success)
        .text("message", &message(&key.to_string()));
    Ok(object
        .text("modelId", &key.id().to_string())
        .raw("modelKey", &spec((name, version)))
        .finish())
}

pub(in crate::rest) fn locked(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("Model {model} locked"))
}

pub(in crate::rest) fn unlocked(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("Model {model} unlocked"))
}

pub(in crate::rest) fn keys_set(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("unique keys set on model {model}"))
}

pub(in crate::rest) fn model_deleted(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("model {model} deleted"))
}

pub(in crate::rest) fn models(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Listed {
        id: String,
        name: String,
        version: i32,
        state: String,
        model_update_date: Option<String>,
    }
    #[derive(Deserialize)]
    struct All {
        models: Vec<Listed>,
    }
    let answer: All = read(payload)?;
    let models = answer.models.iter().map(|model| {
        let object = Object::new()
            .text("id", &model.id)
            .text("modelName", &model.name)
            .number("modelVersion", model.version);
        optional(
            object.text("currentState", &model.state),
            "modelUpdateDate",
            model.model_update_date.as_deref(),
        )
        .finish()
    });
    Ok(json_list(models))
}

pub(in crate::rest) fn workflows_imported(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Imported {
        #[serde(default)]
        warnings: Vec<String>,
    }
    let answer: Imported = read(payload)?;
    let object = Object::new().truth("success", true);
    Ok(if answer.warnings.is_empty() {
        object
    } else {
        object.raw("warnings", &text_list(&answer.warnings))
    }
    .finish())
}

pub(in crate::rest) fn workflows(parts: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Exported<'a> {
        #[serde(borrow)]
        workflows: &'a RawValue,
    }
    let answer: Exported<'_> = read(payload)?;
    let (name, version) = parts.model()?;
    let object = Object::new()
        .text("entityName", name)
        .number("modelVersion", version);
    Ok(object.raw("workflows", answer.workflows.get()).finish())
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
#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn payload_as_is(_: &Parts, payload: &str) -> Written {
    Ok(payload.to_owned())
}

pub(in crate::rest) fn draw_workflows(parts: &Parts, id: &str) -> Written {
    let format = parts.query("format");
    if let Some(other) = format.filter(|format| !matches!(*format, "mermaid" | "dot")) {
        return Err(bad(format!(
            "unsupported diagram format `{other}`; use mermaid or dot"
        )));
    }
    Ok(optional(
        begin(id).raw("model", &spec(parts.model()?)),
        "format",
        format,
    )
    .finish())
}

pub(in crate::rest) fn diagram(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Drawn {
        text: String,
    }
    let answer: Drawn = read(payload)?;
    Ok(answer.text)
}
