//! Payloads about workflows (`stream.md` §3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{Answer, AsText, ModelName, ModelSpec, RawJson, RequestId, RequiredText};
use crate::id::ModelId;
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
    pub workflows: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Export {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
}

/// The language of a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Workflows that were imported.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkflowsImported")]
pub struct Imported {
    pub model_id: AsText<ModelId>,
    /// The names of the imported workflows.
    pub workflows: Vec<String>,
}

impl Answer for Imported {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model_id: AsText(ModelId::NIL),
            workflows: Vec::new(),
        })
    }
}

/// The workflows of a model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkflowsExported")]
pub struct Exported {
    pub model: ModelName,
    /// As they were imported, of which the schema of the import says the form; criteria keep the
    /// spelling that they were given in.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub workflows: Vec<RawJson>,
}

impl Answer for Exported {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model: ModelName::default(),
            workflows: Vec::new(),
        })
    }

    fn extra_bytes(&self) -> usize {
        let workflows = self.workflows.iter();
        workflows.map(|workflow| workflow.as_str().len()).sum()
    }
}

/// The workflows of a model as a diagram.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkflowDiagram")]
pub struct Drawn {
    pub model: ModelName,
    pub format: DiagramFormat,
    /// The picture, in that language.
    pub text: String,
}

impl Answer for Drawn {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            model: ModelName::default(),
            format: DiagramFormat::default(),
            text: String::new(),
        })
    }

    fn extra_bytes(&self) -> usize {
        self.text.len()
    }
}
