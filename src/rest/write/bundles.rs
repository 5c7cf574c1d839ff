//! Bundles and state machines.

use super::super::parts::Parts;
use super::{Written, bad, begin, begin_with, in_namespace, listed, optional, with_body};
use crate::event::payload::{
    Answer as _,
    answer::{json, write},
    bundles::{Described, Fired},
    sagas,
};
use crate::operation::Success;

/// The body has the files; the path and the query come before it.
pub(in crate::rest) fn apply(parts: &Parts, id: &str) -> Written {
    let object = begin_with(id, parts.text()?).text("bundle", parts.path("bundle"));
    with_body(parts, object, &["id", "bundle"])
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["cursor", "namespace"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("bundle", parts.path("bundle"));
    Ok(in_namespace(parts, object).finish())
}

pub(in crate::rest) fn described(_: &Parts, answer: Success) -> Written {
    let described: Described = answer.take()?;
    let bytes = described.extra_bytes();
    Ok(write(&described, bytes))
}

/// The body is the data.
pub(in crate::rest) fn fire(parts: &Parts, id: &str) -> Written {
    let text = parts.text()?.trim();
    let data = if text.is_empty() {
        "{}"
    } else {
        parts.json()?.get()
    };
    if !data.starts_with('{') {
        return Err(bad("the body is not a JSON object"));
    }
    let mut object = begin_with(id, data)
        .text("machine", parts.path("machine"))
        .text("entity", parts.path("entity"))
        .text("entityId", parts.path("id"))
        .text("event", parts.path("event"));
    for name in ["connector", "namespace"] {
        object = optional(object, name, parts.query(name));
    }
    Ok(object.raw("data", data).finish())
}

/// Writes a fired event of a state machine in the form that routes of bundles return.
pub(in crate::rest) fn moved(answer: Success) -> Written {
    let fired = answer.take_outcome::<Fired>()?.0;
    Ok(json(&sagas::Fired {
        entity_id: fired.entity_id,
        machine: fired.machine,
        previous_state: fired.previous_state,
        current_state: fired.current_state,
        event: fired.event,
        action_result: fired.action_result,
    }))
}
