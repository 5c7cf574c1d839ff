//! Payloads about clients (`rest.md` §7).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, AsText, RequestId, RequiredText};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};

/// How many characters the name of a client has at most.
const NAME_CHARS_MAX: usize = 100;

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

/// A client that may get tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    #[serde(rename = "clientId")]
    pub name: Arc<str>,
    #[serde(rename = "creationDate")]
    pub created: AsText<Timestamp>,
    /// When it got its secret.
    #[serde(rename = "lastUpdateDate")]
    pub updated: AsText<Timestamp>,
    pub roles: Vec<String>,
}

/// The clients of the tenant.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Clients {
    pub clients: Vec<Client>,
}

impl Answer for Clients {
    fn placeholder() -> Option<Self> {
        Some(Self {
            clients: Vec::new(),
        })
    }
}

/// The credentials with which a client gets tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClientCredentials")]
pub struct Credentials {
    pub client_id: Arc<str>,
    /// In this answer and in no other: only its hash is stored.
    pub client_secret: String,
    grant_type: GrantType,
    /// 0: never.
    client_secret_expires_at: i64,
    pub roles: Vec<String>,
}

/// The only way in which a client gets a token for itself.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum GrantType {
    ClientCredentials,
}

impl Credentials {
    pub fn new(name: Arc<str>, secret: String, roles: Vec<String>) -> Self {
        Self {
            client_id: name,
            client_secret: secret,
            grant_type: GrantType::ClientCredentials,
            client_secret_expires_at: 0,
            roles,
        }
    }

    pub const fn grant_type(&self) -> GrantType {
        self.grant_type
    }

    pub const fn expires_at(&self) -> i64 {
        self.client_secret_expires_at
    }
}

impl Answer for Credentials {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// The answer to a deletion.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClientDeleted")]
pub struct Deleted {
    pub client_id: String,
}

impl Answer for Deleted {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

pub fn not_found(name: &str, more: &str) -> Failure {
    Failure::new(
        Code::M2mClientNotFound,
        format!("M2M client not found{more}"),
    )
    .with("clientId", name)
}
