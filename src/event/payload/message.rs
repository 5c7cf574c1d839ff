//! Payloads of messages (`stream.md` §3, `rest.md` §6).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Object, RequiredText, success, text_list};
use crate::error::{Code, Failure};
use crate::id::{EdgeMessageId, TransactionId};

/// What a message is if its header does not say.
const CONTENT_TYPE: &str = "application/json";
const CONTENT_ENCODING: &str = "UTF-8";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Create<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub header: Header,
    /// Any JSON; required, and may be null.
    #[serde(borrow)]
    pub payload: &'a RawValue,
    /// Some clients spell it as the first version of the interface did.
    #[serde(borrow, default, alias = "meta-data")]
    pub meta_data: Option<&'a RawValue>,
}

/// What is known of a message beside its content.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    pub subject: String,
    #[serde(default)]
    pub content_type: Option<String>,
    /// In bytes; the length of the content if absent.
    #[serde(default)]
    pub content_length: Option<i64>,
    #[serde(default)]
    pub content_encoding: Option<String>,
    #[serde(default)]
    pub message_id: Option<String>,
    #[serde(default)]
    pub user_id: Option<String>,
    #[serde(default)]
    pub recipient: Option<String>,
    #[serde(default)]
    pub reply_to: Option<String>,
    #[serde(default)]
    pub correlation_id: Option<String>,
}

impl Header {
    /// The header as it is kept and told: the first four members always, the others where they
    /// say something.
    pub fn to_json(&self, content_length: usize) -> String {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let length = self
            .content_length
            .unwrap_or_else(|| i64::try_from(content_length).unwrap_or(i64::MAX));
        let mut object = Object::new()
            .text("subject", &self.subject)
            .text(
                "contentType",
                given(&self.content_type).as_deref().unwrap_or(CONTENT_TYPE),
            )
            .number("contentLength", length)
            .text(
                "contentEncoding",
                given(&self.content_encoding)
                    .as_deref()
                    .unwrap_or(CONTENT_ENCODING),
            );
        for (name, text) in [
            ("messageId", &self.message_id),
            ("userId", &self.user_id),
            ("recipient", &self.recipient),
            ("replyTo", &self.reply_to),
            ("correlationId", &self.correlation_id),
        ] {
            if let Some(text) = given(text) {
                object = object.text(name, &text);
            }
        }
        object.finish()
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub message_id: String,
}

/// One message, which must be there, or any number, which need not.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub message_id: Option<String>,
    #[serde(default)]
    pub message_ids: Option<Vec<String>>,
}

/// What is no id names no message.
pub fn message_id(text: &str) -> Result<EdgeMessageId, Failure> {
    text.parse().map_err(|_| not_found(text))
}

pub fn not_found(id: &str) -> Failure {
    Failure::new(Code::EntityNotFound, "message not found").with("messageId", id)
}

pub fn created(request: &str, id: EdgeMessageId, transaction: TransactionId) -> String {
    success(request, &[])
        .text("requestId", request)
        .raw("entityIds", &text_list([id.to_string()]))
        .text("transactionId", &transaction.to_string())
        .finish()
}

pub fn deleted(request: &str, ids: &[EdgeMessageId]) -> String {
    let ids = text_list(ids.iter().map(ToString::to_string));
    success(request, &[])
        .text("requestId", request)
        .raw("entityIds", &ids)
        .finish()
}

/// A message, of parts that are JSON.
pub fn message(request: &str, header: &str, metadata: &str, content: &str) -> String {
    success(request, &[])
        .text("requestId", request)
        .raw("header", header)
        .raw("metaData", metadata)
        .raw("content", content)
        .finish()
}
