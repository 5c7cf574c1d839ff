//! Definitions of runs.

use super::super::parts::Parts;
use super::{Written, begin, begin_with, in_namespace, listed, members};
use crate::event::payload::{Answer as _, answer::write, definitions::Described};
use crate::operation::Success;

/// The body is the document: of an object the object, of anything else the text.
pub(in crate::rest) fn document(parts: &Parts, id: &str) -> Written {
    let text = parts.text()?;
    let object = begin_with(id, text);
    let object = in_namespace(parts, object);
    let is_object = text.trim_start().starts_with('{') && parts.json().is_ok();
    Ok(if is_object {
        object.raw("document", text)
    } else {
        object.text("document", text)
    }
    .finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["kind", "cursor", "namespace"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("name", parts.path("definition"));
    let object = super::optional(object, "version", parts.query("version"));
    Ok(in_namespace(parts, object).finish())
}

pub(in crate::rest) fn enable(parts: &Parts, id: &str) -> Written {
    set(parts, id, true)
}

pub(in crate::rest) fn disable(parts: &Parts, id: &str) -> Written {
    set(parts, id, false)
}

/// The body may say which version; the path and the query come before it.
fn set(parts: &Parts, id: &str, enabled: bool) -> Written {
    let mut object = begin(id)
        .text("name", parts.path("definition"))
        .truth("enabled", enabled);
    let mut named = vec!["id", "name", "enabled"];
    for name in ["version", "namespace"] {
        if let Some(value) = parts.query(name) {
            object = object.text(name, value);
            named.push(name);
        }
    }
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn described(_: &Parts, answer: Success) -> Written {
    let described: Described = answer.take()?;
    let bytes = described.extra_bytes();
    Ok(write(&described, bytes))
}
