//! Help.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Parameter, Shape, Tag, Told, of, parameter::Place};
use crate::error::Code;

/// Everything that help is given about.
#[derive(JsonSchema)]
struct Help {
    schema: u32,
    version: String,
    topics: Vec<HelpTopic>,
}

/// Something that help is given about.
#[derive(JsonSchema)]
struct HelpTopic {
    topic: String,
    path: Vec<String>,
    title: String,
    synopsis: String,
    /// The whole, in Markdown.
    body: String,
    sections: Vec<HelpSection>,
    see_also: Vec<String>,
    stability: String,
    /// What can be asked of it, as a further part of the path.
    actions: Vec<String>,
    children: Option<Vec<Self>>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
struct HelpSection {
    name: String,
    body: String,
}

fn topic_or_output(generator: &mut SchemaGenerator) -> Schema {
    let topic = of::<HelpTopic>(generator);
    json_schema!({"description": "A topic, or the output of its action.", "anyOf": [topic, {"type": "object"}, {"type": "array"}]})
}

/// The document, once its form is read.
fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

fn any_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string"})
}

pub(in crate::rest) const EVERYTHING_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Help>)];

pub(in crate::rest) const TOPIC_MEDIA: &[(&str, Shape)] = &[
    ("application/json", topic_or_output),
    ("application/yaml", anything),
    ("text/markdown", any_text),
    ("text/plain", any_text),
];

pub(in crate::rest) const EVERYTHING: Told =
    Told::new(Tag::Help, "getHelp", "Every topic", of::<Help>);

const TOPIC_NAME: Parameter = Parameter {
    name: "topic",
    place: Place::Path,
    required: true,
    shape: |_| json_schema!({"type": "string", "pattern": "^[A-Za-z0-9_-]+([./][A-Za-z0-9_-]+)*$", "examples": ["workflows", "workflows.md", "openapi/yaml", "config/all"]}),
    text: "The topic, with dots or slashes between its parts, optionally followed by an action, `.json` or `.md`.",
};

pub(in crate::rest) const TOPIC: Told = Told {
    parts: &[("topic", TOPIC_NAME)],
    codes: &[&[Code::BadRequest, Code::HelpTopicNotFound]],
    ..Told::new(
        Tag::Help,
        "getHelpTopic",
        "A topic, or the output of its action",
        topic_or_output,
    )
};
