//! Payloads from requests, and bodies from payloads: one pair of functions per spelling.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::parts::{Parts, spec};
use crate::error::{Code, Failure};
use crate::event::payload::{Object, list as json_list, text_list};
use crate::id::ModelKey;

type Written = Result<String, Failure>;

const WINDOW: i64 = 100;
const WINDOW_MAX: i64 = 1_000;
const PAGE_SIZE_MAX: i64 = 10_000;
const PAGE_NUMBER_MAX: i64 = 214_748;
const LIMIT_MAX: i64 = 10_000;

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(Code::BadRequest, message)
}

fn begin(id: &str) -> Object {
    Object::new().text("id", id)
}

fn optional(object: Object, name: &str, value: Option<&str>) -> Object {
    match value {
        Some(value) => object.text(name, value),
        None => object,
    }
}

/// Reads what an answer says.
fn read<'a, T: Deserialize<'a>>(payload: &'a str) -> Result<T, Failure> {
    serde_json::from_str(payload)
        .map_err(|error| Failure::internal(format!("an answer could not be read: {error}")))
}

// ── models ──

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(super) fn nothing(_: &Parts, id: &str) -> Written {
    Ok(begin(id).finish())
}

pub(super) fn model(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).raw("model", &spec(parts.model()?)).finish())
}

fn format(parts: &Parts) -> Result<&str, Failure> {
    known_format(parts.path("dataFormat"))
}

fn known_format(format: &str) -> Result<&str, Failure> {
    if matches!(format, "JSON" | "XML") {
        Ok(format)
    } else {
        Err(bad(format!("unsupported format `{format}`; use JSON")))
    }
}

pub(super) fn import_model(parts: &Parts, id: &str) -> Written {
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
    Ok(object.raw("payload", parts.json()?.get()).finish())
}

pub(super) fn export_model(parts: &Parts, id: &str) -> Written {
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

pub(super) fn lock(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .text("transition", "LOCK")
        .finish())
}

pub(super) fn unlock(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .raw("model", &spec(parts.model()?))
        .text("transition", "UNLOCK")
        .finish())
}

pub(super) fn unique_keys(parts: &Parts, id: &str) -> Written {
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

pub(super) fn import_workflows(parts: &Parts, id: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Import<'a> {
        #[serde(default)]
        #[serde(rename = "importMode")]
        mode: Option<String>,
        #[serde(default)]
        allow_cycles: Option<bool>,
        #[serde(default, borrow)]
        workflows: Vec<&'a RawValue>,
    }
    let import: Import<'_> = parts.json_as("workflow import")?;
    let object = begin(id).raw("model", &spec(parts.model()?));
    let object = optional(object, "importMode", import.mode.as_deref());
    let object = object.truth("allowCycles", import.allow_cycles == Some(true));
    Ok(object
        .raw(
            "workflows",
            &json_list(import.workflows.iter().map(|workflow| workflow.get())),
        )
        .finish())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelIdOnly {
    model_id: String,
}

pub(super) fn model_id(_: &Parts, payload: &str) -> Written {
    let answer: ModelIdOnly = read(payload)?;
    Ok(serde_json::Value::from(answer.model_id).to_string())
}

pub(super) fn payload(_: &Parts, payload: &str) -> Written {
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
    let (name, version) = parts.model()?;
    let key = ModelKey::new(name, version);
    let object = Object::new()
        .truth("success", true)
        .text("message", &message(&key.to_string()));
    Ok(object
        .text("modelId", &key.id().to_string())
        .raw("modelKey", &spec((name, version)))
        .finish())
}

pub(super) fn locked(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("Model {model} locked"))
}

pub(super) fn unlocked(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("Model {model} unlocked"))
}

pub(super) fn keys_set(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("unique keys set on model {model}"))
}

pub(super) fn model_deleted(parts: &Parts, _: &str) -> Written {
    action(parts, |model| format!("model {model} deleted"))
}

