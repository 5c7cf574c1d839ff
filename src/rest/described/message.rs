//! Messages, and the caller.

use uuid::Uuid;

use super::{Body, Description, NO_ENTITY, Parameter, Tag, of, parameter::text};
use crate::event::payload::{
    account::Account,
    message::{Created, Deleted},
};
use crate::rest::write::message::{AllDeleted, MessageAsText, MessageBody, NewMessage};

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

pub(in crate::rest) const CREATE: Description = Description {
    text: "`Content-Type` and `Content-Length` are required, and stored with the message.",
    parameters: HEADERS,
    body: Body::Json(of::<NewMessage<'static>>),
    ..Description::new(
        Tag::Messages,
        "createMessage",
        "Store a message",
        of::<Vec<Created>>,
    )
};

pub(in crate::rest) const GET: Description = Description {
    codes: &[NO_ENTITY],
    ..Description::new(Tag::Messages, "getMessage", "A message", of::<MessageBody>)
};

pub(in crate::rest) const GET_AS_TEXT: Description = Description {
    text: "For existing clients: the content is JSON as text.",
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Messages,
        "getMessageAsText",
        "Read a message, its content as text",
        of::<MessageAsText>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Messages,
        "deleteMessage",
        "Delete a message",
        of::<Deleted>,
    )
};

pub(in crate::rest) const DELETE_ALL: Description = Description {
    text: "Unknown ids are ignored.",
    body: Body::Json(of::<Vec<Uuid>>),
    ..Description::new(
        Tag::Messages,
        "deleteMessages",
        "Delete messages",
        of::<Vec<AllDeleted>>,
    )
};

pub(in crate::rest) const ACCOUNT: Description = Description::new(
    Tag::Account,
    "getAccount",
    "The authenticated caller",
    of::<Account>,
);
