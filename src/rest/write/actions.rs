//! Actions.

use super::super::parts::Parts;
use super::{Written, begin, in_namespace, listed, members};
use crate::event::payload::{
    actions::{Deleted, Enabled, Item, Page, Registered},
    json,
};
use crate::operation::Success;

/// The body has the members; the path and the query come before it.
pub(in crate::rest) fn register(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id).text("name", parts.path("action"));
    let mut named = vec!["id", "name"];
    if let Some(namespace) = parts.query("namespace") {
        object = object.text("namespace", namespace);
        named.push("namespace");
    }
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["cursor", "namespace"])
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("name", parts.path("action"));
    Ok(in_namespace(parts, object).finish())
}

pub(in crate::rest) fn enable(parts: &Parts, id: &str) -> Written {
    set(parts, id, true)
}

pub(in crate::rest) fn disable(parts: &Parts, id: &str) -> Written {
    set(parts, id, false)
}

fn set(parts: &Parts, id: &str, enabled: bool) -> Written {
    let mut object = begin(id)
        .text("name", parts.path("action"))
        .truth("enabled", enabled);
    let mut named = vec!["id", "name", "enabled"];
    if let Some(namespace) = parts.query("namespace") {
        object = object.text("namespace", namespace);
        named.push("namespace");
    }
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn registered(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Registered>()?.0))
}

pub(in crate::rest) fn page(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Page>()?))
}

pub(in crate::rest) fn action(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Item>()?))
}

pub(in crate::rest) fn enabled(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Enabled>()?.0))
}

pub(in crate::rest) fn deleted(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Deleted>()?.0))
}
