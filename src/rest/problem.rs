//! Failures as problem documents (RFC 9457, `errors.md` §1).

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Detail;
use crate::error::Failure;
use crate::event::payload::{Properties, json};

/// The title of a status that has no standard phrase.
const CLIENT_CLOSED_REQUEST: &str = "Client Closed Request";

/// A failure (RFC 9457). Programs distinguish failures by `properties.errorCode`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Problem<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    /// The code, and what is wrong in words.
    detail: String,
    instance: &'a str,
    /// Of an internal failure: finds its cause in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
    properties: ProblemProperties<'a>,
}

/// What programs need to know of a failure.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProblemProperties<'a> {
    error_code: &'static str,
    /// Present, and true, only if the same request may succeed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    /// As documented for the code.
    #[serde(flatten)]
    #[schemars(skip)]
    others: Properties<'a>,
}

pub(super) fn response(failure: &Failure, instance: &str, detail: Detail) -> Response {
    let status = failure.status();
    let internal = failure.internal_cause();
    let problem = Problem {
        r#type: "about:blank",
        title: status.canonical_reason().unwrap_or(CLIENT_CLOSED_REQUEST),
        status: status.as_u16(),
        detail: match internal {
            Some((_, cause)) if detail == Detail::Verbose => cause.to_owned(),
            _ => failure.to_string(),
        },
        instance,
        ticket: internal.map(|(ticket, _)| ticket.to_string()),
        properties: ProblemProperties {
            error_code: failure.code().as_str(),
            retryable: failure.retryable().then_some(true),
            others: Properties(failure.properties()),
        },
    };
    let mut response = (
        status,
        [(header::CONTENT_TYPE, "application/problem+json")],
        json(&problem) + "\n",
    )
        .into_response();
    if let Some(seconds) = failure.retry_after_seconds() {
        let seconds = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}
