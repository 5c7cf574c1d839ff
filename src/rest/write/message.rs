//! Messages (`rest.md` §6).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, bad, begin, optional, read};
use crate::event::payload::{Object, list, text_list};

/// A message to be kept.
#[derive(Deserialize, JsonSchema)]
pub(in crate::rest) struct NewMessage<'a> {
    /// Any JSON, also null.
    #[serde(borrow)]
    payload: &'a RawValue,
    /// What else is to be known of it.
    #[serde(borrow, default, rename = "metaData", alias = "meta-data")]
    metadata: Option<&'a RawValue>,
}

pub(in crate::rest) fn create(parts: &Parts, id: &str) -> Written {
    let content_type = parts.required_header("content-type")?;
    let length = parts.required_header("content-length")?;
    let length: i64 = length
        .parse()
        .map_err(|_| bad(format!("Content-Length `{length}` is not a number")))?;
    let mut header = Object::new()
        .text("subject", parts.path("subject"))
        .text("contentType", content_type)
        .number("contentLength", length);
    for (name, from) in [
        ("contentEncoding", "content-encoding"),
        ("messageId", "x-message-id"),
        ("userId", "x-user-id"),
        ("recipient", "x-recipient"),
        ("replyTo", "x-reply-to"),
        ("correlationId", "x-correlation-id"),
    ] {
        header = optional(header, name, parts.single_header(from)?);
    }
    let body: NewMessage<'_> = parts.json_as("message")?;
    let object = begin(id)
        .raw("header", &header.finish())
        .raw("payload", body.payload.get());
    Ok(match body.metadata {
        Some(metadata) => object.raw("metaData", metadata.get()),
        None => object,
    }
    .finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("messageId", parts.message()?).finish())
}

pub(in crate::rest) fn many(parts: &Parts, id: &str) -> Written {
    let ids: Vec<String> = parts.json_as("JSON array of message ids")?;
    Ok(begin(id).raw("messageIds", &text_list(ids)).finish())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changed<'a> {
    #[serde(borrow)]
    entity_ids: &'a RawValue,
    #[serde(default)]
    transaction_id: Option<String>,
}

pub(in crate::rest) fn created(_: &Parts, payload: &str) -> Written {
    let answer: Changed<'_> = read(payload)?;
    let object = Object::new().raw("entityIds", answer.entity_ids.get());
    let object = optional(object, "transactionId", answer.transaction_id.as_deref());
    Ok(list([object.finish()]))
}

pub(in crate::rest) fn deleted(_: &Parts, payload: &str) -> Written {
    let answer: Changed<'_> = read(payload)?;
    Ok(Object::new()
        .raw("entityIds", answer.entity_ids.get())
        .finish())
}

pub(in crate::rest) fn all_deleted(_: &Parts, payload: &str) -> Written {
    let answer: Changed<'_> = read(payload)?;
    let object = Object::new()
        .raw("entityIds", answer.entity_ids.get())
        .truth("success", true);
    Ok(list([object.finish()]))
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    header: &'a RawValue,
    #[serde(borrow, rename = "metaData")]
    metadata: &'a RawValue,
    #[serde(borrow)]
    content: &'a RawValue,
}

pub(in crate::rest) fn message(_: &Parts, payload: &str) -> Written {
    let answer: Message<'_> = read(payload)?;
    Ok(Object::new()
        .raw("header", answer.header.get())
        .raw("metaData", answer.metadata.get())
        .raw("content", answer.content.get())
        .finish())
}

/// The shape that existing clients read.
pub(in crate::rest) fn message_as_text(_: &Parts, payload: &str) -> Written {
    let answer: Message<'_> = read(payload)?;
    let metadata = Object::new()
        .raw("values", answer.metadata.get())
        .raw("indexedValues", "{}");
    Ok(Object::new()
        .raw("header", answer.header.get())
        .raw("metaData", &metadata.finish())
        .text("content", answer.content.get())
        .finish())
}