pub(super) fn models(_: &Parts, payload: &str) -> Written {
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

pub(super) fn workflows_imported(_: &Parts, payload: &str) -> Written {
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

pub(super) fn workflows(parts: &Parts, payload: &str) -> Written {
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

// ── entities ──

fn window(parts: &Parts) -> Result<i64, Failure> {
    Ok(parts
        .query_within("transactionWindow", 1..=WINDOW_MAX)?
        .unwrap_or(WINDOW))
}

/// Makes the payload that names entities of one model. A body that begins with `[` is many, in
/// windows (`rest.md` §3.2): the same event, whose data is the list.
pub(super) fn create(parts: &Parts, id: &str) -> Written {
    let format = known_format(parts.path("first"))?;
    let entity = Object::new()
        .raw("model", &spec(parts.model_at("second", "third")?))
        .raw("data", parts.json()?.get())
        .finish();
    let object = begin(id).text("dataFormat", format).raw("payload", &entity);
    Ok(if parts.text()?.starts_with('[') {
        object.number("chunkSize", window(parts)?)
    } else {
        object
    }
    .finish())
}

/// Takes a document out of the text it is sent as.
fn unquoted(item: usize, text: &str) -> Result<&str, Failure> {
    let raw: Result<&RawValue, _> = serde_json::from_str(text);
    raw.map(RawValue::get)
        .map_err(|error| Failure::malformed(format!("item {item}: invalid JSON: {error}")))
}

pub(super) fn create_collection(parts: &Parts, id: &str) -> Written {
    #[derive(Deserialize)]
    struct Item<'a> {
        #[serde(borrow)]
        model: &'a RawValue,
        payload: String,
    }
    let format = known_format(parts.path("first"))?;
    let items: Vec<Item<'_>> = parts.json_as("JSON array")?;
    let payloads: Result<Vec<_>, Failure> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            Ok(Object::new()
                .raw("model", item.model.get())
                .raw("data", unquoted(index, &item.payload)?)
                .finish())
        })
        .collect();
    let object = begin(id)
        .text("dataFormat", format)
        .raw("payloads", &json_list(payloads?));
    Ok(object.number("chunkSize", window(parts)?).finish())
}

pub(super) fn update_collection(parts: &Parts, id: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Item {
        #[serde(default)]
        id: Option<String>,
        payload: String,
        #[serde(default)]
        transition: Option<String>,
        #[serde(default)]
        if_match: Option<String>,
    }
    let format = parts.path("first");
    if format != "JSON" {
        return Err(bad(format!("unsupported format `{format}`; use JSON")));
    }
    let items: Vec<Item> = parts.json_as("JSON array")?;
    if items.is_empty() {
        return Err(bad("collection is empty"));
    }
    let payloads: Result<Vec<_>, Failure> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let entity = item
                .id
                .as_deref()
                .filter(|id| !id.is_empty())
                .ok_or_else(|| bad(format!("item {index}: missing id")))?;
            let object = Object::new()
                .text("entityId", entity)
                .raw("data", unquoted(index, &item.payload)?);
            let object = optional(object, "transition", item.transition.as_deref());
            Ok(optional(object, "ifMatch", item.if_match.as_deref()).finish())
        })
        .collect();
    let object = begin(id)
        .text("dataFormat", format)
        .raw("payloads", &json_list(payloads?));
    Ok(object.number("chunkSize", window(parts)?).finish())
}

pub(super) fn get(parts: &Parts, id: &str) -> Written {
    entity_then(parts, id, parts.entity("first")?)
}

/// An entity, and perhaps a time or a transaction.
fn entity_then(parts: &Parts, id: &str, entity: &str) -> Written {
    let object = optional(
        begin(id).text("entityId", entity),
        "pointInTime",
        parts.instant("pointInTime")?,
    );
    Ok(optional(object, "transactionId", parts.query("transactionId")).finish())
}

pub(super) fn delete(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("entityId", parts.entity("first")?).finish())
}

pub(super) fn list(parts: &Parts, id: &str) -> Written {
    let object = begin(id).raw("model", &spec(parts.model_at("first", "second")?));
    let size = parts.query_within("pageSize", 0..=PAGE_SIZE_MAX)?;
    let number = parts.query_within("pageNumber", 0..=PAGE_NUMBER_MAX)?;
    let object = match size {
        Some(size) => object.number("pageSize", size.max(1)),
        None => object,
    };
    let object = object.number("pageNumber", number.unwrap_or(0));
    Ok(optional(object, "pointInTime", parts.instant("pointInTime")?).finish())
}

pub(super) fn delete_all(parts: &Parts, id: &str) -> Written {
    let object = begin(id).raw("model", &spec(parts.model_at("first", "second")?));
    parts.instant("pointInTime")?;
    let verbose = parts
        .query_as::<bool>("verbose", "true or false")?
        .unwrap_or(false);
    let object = object.truth("verbose", verbose);
    // An empty body deletes all, at whatever time they were made (`rest.md` §3.7).
    Ok(if parts.text()?.trim().is_empty() {
        object
    } else {
        object.raw("condition", parts.json()?.get())
    }
    .finish())
}

pub(super) fn update(parts: &Parts, id: &str) -> Written {
    write_update(parts, id, None)
}

pub(super) fn update_by_transition(parts: &Parts, id: &str) -> Written {
    write_update(parts, id, Some(parts.path("third")))
}

