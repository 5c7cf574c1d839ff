//! Messages, and the caller.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Body, Instant, NO_ENTITY, Parameter, Tag, Told, of, parameter::text};
use crate::rest::write::message::NewMessage;

/// A message that was kept, and the transaction that keeps it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct MessageKept {
    entity_ids: Vec<Uuid>,
    transaction_id: Uuid,
}

/// Messages that were deleted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct MessagesDeleted {
    entity_ids: Vec<Uuid>,
    success: Option<bool>,
}

/// A message.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Message {
    header: MessageHeader,
    meta_data: Map<String, Value>,
    content: Value,
}

/// What is known of a message beside its content.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct MessageHeader {
    subject: String,
    content_type: String,
    /// In bytes.
    content_length: i64,
    content_encoding: String,
    message_id: Option<String>,
    user_id: Option<String>,
    recipient: Option<String>,
    reply_to: Option<String>,
    correlation_id: Option<String>,
}

/// A message, as existing clients read it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct MessageAsText {
    header: MessageHeader,
    meta_data: MessageValues,
    /// JSON in a text.
    content: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", inline)]
struct MessageValues {
    values: Map<String, Value>,
    indexed_values: Map<String, Value>,
}

const HEADERS: &[Parameter] = &[
    Parameter::header(
        "Content-Encoding",
        text,
        "Stored with the message; `UTF-8` if absent.",
    ),
    Parameter::header("X-Message-ID", text, "Stored with the message."),
    Parameter::header("X-User-ID", text, "Stored with the message."),
    Parameter::header("X-Recipient", text, "Stored with the message."),
    Parameter::header("X-Reply-To", text, "Stored with the message."),
    Parameter::header("X-Correlation-ID", text, "Stored with the message."),
];

pub(in crate::rest) const CREATE: Told = Told {
    text: "`Content-Type` and `Content-Length` are required, and stored with the message.",
    parameters: HEADERS,
    body: Body::Json(of::<NewMessage<'static>>),
    ..Told::new(
        Tag::Messages,
        "createMessage",
        "Store a message",
        of::<Vec<MessageKept>>,
    )
};

pub(in crate::rest) const GET: Told = Told {
    codes: &[NO_ENTITY],
    ..Told::new(Tag::Messages, "getMessage", "A message", of::<Message>)
};

pub(in crate::rest) const GET_AS_TEXT: Told = Told {
    text: "For existing clients: the content is JSON as text.",
    codes: &[NO_ENTITY],
    ..Told::new(
        Tag::Messages,
        "getMessageAsText",
        "Read a message, its content as text",
        of::<MessageAsText>,
    )
};

pub(in crate::rest) const DELETE: Told = Told {
    codes: &[NO_ENTITY],
    ..Told::new(
        Tag::Messages,
        "deleteMessage",
        "Delete a message",
        of::<MessagesDeleted>,
    )
};

pub(in crate::rest) const DELETE_ALL: Told = Told {
    text: "Unknown ids are ignored.",
    body: Body::Json(of::<Vec<Uuid>>),
    ..Told::new(
        Tag::Messages,
        "deleteMessages",
        "Delete messages",
        of::<Vec<MessagesDeleted>>,
    )
};

/// Who is calling.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Account {
    user_account_info: UserAccount,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct UserAccount {
    user_id: String,
    user_name: String,
    /// The tenant.
    legal_entity: Named,
    roles: Vec<Role>,
    current_subscription: Subscription,
}

#[derive(JsonSchema)]
#[schemars(inline)]
struct Named {
    id: String,
    name: String,
}

#[derive(JsonSchema)]
#[schemars(inline)]
struct Role {
    id: String,
}

/// Nothing is sold; it always says the same.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Subscription {
    id: String,
    legal_entity_id: String,
    status: String,
    tier_name: String,
    period_from: Instant,
    limits: Vec<Value>,
}

pub(in crate::rest) const ACCOUNT: Told = Told::new(
    Tag::Account,
    "getAccount",
    "The authenticated caller",
    of::<Account>,
);
