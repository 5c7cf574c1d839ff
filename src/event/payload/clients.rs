//! Payloads about clients (`rest.md` §7).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Object, RequiredText, list, success, text_list};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};

/// How many characters the name of a client has at most.
const NAME_CHARS_MAX: usize = 100;

/// The only way in which a client gets a token for itself.
const GRANT_TYPE: &str = "client_credentials";

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Create {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// Whether it also has the administrator role.
    #[serde(default)]
    pub with_admin_role: bool,
}

/// Names a client.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct One {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub client_id: String,
}

impl One {
    /// The name, if it is one.
    pub fn name(self) -> Result<String, Failure> {
        let name = self.client_id;
        let is_name = (1..=NAME_CHARS_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_name {
            return Ok(name);
        }
        Err(Failure::new(
            Code::BadRequest,
            format!("a clientId must be 1 to {NAME_CHARS_MAX} letters and digits"),
        ))
    }
}

/// A client, as it is told.
pub struct Client<'a, R> {
    pub name: &'a str,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub roles: R,
}

pub fn not_found(name: &str, more: &str) -> Failure {
    Failure::new(
        Code::M2mClientNotFound,
        format!("M2M client not found{more}"),
    )
    .with("clientId", name)
}

pub fn clients<'a>(
    request: &str,
    clients: impl Iterator<Item = Client<'a, impl Iterator<Item = &'a str>>>,
) -> String {
    let clients = clients.map(|client| {
        Object::new()
            .text("clientId", client.name)
            .plain("creationDate", client.created)
            .plain("lastUpdateDate", client.updated)
            .raw("roles", &text_list(client.roles))
            .finish()
    });
    success(request, &[])
        .text("requestId", request)
        .raw("clients", &list(clients))
        .finish()
}

/// What a client gets tokens with; its secret is told in no other answer.
pub fn credentials<'a>(
    request: &str,
    name: &str,
    secret: &str,
    roles: impl Iterator<Item = &'a str>,
) -> String {
    success(request, &[])
        .text("requestId", request)
        .text("clientId", name)
        .text("clientSecret", secret)
        .text("grantType", GRANT_TYPE)
        .number("clientSecretExpiresAt", 0)
        .raw("roles", &text_list(roles))
        .finish()
}

pub fn deleted(request: &str, name: &str) -> String {
    success(request, &[])
        .text("requestId", request)
        .text("clientId", name)
        .finish()
}
