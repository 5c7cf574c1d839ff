//! The wire format: the `CloudEvents` envelope, the event types, their payloads.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::json`], [`crate::entity`],
//! [`crate::dispatch`], [`crate::model`], [`crate::condition`], [`crate::workflow`],
//! [`crate::engine`], [`crate::explain`].
//! [`Event`] is our own envelope, because the SDK's is neither validating nor lossless: data is
//! kept as the bytes that came. Conversions to the other forms are in [`proto`], [`json`] and
//! [`sdk`]. To add an event type: a line in [`kind`], its payload in the file of its family.

pub mod frame;
pub mod json;
mod kind;
pub mod payload;
pub mod proto;
pub mod sdk;

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;

use crate::error::{Failure, shown};
use crate::id::MessageId;

pub use crate::dispatch::Trace;
pub use kind::EventType;

/// The extension attribute that joins a request to an open transaction (`grpc.md` §10).
pub const TOKEN_ATTRIBUTE: &str = "cyodatxtoken";

/// The extension attributes with the span that a request is part of (the `CloudEvents` extension
/// for distributed tracing).
pub const TRACE_PARENT_ATTRIBUTE: &str = "traceparent";
pub const TRACE_STATE_ATTRIBUTE: &str = "tracestate";

/// The extension attribute with the idempotency key of a request (`stream.md` §2).
pub const IDEMPOTENCY_ATTRIBUTE: &str = "idempotencykey";

/// The extension attribute that names the request an answer belongs to (`stream.md` §2).
pub const REQUEST_ID_ATTRIBUTE: &str = "requestid";

/// The extension attribute that numbers the events of one answer, from 1.
pub const SEQUENCE_ATTRIBUTE: &str = "sequence";

/// The extension attribute that marks the end of an answer of many events.
pub const STREAM_END_ATTRIBUTE: &str = "streamend";

/// The source of our events.
const SOURCE: &str = "cyoda";

/// The version of `CloudEvents`.
const SPEC_VERSION: &str = "1.0";

/// The span that the headers of a call name, if it is valid (W3C Trace Context).
pub fn trace_of(headers: &HeaderMap) -> Option<Trace> {
    let named = |name: &str| headers.get(name)?.to_str().ok();
    Trace::parse(named(TRACE_PARENT_ATTRIBUTE)?, named(TRACE_STATE_ATTRIBUTE))
}

/// One event, validated: its type is one of ours, its attributes are well named.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// As the sender chose it; on a stream it correlates, so there it must not be empty.
    pub id: Box<str>,
    pub source: Box<str>,
    pub kind: EventType,
    /// Optional and extension attributes.
    pub attributes: BTreeMap<AttributeName, AttributeValue>,
    pub data: Data,
}

/// The name of an attribute: lower-case letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributeName(Box<str>);

/// The value of an attribute, in the types of the `CloudEvents` type system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    Boolean(bool),
    Integer(i32),
    String(Box<str>),
    Bytes(Bytes),
    Uri(Box<str>),
    UriRef(Box<str>),
    /// Seconds since 1970 and nanoseconds within the second.
    Timestamp(i64, i32),
}

/// The data of an event, as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Data {
    #[default]
    None,
    Text(Box<str>),
    Binary(Bytes),
    /// A protobuf message of another type, which none of our events carries.
    Other {
        type_url: Box<str>,
        value: Bytes,
    },
}

/// A rejected event, with its id as far as it is known.
#[derive(Debug, Clone)]
pub struct Rejected {
    pub id: Box<str>,
    pub failure: Failure,
}

impl AttributeName {
    /// The name, if it is one.
    pub fn parse(name: &str) -> Option<Self> {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        is_name.then(|| Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for AttributeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AttributeValue {
    /// The value as text, whatever its type.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::Uri(text) | Self::UriRef(text) => Some(text),
            Self::Boolean(_) | Self::Integer(_) | Self::Bytes(_) | Self::Timestamp(..) => None,
        }
    }
}

impl Event {
    /// An event of ours with JSON in it.
    pub fn ours(kind: EventType, json: String) -> Self {
        Self {
            id: MessageId::fresh().to_string().into(),
            source: SOURCE.into(),
            kind,
            attributes: BTreeMap::new(),
            data: Data::Text(json.into()),
        }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: AttributeValue) -> Self {
        if let Some(name) = AttributeName::parse(name) {
            self.attributes.insert(name, value);
        }
        self
    }

    /// The text of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).and_then(AttributeValue::text)
    }

    /// The span that it is part of, if that is named and valid.
    pub fn trace(&self) -> Option<Trace> {
        let parent = self.attribute(TRACE_PARENT_ATTRIBUTE)?;
        Trace::parse(parent, self.attribute(TRACE_STATE_ATTRIBUTE))
    }

    /// Makes the event part of a span.
    #[must_use]
    pub fn within(self, trace: &Trace) -> Self {
        let text = |text: &str| AttributeValue::String(text.into());
        let event = self.with(TRACE_PARENT_ATTRIBUTE, text(trace.parent()));
        match trace.state() {
            Some(state) => event.with(TRACE_STATE_ATTRIBUTE, text(state)),
            None => event,
        }
    }

    /// Makes the event part of the span that came with the whole call, unless it names one itself.
    #[must_use]
    pub fn within_call(self, trace: Option<&Trace>) -> Self {
        match trace {
            Some(trace) if self.trace().is_none() => self.within(trace),
            Some(_) | None => self,
        }
    }

    /// The data as text, which is where our payloads are.
    pub fn text(&self) -> Result<&str, Failure> {
        match &self.data {
            Data::Text(text) => Ok(text),
            Data::Binary(bytes) => std::str::from_utf8(bytes).map_err(|error| {
                Failure::malformed(format!("invalid payload: not UTF-8: {error}"))
            }),
            Data::None => Err(Failure::malformed("invalid CloudEvent: it carries no data")),
            Data::Other { .. } => Err(Failure::malformed(
                "invalid CloudEvent: `proto_data` is not taken; send JSON as `text_data` or `binary_data`",
            )),
        }
    }

    /// The data as it was sent.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::None => &[],
            Data::Text(text) => text.as_bytes(),
            Data::Binary(bytes) => bytes,
            Data::Other { value, .. } => value,
        }
    }

    /// How many bytes of data there are.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn bad_attribute(name: &str) -> Failure {
    let name = shown(name);
    Failure::malformed(format!(
        "invalid CloudEvent: `{name}` is not a valid attribute name; use lower-case letters and digits"
    ))
}
