//! The parts of a REST request.

use std::{str::FromStr, sync::Arc};

use axum::{
    body::Bytes,
    extract::RawPathParams,
    http::{HeaderMap, header, request},
};
use serde_json::value::RawValue;

use crate::clock::PointInTime;
use crate::error::{Code, Failure};
use crate::event::{
    Trace,
    payload::{Object, is_closed},
    trace_of,
};
use crate::json;

/// The parts of a request.
pub(super) struct Parts {
    /// The id of the event that the request becomes.
    id: Arc<str>,
    path: Arc<RawPathParams>,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
}

/// Reads a boolean of a query or a setting; none if it is not one.
pub fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" => Some(true),
        "0" | "f" | "false" => Some(false),
        _ => None,
    }
}

/// A header that may be given once; a failure names it as it is written here.
pub(super) fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &str,
) -> Result<Option<&'a str>, Failure> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(bad(name, "it occurs more than once"));
    }
    first
        .to_str()
        .map(Some)
        .map_err(|_| bad(name, "it is not valid text"))
}

fn bad(parameter: &str, why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::BadRequest, format!("parameter `{parameter}`: {why}"))
        .with("parameter", parameter)
}

impl Parts {
    pub(super) fn new(
        id: &str,
        path: RawPathParams,
        head: request::Parts,
        body: Bytes,
    ) -> Result<Self, Failure> {
        let query: Vec<(String, String)> = axum::extract::Query::try_from_uri(&head.uri)
            .map(|query| query.0)
            .map_err(|error| {
                Failure::new(
                    Code::BadRequest,
                    format!("the query could not be read: {error}"),
                )
            })?;
        let parts = Self {
            id: id.into(),
            path: Arc::new(path),
            query,
            headers: head.headers,
            body,
        };
        // Taken and without effect, but not in any syntax (`rest.md` §1).
        parts.query_as::<i64>("transactionTimeoutMillis", "a 64-bit integer")?;
        parts.query_as::<i32>("transactionSize", "a 32-bit integer")?;
        parts.query_truth("waitForConsistencyAfter")?;
        Ok(parts)
    }

    /// The span that the request is part of.
    pub(super) fn trace(&self) -> Option<Trace> {
        trace_of(&self.headers)
    }

    /// A copy without the body, to be kept while the answer is sent.
    pub(super) fn without_body(&self) -> Self {
        Self {
            id: Arc::clone(&self.id),
            path: Arc::clone(&self.path),
            query: self.query.clone(),
            headers: self.headers.clone(),
            body: Bytes::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// A part of the path, which the table says is there.
    pub(super) fn path(&self, name: &str) -> &str {
        let mut parts = self.path.iter();
        parts
            .find(|(given, _)| *given == name)
            .map_or("", |(_, value)| value)
    }

    /// A part of the path that names an entity.
    pub(super) fn entity(&self, part: &str) -> Result<&str, Failure> {
        self.uuid(part, "entityId")
    }

    /// A part of the path that names a message.
    pub(super) fn message(&self) -> Result<&str, Failure> {
        self.uuid("messageId", "messageId")
    }

    /// A part of the path that names a background search.
    pub(super) fn job(&self) -> Result<&str, Failure> {
        self.uuid("jobId", "jobId")
    }

    /// A part of the path that names a provider of tokens.
    pub(super) fn provider(&self) -> Result<&str, Failure> {
        self.uuid("providerId", "providerId")
    }

    fn uuid(&self, part: &str, parameter: &str) -> Result<&str, Failure> {
        let text = self.path(part);
        uuid::Uuid::try_parse(text)
            .map_err(|_| bad(parameter, format!("`{text}` is not a UUID")))?;
        Ok(text)
    }

    /// The model that the path names.
    pub(super) fn model(&self) -> Result<(&str, i32), Failure> {
        self.model_at("entityName", "modelVersion")
    }

    /// The model that two parts of the path name.
    pub(super) fn model_at(&self, name: &str, version: &str) -> Result<(&str, i32), Failure> {
        self.model_named(self.path(name), version)
    }

    /// The model of that name whose version is a part of the path.
    pub(super) fn model_named<'a>(
        &self,
        name: &'a str,
        version: &str,
    ) -> Result<(&'a str, i32), Failure> {
        let given = self.path(version);
        let number = given
            .parse()
            .map_err(|_| bad("modelVersion", format!("`{given}` is not a 32-bit integer")))?;
        Ok((name, number))
    }

    /// The first value of a query parameter.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query_all(name).next()
    }

