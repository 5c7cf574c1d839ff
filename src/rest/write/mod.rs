//! Payloads from requests, and bodies from answers: one pair of functions per spelling.

#![expect(
    clippy::unnecessary_wraps,
    reason = "the table asks for functions that may fail"
)]

pub(super) mod actions;
pub(super) mod audit;
pub(super) mod bundles;
pub(super) mod clients;
pub(super) mod definitions;
pub(super) mod entity;
pub(super) mod feed;
pub(super) mod files;
pub(super) mod incidents;
pub(super) mod invocations;
pub(super) mod key_pairs;
pub(super) mod managers;
pub(super) mod message;
pub(super) mod model;
pub(super) mod providers;
pub(super) mod runs;
pub(super) mod sagas;
pub(super) mod search;
pub(super) mod settings;
pub(super) mod topics;
pub(super) mod trusted_keys;
pub(super) mod workers;

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::parts::Parts;
use crate::error::{Code, Failure};
use crate::event::payload::{Answer as Members, Object, json};
use crate::operation::Success;

type Written = Result<String, Failure>;

/// The answer as it is.
pub(super) fn whole<T: Members>(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<T>()?))
}

/// The answer of a write, without what every write returns.
pub(super) fn outcome<T: Members + DeserializeOwned>(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<T>()?.0))
}

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(Code::BadRequest, message)
}

/// A header whose value is not what it should be.
fn bad_header(name: &'static str, value: &str, what: &str) -> Failure {
    Failure::bad_parameter(name, format!("{name}: `{value}` is not {what}"))
}

fn begin(id: &str) -> Object {
    Object::new().text("id", id)
}

/// The same, with room for a document.
fn begin_with(id: &str, document: &str) -> Object {
    Object::with_room(document.len()).text("id", id)
}

fn optional(object: Object, name: &str, value: Option<&str>) -> Object {
    match value {
        Some(value) => object.text(name, value),
        None => object,
    }
}

/// The namespace that the query names, if it names one.
fn in_namespace(parts: &Parts, object: Object) -> Object {
    optional(object, "namespace", parts.query("namespace"))
}

/// A request for a page of a list, with these parameters of the query.
fn listed(parts: &Parts, id: &str, names: &[&str]) -> Written {
    let mut object = begin(id);
    for name in names {
        object = optional(object, name, parts.query(name));
    }
    Ok(limited(parts, object)?.finish())
}

/// The size of the page that the query asks for, if it does.
fn limited(parts: &Parts, object: Object) -> Result<Object, Failure> {
    Ok(match parts.query_as::<i64>("limit", "a 64-bit integer")? {
        Some(limit) => object.number("limit", limit),
        None => object,
    })
}

/// The document that is the body; of XML it is the text.
fn body_of<'a>(parts: &'a Parts, format: &str) -> Result<Cow<'a, str>, Failure> {
    Ok(if format == "XML" {
        serde_json::Value::from(parts.text()?).to_string().into()
    } else {
        parts.json_within()?.into()
    })
}

fn known_format(format: &str) -> Result<&str, Failure> {
    if matches!(format, "JSON" | "XML") {
        Ok(format)
    } else {
        Err(bad(format!(
            "unsupported format `{format}`; use JSON or XML"
        )))
    }
}

/// Adds the members of the body, if there is one, but those that have these names: they stand in
/// the path or the query, which come before the body (`runs.md` §2).
fn members(parts: &Parts, object: Object, named: &[&str]) -> Result<Object, Failure> {
    if parts.text()?.trim().is_empty() {
        return Ok(object);
    }
    let members: IndexMap<String, &RawValue> = parts.json_as("JSON object")?;
    let own = members
        .into_iter()
        .filter(|(name, _)| !named.contains(&name.as_str()));
    Ok(own.fold(object, |object, (name, value)| {
        object.raw(&name, value.get())
    }))
}

/// Adds the namespace of the query and the members of the body; what stands in the path or the
/// query comes before the body.
fn with_body(parts: &Parts, object: Object, named: &[&str]) -> Written {
    let Some(namespace) = parts.query("namespace") else {
        return Ok(members(parts, object, named)?.finish());
    };
    let object = object.text("namespace", namespace);
    Ok(members(parts, object, &[named, &["namespace"]].concat())?.finish())
}
