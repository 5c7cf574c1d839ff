//! Entities: writing them, reading them, what became of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::super::parts::{Parts, named, spec};
use super::{Written, bad, begin, begin_with, body_of, known_format, optional};
use crate::error::{Code, Failure};
use crate::event::payload::{
    AsText, ModelName, ModelSpec, Object, RawJson,
    entity::{AllDeleted, Deleted, Transitioned, Written as Transactions},
    json, list as json_list,
    search::{self, Meta},
};
use crate::id::{EntityId, ModelId, TransactionId};
use crate::operation::Success;

const WINDOW: i64 = 100;
const WINDOW_MAX: i64 = 1_000;
const PAGE_SIZE_MAX: i64 = 10_000;
const PAGE_NUMBER_MAX: i64 = 214_748;

fn window(parts: &Parts) -> Result<i64, Failure> {
    Ok(parts
        .query_within("transactionWindow", 1..=WINDOW_MAX)?
        .unwrap_or(WINDOW))
}

/// Makes the payload that names entities of one model. A body that begins with `[` is many, in
/// windows (`rest.md` §3.2): the same event, whose data is the list.
pub(in crate::rest) fn create(parts: &Parts, id: &str) -> Written {
    let format = known_format(parts.path("first"))?;
    create_of(parts, id, format, parts.model_at("second", "third")?)
}

/// The same of a model that is called `transitions`.
pub(in crate::rest) fn create_of_transitions(parts: &Parts, id: &str, format: &str) -> Written {
    let model = parts.model_named("transitions", "modelVersion")?;
    create_of(parts, id, format, model)
}

fn create_of(parts: &Parts, id: &str, format: &str, model: (&str, i32)) -> Written {
    let window = window(parts)?;
    let data = body_of(parts, format)?;
    let object = begin_with(id, &data)
        .text("dataFormat", format)
        .object("payload", |entity| {
            let entity = entity.object("model", |spec| named(spec, model));
            entity.raw("data", &data)
        });
    Ok(if format == "JSON" && data.starts_with('[') {
        object.number("chunkSize", window)
    } else {
        object
    }
    .finish())
}

/// The document that a text holds: JSON, or of a request that says so also XML, which stays a text.
fn held(format: &str, item: usize, text: &str) -> Result<String, Failure> {
    if format == "XML" && text.trim_start().starts_with('<') {
        return Ok(Value::from(text).to_string());
    }
    unquoted(item, text).map(ToOwned::to_owned)
}

/// Takes a document out of the text it is sent as.
fn unquoted(item: usize, text: &str) -> Result<&str, Failure> {
    let raw: Result<&RawValue, _> = serde_json::from_str(text);
    raw.map(RawValue::get)
        .map_err(|error| Failure::malformed(format!("item {item}: invalid JSON: {error}")))
}

/// An entity to be made.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewEntity")]
pub(in crate::rest) struct Created<'a> {
    #[serde(borrow)]
    #[schemars(with = "ModelSpec")]
    model: &'a RawValue,
    /// The document, as JSON in a text.
    payload: String,
}

pub(in crate::rest) fn create_collection(parts: &Parts, id: &str) -> Written {
    // What else it says is not looked at (`rest.md` §3.3).
    let format = match parts.path("first") {
        "XML" => "XML",
        _ => "JSON",
    };
    let items: Vec<Created<'_>> = parts.json_as("JSON array")?;
    let payloads: Result<Vec<_>, Failure> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            Ok(Object::new()
                .raw("model", item.model.get())
                .raw("data", &held(format, index, &item.payload)?)
                .finish())
        })
        .collect();
    let object = begin(id)
        .text("dataFormat", format)
        .raw("payloads", &json_list(payloads?));
    Ok(object.number("chunkSize", window(parts)?).finish())
}

/// A new document for an entity.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntityUpdate")]
pub(in crate::rest) struct Updated {
    /// The entity.
    #[serde(default)]
    #[schemars(with = "String", !default)]
    id: Option<String>,
    /// The document, as JSON in a text.
    payload: String,
    /// The transition to take with it.
    #[serde(default)]
    transition: Option<String>,
    /// The `transactionId` of the version that the change is based on.
    #[serde(default)]
    if_match: Option<String>,
}

