//! What happened to entities.

use super::super::parts::Parts;
use super::{Written, begin, limited, optional};
use crate::event::payload::{audit::Finished, json, text_list};
use crate::operation::Success;

pub(in crate::rest) fn page(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id).text("entityId", parts.entity("entityId")?);
    let mut types = parts.query_all("eventType").peekable();
    if types.peek().is_some() {
        object = object.raw("eventTypes", &text_list(types));
    }
    for name in ["severity", "transactionId", "cursor"] {
        object = optional(object, name, parts.query(name));
    }
    for name in ["fromUtcTime", "toUtcTime"] {
        object = optional(object, name, parts.instant(name)?);
    }
    Ok(limited(parts, object)?.finish())
}

pub(in crate::rest) fn finished(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("entityId", parts.entity("entityId")?);
    Ok(object
        .text("transactionId", parts.path("transactionId"))
        .finish())
}

pub(in crate::rest) fn item(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Finished>()?.item))
}
