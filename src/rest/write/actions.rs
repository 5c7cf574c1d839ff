//! Actions.

use super::super::parts::Parts;
use super::{Written, begin, in_namespace, listed, with_body};

/// The body has the members; the path and the query come before it.
pub(in crate::rest) fn register(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("name", parts.path("action"));
    with_body(parts, object, &["id", "name"])
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["cursor", "namespace"])
}

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
    let object = begin(id)
        .text("name", parts.path("action"))
        .truth("enabled", enabled);
    with_body(parts, object, &["id", "name", "enabled"])
}
