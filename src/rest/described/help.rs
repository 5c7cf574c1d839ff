//! Help.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Description, Parameter, Shape, Tag, of, parameter::ParameterLocation};
use crate::error::Code;

fn everything(generator: &mut SchemaGenerator) -> Schema {
    let topics = of::<Vec<HelpTopic>>(generator);
    json_schema!({
        "type": "object",
        "description": "Every topic.",
        "properties": {
            "schema": {"type": "integer"},
            "version": {"type": "string"},
            "topics": topics
        },
        "required": ["schema", "version", "topics"]
    })
}

/// A topic, which may have others below it: what names its schema.
enum HelpTopic {}

impl JsonSchema for HelpTopic {
    fn schema_name() -> Cow<'static, str> {
        "HelpTopic".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let children = of::<Vec<Self>>(generator);
        json_schema!({
            "type": "object",
            "description": "A topic of the help.",
            "properties": {
                "topic": {"type": "string"},
                "path": {"type": "array", "items": {"type": "string"}},
                "title": {"type": "string"},
                "synopsis": {"type": "string"},
                "body": {"type": "string", "description": "The whole, in Markdown."},
                "sections": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "body": {"type": "string"}},
                    "required": ["name", "body"]
                }},
                "see_also": {"type": "array", "items": {"type": "string"}},
                "stability": {"type": "string"},
                "actions": {"type": "array", "items": {"type": "string"}, "description": "What can be requested of it, as a further part of the path."},
                "children": children
            },
            "required": ["topic", "path", "title", "synopsis", "body", "sections", "see_also", "stability", "actions"]
        })
    }
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

pub(in crate::rest) const EVERYTHING_MEDIA: &[(&str, Shape)] = &[("application/json", everything)];

pub(in crate::rest) const TOPIC_MEDIA: &[(&str, Shape)] = &[
    ("application/json", topic_or_output),
    ("application/yaml", anything),
    ("text/markdown", any_text),
    ("text/plain", any_text),
];

pub(in crate::rest) const EVERYTHING: Description =
    Description::new(Tag::Help, "getHelp", "Every topic", everything);

const TOPIC_NAME: Parameter = Parameter {
    name: "topic",
    place: ParameterLocation::Path,
    required: true,
    shape: |_| json_schema!({"type": "string", "pattern": "^[A-Za-z0-9_-]+([./][A-Za-z0-9_-]+)*$", "examples": ["workflows", "workflows.md", "openapi/yaml", "config/all"]}),
    text: "The topic, with dots or slashes between its parts, optionally followed by an action, `.json` or `.md`.",
};

pub(in crate::rest) const TOPIC: Description = Description {
    parts: &[("topic", TOPIC_NAME)],
    codes: &[&[Code::BadRequest, Code::HelpTopicNotFound]],
    ..Description::new(
        Tag::Help,
        "getHelpTopic",
        "A topic, or the output of its action",
        topic_or_output,
    )
};
