//! Topics.

use super::super::parts::Parts;
use super::{Written, begin, begin_with, in_namespace, listed, with_body};
use crate::event::payload::{Answer as _, answer::write, topics::Part};
use crate::operation::Success;

/// The body has the members; the path and the query come before it.
pub(in crate::rest) fn publish(parts: &Parts, id: &str) -> Written {
    let object = begin_with(id, parts.text()?).text("topic", parts.path("topic"));
    with_body(parts, object, &["id", "topic"])
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

pub(in crate::rest) fn part(_: &Parts, answer: Success) -> Written {
    let part: Part = answer.take()?;
    let bytes = part.extra_bytes();
    Ok(write(&part, bytes))
}
