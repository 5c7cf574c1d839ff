//! `CloudEvents` over HTTP: binary, structured and batched mode (`stream.md` §1).

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    extract::{RawPathParams, Request, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderName, HeaderValue, Uri, header},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get, post},
};
use cloudevents::{
    binding::http::{Builder, Serializer, to_event},
    message::BinaryDeserializer,
};
use futures_util::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::{
    Gateway, KEY_HEADER, Limit, TOKEN_HEADER, parts::single_header, paths, read_body, unread,
};
use crate::auth::Login;
use crate::error::{Code, Failure};
use crate::event::{
    AttributeValue, Event, EventType, IDEMPOTENCY_ATTRIBUTE, Rejected, json::batch_from_json,
    trace_of,
};
use crate::operation::{Access, AnswersTo, Context, EventSchema, Hold, Reply, Route, dispatch};

const STRUCTURED: &str = "application/cloudevents+json";
const BATCHED: &str = "application/cloudevents-batch+json";
const SCHEMA: &str = "application/schema+json";

/// The form in which events come, and in which they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Binary,
    Structured,
    Batched,
}

/// What a request brought.
struct Incoming {
    mode: Mode,
    events: Vec<Result<Event, Rejected>>,
}

/// Who sent it, for each of its events.
#[derive(Clone)]
struct Sender {
    gateway: Arc<Gateway>,
    login: Login,
    token: Option<Arc<str>>,
    /// The bytes of all events.
    hold: Option<Arc<Hold>>,
}

pub(super) fn routes(gateway: &Arc<Gateway>) -> MethodRouter {
    let gateway = Arc::clone(gateway);
    post(async move |request: Request| {
        let uri = request.uri().clone();
        match serve(&gateway, request).await {
            Ok(response) => response,
            Err(failure) => gateway.problem(&failure, &uri),
        }
    })
}

/// Answers the schema of an event type.
pub(super) fn schema(gateway: &Arc<Gateway>) -> MethodRouter {
    let gateway = Arc::clone(gateway);
    get(
        async move |uri: Uri, path: Result<RawPathParams, RawPathParamsRejection>| {
            described(path).unwrap_or_else(|failure| gateway.problem(&failure, &uri))
        },
    )
}

fn described(path: Result<RawPathParams, RawPathParamsRejection>) -> Result<Response, Failure> {
    let path =
        path.map_err(|error| Failure::malformed(format!("the path is not readable: {error}")))?;
    let name = path.iter().next().map_or("", |(_, name)| name);
    let event = EventType::from_name(name).and_then(EventSchema::of);
    let event = event.ok_or_else(|| {
        Failure::new(
            Code::NotFound,
            format!("`{name}` is not an event type; GET help/cloudevents lists all types"),
        )
    })?;
    let text = event.document(&paths()).to_string() + "\n";
    Ok(([(header::CONTENT_TYPE, SCHEMA)], text).into_response())
}

async fn serve(gateway: &Arc<Gateway>, request: Request) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let headers = &head.headers;
    let sender = Sender {
        gateway: Arc::clone(gateway),
        login: gateway.login(headers).await?,
        token: single_header(headers, TOKEN_HEADER)?.map(Into::into),
        hold: None,
    };
    let hold = gateway.services.receiving.hold(&sender.login.caller.tenant);
    let body = read_body(body, Limit::USUAL, &hold).await?;
    let sender = Sender {
        hold: Some(Arc::new(hold)),
        ..sender
    };
    let Incoming { mode, events } = read(&head.headers, &body)?;
    let key = single_header(&head.headers, KEY_HEADER)?;
    if mode == Mode::Batched {
        if key.is_some() {
            return Err(Failure::malformed(format!(
                "each event of a batch has its own key, as the attribute `{IDEMPOTENCY_ATTRIBUTE}`, not the header `{KEY_HEADER}`"
            )));
        }
        let unread = sender.answers(access_of(&events));
        let answers = stream::iter(events).then(move |event| {
            let sender = sender.clone();
            async move { sender.answer(event).await.into_events() }
        });
        return Ok(batch(answers.flatten(), unread));
    }
    let event = events
        .into_iter()
        .next()
        .ok_or_else(|| Failure::malformed("the batch contains no event"))?;
    let event = match key {
        Some(key) => event.map(|event| with_key(event, key)),
        None => event,
    };
    let event = event.map(|event| event.within_call(trace_of(&head.headers).as_ref()));
    let answers = sender.answers(access_of(std::slice::from_ref(&event)));
    let response = match (sender.answer(event).await, mode) {
        (Reply::One(event), Mode::Binary) => binary(event),
        (Reply::One(event), Mode::Structured | Mode::Batched) => structured(&event),
        // A streamed answer is always a batch.
        (Reply::Many(events), _) => return Ok(batch(events, answers)),
    };
    unread(response, &answers).await
}