pub(in crate::rest) fn update_collection(parts: &Parts, id: &str) -> Written {
    let format = parts.path("first");
    if format != "JSON" {
        return Err(bad(format!("unsupported format `{format}`; use JSON")));
    }
    let items: Vec<Updated> = parts.json_as("JSON array")?;
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

pub(in crate::rest) fn get(parts: &Parts, id: &str) -> Written {
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

pub(in crate::rest) fn delete(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("entityId", parts.entity("first")?);
    Ok(optional(object, "ifMatch", parts.single_header("If-Match")?).finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
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

pub(in crate::rest) fn delete_all(parts: &Parts, id: &str) -> Written {
    let object = begin(id).raw("model", &spec(parts.model_at("first", "second")?));
    let then = parts.instant("pointInTime")?;
    let verbose = parts.query_truth("verbose")?.unwrap_or(false);
    let object = optional(object.truth("verbose", verbose), "pointInTime", then);
    // An empty body deletes all (`rest.md` §3.7).
    if parts.text()?.trim().is_empty() {
        return Ok(object.finish());
    }
    let condition = parts
        .json()
        .map_err(|failure| Failure::new(Code::InvalidCondition, failure.message()))?;
    Ok(object.raw("condition", condition.get()).finish())
}

pub(in crate::rest) fn update(parts: &Parts, id: &str) -> Written {
    write_update(parts, id, None)
}

pub(in crate::rest) fn update_by_transition(parts: &Parts, id: &str) -> Written {
    write_update(parts, id, Some(parts.path("third")))
}

fn write_update(parts: &Parts, id: &str, transition: Option<&str>) -> Written {
    let format = known_format(parts.path("first"))?;
    let entity = parts.entity("second")?;
    let data = body_of(parts, format)?;
    let base = parts.single_header("If-Match")?;
    Ok(begin_with(id, &data)
        .text("dataFormat", format)
        .object("payload", |change| {
            let change = change.text("entityId", entity).raw("data", &data);
            optional(optional(change, "transition", transition), "ifMatch", base)
        })
        .finish())
}

pub(in crate::rest) fn patch(parts: &Parts, id: &str) -> Written {
    write_patch(parts, id, None)
}

pub(in crate::rest) fn patch_by_transition(parts: &Parts, id: &str) -> Written {
    write_patch(parts, id, Some(parts.path("third")))
}

/// The checks and their order are those of `rest.md` §3.6.
fn write_patch(parts: &Parts, id: &str, transition: Option<&str>) -> Written {
    let given = parts.path("first");
    if given != "JSON" {
        return Err(unsupported(format!(
            "`{given}` cannot be patched; JSON can"
        )));
    }
    let content_type = parts.single_header("Content-Type")?.unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let format = match media_type.to_ascii_lowercase().as_str() {
        "application/merge-patch+json" => "MERGE_PATCH",
        "application/json-patch+json" => "JSON_PATCH",
        other => {
            return Err(unsupported(format!(
                "`{other}` is not a patch format; send application/merge-patch+json or application/json-patch+json"
            )));
        }
    };
    let expected = parts.single_header("If-Match")?;
    let entity = Object::new().text("entityId", parts.entity("second")?);
    let change = match expected {
        // Where no JSON Patch is known, what is in the body does not matter either: what is not
        // JSON is passed on as a text, which is not a list of operations.
        Some(_) if format == "JSON_PATCH" && parts.json().is_err() => {
            entity.text("patch", &parts.lossy_text())
        }
        Some(_) => entity.raw("patch", parts.json()?.get()),
        // Without a version to be based on, what is in the body does not matter.
        None => entity.raw("patch", "null"),
    };
    let change = optional(
        optional(change, "transition", transition),
        "ifMatch",
        expected,
    );
    Ok(begin(id)
        .text("patchFormat", format)
        .raw("payload", &change.finish())
        .finish())
}

fn unsupported(message: String) -> Failure {
    Failure::new(Code::UnsupportedMediaType, message)
}

pub(in crate::rest) fn changes(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("entityId", parts.entity("entityId")?);
    Ok(optional(object, "pointInTime", parts.instant("pointInTime")?).finish())
}

/// Here an id need not be a UUID to be unknown (`rest.md` §3.8).
pub(in crate::rest) fn transitions(parts: &Parts, id: &str) -> Written {
    entity_then(parts, id, parts.path("entityId"))
}

pub(in crate::rest) fn transitions_of_class(parts: &Parts, id: &str) -> Written {
    let class = parts.query("entityClass").unwrap_or_default();
    let version = class
        .rsplit_once('.')
        .and_then(|(_, version)| version.parse::<i32>().ok());
    if version.is_none() {
        return Err(Failure::bad_parameter(
            "entityClass",
            format!(
                "entityClass is `{class}`; it must be the name of a model, a dot and its version"
            ),
        ));
    }
    let entity = required(parts, "entityId")?;
    entity_then(parts, id, entity)
}

/// A query parameter that must be given.
fn required<'a>(parts: &'a Parts, name: &'static str) -> Result<&'a str, Failure> {
    parts
        .query(name)
        .ok_or_else(|| Failure::bad_parameter(name, format!("{name} is missing")))
}

pub(in crate::rest) fn transition(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .text("entityId", parts.entity("entityId")?)
        .text("transition", parts.path("transition"));
    Ok(optional(object, "ifMatch", parts.single_header("If-Match")?).finish())
}

pub(in crate::rest) fn transition_by_query(parts: &Parts, id: &str) -> Written {
    let entity = required(parts, "entityId")?;
    let transition = required(parts, "transitionName")?;
    let object = begin(id)
        .text("entityId", entity)
        .text("transition", transition);
    Ok(optional(object, "ifMatch", parts.single_header("If-Match")?).finish())
}

/// A list of what each transaction did.
pub(in crate::rest) fn chunks(_: &Parts, answer: Success) -> Written {
    let (written, _) = answer.take_outcome::<Transactions>()?;
    Ok(match written.chunks {
        Some(chunks) => json(&chunks),
        None => json(&[written.transaction_info]),
    })
}

/// What the one transaction did.
pub(in crate::rest) fn transaction(_: &Parts, answer: Success) -> Written {
    let (written, _) = answer.take_outcome::<Transactions>()?;
    Ok(json(&written.transaction_info))
}

/// An entity, and what is known about it.
#[derive(Serialize, JsonSchema)]
pub(in crate::rest) struct Entity {
    r#type: EntityType,
    /// The document, as it was written.
    #[schemars(with = "Value")]
    data: RawJson,
    meta: Meta,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum EntityType {
    Entity,
}

impl Entity {
    pub(super) fn of(answer: search::Entity) -> Result<Self, Failure> {
        let (data, meta) = answer
            .payload
            .data
            .zip(answer.payload.meta)
            .ok_or_else(|| Failure::internal("an answer that should be an entity is none"))?;
        Ok(Self {
            r#type: EntityType::Entity,
            data,
            meta,
        })
    }
}

pub(in crate::rest) fn envelope(_: &Parts, answer: Success) -> Written {
    let answer: search::Entity = answer.take()?;
    let bytes = answer.bytes();
    let entity = Entity::of(answer)?;
    // By hand, as answers that are sent this often are.
    let text = Object::with_room(bytes)
        .text("type", "ENTITY")
        .raw("data", entity.data.as_str())
        .object("meta", |meta| entity.meta.write(meta))
        .finish();
    debug_assert_eq!(text, json(&entity));
    Ok(text)
}

/// An entity that was deleted. Its versions remain.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Deleted")]
pub(in crate::rest) struct EntityDeleted {
    id: AsText<EntityId>,
    model_key: ModelName,
    transaction_id: AsText<TransactionId>,
}

pub(in crate::rest) fn deleted(_: &Parts, answer: Success) -> Written {
    let (deleted, _) = answer.take_outcome::<Deleted>()?;
    Ok(json(&EntityDeleted {
        id: deleted.entity_id,
        model_key: deleted.model,
        transaction_id: deleted.transaction_id,
    }))
}

/// What was deleted. Two members are misspelled because the documented API spells them so.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AllDeleted")]
pub(in crate::rest) struct EntitiesDeleted {
    entity_model_class_id: AsText<ModelId>,
    delete_result: DeleteResult,
    /// With `verbose=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<AsText<EntityId>>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DeleteResult {
    number_of_entitites: usize,
    number_of_entitites_removed: usize,
    id_to_error: BTreeMap<String, String>,
}

pub(in crate::rest) fn all_deleted(parts: &Parts, answer: Success) -> Written {
    let (deleted, _) = answer.take_outcome::<AllDeleted>()?;
    let is_verbose = parts.query_truth("verbose")? == Some(true);
    Ok(json(&EntitiesDeleted {
        entity_model_class_id: deleted.model_id,
        delete_result: DeleteResult {
            number_of_entitites: deleted.num_deleted + deleted.errors_by_id.len(),
            number_of_entitites_removed: deleted.num_deleted,
            id_to_error: deleted.errors_by_id.into_iter().collect(),
        },
        ids: is_verbose.then_some(deleted.entity_ids),
    }))
}

pub(in crate::rest) fn change(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<search::Changed>()?.change_meta))
}

pub(in crate::rest) fn transition_names(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<search::Transitions>()?.transitions))
}

pub(in crate::rest) fn available(_: &Parts, answer: Success) -> Written {
    let (transitioned, _) = answer.take_outcome::<Transitioned>()?;
    Ok(json(&transitioned.available_transitions))
}

pub(in crate::rest) fn explain(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("entityId", parts.entity("entityId")?);
    let object = optional(object, "transition", parts.query("transition"));
    Ok(optional(object, "transactionId", parts.query("transactionId")).finish())
}
