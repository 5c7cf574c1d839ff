//! Help over HTTP (`rest.md` §8).

use std::sync::Arc;

use axum::{
    extract::{RawPathParams, rejection::RawPathParamsRejection},
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get},
};

use super::{Gateway, json, problem};
use crate::error::{Code, Failure};
use crate::help::{Error, Found, Library};

pub(super) fn everything(gateway: &Arc<Gateway>) -> MethodRouter {
    let library = Arc::clone(&gateway.help);
    let detail = gateway.detail;
    get(async move || json(library.describe().to_string()))
        .fallback(async move |uri: Uri| not_get(uri.path(), detail))
}

pub(super) fn topic(gateway: &Arc<Gateway>) -> MethodRouter {
    let library = Arc::clone(&gateway.help);
    let detail = gateway.detail;
    let answer = async move |uri: Uri, path: Result<RawPathParams, RawPathParamsRejection>| {
        let asked = path
            .as_ref()
            .map_err(|error| Failure::malformed(format!("the path is not readable: {error}")))
            .map(|path| path.iter().next().map_or("", |(_, topic)| topic));
        asked
            .and_then(|asked| page(&library, asked))
            .unwrap_or_else(|failure| problem::response(&failure, uri.path(), detail))
    };
    get(answer).fallback(async move |uri: Uri| not_get(uri.path(), detail))
}

fn page(library: &Library, asked: &str) -> Result<Response, Failure> {
    // A name may end as that of a file.
    let (asked, as_text) = match asked.strip_suffix(".md") {
        Some(asked) => (asked, true),
        None => (asked.strip_suffix(".json").unwrap_or(asked), false),
    };
    let found = library.find(asked).map_err(|error| {
        let code = match error {
            Error::Name(_) => Code::BadRequest,
            Error::Unknown { .. } => Code::HelpTopicNotFound,
        };
        Failure::new(code, error.to_string())
    })?;
    Ok(match found {
        Found::Everything if as_text => markdown(library.summary()),
        Found::Everything => json(library.describe().to_string()),
        Found::Topic(topic) if as_text => markdown(topic.body.clone()),
        Found::Topic(topic) => json(library.describe_topic(topic).to_string()),
        Found::Output(output) => {
            ([(header::CONTENT_TYPE, output.content_type)], output.text).into_response()
        }
    })
}

fn markdown(text: String) -> Response {
    (
        [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")],
        text,
    )
        .into_response()
}

/// Help is read only (`errors.md` §3.7).
fn not_get(path: &str, detail: super::Detail) -> Response {
    let failure = Failure::new(Code::BadRequest, "help is read-only; use GET")
        .as_known(Code::BadRequest, StatusCode::METHOD_NOT_ALLOWED);
    let mut response = problem::response(&failure, path, detail);
    let allowed = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
