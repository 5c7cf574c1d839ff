//! The actions of topics (`config-and-cli.md` §4).

use serde_json::{Map, Value, json};

use super::{Facts, Topic, made};
use crate::operation::ROUTES;

/// The output of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub content_type: &'static str,
    pub text: String,
}

/// The files from which gRPC clients are generated.
const PROTOS: &[&str] = &[
    include_str!("../../proto/io/cloudevents/v1/cloudevents.proto"),
    include_str!("../../proto/org/cyoda/cloud/api/grpc/cloud_events_service.proto"),
];

/// The supported schema versions of workflows: a major version, and the first and last minor
/// version.
const SCHEMA_VERSIONS: (u32, u32, u32) = (1, 1, 3);

/// The output of a topic's action; none if the action is unknown.
pub(super) fn run(topic: &Topic, action: &str, facts: &Facts) -> Option<Output> {
    match (topic.name().as_str(), action) {
        ("openapi", "json") => Some(json_of(&facts.openapi())),
        ("openapi", "yaml") => yaml(&facts.openapi()),
        ("openapi", "tags") => Some(json_of(&tags(&facts.openapi()))),
        ("openapi", tag) => tagged(&facts.openapi(), tag).as_ref().map(json_of),
        ("cloudevents", "json") => Some(json_of(&made::operations_json(facts))),
        ("grpc", "json") => Some(json_of(&methods())),
        ("grpc", "proto") => Some(Output {
            content_type: "text/plain; charset=utf-8",
            text: PROTOS.join("\n"),
        }),
        ("errors", "json") => Some(json_of(&made::errors_json())),
        ("config", "all") => Some(json_of(&made::settings_json(facts))),
        ("workflows.schema-version", "versions") => Some(json_of(&schema_versions())),
        _ => None,
    }
}

fn schema_versions() -> Value {
    let (major, first, last) = SCHEMA_VERSIONS;
    let known = (first..=last).map(|minor| format!("{major}.{minor}"));
    json!({
        "schema": super::SCHEMA,
        "versions": known.collect::<Vec<_>>(),
        "current": format!("{major}.{last}"),
        "supported": [{"major": major, "minMinor": first, "maxMinor": last}]
    })
}

fn json_of(value: &Value) -> Output {
    Output {
        content_type: "application/json",
        text: format!("{value:#}\n"),
    }
}

fn yaml(value: &Value) -> Option<Output> {
    Some(Output {
        content_type: "application/yaml",
        text: serde_saphyr::to_string(value).ok()?,
    })
}

fn slug(tag: &str) -> String {
    tag.to_ascii_lowercase().replace(' ', "-")
}

fn tags(openapi: &Value) -> Value {
    let tags = openapi["tags"].as_array().into_iter().flatten();
    tags.filter_map(|tag| {
        Some(json!({
            "slug": slug(tag["name"].as_str()?),
            "name": tag["name"],
            "description": tag["description"]
        }))
    })
    .collect()
}

/// The document restricted to one tag.
fn tagged(openapi: &Value, tag: &str) -> Option<Value> {
    let tags = openapi["tags"].as_array()?;
    let name = tags
        .iter()
        .filter_map(|known| known["name"].as_str())
        .find(|name| slug(name) == slug(tag))?;
    let mut paths = Map::new();
    for (path, methods) in openapi["paths"].as_object()? {
        let of_tag: Map<String, Value> = methods
            .as_object()?
            .iter()
            .filter(|(_, operation)| operation["tags"][0] == name)
            .map(|(method, operation)| (method.clone(), operation.clone()))
            .collect();
        if !of_tag.is_empty() {
            paths.insert(path.clone(), Value::Object(of_tag));
        }
    }
    let mut document = openapi.clone();
    document["paths"] = Value::Object(paths);
    document["tags"] = tags
        .iter()
        .filter(|known| known["name"] == name)
        .cloned()
        .collect();
    Some(document)
}

/// The request types of each method.
fn methods() -> Value {
    let mut methods: Map<String, Value> = Map::new();
    for route in ROUTES {
        let row = methods.entry(route.method()).or_insert_with(|| json!([]));
        if let Some(taken) = row.as_array_mut() {
            taken.push(route.request.as_str().into());
        }
    }
    let all: Value = ROUTES.iter().map(|route| route.request.as_str()).collect();
    methods.insert("startStreaming".to_owned(), all);
    json!({
        "schema": super::SCHEMA,
        "service": "org.cyoda.cloud.api.grpc.CloudEventsService",
        "methods": methods
    })
}
