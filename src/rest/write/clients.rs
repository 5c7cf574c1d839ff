//! Clients (`rest.md` §7). Their credentials are spelled as OAuth 2.0 spells them (RFC 7591).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::parts::Parts;
use super::{Written, begin};
use crate::event::payload::{
    clients::{Clients, Credentials, Deleted, GrantType},
    json,
};
use crate::operation::Success;

pub(in crate::rest) fn create(parts: &Parts, id: &str) -> Written {
    let with_admin_role = parts.query_truth("withAdminRole")?;
    let object = begin(id).truth("withAdminRole", with_admin_role.unwrap_or(false));
    Ok(object.finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("clientId", parts.path("clientId")).finish())
}

pub(in crate::rest) fn clients(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Clients>()?.clients))
}

/// What a client gets tokens with, as OAuth 2.0 spells it (RFC 7591).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Credentials")]
pub(in crate::rest) struct OauthCredentials {
    client_id: Arc<str>,
    /// In this answer and in no other: only its hash is stored.
    client_secret: String,
    grant_type: GrantType,
    /// 0: never.
    client_secret_expires_at: i64,
    roles: Vec<String>,
}

pub(in crate::rest) fn credentials(_: &Parts, answer: Success) -> Written {
    let credentials: Credentials = answer.take()?;
    Ok(json(&OauthCredentials {
        grant_type: credentials.grant_type(),
        client_secret_expires_at: credentials.expires_at(),
        client_id: credentials.client_id,
        client_secret: credentials.client_secret,
        roles: credentials.roles,
    }))
}

/// A client that was deleted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct ClientDeleted {
    message: &'static str,
    client_id: String,
}

pub(in crate::rest) fn deleted(_: &Parts, answer: Success) -> Written {
    let deleted: Deleted = answer.take()?;
    Ok(json(&ClientDeleted {
        message: "M2M client deleted successfully",
        client_id: deleted.client_id,
    }))
}
