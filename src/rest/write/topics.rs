//! Topics.

use super::super::parts::Parts;
use super::{Written, begin, begin_with, in_namespace, listed, members};
use crate::event::payload::{
    Answer as _,
    answer::{json, write},
    topics::{Page, Part, Published},
};
use crate::operation::Success;

/// The body has the members; the path and the query come before it.
pub(in crate::rest) fn publish(parts: &Parts, id: &str) -> Written {
    let mut object = begin_with(id, parts.text()?).text("topic", parts.path("topic"));
    let mut named = vec!["id", "topic"];
    if let Some(namespace) = parts.query("namespace") {
        object = object.text("namespace", namespace);
        named.push("namespace");
    }
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id).text("topic", parts.path("topic"));
    object = in_namespace(parts, object);
    for name in ["fromSequence", "limit"] {
        if let Some(number) = parts.query_as::<i64>(name, "a 64-bit integer")? {
            object = object.number(name, number);
        }
    }
    Ok(object.finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["cursor", "namespace"])
}

pub(in crate::rest) fn published(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Published>()?.0))
}

pub(in crate::rest) fn part(_: &Parts, answer: Success) -> Written {
    let part: Part = answer.take()?;
    let bytes = part.extra_bytes();
    Ok(write(&part, bytes))
}

pub(in crate::rest) fn page(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Page>()?))
}
