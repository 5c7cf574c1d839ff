//! The envelopes of requests and answers.

use prost::Message as _;
use uuid::Uuid;

use crate::{
    Code, Error, Json, Result,
    generated::cloudevents::{
        CloudEvent,
        cloud_event::{CloudEventAttributeValue, Data, cloud_event_attribute_value::Attr},
    },
};

/// On an answer: the id of its request.
pub(crate) const REQUEST_ID: &str = "requestid";
/// On all events of a streamed answer but the last.
pub(crate) const SEQUENCE: &str = "sequence";
/// The open transaction.
pub(crate) const TRANSACTION: &str = "cyodatxtoken";
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotencykey";
/// The same for every attempt of one call.
pub(crate) const DISPATCH_KEY: &str = "dispatchkey";
/// After how many milliseconds the server gives a call up.
pub(crate) const TIME_LIMIT: &str = "timeoutms";
pub(crate) const TRACE_PARENT: &str = "traceparent";
pub(crate) const TRACE_STATE: &str = "tracestate";

/// Of all events of this client.
const SOURCE: &str = "interlock-rust";

/// Types of events of the stream itself.
pub(crate) mod kind {
    pub(crate) const ACKNOWLEDGEMENT: &str = "EventAckResponse";
    pub(crate) const CANCEL: &str = "EventCancelRequest";
    pub(crate) const GREETING: &str = "CalculationMemberGreetEvent";
    pub(crate) const JOIN: &str = "CalculationMemberJoinEvent";
    pub(crate) const KEEP_ALIVE: &str = "CalculationMemberKeepAliveEvent";
    pub(crate) const STREAM_END: &str = "EventStreamEnd";
    pub(crate) const TASK: &str = "TaskCalculationRequest";
    pub(crate) const TASK_CANCEL: &str = "TaskCancelEvent";
    pub(crate) const TASK_RESPONSE: &str = "TaskCalculationResponse";
}

/// One event of an answer, of whatever type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Names what the data is.
    pub event_type: String,
    /// The data.
    pub data: Json,
}

impl CloudEvent {
    /// Puts a payload into an envelope; both have the same new id.
    pub(crate) fn of(event_type: &str, payload: &Json) -> Result<Self> {
        let text = payload.as_str();
        let Some(members) = text.strip_prefix('{') else {
            let message = format!("the payload of a {event_type} has to be a JSON object");
            return Err(Error::new(Code::InvalidJson, message));
        };
        let id = Uuid::new_v4().to_string();
        let comma = if members.trim_start().starts_with('}') {
            ""
        } else {
            ","
        };
        Ok(Self {
            data: Some(Data::TextData(format!("{{\"id\":\"{id}\"{comma}{members}"))),
            id,
            source: SOURCE.to_owned(),
            spec_version: "1.0".to_owned(),
            r#type: event_type.to_owned(),
            ..Self::default()
        })
    }

    /// The data as text.
    pub(crate) fn text(&self) -> Result<&str> {
        match &self.data {
            Some(Data::TextData(text)) => Ok(text),
            Some(Data::BinaryData(bytes)) => std::str::from_utf8(bytes)
                .map_err(|source| Error::caused(Code::InvalidJson, "data is not UTF-8", source)),
            _ => Ok("{}"),
        }
    }

    pub(crate) fn into_json(self) -> Result<Json> {
        match self.data {
            Some(Data::TextData(text)) => Json::parse(text),
            _ => Json::parse(self.text()?),
        }
    }

    /// Refuses an event for which the server would end the whole stream or call.
    pub(crate) fn check_size(&self, bytes_max: usize) -> Result<()> {
        let bytes = self.encoded_len();
        if bytes <= bytes_max {
            return Ok(());
        }
        let message = format!(
            "the {} has {bytes} bytes; {bytes_max} are allowed",
            self.r#type
        );
        Err(Error::new(Code::MessageTooLarge, message))
    }

    pub(crate) fn size(&self) -> usize {
        match &self.data {
            Some(Data::TextData(text)) => text.len(),
            Some(Data::BinaryData(bytes)) => bytes.len(),
            _ => 0,
        }
    }

    /// An attribute that is a text.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        match self.attributes.get(name)?.attr.as_ref()? {
            Attr::CeString(text) | Attr::CeUri(text) | Attr::CeUriRef(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn owned_attribute(&self, name: &str) -> Option<String> {
        self.attribute(name)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    }

    pub(crate) fn set_attribute(&mut self, name: &str, value: &str) {
        let attr = Some(Attr::CeString(value.to_owned()));
        self.attributes
            .insert(name.to_owned(), CloudEventAttributeValue { attr });
    }
}
