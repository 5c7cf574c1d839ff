//! Managers.

use super::super::parts::Parts;
use super::{Written, begin, begin_with, in_namespace, listed, members, with_body};
use crate::error::Failure;
use crate::event::payload::{answer::json, managers::Shown};
use crate::operation::Success;

/// The body has the members.
pub(in crate::rest) fn create(parts: &Parts, id: &str) -> Written {
    with_body(parts, begin_with(id, parts.text()?), &["id"])
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["status", "cursor", "namespace"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("manager", parts.path("manager"));
    Ok(in_namespace(parts, object).finish())
}

/// The body, if there is one, has the members.
pub(in crate::rest) fn tick(parts: &Parts, id: &str) -> Written {
    with_body(parts, begin(id), &["id"])
}

pub(in crate::rest) fn pause(parts: &Parts, id: &str) -> Written {
    control(parts, id, "pause")
}

pub(in crate::rest) fn resume(parts: &Parts, id: &str) -> Written {
    control(parts, id, "resume")
}

pub(in crate::rest) fn reset(parts: &Parts, id: &str) -> Written {
    control(parts, id, "reset")
}

/// The body may name a worker and an item; the path and the query come before it.
fn control(parts: &Parts, id: &str, change: &str) -> Written {
    let mut object = begin(id)
        .text("manager", parts.path("manager"))
        .text("do", change);
    let mut named = vec!["id", "manager", "do"];
    for name in ["worker", "item", "namespace"] {
        if let Some(value) = parts.query(name) {
            object = object.text(name, value);
            named.push(name);
        }
    }
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn shown(_: &Parts, answer: Success) -> Result<(String, String), Failure> {
    let shown: Shown = answer.take()?;
    Ok((format!("\"{}\"", shown.version), json(&shown)))
}
