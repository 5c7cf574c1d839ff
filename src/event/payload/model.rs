//! Payloads about models (`grpc.md` §8.1).

use std::{borrow::Cow, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    Answer, AsText, DataFormat, ModelName, ModelSpec, RawJson, RequestId, RequiredText, decode,
};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::{ModelId, ModelKey};
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

/// Fields whose values together identify an entity.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
    /// Looked at once the model is known to be there.
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

/// A model that was imported.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelImported")]
pub struct Imported {
    /// Made of name and version: the same everywhere.
    pub model_id: AsText<ModelId>,
}

impl Answer for Imported {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model_id: AsText(ModelId::NIL),
        })
    }
}

/// A model, exported.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelExported")]
pub struct Exported {
    pub model_id: AsText<ModelId>,
    pub model: ModelName,
    /// Empty if `success` is false.
    #[schemars(schema_with = "shape_or_nothing")]
    pub payload: Payload,
}

impl Answer for Exported {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model_id: AsText(ModelId::NIL),
            model: ModelName::default(),
            payload: Payload::Nothing {},
        })
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Payload {
    Shape(Shape),
    Nothing {},
}

/// An object of these members, or an empty one.
fn shape_or_nothing(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Shape::json_schema(generator);
    schema.remove("required");
    schema
}

/// What a model says about its entities.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExportedModel")]
pub struct Shape {
    pub current_state: LockState,
    /// A JSON Schema, or the simple view.
    #[schemars(with = "Value")]
    pub model: RawJson,
    /// The keys of which no two entities may have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_keys: Option<Vec<UniqueKey>>,
    /// The search indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<IndexState>,
}

/// Entities can be made of a model that is locked; its shape can be changed while it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum LockState {
    Locked,
    Unlocked,
}

impl From<Lock> for LockState {
    fn from(lock: Lock) -> Self {
        match lock {
            Lock::Locked => Self::Locked,
            Lock::Unlocked => Self::Unlocked,
        }
    }
}

/// Unique keys as clients read them.
pub fn unique_keys(keys: &UniqueKeys) -> Vec<UniqueKey> {
    let keys = keys.iter().map(|(id, fields)| UniqueKey {
        id: id.to_owned(),
        fields: fields.map(ToOwned::to_owned).collect(),
    });
    keys.collect()
}

/// A search index of a model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Index")]
pub struct IndexState {
    pub path: String,
    /// It serves searches once it is `READY`.
    #[schemars(extend("enum" = ["FILLING", "READY", "DROPPING"]))]
    pub state: &'static str,
    /// Whether a client declared it.
    pub declared: bool,
}

/// The search indexes of a model.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "IndexesSet")]
pub struct Indexed {
    pub model_id: AsText<ModelId>,
    pub indexes: Vec<IndexState>,
}

impl Answer for Indexed {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A model that was changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelChanged")]
pub struct Changed {
    pub model_id: AsText<ModelId>,
    #[schemars(extend("enum" = ["LOCKED", "UNLOCKED", ""]))]
    pub state: Cow<'static, str>,
}

impl Changed {
    pub fn new(model: &ModelKey, lock: Lock) -> Self {
        Self {
            model_id: AsText(model.id()),
            state: lock.as_str().into(),
        }
    }
}

impl Answer for Changed {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model_id: AsText(ModelId::NIL),
            state: "".into(),
        })
    }
}

/// The change level of a model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChangeLevelSet")]
pub struct ChangeLevelSet {
    pub model_id: AsText<ModelId>,
    #[schemars(extend("enum" = ["ARRAY_LENGTH", "ARRAY_ELEMENTS", "TYPE", "STRUCTURAL", ""]))]
    pub change_level: Cow<'static, str>,
}

impl ChangeLevelSet {
    pub fn new(model: &ModelKey, level: ChangeLevel) -> Self {
        Self {
            model_id: AsText(model.id()),
            change_level: level.as_str().into(),
        }
    }
}

impl Answer for ChangeLevelSet {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model_id: AsText(ModelId::NIL),
            change_level: "".into(),
        })
    }
}

/// The result of the validation of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DocumentValidated")]
pub struct Validated {
    pub model_id: AsText<ModelId>,
    pub valid: bool,
    /// The first thousand, or fewer if their paths are long.
    pub errors: Vec<InvalidPlace>,
    /// How many there are.
    pub error_count: usize,
}

/// A place of a document that does not fit the model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Violation")]
pub struct InvalidPlace {
    pub path: String,
    pub message: String,
    /// The types that the model has there.
    pub expected: Vec<&'static str>,
    /// The type that the document has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

impl Validated {
    pub fn new(model: &ModelKey, violations: &Violations) -> Self {
        let errors = violations.listed.iter().map(|violation| InvalidPlace {
            path: violation.path.clone(),
            message: violation.to_string(),
            expected: violation.expected(),
            found: violation.found().map(ToOwned::to_owned),
        });
        Self {
            model_id: AsText(model.id()),
            valid: violations.is_none(),
            errors: errors.collect(),
            error_count: violations.listed.len() + violations.more,
        }
    }
}

impl Answer for Validated {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model_id: AsText(ModelId::NIL),
            valid: false,
            errors: Vec::new(),
            error_count: 0,
        })
    }
}

/// The answer to a request for every model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Models")]
pub struct Listed {
    pub models: Vec<Model>,
}

impl Answer for Listed {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self { models: Vec::new() })
    }
}

/// A model in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: AsText<ModelId>,
    pub name: Arc<str>,
    pub version: i32,
    pub state: LockState,
    /// When it was last imported.
    pub model_update_date: AsText<Timestamp>,
}

impl Model {
    pub fn new(key: &ModelKey, lock: Lock, updated: Timestamp) -> Self {
        Self {
            id: AsText(key.id()),
            name: Arc::clone(&key.name),
            version: key.version,
            state: lock.into(),
            model_update_date: AsText(updated),
        }
    }
}
