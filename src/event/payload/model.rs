//! Payloads about models (`grpc.md` §8.1).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{DataFormat, ModelSpec, Object, RequiredText, decode, list, success, text_list};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::ModelKey;
use crate::model::{ChangeLevel, KeyDefinition, Lock, SimpleView, UniqueKeys, Violations};

/// How a sample is read or a model written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Converter {
    #[serde(rename = "SAMPLE_DATA")]
    SampleData,
    #[serde(rename = "SIMPLE_VIEW")]
    SimpleView,
    #[serde(rename = "JSON_SCHEMA")]
    JsonSchema,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Import<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    pub data_format: DataFormat,
    pub converter: Converter,
    #[serde(borrow)]
    pub payload: &'a RawValue,
}

#[derive(Deserialize, JsonSchema)]
pub struct Export {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    pub converter: Converter,
}

/// A simple view, alone or as an export has it.
pub fn simple_view(raw: &RawValue) -> Result<SimpleView, Failure> {
    #[derive(Deserialize)]
    struct Exported<'a> {
        #[serde(borrow, default)]
        model: Option<&'a RawValue>,
    }
    let exported: Exported<'_> = decode(raw.get())?;
    decode(exported.model.unwrap_or(raw).get())
}

/// The `LOCK` or `UNLOCK` of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum LockChange {
    #[serde(rename = "LOCK", alias = "lock", alias = "Lock")]
    Lock,
    #[serde(rename = "UNLOCK", alias = "unlock", alias = "Unlock")]
    Unlock,
}

#[derive(Deserialize, JsonSchema)]
pub struct Transition {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    pub transition: LockChange,
}

#[derive(Deserialize, JsonSchema)]
pub struct Delete {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
}

/// A unique key, as clients write it.
#[derive(Deserialize, JsonSchema)]
pub struct UniqueKey {
    pub id: String,
    /// Paths such as `$.a.b` of scalars outside of lists.
    pub fields: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetChangeLevel {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    /// Looked at once the model is known to be there (`rest.md` §2.1).
    pub change_level: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Validate<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(borrow)]
    pub payload: &'a RawValue,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetUniqueKeys {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    pub unique_keys: Vec<UniqueKey>,
}

impl From<UniqueKey> for KeyDefinition {
    fn from(key: UniqueKey) -> Self {
        Self {
            id: key.id,
            fields: key.fields,
        }
    }
}

/// Unique keys as clients read them.
pub fn unique_keys(keys: &UniqueKeys) -> String {
    list(keys.iter().map(|(id, fields)| {
        Object::new()
            .text("id", id)
            .raw("fields", &text_list(fields))
            .finish()
    }))
}

#[derive(Deserialize, JsonSchema)]
pub struct SetIndexes {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    pub indexes: Vec<IndexSpec>,
}

/// An index as requests name it.
#[derive(Deserialize, JsonSchema)]
pub struct IndexSpec {
    /// The path of a scalar, or of the elements of a list: `$.a.b`, `$.lines[*].sku`.
    pub path: String,
}

pub fn imported(request: &str, model: &ModelKey) -> String {
    success(request, &[])
        .text("modelId", &model.id().to_string())
        .finish()
}

pub fn exported(request: &str, model: &ModelKey, document: &str) -> String {
    success(request, &[])
        .text("modelId", &model.id().to_string())
        .raw("model", &spec(model))
        .raw("payload", document)
        .finish()
}

/// An index in an answer.
pub struct IndexItem {
    pub path: String,
    pub state: &'static str,
    /// Whether it was declared.
    pub declared: bool,
}

pub fn indexes_set(
    request: &str,
    model: &ModelKey,
    indexes: impl Iterator<Item = IndexItem>,
) -> String {
    success(request, &[])
        .text("modelId", &model.id().to_string())
        .raw("indexes", &self::indexes(indexes))
        .finish()
}

/// The indexes of a model.
pub fn indexes(indexes: impl Iterator<Item = IndexItem>) -> String {
    list(indexes.map(|index| {
        Object::new()
            .text("path", &index.path)
            .text("state", index.state)
            .truth("declared", index.declared)
            .finish()
    }))
}

pub fn locked(request: &str, model: &ModelKey, lock: Lock) -> String {
    success(request, &[])
        .text("modelId", &model.id().to_string())
        .text("state", lock.as_str())
        .finish()
}

pub fn change_level_set(request: &str, model: &ModelKey, level: ChangeLevel) -> String {
    success(request, &[])
        .text("modelId", &model.id().to_string())
        .text("changeLevel", level.as_str())
        .finish()
}

/// Every violation with its place, what the model has there and what the document has.
pub fn validated(request: &str, model: &ModelKey, violations: &Violations) -> String {
    let errors = violations.listed.iter().map(|violation| {
        let object = Object::new()
            .text("path", &violation.path)
            .text("message", &violation.to_string())
            .raw("expected", &text_list(violation.expected()));
        match violation.found() {
            Some(found) => object.text("found", found),
            None => object,
        }
        .finish()
    });
    let total = violations.listed.len() + violations.more;
    success(request, &[])
        .text("modelId", &model.id().to_string())
        .truth("valid", violations.is_none())
        .raw("errors", &list(errors))
        .number("errorCount", i64::try_from(total).unwrap_or(i64::MAX))
        .finish()
}

/// A model in a list.
pub struct Listed {
    pub key: ModelKey,
    pub lock: Lock,
    pub updated: Timestamp,
}

pub fn all(request: &str, models: impl Iterator<Item = Listed>) -> String {
    let models = models.map(|model| {
        Object::new()
            .text("id", &model.key.id().to_string())
            .text("name", &model.key.name)
            .number("version", model.key.version)
            .text("state", model.lock.as_str())
            .text("modelUpdateDate", &model.updated.to_string())
            .finish()
    });
    success(request, &[]).raw("models", &list(models)).finish()
}

/// A model as payloads name it.
pub fn spec(model: &ModelKey) -> String {
    spec_in(Object::new(), model).finish()
}

/// The members that name a model.
pub(super) fn spec_in(object: Object, model: &ModelKey) -> Object {
    object
        .text("name", &model.name)
        .number("version", model.version)
}
