//! The JSON Schemas of requests and answers (2020-12), and what programs that make clients need
//! to know of each operation besides.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform,
};
use serde_json::{Map, Value, json};

use super::{Access, Answers, ROUTES, Route};
use crate::error::{Code, Retry};
use crate::event::{
    EventType,
    payload::{self, compute, stream, tasks},
};

/// The schema of a request.
pub(super) fn payload<T: JsonSchema>() -> Schema {
    schemars::schema_for!(T)
}

/// The schema of an answer.
pub(super) fn answer<A: payload::Answer>() -> Schema {
    written::<Whole<A>>()
}

/// The schema of what the service writes.
fn written<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(as_written));
    settings.into_generator().into_root_schema_for::<T>()
}

/// Says less of what is never written: a member that may be absent is not null when it is there,
/// and numbers have the formats that generators of clients know.
fn as_written(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::String(format)) = members.get_mut("format")
        && format.starts_with("uint")
    {
        "int64".clone_into(format);
    }
    let required = members.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        let names = required.as_array().into_iter().flatten();
        names.into_iter().any(|required| required == name)
    };
    let Some(Value::Object(properties)) = members.get_mut("properties") else {
        return;
    };
    for (name, property) in properties.iter_mut() {
        if !is_required(name) {
            never_null(property);
        }
    }
}

/// Takes the null out of what a member may be.
fn never_null(property: &mut Value) {
    let Some(members) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = &mut types[..] {
            let one = one.take();
            members.insert("type".to_owned(), one);
        }
    }
    let null = json!({"type": "null"});
    let Some(Value::Array(choices)) = members.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| *choice != null);
    if let [Value::Object(only)] = &mut choices[..] {
        let only = std::mem::take(only);
        members.remove("anyOf");
        for (name, value) in only {
            members.entry(name).or_insert(value);
        }
    }
}

/// An answer with the members of every answer.
struct Whole<A>(PhantomData<A>);

impl<A: payload::Answer> JsonSchema for Whole<A> {
    fn schema_name() -> Cow<'static, str> {
        A::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("Whole<{}>", A::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        payload::answer::schema::<A>(generator)
    }
}

impl Route {
    /// What the payload of a request says, as JSON Schema.
    pub fn payload_schema(&self) -> Value {
        (self.payload)().to_value()
    }

    /// The types of the events that answer.
    pub fn responses(&self) -> Vec<EventType> {
        // Live searches send the entities that match first.
        let entities = self.request == EventType::EntitySearchSubscribeRequest;
        let entities = entities.then_some(EventType::EntityResponse);
        entities.into_iter().chain([self.response]).collect()
    }

    /// How many events answer, as text.
    pub const fn answers_text(&self) -> &'static str {
        match self.answers {
            Answers::One => "one",
            Answers::Many => "many",
            Answers::Live => "live",
        }
    }

    /// Whether it changes anything, as text.
    pub const fn access_text(&self) -> &'static str {
        match self.access {
            Access::Read => "read",
            Access::Write => "write",
        }
    }

    /// The role that it needs; empty, if any caller may use it.
    pub const fn role(&self) -> &'static str {
        self.needs.role()
    }

    /// What a program that makes clients needs to know of it, beside the schemas.
    fn describe(&self, paths: Paths<'_>) -> Value {
        let routes = paths
            .iter()
            .filter(|(event, _)| *event == self.request.as_str());
        let responses = self.responses();
        json!({
            "request": self.request.as_str(),
            "responses": responses.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
            "method": self.method(),
            "streaming": self.answers != Answers::One,
            "endless": self.answers == Answers::Live,
            "mutating": self.access == Access::Write,
            "idempotencyKey": self.access == Access::Write && self.once,
            "role": self.role(),
            "rest": routes.map(|(_, path)| path.as_str()).collect::<Vec<_>>()
        })
    }
}

/// The REST routes: the name of a request type, and a method and path that spell it.
pub type Paths<'a> = &'a [(&'static str, String)];

/// Who sends events of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
    Both,
}

impl Sender {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Both => "both",
        }
    }
}

/// An event type, and the schema of its data.
pub struct EventSchema {
    pub kind: EventType,
    pub sender: Sender,
    schema: fn() -> Schema,
    /// The type of the event that answers it, if it is not a request of an operation.
    answered_by: Option<EventType>,
}

