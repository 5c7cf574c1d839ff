//! Clients (`rest.md` §7). Their credentials are spelled as OAuth 2.0 spells them (RFC 7591).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, begin, read};
use crate::event::payload::Object;

pub(in crate::rest) fn create(parts: &Parts, id: &str) -> Written {
    let with_admin_role = parts.query_as::<bool>("withAdminRole", "true or false")?;
    let object = begin(id).truth("withAdminRole", with_admin_role.unwrap_or(false));
    Ok(object.finish())
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("clientId", parts.path("clientId")).finish())
}

pub(in crate::rest) fn clients(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Clients<'a> {
        #[serde(borrow)]
        clients: &'a RawValue,
    }
    let answer: Clients<'_> = read(payload)?;
    Ok(answer.clients.get().to_owned())
}

pub(in crate::rest) fn credentials(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Credentials<'a> {
        client_id: String,
        client_secret: String,
        grant_type: String,
        client_secret_expires_at: i64,
        #[serde(borrow)]
        roles: &'a RawValue,
    }
    let answer: Credentials<'_> = read(payload)?;
    Ok(Object::new()
        .text("client_id", &answer.client_id)
        .text("client_secret", &answer.client_secret)
        .text("grant_type", &answer.grant_type)
        .number("client_secret_expires_at", answer.client_secret_expires_at)
        .raw("roles", answer.roles.get())
        .finish())
}

pub(in crate::rest) fn deleted(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Deleted {
        client_id: String,
    }
    let answer: Deleted = read(payload)?;
    Ok(Object::new()
        .text("message", "M2M client deleted successfully")
        .text("clientId", &answer.client_id)
        .finish())
}
