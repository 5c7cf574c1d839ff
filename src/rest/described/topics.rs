//! Topics (`runs.md` §5).

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{
    Body, Description, Parameter, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
    parameter::int64,
};
use crate::error::Code;
use crate::event::payload::topics::{NewEvent, Page, Part, Published};

const FROM: Parameter = Parameter::query(
    "fromSequence",
    int64,
    "The sequence after which to begin; 0 if absent.",
);

const NO_TOPIC: &[Code] = &[Code::TopicNotFound];

fn events(generator: &mut SchemaGenerator) -> Schema {
    let event = generator.subschema_for::<NewEvent<'static>>();
    json_schema!({"type": "object", "required": ["events"], "properties": {
        "events": {"type": "array", "minItems": 1, "maxItems": 1000, "items": event}
    }})
}

pub(in crate::rest) const PUBLISH: Description = Description {
    text: "A topic begins with its first event. An event whose `id` the topic has already is not \
           added again, and is answered with the sequence of the first. In a transaction the events \
           are written by its commit, and no sequences are answered.",
    parameters: &[NAMESPACE],
    body: Body::Json(events),
    ..Description::new(
        Tag::Runs,
        "publishToTopic",
        "Publish events to a topic",
        of::<Published>,
    )
};

pub(in crate::rest) const GET: Description = Description {
    text: "Fewer events than asked for are answered if they are large: `last` shows whether there \
           are more.",
    parameters: &[NAMESPACE, FROM, LIMIT],
    codes: &[NO_TOPIC],
    ..Description::new(Tag::Runs, "getTopic", "Events of a topic", of::<Part>)
};

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[NAMESPACE, LIMIT, CURSOR],
    ..Description::new(Tag::Runs, "listTopics", "List topics by name", of::<Page>)
};
