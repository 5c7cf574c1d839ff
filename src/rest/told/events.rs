//! `CloudEvents` over HTTP.
#![expect(
    dead_code,
    reason = "events are written as text; these are their schemas"
)]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{ALWAYS, Body, Parameter, Shape, Tag, Told, of, parameter::text};
use crate::operation::ROUTES;

/// An event: what is asked or answered is its type, and how is its data.
#[derive(JsonSchema)]
struct CloudEvent {
    #[schemars(schema_with = "version")]
    specversion: String,
    /// What the answer's `requestid` will be.
    #[schemars(length(min = 1))]
    id: String,
    #[schemars(length(min = 1))]
    source: String,
    /// See the help topic `cloudevents`.
    #[schemars(schema_with = "types")]
    r#type: String,
    datacontenttype: Option<String>,
    data: Option<Value>,
}

fn version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"const": "1.0"})
}

fn types(_: &mut SchemaGenerator) -> Schema {
    let requests: Vec<_> = ROUTES.iter().map(|route| route.request.as_str()).collect();
    json_schema!({"type": "string", "examples": requests})
}

fn payload(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"description": "The data of the event; its attributes are `ce-` headers."})
}

/// In which forms events come and go.
pub(in crate::rest) const MEDIA: &[(&str, Shape)] = &[
    ("application/cloudevents+json", of::<CloudEvent>),
    ("application/cloudevents-batch+json", of::<Vec<CloudEvent>>),
    ("application/json", payload),
];

const ATTRIBUTE: &str = "An attribute of the event, in binary mode.";

pub(in crate::rest) const POST: Told = Told {
    text: "In structured, batched or binary mode; the answer has the same mode, and an answer of \
           many events is always a batch. The answer to a readable event has status 200 even if \
           its operation failed: check `success` in its data.",
    parameters: &[
        Parameter::header("ce-specversion", version, ATTRIBUTE),
        Parameter::header("ce-id", text, ATTRIBUTE),
        Parameter::header("ce-source", text, ATTRIBUTE),
        Parameter::header("ce-type", types, ATTRIBUTE),
    ],
    body: Body::Media(MEDIA),
    codes: &[ALWAYS],
    ..Told::new(
        Tag::Events,
        "sendEvents",
        "Send events and receive their answers",
        payload,
    )
};
