//! Payloads of messages (`stream.md` §3, `rest.md` §6).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{Answer, AsText, RawJson, RequiredText};
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

/// The header of a message as it is stored and answered: the first four members always, the
/// others where they are not empty.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageHeader")]
pub struct StoredHeader {
    subject: String,
    content_type: Cow<'static, str>,
    /// In bytes.
    content_length: i64,
    content_encoding: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipient: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
}

impl StoredHeader {
    /// The header that is given with a content of so many bytes.
    pub fn new(given: Header, content_length: usize) -> Self {
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        let or = |text: Option<String>, usual: &'static str| match said(text) {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(usual),
        };
        Self {
            subject: given.subject,
            content_type: or(given.content_type, CONTENT_TYPE),
            content_length: given
                .content_length
                .unwrap_or_else(|| i64::try_from(content_length).unwrap_or(i64::MAX)),
            content_encoding: or(given.content_encoding, CONTENT_ENCODING),
            message_id: said(given.message_id),
            user_id: said(given.user_id),
            recipient: said(given.recipient),
            reply_to: said(given.reply_to),
            correlation_id: said(given.correlation_id),
        }
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

/// A text that is not an id names no message.
pub fn message_id(text: &str) -> Result<EdgeMessageId, Failure> {
    text.parse().map_err(|_| not_found(text))
}

pub fn not_found(id: &str) -> Failure {
    Failure::new(Code::EntityNotFound, "message not found").with("messageId", id)
}

/// A message that was stored.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessageCreated")]
pub struct Created {
    /// The id of the message.
    pub entity_ids: Vec<AsText<EdgeMessageId>>,
    pub transaction_id: AsText<TransactionId>,
}

impl Answer for Created {
    fn placeholder() -> Option<Self> {
        Some(Self {
            entity_ids: Vec::new(),
            transaction_id: AsText(TransactionId::NIL),
        })
    }
}

/// Messages that were deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MessagesDeleted")]
pub struct Deleted {
    /// The ids that were given.
    pub entity_ids: Vec<AsText<EdgeMessageId>>,
}

impl Answer for Deleted {
    fn placeholder() -> Option<Self> {
        Some(Self {
            entity_ids: Vec::new(),
        })
    }
}

/// A message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Empty if `success` is false.
    #[schemars(schema_with = "header_or_nothing")]
    pub header: RawJson,
    #[schemars(with = "Map<String, Value>")]
    pub meta_data: RawJson,
    pub content: RawJson,
}

fn header_or_nothing(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = StoredHeader::json_schema(generator);
    schema.remove("required");
    schema
}

impl Answer for Message {
    fn placeholder() -> Option<Self> {
        Some(Self {
            header: RawJson::trusted("{}"),
            meta_data: RawJson::trusted("{}"),
            content: RawJson::trusted("null"),
        })
    }

    fn extra_bytes(&self) -> usize {
        [&self.header, &self.meta_data, &self.content]
            .map(|part| part.as_str().len())
            .iter()
            .sum()
    }
}