/// The events that are not requests of an operation and do not answer one.
const PROTOCOL: &[EventSchema] = &[
    event(
        EventType::CalculationMemberJoinEvent,
        Sender::Client,
        payload::<compute::Join>,
    )
    .answered_by(EventType::CalculationMemberGreetEvent),
    event(
        EventType::CalculationMemberGreetEvent,
        Sender::Server,
        written::<compute::Greeting<'_>>,
    ),
    event(
        EventType::CalculationMemberKeepAliveEvent,
        Sender::Both,
        written::<compute::KeepAlive<'_>>,
    )
    .answered_by(EventType::CalculationMemberKeepAliveEvent),
    event(
        EventType::EntityProcessorCalculationRequest,
        Sender::Server,
        written::<compute::CalculationRequest<'_, compute::CalledProcessor<'_>>>,
    )
    .answered_by(EventType::EntityProcessorCalculationResponse),
    event(
        EventType::EntityProcessorCalculationResponse,
        Sender::Client,
        payload::<compute::Answer<'_>>,
    ),
    event(
        EventType::EntityCriteriaCalculationRequest,
        Sender::Server,
        written::<compute::CalculationRequest<'_, compute::CalledCriterion<'_>>>,
    )
    .answered_by(EventType::EntityCriteriaCalculationResponse),
    event(
        EventType::EntityCriteriaCalculationResponse,
        Sender::Client,
        payload::<compute::Answer<'_>>,
    ),
    event(
        EventType::EntityFunctionCalculationRequest,
        Sender::Server,
        written::<compute::CalculationRequest<'_, compute::CalledFunction<'_>>>,
    )
    .answered_by(EventType::EntityFunctionCalculationResponse),
    event(
        EventType::EntityFunctionCalculationResponse,
        Sender::Client,
        payload::<compute::Answer<'_>>,
    ),
    event(
        EventType::TaskCalculationRequest,
        Sender::Server,
        written::<tasks::TaskRequest<'_>>,
    )
    .answered_by(EventType::TaskCalculationResponse),
    event(
        EventType::TaskCalculationResponse,
        Sender::Client,
        payload::<tasks::TaskAnswer<'_>>,
    ),
    event(
        EventType::TaskCancelEvent,
        Sender::Server,
        written::<tasks::TaskCancel<'_>>,
    ),
    event(
        EventType::EventAckResponse,
        Sender::Both,
        written::<stream::Acknowledgement<'_>>,
    ),
    event(
        EventType::EventCancelRequest,
        Sender::Client,
        payload::<stream::Cancel>,
    )
    .answered_by(EventType::EventAckResponse),
    event(
        EventType::EventStreamEnd,
        Sender::Server,
        written::<stream::End<'_>>,
    ),
];

const fn event(kind: EventType, sender: Sender, schema: fn() -> Schema) -> EventSchema {
    EventSchema {
        kind,
        sender,
        schema,
        answered_by: None,
    }
}

impl EventSchema {
    const fn answered_by(mut self, answer: EventType) -> Self {
        self.answered_by = Some(answer);
        self
    }
}

impl EventSchema {
    /// Every event type, in the order of their list.
    pub fn all() -> impl Iterator<Item = Self> {
        EventType::ALL.iter().filter_map(|kind| Self::of(*kind))
    }

    /// The schema of an event type.
    pub fn of(kind: EventType) -> Option<Self> {
        if let Some(route) = Route::of(kind) {
            return Some(event(kind, Sender::Client, route.payload));
        }
        if let Some(protocol) = PROTOCOL.iter().find(|event| event.kind == kind) {
            return Some(Self { ..*protocol });
        }
        // Of live searches the answers are those of two other operations.
        let answering = ROUTES.iter().find(|route| {
            route.response == kind && route.request != EventType::EntitySearchSubscribeRequest
        })?;
        Some(event(kind, Sender::Server, answering.answer))
    }

    /// The schema of the data, as a document. What JSON Schema has no keyword for is in `x-interlock`:
    /// of a request its operation, of an answer the requests that it answers.
    pub fn document(&self, paths: Paths<'_>) -> Value {
        let mut document = Map::new();
        document.insert("title".to_owned(), self.kind.as_str().into());
        document.insert("x-interlock".to_owned(), self.context(paths));
        if let Value::Object(members) = (self.schema)().to_value() {
            document.extend(members.into_iter().filter(|(name, _)| name != "title"));
        }
        Value::Object(document)
    }

    fn context(&self, paths: Paths<'_>) -> Value {
        if let Some(route) = Route::of(self.kind) {
            return route.describe(paths);
        }
        let requests = ROUTES
            .iter()
            .filter(|route| route.responses().contains(&self.kind))
            .map(|route| route.request);
        let requests = requests.map(EventType::as_str);
        let calls = PROTOCOL.iter();
        let calls = calls.filter(|event| event.answered_by == Some(self.kind));
        let calls = calls.map(|event| event.kind.as_str());
        json!({
            "sender": self.sender.as_str(),
            "answers": requests.chain(calls).collect::<Vec<_>>(),
            "answeredBy": self.answered_by.map(EventType::as_str)
        })
    }
}

/// The files that clients are made from: the index, and the schema of each event type.
pub fn schema_files(paths: Paths<'_>) -> Vec<(String, String)> {
    let file = |name: &str, value: &Value| {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        (format!("{name}.json"), text + "\n")
    };
    let events = EventSchema::all();
    std::iter::once(file("index", &index(paths)))
        .chain(events.map(|event| file(event.kind.as_str(), &event.document(paths))))
        .collect()
}

/// What a program that makes clients reads first: every operation, every event type, every error
/// code. `paths` are the REST routes of the request types.
fn index(paths: Paths<'_>) -> Value {
    let operations = ROUTES.iter().map(|route| route.describe(paths));
    let events = EventSchema::all().map(|event| {
        json!({
            "type": event.kind.as_str(),
            "sender": event.sender.as_str(),
            "schema": format!("{}.json", event.kind)
        })
    });
    let codes = Code::ALL.iter().map(|code| {
        json!({
            "code": code.as_str(),
            "status": code.status().as_u16(),
            "retryable": code.retry() == Retry::Later,
            "meaning": code.meaning()
        })
    });
    json!({
        "description": "The data of each event is a JSON document that is described by the file of its type (JSON Schema 2020-12). Every request may be sent on startStreaming, to its gRPC method, and to POST events over HTTP. A failed request is answered by its response type with success false, or, if the event itself cannot be accepted, by EventAckResponse. On startStreaming and over HTTP a streaming answer ends with EventStreamEnd.",
        "operations": operations.collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
        "errors": codes.collect::<Vec<_>>()
    })
}
