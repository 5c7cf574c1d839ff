//! The payloads: one file per family.
//!
//! Requests are read into borrowed structs, so that a document inside stays the text it was;
//! answers are written by [`Object`], which takes such text as it is.

pub mod account;
pub mod audit;
pub mod clients;
pub mod compute;
pub mod entity;
pub mod explain;
pub mod feed;
pub mod key_pairs;
pub mod members;
pub mod message;
pub mod model;
mod object;
pub mod providers;
pub mod search;
pub mod settings;
pub mod statistics;
pub mod stream;
pub mod trusted_keys;
pub mod workflow;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::EventType;
use crate::entity::{Document, Shape};
use crate::error::{Code, Failure};
use crate::id::{ModelId, ModelKey, TransactionId};
use crate::json;

pub use crate::entity::is_closed;
pub use object::{Object, list, text_list};

/// A text that must be there and is not looked at: the `id` of a payload, which the documented
/// schemas require; answers quote the envelope's id instead.
pub struct RequiredText;

impl JsonSchema for RequiredText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RequiredText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "Anything, conventionally the id of the event."})
    }
}

impl<'de> Deserialize<'de> for RequiredText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|_| Self)
    }
}

/// A payload in which nothing is looked at.
#[derive(JsonSchema)]
pub struct Nothing {}

/// The name and version of a model.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ModelSpec {
    pub name: String,
    pub version: i32,
}

impl From<ModelSpec> for ModelKey {
    fn from(spec: ModelSpec) -> Self {
        Self::new(&spec.name, spec.version)
    }
}

/// The format of a document in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum DataFormat {
    /// Also what an empty text means.
    #[serde(rename = "JSON", alias = "")]
    Json,
    #[serde(rename = "XML")]
    Xml,
}

impl DataFormat {
    /// Reads a document of this format; XML is the text in a JSON string.
    pub fn read(self, raw: &RawValue) -> Result<Document, Failure> {
        let malformed = |error: &dyn std::fmt::Display| {
            Failure::malformed(format!("invalid document: {error}"))
        };
        match self {
            Self::Json => Document::from_raw(raw).map_err(|error| malformed(&error)),
            Self::Xml => {
                let text: String = serde_json::from_str(raw.get())
                    .map_err(|_| malformed(&"XML is sent as a JSON string"))?;
                Document::from_xml(&text).map_err(|error| malformed(&error))
            }
        }
    }

    /// The format of one of many: what is no text can only be JSON, whatever it is called, and
    /// existing clients send that (`grpc.md` §8.2).
    #[must_use]
    pub fn of_item(self, raw: &RawValue) -> Self {
        if raw.get().starts_with('"') {
            self
        } else {
            Self::Json
        }
    }
}

/// Reads the payload of a request.
pub fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    json::read(text).map_err(|error| unreadable(&error))
}

/// The same, and which of its members nobody looks at.
pub fn decode_noting<'a, T: Deserialize<'a>>(text: &'a str) -> Result<(T, Vec<String>), Failure> {
    /// Those that every payload may have (`grpc.md` §4).
    const OF_EVERY_EVENT: [&str; 3] = ["success", "error", "warnings"];
    let (read, mut unknown) = json::read_noting(text).map_err(|error| unreadable(&error))?;
    unknown.retain(|name| !OF_EVERY_EVENT.contains(&name.as_str()));
    Ok((read, unknown))
}

fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::malformed(format!("invalid payload: {error}"))
}

/// The start of an answer that succeeded.
pub fn success(request: &str, warnings: &[String]) -> Object {
    let object = success_in(Object::new(), request);
    if warnings.is_empty() {
        object
    } else {
        object.raw("warnings", &text_list(warnings))
    }
}

/// The beginning of an answer that succeeded without warnings.
fn success_in(object: Object, request: &str) -> Object {
    object.text("id", request).truth("success", true)
}

/// An answer that failed: the error, and what stands for the members that the answer's type must
/// have (`errors.md` §2).
pub fn failure(kind: EventType, request: &str, failure: &Failure) -> String {
    let object = Object::new()
        .text("id", request)
        .truth("success", false)
        .raw("error", &error(failure));
    let object = match failure.warnings() {
        [] => object,
        warnings => object.raw("warnings", &text_list(warnings)),
    };
    filler(kind, request, object).finish()
}

/// The `error` member (`grpc.md` §5).
pub fn error(failure: &Failure) -> String {
    let class = if failure.code() == Code::ServerError {
        "SERVER_ERROR"
    } else {
        "CLIENT_ERROR"
    };
    let mut object = Object::new()
        .text("code", class)
        .text("message", &failure.to_string());
    if failure.retryable() {
        object = object.truth("retryable", true);
    }
    if !failure.properties().is_empty() {
        let properties = failure
            .properties()
            .iter()
            .fold(Object::new(), |object, (name, value)| {
                object.raw(name, &value.to_string())
            });
        object = object.raw("properties", &properties.finish());
    }
    object.finish()
}