fn write_update(parts: &Parts, id: &str, transition: Option<&str>) -> Written {
    let format = known_format(parts.path("first"))?;
    let change = Object::new()
        .text("entityId", parts.entity("second")?)
        .raw("data", parts.json()?.get());
    let change = optional(
        optional(change, "transition", transition),
        "ifMatch",
        parts.single_header("if-match")?,
    );
    Ok(begin(id)
        .text("dataFormat", format)
        .raw("payload", &change.finish())
        .finish())
}

pub(super) fn patch(parts: &Parts, id: &str) -> Written {
    write_patch(parts, id, None)
}

pub(super) fn patch_by_transition(parts: &Parts, id: &str) -> Written {
    write_patch(parts, id, Some(parts.path("third")))
}

fn write_patch(parts: &Parts, id: &str, transition: Option<&str>) -> Written {
    let is_json_patch = parts
        .single_header("content-type")?
        .is_some_and(|kind| kind.starts_with("application/json-patch+json"));
    let change = Object::new()
        .text("entityId", parts.entity("second")?)
        .raw("patch", parts.json()?.get());
    let change = optional(
        optional(change, "transition", transition),
        "ifMatch",
        parts.single_header("if-match")?,
    );
    let format = if is_json_patch {
        "JSON_PATCH"
    } else {
        "MERGE_PATCH"
    };
    Ok(begin(id)
        .text("patchFormat", format)
        .raw("payload", &change.finish())
        .finish())
}

pub(super) fn changes(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("entityId", parts.entity("entityId")?);
    Ok(optional(object, "pointInTime", parts.instant("pointInTime")?).finish())
}

/// Here an id need not be a UUID to be unknown (`rest.md` §3.8).
pub(super) fn transitions(parts: &Parts, id: &str) -> Written {
    entity_then(parts, id, parts.path("entityId"))
}

pub(super) fn transitions_of_class(parts: &Parts, id: &str) -> Written {
    let class = parts.query("entityClass").unwrap_or_default();
    let version = class
        .rsplit_once('.')
        .and_then(|(_, version)| version.parse::<i32>().ok());
    if version.is_none() {
        return Err(bad(format!(
            "entityClass is `{class}`; it is the name of a model, a dot and its version"
        )));
    }
    let entity = parts
        .query("entityId")
        .ok_or_else(|| bad("entityId is missing"))?;
    entity_then(parts, id, entity)
}

pub(super) fn transition(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .text("entityId", parts.entity("entityId")?)
        .text("transition", parts.path("transition"))
        .finish())
}

pub(super) fn transition_by_query(parts: &Parts, id: &str) -> Written {
    let entity = parts
        .query("entityId")
        .ok_or_else(|| bad("entityId is missing"))?;
    let transition = parts
        .query("transitionName")
        .ok_or_else(|| bad("transitionName is missing"))?;
    Ok(begin(id)
        .text("entityId", entity)
        .text("transition", transition)
        .finish())
}

pub(super) fn stats(parts: &Parts, id: &str) -> Written {
    parts.instant("pointInTime")?;
    Ok(begin(id)
        .raw("states", &text_list(parts.query_all("states")))
        .finish())
}

pub(super) fn stats_of_model(parts: &Parts, id: &str) -> Written {
    parts.instant("pointInTime")?;
    let object = begin(id).raw("model", &spec(parts.model()?));
    Ok(object
        .raw("states", &text_list(parts.query_all("states")))
        .finish())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Transactions<'a> {
    #[serde(borrow)]
    transaction_info: &'a RawValue,
    #[serde(borrow, default)]
    chunks: Option<&'a RawValue>,
}

/// A list of what each transaction did.
pub(super) fn chunks(_: &Parts, payload: &str) -> Written {
    let answer: Transactions<'_> = read(payload)?;
    Ok(match answer.chunks {
        Some(chunks) => chunks.get().to_owned(),
        None => json_list([answer.transaction_info.get()]),
    })
}

/// What the one transaction did.
pub(super) fn transaction(_: &Parts, payload: &str) -> Written {
    let answer: Transactions<'_> = read(payload)?;
    Ok(answer.transaction_info.get().to_owned())
}

pub(super) fn envelope(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Entity<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
        #[serde(borrow)]
        meta: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        payload: Entity<'a>,
    }
    let Answer { payload: entity } = read(payload)?;
    Ok(Object::new()
        .text("type", "ENTITY")
        .raw("data", entity.data.get())
        .raw("meta", entity.meta.get())
        .finish())
}

pub(super) fn deleted(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Deleted<'a> {
        entity_id: String,
        #[serde(borrow)]
        model: &'a RawValue,
        transaction_id: String,
    }
    let answer: Deleted<'_> = read(payload)?;
    let object = Object::new()
        .text("id", &answer.entity_id)
        .raw("modelKey", answer.model.get());
    Ok(object
        .text("transactionId", &answer.transaction_id)
        .finish())
}

