//! Reads `clients/schema`.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value};

/// Everything that is generated from.
#[derive(Deserialize)]
pub(crate) struct Protocol {
    pub(crate) operations: Vec<Operation>,
    pub(crate) errors: Vec<ErrorCode>,
    /// The schemas by their titles.
    #[serde(skip)]
    pub(crate) files: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
pub(crate) struct Operation {
    pub(crate) request: String,
    pub(crate) responses: Vec<String>,
    pub(crate) streaming: bool,
    pub(crate) endless: bool,
    pub(crate) role: String,
}

#[derive(Deserialize)]
pub(crate) struct ErrorCode {
    pub(crate) code: String,
    pub(crate) meaning: String,
    pub(crate) retryable: bool,
    pub(crate) status: u16,
}

/// The definitions of all files.
pub(crate) struct Definitions {
    /// By the names they are given here.
    pub(crate) schemas: BTreeMap<String, Value>,
    /// The names they are given, by the title of the file and their names in it.
    pub(crate) names: BTreeMap<String, BTreeMap<String, String>>,
}

impl Protocol {
    pub(crate) fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut read: Self = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|kind| kind != "json") || path.ends_with("index.json") {
                continue;
            }
            let file: Value = serde_json::from_slice(&fs::read(&path)?)?;
            let title = file["title"].as_str().ok_or("a schema has no title")?;
            read.files.insert(title.to_owned(), file);
        }
        Ok(read)
    }

    /// Whether clients send events of this type.
    pub(crate) fn is_sent_by_clients(&self, title: &str) -> bool {
        let about = &self.files[title]["x-interlock"];
        about["request"].is_string() || about["sender"] == "client"
    }

    pub(crate) fn is_answer(&self, title: &str) -> bool {
        let answers = &self.files[title]["x-interlock"]["answers"];
        answers
            .as_array()
            .is_some_and(|requests| !requests.is_empty())
    }

    /// Gives every definition a name: its own, after the name of the file where files define
    /// the same name differently.
    pub(crate) fn definitions(&self) -> Definitions {
        let mut made = Definitions {
            schemas: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        for (title, file) in &self.files {
            let names = made.names.entry(title.clone()).or_default();
            for (name, schema) in file["$defs"].as_object().into_iter().flatten() {
                let known = made.schemas.get(name);
                let is_taken = known.is_some_and(|known| known != schema);
                let chosen = if is_taken || self.files.contains_key(name) {
                    format!("{title}{name}")
                } else {
                    name.clone()
                };
                made.schemas.insert(chosen.clone(), schema.clone());
                names.insert(name.clone(), chosen);
            }
        }
        made
    }
}

/// The alternatives of a schema, without null.
pub(crate) fn alternatives(schema: &Value) -> Vec<&Value> {
    ["anyOf", "oneOf"]
        .iter()
        .filter_map(|name| schema[name].as_array())
        .flatten()
        .filter(|one| one["type"] != "null")
        .collect()
}

/// The values of a schema that lists texts.
pub(crate) fn texts(schema: &Value) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for value in schema["enum"].as_array().into_iter().flatten() {
        found.push(value.as_str()?.to_owned());
    }
    if let Some(text) = schema["const"].as_str() {
        found.push(text.to_owned());
    }
    for one in alternatives(schema) {
        found.extend(texts(one)?);
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|text| seen.insert(text.clone()));
    (!found.is_empty()).then_some(found)
}

/// The JSON types of a value, without null.
pub(crate) fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several
            .iter()
            .filter_map(Value::as_str)
            .filter(|kind| *kind != "null")
            .collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn is_required(schema: &Value, member: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|required| required.iter().any(|one| one == member))
}

pub(crate) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"]
        .as_object()
        .filter(|properties| !properties.is_empty())
}

pub(crate) fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}
