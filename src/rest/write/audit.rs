//! What happened to entities.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, begin, optional, read};
use crate::event::payload::{Object, text_list};

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
    if let Some(limit) = parts.query_as::<i64>("limit", "a 64-bit integer")? {
        object = object.number("limit", limit);
    }
    Ok(object.finish())
}

pub(in crate::rest) fn finished(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("entityId", parts.entity("entityId")?);
    Ok(object
        .text("transactionId", parts.path("transactionId"))
        .finish())
}

pub(in crate::rest) fn items(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Page<'a> {
        #[serde(borrow)]
        items: &'a RawValue,
        #[serde(borrow)]
        pagination: &'a RawValue,
    }
    let page: Page<'_> = read(payload)?;
    Ok(Object::new()
        .raw("items", page.items.get())
        .raw("pagination", page.pagination.get())
        .finish())
}

pub(in crate::rest) fn item(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Finished<'a> {
        #[serde(borrow)]
        item: &'a RawValue,
    }
    let answer: Finished<'_> = read(payload)?;
    Ok(answer.item.get().to_owned())
}