/// Whether one of these events changes anything.
fn access_of(events: &[Result<Event, Rejected>]) -> Access {
    let routes = events.iter().flatten().filter_map(|it| Route::of(it.kind));
    let writes = |route: &Route| route.access == Access::Write;
    if routes.into_iter().any(writes) {
        Access::Write
    } else {
        Access::Read
    }
}

/// The event with the key that came as a header, unless it has one of its own.
fn with_key(event: Event, key: &str) -> Event {
    if event.attributes.contains_key(IDEMPOTENCY_ATTRIBUTE) {
        return event;
    }
    event.with(IDEMPOTENCY_ATTRIBUTE, AttributeValue::String(key.into()))
}

/// Reads the events of a request; what is not a `CloudEvent` is a failure.
fn read(headers: &HeaderMap, body: &Bytes) -> Result<Incoming, Failure> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let text = || {
        std::str::from_utf8(body)
            .map_err(|error| Failure::malformed(format!("the body is not UTF-8: {error}")))
    };
    Ok(match essence.as_str() {
        BATCHED => Incoming {
            mode: Mode::Batched,
            events: batch_from_json(text()?)?,
        },
        STRUCTURED => Incoming {
            mode: Mode::Structured,
            events: vec![undecoded_is_failure(Event::from_json(text()?))?],
        },
        _ => {
            let event = to_event(headers, body.to_vec()).map_err(|error| {
                Failure::malformed(format!(
                    "not a CloudEvent: {error}; send ce- headers, or a body of {STRUCTURED} or {BATCHED}"
                ))
            })?;
            Incoming {
                mode: Mode::Binary,
                events: vec![undecoded_is_failure(Event::try_from(event))?],
            }
        }
    })
}

/// An event of an unknown type is an event, and answered as one; what is none is a problem.
fn undecoded_is_failure(
    event: Result<Event, Rejected>,
) -> Result<Result<Event, Rejected>, Failure> {
    match event {
        Err(rejected) if rejected.failure.code() == Code::BadRequest => Err(rejected.failure),
        event => Ok(event),
    }
}

impl Sender {
    /// The budget of answers to a request of the sender.
    fn answers(&self, access: Access) -> AnswersTo {
        let answering = &self.gateway.services.answering;
        answering.to(&self.login.caller.tenant, access)
    }

    /// What answers one event: events, whatever happens.
    async fn answer(&self, event: Result<Event, Rejected>) -> Reply {
        let event = match event {
            Ok(event) => event,
            Err(rejected) => return Reply::refusal(&rejected.id, &rejected.failure),
        };
        let (id, kind) = (event.id.clone(), event.kind);
        let cancel = CancellationToken::new();
        let cx = Context::new(
            &self.gateway.services,
            self.login.clone(),
            &event,
            self.token.as_deref(),
            cancel.clone(),
        )
        .holding(self.hold.clone());
        // Events of a batch are dispatched as their answers are read, which may take long.
        let answer = match self.login.check_expiry() {
            Ok(()) => dispatch(cx, event).await,
            Err(expired) => Err(expired),
        };
        Reply::new(&id, kind, answer, cancel)
    }
}

/// The event as headers and a body; one whose attributes do not go into headers is structured.
fn binary(event: Event) -> Response {
    let spelled = structured(&event);
    let sdk = cloudevents::Event::try_from(event).ok();
    let response = sdk.and_then(|event| {
        BinaryDeserializer::deserialize_binary(event, Serializer::new(Head::default())).ok()
    });
    response.unwrap_or(spelled)
}

/// What the SDK writes an event into.
#[derive(Default)]
struct Head(HeaderMap);

impl Builder<Response> for Head {
    fn header(&mut self, key: &str, value: HeaderValue) {
        if let Ok(name) = key.parse::<HeaderName>() {
            self.0.insert(name, value);
        }
    }

    fn body(&mut self, bytes: Vec<u8>) -> cloudevents::message::Result<Response> {
        Ok((std::mem::take(&mut self.0), bytes).into_response())
    }

    fn finish(&mut self) -> cloudevents::message::Result<Response> {
        self.body(Vec::new())
    }
}

fn structured(event: &Event) -> Response {
    ([(header::CONTENT_TYPE, STRUCTURED)], event.to_json() + "\n").into_response()
}

/// A batch, written as its events come.
fn batch(events: impl Stream<Item = Event> + Send + 'static, answers: AnswersTo) -> Response {
    let items = events.enumerate().map(|(index, event)| {
        let comma = if index == 0 { "" } else { "," };
        Ok(format!("{comma}{}", event.to_json()))
    });
    let open = stream::once(std::future::ready(Ok("[".to_owned())));
    let close = stream::once(std::future::ready(Ok("]\n".to_owned())));
    let chunks = answers.counting(
        open.chain(items).chain(close),
        |chunk| chunk.as_ref().map_or(0, String::len),
        |failure| Err(std::io::Error::other(failure.to_string())),
    );
    let chunks = chunks.map(|chunk| chunk.map(Bytes::from));
    ([(header::CONTENT_TYPE, BATCHED)], Body::from_stream(chunks)).into_response()
}