    /// Every value of a query parameter that may be repeated.
    pub(super) fn query_all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.query
            .iter()
            .filter(move |(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// A query parameter that is not a text.
    pub(super) fn query_as<T: FromStr>(
        &self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, Failure> {
        let parse = |text: &str| {
            text.parse()
                .map_err(|_| bad(name, format!("`{text}` is not {what}")))
        };
        self.query(name).map(parse).transpose()
    }

    /// A boolean query parameter, written as in settings.
    pub(super) fn query_truth(&self, name: &str) -> Result<Option<bool>, Failure> {
        let parse = |text: &str| {
            truth(text).ok_or_else(|| bad(name, format!("`{text}` is not true or false")))
        };
        self.query(name).map(parse).transpose()
    }

    /// A query parameter that is a number within bounds.
    pub(super) fn query_within(
        &self,
        name: &str,
        bounds: std::ops::RangeInclusive<i64>,
    ) -> Result<Option<i64>, Failure> {
        let number = self
            .query_as::<i32>(name, "a 32-bit integer")?
            .map(i64::from);
        match number {
            Some(number) if !bounds.contains(&number) => Err(bad(
                name,
                format!("it is {number}; use {} to {}", bounds.start(), bounds.end()),
            )),
            number => Ok(number),
        }
    }

    /// An instant in the query, which must be one.
    pub(super) fn instant(&self, name: &str) -> Result<Option<&str>, Failure> {
        let Some(text) = self.query(name) else {
            return Ok(None);
        };
        PointInTime::parse(text).map_err(|error| bad(name, error))?;
        Ok(Some(text))
    }

    /// A header that may be given once.
    pub(super) fn single_header(&self, name: &str) -> Result<Option<&str>, Failure> {
        single_header(&self.headers, name)
    }

    /// A header that must be given, once.
    pub(super) fn required_header(&self, name: &str) -> Result<&str, Failure> {
        self.single_header(name)?
            .ok_or_else(|| bad(name, "this header is required"))
    }

    /// The body as text.
    pub(super) fn text(&self) -> Result<&str, Failure> {
        std::str::from_utf8(&self.body).map_err(|error| {
            let remedy = if self.headers.contains_key(header::CONTENT_ENCODING) {
                "; bodies are not decompressed: send it without Content-Encoding"
            } else {
                ""
            };
            Failure::malformed(format!("the body is not UTF-8: {error}{remedy}"))
        })
    }

    /// The body as text, whatever it is.
    pub(super) fn lossy_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as text that is not empty.
    fn filled(&self) -> Result<&str, Failure> {
        let text = self.text()?;
        if text.trim_ascii().is_empty() {
            return Err(Failure::malformed("the body is empty"));
        }
        Ok(text)
    }

    /// The body as one JSON value.
    pub(super) fn json(&self) -> Result<&RawValue, Failure> {
        serde_json::from_str(self.filled()?)
            .map_err(|error| Failure::malformed(format!("the body is not JSON: {error}")))
    }

    /// The body as one JSON value, for a payload that it becomes part of. A caller that reads that
    /// checks its grammar; here it is made sure that nothing follows.
    pub(super) fn json_within(&self) -> Result<&str, Failure> {
        let text = self.text()?;
        if is_closed(text) {
            return Ok(text);
        }
        self.json().map(RawValue::get)
    }

    /// What is wrong with a request whose payload could not be read: where in the body, if it is
    /// that.
    pub(super) fn at_fault(&self, failure: Failure) -> Failure {
        let is_of_json = failure.is_in_request() && matches!(self.body.first(), Some(b'{' | b'['));
        match (failure.code(), is_of_json) {
            (Code::BadRequest, true) => match self.json() {
                Ok(_) => failure.without_place(),
                Err(found) => found,
            },
            // A caller that says so has read the body (`search.md` §8).
            (Code::MalformedRequest, true) => failure.without_place(),
            _ => failure,
        }
    }

    /// The body as JSON of a certain form, and the names of members that are not of it.
    pub(super) fn json_noting<'a, T: serde::Deserialize<'a>>(
        &'a self,
        what: &str,
    ) -> Result<(T, Vec<String>), Failure> {
        json::read_noting(self.filled()?)
            .map_err(|error| Failure::malformed(format!("invalid {what}: {error}")))
    }

    /// The body as JSON of a certain form.
    pub(super) fn json_as<'a, T: serde::Deserialize<'a>>(
        &'a self,
        what: &str,
    ) -> Result<T, Failure> {
        json::read(self.filled()?)
            .map_err(|error| Failure::malformed(format!("invalid {what}: {error}")))
    }
}

/// A model as payloads name it.
pub(super) fn spec(model: (&str, i32)) -> String {
    named(Object::new(), model).finish()
}

/// The members of that.
pub(super) fn named(spec: Object, (name, version): (&str, i32)) -> Object {
    spec.text("name", name).number("version", version)
}