/// The members are spelled as the documented API spells them.
pub(super) fn all_deleted(parts: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Deleted<'a> {
        #[serde(borrow)]
        entity_ids: &'a RawValue,
        model_id: String,
        #[serde(rename = "numDeleted")]
        count: i64,
    }
    let answer: Deleted<'_> = read(payload)?;
    let result = Object::new()
        .number("numberOfEntitites", answer.count)
        .number("numberOfEntititesRemoved", answer.count)
        .raw("idToError", "{}");
    let object = Object::new()
        .text("entityModelClassId", &answer.model_id)
        .raw("deleteResult", &result.finish());
    let is_verbose = parts.query("verbose") == Some("true");
    Ok(if is_verbose {
        object.raw("ids", answer.entity_ids.get())
    } else {
        object
    }
    .finish())
}

pub(super) fn change(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Change<'a> {
        #[serde(borrow)]
        change_meta: &'a RawValue,
    }
    let answer: Change<'_> = read(payload)?;
    Ok(answer.change_meta.get().to_owned())
}

pub(super) fn transition_names(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Names<'a> {
        #[serde(borrow)]
        transitions: &'a RawValue,
    }
    let answer: Names<'_> = read(payload)?;
    Ok(answer.transitions.get().to_owned())
}

pub(super) fn available(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Names<'a> {
        #[serde(borrow)]
        available_transitions: &'a RawValue,
    }
    let answer: Names<'_> = read(payload)?;
    Ok(answer.available_transitions.get().to_owned())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    model_name: String,
    model_version: i32,
    #[serde(default)]
    state: String,
    count: i64,
}

pub(super) fn count(_: &Parts, payload: &str) -> Written {
    let answer: Counted = read(payload)?;
    let object = Object::new()
        .text("modelName", &answer.model_name)
        .number("modelVersion", answer.model_version);
    Ok(object.number("count", answer.count).finish())
}

pub(super) fn count_in_state(_: &Parts, payload: &str) -> Written {
    let answer: Counted = read(payload)?;
    let object = Object::new()
        .text("modelName", &answer.model_name)
        .number("modelVersion", answer.model_version);
    Ok(object
        .text("state", &answer.state)
        .number("count", answer.count)
        .finish())
}

// ── search ──

pub(super) fn search(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, "FAIL")
}

pub(super) fn search_cut_off(parts: &Parts, id: &str) -> Written {
    write_search(parts, id, "TRUNCATE")
}

fn write_search(parts: &Parts, id: &str, exceeded: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("condition", parts.json()?.get());
    let object = match parts.query_within("limit", 1..=LIMIT_MAX)? {
        Some(limit) => object.number("limit", limit),
        None => object,
    };
    let object = object
        .text("limitExceeded", exceeded)
        .raw("orderBy", &order(parts)?);
    let tracking = parts
        .query_as::<bool>("trackingRead", "true or false")?
        .unwrap_or(false);
    Ok(optional(
        object.truth("trackingRead", tracking),
        "pointInTime",
        parts.instant("pointInTime")?,
    )
    .finish())
}

/// `[@]path[:asc|:desc]`, as a list of keys (`search.md` §7).
fn order(parts: &Parts) -> Written {
    let keys = parts.query_all("sort").map(|key| {
        let (path, descending) = match key.rsplit_once(':') {
            Some((path, "asc")) => (path, false),
            Some((path, "desc")) => (path, true),
            Some((_, other)) => {
                return Err(Failure::new(
                    Code::InvalidFieldPath,
                    format!("sort: `{other}` is neither asc nor desc"),
                ));
            }
            None => (key, false),
        };
        let (source, path) = path
            .strip_prefix('@')
            .map_or(("data", path), |name| ("meta", name));
        Ok(Object::new()
            .text("path", path)
            .text("source", source)
            .truth("desc", descending)
            .finish())
    });
    Ok(json_list(keys.collect::<Result<Vec<_>, Failure>>()?))
}

pub(super) fn submit_search(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .raw("model", &spec(parts.model()?))
        .raw("condition", parts.json()?.get())
        .raw("orderBy", &order(parts)?);
    Ok(optional(object, "pointInTime", parts.instant("pointInTime")?).finish())
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(super) fn snapshot(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("snapshotId", parts.path("jobId")).finish())
}

/// Snapshot searches answer nothing yet but a failure, which has no body of its own.
#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(super) fn snapshot_id(_: &Parts, payload: &str) -> Written {
    Ok(payload.to_owned())
}

pub(super) use snapshot_id as snapshot_status;
