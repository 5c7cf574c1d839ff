//! Clients.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;

use super::{
    Parameter, Tag, Told, of,
    parameter::{instant, truth},
};
use crate::error::Code;

/// A client that may get tokens.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Client {
    #[schemars(rename = "clientId")]
    name: String,
    #[schemars(schema_with = "instant")]
    creation_date: String,
    /// When it got its secret.
    #[schemars(schema_with = "instant")]
    last_update_date: String,
    roles: Vec<String>,
}

/// What a client gets tokens with (RFC 7591).
#[derive(JsonSchema)]
struct Credentials {
    client_id: String,
    /// Told in this answer and in no other: only its hash is stored.
    client_secret: String,
    /// `client_credentials`.
    grant_type: String,
    /// 0: never.
    client_secret_expires_at: i64,
    roles: Vec<String>,
}

/// A client that was deleted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ClientDeleted {
    message: String,
    client_id: String,
}

/// What can come of any such request while authentication is mocked.
pub(super) const MOCKED: &[Code] = &[Code::NotImplemented];

const NO_CLIENT: &[Code] = &[Code::M2mClientNotFound];

const WITH_ADMIN_ROLE: Parameter = Parameter::query(
    "withAdminRole",
    truth,
    "Adds `ROLE_ADMIN` to `ROLE_M2M`; requires `CYODA_IAM_M2M_ADMIN_ROLE_ENABLED=true`.",
);

pub(in crate::rest) const LIST: Told = Told {
    text: "Includes the client of the settings.",
    codes: &[MOCKED],
    ..Told::new(
        Tag::Identity,
        "listClients",
        "List the clients of the tenant",
        of::<Vec<Client>>,
    )
};

pub(in crate::rest) const CREATE: Told = Told {
    text: "It obtains tokens from `POST /oauth/token`.",
    parameters: &[WITH_ADMIN_ROLE],
    codes: &[MOCKED, &[Code::FeatureDisabled, Code::TooManyRequests]],
    ..Told::new(
        Tag::Identity,
        "createClient",
        "Create a client",
        of::<Credentials>,
    )
};

pub(in crate::rest) const DELETE: Told = Told {
    text: "Its tokens are revoked.",
    codes: &[MOCKED, NO_CLIENT],
    ..Told::new(
        Tag::Identity,
        "deleteClient",
        "Delete a client",
        of::<ClientDeleted>,
    )
};

pub(in crate::rest) const RESET_SECRET: Told = Told {
    text: "The previous secret, and the tokens obtained with it, are revoked.",
    codes: &[MOCKED, NO_CLIENT, &[Code::TooManyRequests]],
    ..Told::new(
        Tag::Identity,
        "resetClientSecret",
        "Replace the secret of a client",
        of::<Credentials>,
    )
};
