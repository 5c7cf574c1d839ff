//! Invocations of actions, and their tasks.

use super::super::parts::Parts;
use super::{Written, begin, limited, optional, with_body};
use crate::event::payload::{
    answer::json,
    invocations::{Got, Invoked},
    text_list,
};
use crate::operation::Success;

/// The path names the action, the body has the rest.
pub(in crate::rest) fn invoke(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("name", parts.path("action"));
    with_body(parts, object, &["id", "name"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("taskId", parts.path("taskId")).finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id);
    for name in ["name", "runId", "cursor", "namespace"] {
        object = optional(object, name, parts.query(name));
    }
    let mut statuses = parts.query_all("status").peekable();
    if statuses.peek().is_some() {
        object = object.raw("status", &text_list(statuses));
    }
    Ok(limited(parts, object)?.finish())
}

pub(in crate::rest) fn invoked(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Invoked>()?.0.task))
}

pub(in crate::rest) fn task(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Got>()?.task))
}
