//! Payloads of the stream itself (`stream.md` §2).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Object, error, success};
use crate::error::Failure;
use crate::id::MessageId;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    pub request_id: String,
}

/// Acknowledges an event.
pub fn ack(source: &str) -> String {
    success(&MessageId::fresh().to_string(), &[])
        .text("sourceEventId", source)
        .finish()
}

/// Says why an event was not taken.
pub fn refusal(source: &str, failure: &Failure) -> String {
    Object::new()
        .text("id", &MessageId::fresh().to_string())
        .text("sourceEventId", source)
        .truth("success", false)
        .raw("error", &error(failure))
        .finish()
}

/// Ends an answer of many events.
pub fn end(request: &str, count: u64, page: Option<&str>, failure: Option<&Failure>) -> String {
    let object = Object::new()
        .text("id", request)
        .text("requestId", request)
        .number("count", i64::try_from(count).unwrap_or(i64::MAX))
        .truth("success", failure.is_none());
    let object = match page {
        Some(page) => object.raw("page", page),
        None => object,
    };
    match failure {
        Some(failure) => object.raw("error", &error(failure)).finish(),
        None => object.finish(),
    }
}
