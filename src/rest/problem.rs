//! Failures as problem documents (RFC 9457, `errors.md` §1).

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};

use super::Detail;
use crate::error::Failure;
use crate::event::payload::Object;

/// The title of a status that has no standard phrase.
const CLIENT_CLOSED_REQUEST: &str = "Client Closed Request";

pub(super) fn response(failure: &Failure, instance: &str, detail: Detail) -> Response {
    let status = failure.status();
    let mut properties = Object::new().text("errorCode", failure.code().as_str());
    if failure.retryable() {
        properties = properties.truth("retryable", true);
    }
    for (name, value) in failure.properties() {
        properties = properties.raw(name, &value.to_string());
    }
    let internal = failure.internal_cause();
    let text = match internal {
        Some((_, cause)) if detail == Detail::Verbose => cause.to_owned(),
        _ => failure.to_string(),
    };
    let mut problem = Object::new()
        .text("type", "about:blank")
        .text(
            "title",
            status.canonical_reason().unwrap_or(CLIENT_CLOSED_REQUEST),
        )
        .number("status", i64::from(status.as_u16()))
        .text("detail", &text)
        .text("instance", instance);
    if let Some((ticket, _)) = internal {
        problem = problem.text("ticket", &ticket.to_string());
    }
    let body = problem.raw("properties", &properties.finish()).finish() + "\n";
    let mut response = (
        status,
        [(header::CONTENT_TYPE, "application/problem+json")],
        body,
    )
        .into_response();
    if let Some(seconds) = failure.retry_after_seconds() {
        let seconds = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}