/// An answer as one to another request: where it quotes the request, it quotes that one.
pub fn readdressed(answer: &str, request: &str) -> Result<String, Failure> {
    let document = Document::parse(answer)
        .map_err(|error| Failure::internal(format!("a stored answer: {error}")))?;
    let Shape::Object(members) = document.root().shape() else {
        return Err(Failure::internal("a stored answer is not an object"));
    };
    let quotes = |name: &str| matches!(name, "id" | "requestId");
    let answer = members.fold(Object::new(), |object, (name, value)| {
        if quotes(&name) {
            object.text(&name, request)
        } else {
            object.raw(&name, value.json())
        }
    });
    Ok(answer.finish())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only answers have required members, and few of them"
)]
fn filler(kind: EventType, request: &str, object: Object) -> Object {
    use EventType as T;
    let nil = ModelId::NIL.to_string();
    let no_model = r#"{"name":"","version":0}"#;
    match kind {
        T::EntityModelImportResponse => object.text("modelId", &nil),
        T::EntityModelExportResponse => object
            .text("modelId", &nil)
            .raw("model", no_model)
            .raw("payload", "{}"),
        T::EntityModelTransitionResponse | T::EntityModelSetUniqueKeysResponse => {
            object.text("modelId", &nil).text("state", "")
        }
        T::EntityModelGetAllResponse => object.raw("models", "[]"),
        T::EntityModelSetChangeLevelResponse => {
            object.text("modelId", &nil).text("changeLevel", "")
        }
        T::EntityModelValidateResponse => object
            .text("modelId", &nil)
            .truth("valid", false)
            .raw("errors", "[]")
            .raw("errorCount", "0"),
        T::EntityWorkflowImportResponse => object.text("modelId", &nil).raw("workflows", "[]"),
        T::EntityWorkflowDiagramResponse => object
            .raw("model", no_model)
            .text("format", workflow::DiagramFormat::default().as_str())
            .text("text", ""),
        T::EntityWorkflowExportResponse => object.raw("model", no_model).raw("workflows", "[]"),
        T::EntityTransactionResponse => object
            .text("requestId", request)
            .raw("transactionInfo", r#"{"entityIds":[]}"#),
        T::EntityDeleteResponse => object
            .text("requestId", request)
            .text("entityId", &nil)
            .raw("model", no_model)
            .text("transactionId", &TransactionId::NIL.to_string()),
        T::EntityDeleteAllResponse => object
            .text("requestId", request)
            .raw("entityIds", "[]")
            .text("modelId", &nil)
            .raw("numDeleted", "0"),
        T::EntityTransitionResponse => object.raw("availableTransitions", "[]"),
        T::EntityTransitionsGetResponse => {
            object.text("requestId", request).raw("transitions", "[]")
        }
        T::EntityResponse => object
            .text("requestId", request)
            .raw("payload", r#"{"type":"JSON"}"#),
        T::EntitySnapshotSearchResponse => object.raw(
            "status",
            &Object::new()
                .text("snapshotId", &nil)
                .text("status", "FAILED")
                .finish(),
        ),
        T::EntityStatsResponse => object
            .text("requestId", request)
            .text("modelName", "")
            .raw("modelVersion", "0")
            .raw("count", "0"),
        T::EntityStatsQueryResponse => object.text("requestId", request).raw("buckets", "[]"),
        T::EntityStatsByStateResponse => object
            .text("requestId", request)
            .text("modelName", "")
            .raw("modelVersion", "0")
            .text("state", "")
            .raw("count", "0"),
        // Without `changeMeta`: clients check that its kind is one that there is.
        T::EntityChangesMetadataResponse | T::EntityChangeEvent | T::AccountGetResponse => {
            object.text("requestId", request)
        }
        T::MessageCreateResponse => object
            .text("requestId", request)
            .raw("entityIds", "[]")
            .text("transactionId", &TransactionId::NIL.to_string()),
        T::MessageDeleteResponse => object.text("requestId", request).raw("entityIds", "[]"),
        T::MessageGetResponse => object
            .text("requestId", request)
            .raw("header", "{}")
            .raw("metaData", "{}")
            .raw("content", "null"),
        T::LogLevelGetResponse | T::LogLevelSetResponse => {
            object.text("requestId", request).text("level", "")
        }
        T::TraceSamplerGetResponse | T::TraceSamplerSetResponse => object
            .text("requestId", request)
            .text("sampler", "")
            .truth("parentBased", true),
        T::ClientsGetResponse => object.text("requestId", request).raw("clients", "[]"),
        T::TrustedKeysGetResponse => object.text("requestId", request).raw("trustedKeys", "[]"),
        T::OidcProvidersGetResponse | T::OidcProvidersReloadResponse => {
            object.text("requestId", request).raw("providers", "[]")
        }
        T::ComputeMembersGetResponse => object.text("requestId", request).raw("members", "[]"),
        // What else is answered has no members of its own.
        _ => object,
    }
}
