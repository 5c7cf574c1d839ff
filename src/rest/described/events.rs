//! `CloudEvents` over HTTP.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    ALWAYS, Body, Description, Parameter, Shape, Tag, of,
    parameter::{ParameterLocation, text},
};
use crate::error::Code;
use crate::event::json::CloudEvent;
use crate::operation::ROUTES;

fn version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["1.0"]})
}

fn event(generator: &mut SchemaGenerator) -> Schema {
    let event = of::<CloudEvent<'_>>(generator);
    json_schema!({"allOf": [event], "properties": {"type": types(generator)}})
}

fn events(generator: &mut SchemaGenerator) -> Schema {
    let event = event(generator);
    json_schema!({"type": "array", "items": event})
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
    ("application/cloudevents+json", event),
    ("application/cloudevents-batch+json", events),
    ("application/json", payload),
];

pub(in crate::rest) const SCHEMA_MEDIA: &[(&str, Shape)] = &[("application/schema+json", schema)];

/// A schema may be anything that JSON Schema allows.
fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "description": "A JSON Schema (2020-12)."})
}

const TYPE_NAME: Parameter = Parameter {
    name: "type",
    place: ParameterLocation::Path,
    required: true,
    shape: types,
    text: "The event type, of a request or of an answer.",
};

pub(in crate::rest) const SCHEMA: Description = Description {
    text: "Its member `x-interlock` names the answers of a request, the requests of an answer, and the \
           REST routes. `interlock events --schema` prints the same.",
    parts: &[("type", TYPE_NAME)],
    codes: &[&[Code::BadRequest, Code::NotFound]],
    ..Description::new(
        Tag::Events,
        "getEventSchema",
        "The JSON Schema of the data of an event type",
        schema,
    )
};

const ATTRIBUTE: &str = "An attribute of the event, in binary mode.";

pub(in crate::rest) const POST: Description = Description {
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
    ..Description::new(
        Tag::Events,
        "sendEvents",
        "Send events and receive their answers",
        payload,
    )
};
