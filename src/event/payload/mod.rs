//! The payloads: one file per family.
//!
//! Requests are read into borrowed structs, so that a document inside stays the text it was;
//! answers are structs that hold it as [`RawJson`], which is written as it is. [`Object`] writes
//! the requests of the edges.

pub mod account;
pub mod actions;
pub mod answer;
pub mod audit;
pub mod bundles;
pub mod clients;
pub mod compute;
pub mod definitions;
pub mod entity;
pub mod explain;
pub mod feed;
pub mod files;
mod image;
pub mod incidents;
pub mod invocations;
pub mod key_pairs;
pub mod managers;
pub mod members;
pub mod message;
pub mod model;
pub mod nodes;
mod object;
pub mod paging;
mod place;
pub mod providers;
pub mod runs;
pub mod sagas;
pub mod search;
pub mod settings;
pub mod statistics;
pub mod stream;
pub mod tasks;
mod text;
pub mod topics;
pub mod trusted_keys;
pub mod workers;
pub mod workflow;

use std::{borrow::Cow, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::entity::{Document, Shape};
use crate::error::Failure;
use crate::id::ModelKey;
use crate::json as reader;

pub use crate::entity::is_closed;
pub use answer::{Answer, Done, ErrorMember, Properties, RequestId, json};
pub use object::{Object, list, text_list};
pub use text::{AsText, Float, RawJson, RawStr, as_texts};

use place::placed;

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
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
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

/// The name and the version of a model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ModelKey")]
pub struct ModelName {
    pub name: Arc<str>,
    pub version: i32,
}

impl Default for ModelName {
    /// What stands where none can be given.
    fn default() -> Self {
        Self {
            name: "".into(),
            version: 0,
        }
    }
}

impl ModelName {
    fn write(&self, object: Object) -> Object {
        object
            .text("name", &self.name)
            .number("version", self.version)
    }
}

impl From<ModelKey> for ModelName {
    fn from(model: ModelKey) -> Self {
        Self {
            name: model.name,
            version: model.version,
        }
    }
}

/// The format of a document in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
pub enum DataFormat {
    /// Also what an empty text means.
    #[schemars(rename = "JSON")]
    Json,
    #[schemars(rename = "XML")]
    Xml,
}

impl<'de> Deserialize<'de> for DataFormat {
    /// As some clients send it, null is JSON too, and so is an absent member.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        enum Named {
            #[serde(rename = "JSON", alias = "")]
            Json,
            #[serde(rename = "XML")]
            Xml,
        }
        Ok(match Option::deserialize(deserializer)? {
            None | Some(Named::Json) => Self::Json,
            Some(Named::Xml) => Self::Xml,
        })
    }
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

    /// The format of one of many: what is not text can only be JSON, whatever it is called, and
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
    reader::read(text).map_err(|error| unreadable(text, &error))
}

/// Reads the payload of a request; also returns the names of its members that are unknown.
pub fn decode_noting<'a, T: Deserialize<'a>>(text: &'a str) -> Result<(T, Vec<String>), Failure> {
    /// Those that every payload may have (`grpc.md` §4).
    const OF_EVERY_EVENT: [&str; 3] = ["success", "error", "warnings"];
    let (read, mut unknown) =
        reader::read_noting(text).map_err(|error| unreadable(text, &error))?;
    unknown.retain(|name| !OF_EVERY_EVENT.contains(&name.as_str()));
    Ok((read, unknown))
}

fn unreadable(text: &str, error: &serde_json::Error) -> Failure {
    Failure::malformed(format!("invalid payload: {}", placed(text, error)))
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

/// A stored answer, and its warnings.
pub fn stored<T: serde::de::DeserializeOwned>(text: &str) -> Result<(T, Vec<String>), Failure> {
    #[derive(Deserialize)]
    struct Warned {
        #[serde(default)]
        warnings: Vec<String>,
    }
    let unreadable =
        |error: serde_json::Error| Failure::internal(format!("a stored answer: {error}"));
    let answer = serde_json::from_str(text).map_err(unreadable)?;
    let warned: Warned = serde_json::from_str(text).map_err(unreadable)?;
    Ok((answer, warned.warnings))
}
