//! Messages (`rest.md` §6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::super::parts::Parts;
use super::{Written, bad_header, begin, optional};
use crate::event::payload::{
    Answer as _, Object, RawJson,
    answer::{json, write},
    message::{Created, Deleted, Message, StoredHeader},
    text_list,
};
use crate::operation::Success;

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
    let content_type = parts.required_header("Content-Type")?;
    let length = parts.required_header("Content-Length")?;
    let length: i64 = length
        .parse()
        .map_err(|_| bad_header("Content-Length", length, "a number"))?;
    let mut header = Object::new()
        .text("subject", parts.path("subject"))
        .text("contentType", content_type)
        .number("contentLength", length);
    for (name, from) in [
        ("contentEncoding", "Content-Encoding"),
        ("messageId", "X-Message-ID"),
        ("userId", "X-User-ID"),
        ("recipient", "X-Recipient"),
        ("replyTo", "X-Reply-To"),
        ("correlationId", "X-Correlation-ID"),
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

/// A message that was kept, and the transaction that keeps it.
pub(in crate::rest) fn created(_: &Parts, answer: Success) -> Written {
    let (created, _) = answer.take_outcome::<Created>()?;
    Ok(json(&[created]))
}

pub(in crate::rest) fn deleted(_: &Parts, answer: Success) -> Written {
    let (deleted, _) = answer.take_outcome::<Deleted>()?;
    Ok(json(&deleted))
}

/// Messages that were deleted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AllMessagesDeleted")]
pub(in crate::rest) struct AllDeleted {
    #[serde(flatten)]
    deleted: Deleted,
    success: bool,
}

pub(in crate::rest) fn all_deleted(_: &Parts, answer: Success) -> Written {
    let (deleted, _) = answer.take_outcome::<Deleted>()?;
    Ok(json(&[AllDeleted {
        deleted,
        success: true,
    }]))
}

/// A message.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageBody")]
pub(in crate::rest) struct MessageBody {
    #[schemars(with = "StoredHeader")]
    header: RawJson,
    #[schemars(with = "Map<String, Value>")]
    meta_data: RawJson,
    content: RawJson,
}

pub(in crate::rest) fn message(_: &Parts, answer: Success) -> Written {
    let message: Message = answer.take()?;
    let bytes = message.extra_bytes();
    let body = MessageBody {
        header: message.header,
        meta_data: message.meta_data,
        content: message.content,
    };
    Ok(write(&body, bytes))
}

/// A message, as existing clients read it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct MessageAsText {
    #[schemars(with = "StoredHeader")]
    header: RawJson,
    meta_data: MessageValues,
    /// JSON in a text.
    content: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct MessageValues {
    #[schemars(with = "Map<String, Value>")]
    values: RawJson,
    /// Always empty.
    indexed_values: Map<String, Value>,
}

pub(in crate::rest) fn message_as_text(_: &Parts, answer: Success) -> Written {
    let message: Message = answer.take()?;
    Ok(json(&MessageAsText {
        header: message.header,
        meta_data: MessageValues {
            values: message.meta_data,
            indexed_values: Map::new(),
        },
        content: message.content.as_str().to_owned(),
    }))
}
