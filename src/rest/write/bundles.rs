//! Bundles and state machines.

use super::super::parts::Parts;
use super::{Written, begin, begin_with, members};
use crate::event::payload::{
    Answer as _,
    answer::{json, write},
    bundles::{Applied, Deleted, Described, Machines, Page},
};
use crate::operation::Success;

/// The body has the files; the path and the query come before it.
pub(in crate::rest) fn apply(parts: &Parts, id: &str) -> Written {
    let object = begin_with(id, parts.text()?).text("bundle", parts.path("bundle"));
    let mut named = vec!["id", "bundle"];
    let object = match parts.query("namespace") {
        Some(namespace) => {
            named.push("namespace");
            object.text("namespace", namespace)
        }
        None => object,
    };
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id);
    for name in ["cursor", "namespace"] {
        object = super::optional(object, name, parts.query(name));
    }
    if let Some(limit) = parts.query_as::<i64>("limit", "a 64-bit integer")? {
        object = object.number("limit", limit);
    }
    Ok(object.finish())
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("bundle", parts.path("bundle"));
    Ok(super::optional(object, "namespace", parts.query("namespace")).finish())
}

pub(in crate::rest) fn applied(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Applied>()?.0))
}

pub(in crate::rest) fn page(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Page>()?))
}

pub(in crate::rest) fn described(_: &Parts, answer: Success) -> Written {
    let described: Described = answer.take()?;
    let bytes = described.extra_bytes();
    Ok(write(&described, bytes))
}

pub(in crate::rest) fn deleted(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Deleted>()?.0))
}

pub(in crate::rest) fn machines(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Machines>()?))
}
