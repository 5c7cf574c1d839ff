//! Payloads of the stream itself (`stream.md` §2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AsText, ErrorMember, json, search::Page};
use crate::error::Failure;
use crate::id::MessageId;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    pub request_id: String,
}

/// That an event was accepted, or why it was not.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "EventAck")]
pub enum Acknowledgement<'a> {
    Accepted(Accepted<'a>),
    Rejected(Rejected<'a>),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Accepted<'a> {
    id: AsText<MessageId>,
    success: bool,
    /// The id of the event that was accepted.
    source_event_id: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Rejected<'a> {
    id: AsText<MessageId>,
    /// The id of the event that was not accepted.
    source_event_id: &'a str,
    success: bool,
    error: ErrorMember<'a>,
}

/// Acknowledges an event.
pub fn ack(source: &str) -> String {
    json(&Acknowledgement::Accepted(Accepted {
        id: AsText(MessageId::fresh()),
        success: true,
        source_event_id: source,
    }))
}

/// Says why an event was not accepted.
pub fn refusal(source: &str, failure: &Failure) -> String {
    json(&Acknowledgement::Rejected(Rejected {
        id: AsText(MessageId::fresh()),
        source_event_id: source,
        success: false,
        error: ErrorMember::of(failure),
    }))
}

/// The end of an answer of many events.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StreamEnd")]
pub struct End<'a> {
    /// The id of the request's event.
    id: &'a str,
    /// The same.
    request_id: &'a str,
    /// How many events were sent, without one that failed.
    count: u64,
    success: bool,
    /// Of a page of a search that ran on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a Page>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorMember<'a>>,
}

/// Ends an answer of many events.
pub fn end(request: &str, count: u64, page: Option<&Page>, failure: Option<&Failure>) -> String {
    json(&End {
        id: request,
        request_id: request,
        count,
        success: failure.is_none(),
        page,
        error: failure.map(ErrorMember::of),
    })
}
