//! Payloads about workflows (`stream.md` §3).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ModelSpec, RequiredText, list, model::spec, success, text_list};
use crate::entity::Json;
use crate::id::ModelKey;
pub use crate::workflow::WorkflowJson as Definition;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Import<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub import_mode: Option<String>,
    #[serde(default)]
    pub allow_cycles: Option<bool>,
    #[serde(default, borrow)]
    #[schemars(with = "Vec<Definition>")]
    pub workflows: Vec<&'a RawValue>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Export {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
}

/// The language of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiagramFormat {
    #[default]
    Mermaid,
    Dot,
}

impl DiagramFormat {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct Diagram {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub format: DiagramFormat,
}

pub fn imported(request: &str, model: &ModelKey, names: &[String], warnings: &[String]) -> String {
    success(request, warnings)
        .text("modelId", &model.id().to_string())
        .raw("workflows", &text_list(names))
        .finish()
}

pub fn exported(request: &str, model: &ModelKey, workflows: &[Json]) -> String {
    success(request, &[])
        .raw("model", &spec(model))
        .raw("workflows", &list(workflows.iter().map(Json::as_str)))
        .finish()
}

pub fn drawn(request: &str, model: &ModelKey, format: DiagramFormat, text: &str) -> String {
    success(request, &[])
        .raw("model", &spec(model))
        .text("format", format.as_str())
        .text("text", text)
        .finish()
}
