//! Payloads about workflows (`stream.md` §3).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ModelSpec, RequiredText, list, model::spec, success, text_list};
use crate::entity::Json;
use crate::id::ModelKey;

#[derive(Deserialize)]
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
    pub workflows: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Export {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
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
