//! How what may call is written when it is stored. Who adds a member gives it a default, so that
//! what was stored before can still be read.

use serde::{Deserialize, Serialize};

/// Why what is stored is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored {what} `{name}` cannot be read: {why}")]
pub struct BadRecord {
    what: &'static str,
    name: Box<str>,
    why: Box<str>,
}

impl BadRecord {
    pub(super) fn new(what: &'static str, name: &str, why: &str) -> Self {
        Self {
            what,
            name: name.into(),
            why: why.into(),
        }
    }
}

/// A client.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientRecord {
    /// What argon2id makes of the secret, as a PHC string.
    pub(super) secret: String,
    pub(super) roles: Vec<String>,
    /// Microseconds since 1970, as is the next.
    pub(super) created: i64,
    pub(super) updated: i64,
    /// Seconds since 1970.
    pub(super) tokens_since: i64,
}

/// When a key is valid.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ValidityRecord {
    /// Microseconds since 1970, as is the next.
    pub(super) valid_from: i64,
    pub(super) valid_to: i64,
    pub(super) invalidated: bool,
}

/// A key pair.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyPairRecord {
    /// The private key: PKCS #8, or that sealed, in base64.
    pub(super) key: String,
    pub(super) sealed: bool,
    pub(super) audience: String,
    /// Microseconds since 1970.
    pub(super) created: i64,
    #[serde(flatten)]
    pub(super) validity: ValidityRecord,
}

/// A trusted key.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrustedKeyRecord {
    /// JSON, as a text: what it says beside the key is nobody's business here.
    pub(super) jwk: String,
    pub(super) audience: String,
    pub(super) issuers: Vec<String>,
    /// Microseconds since 1970.
    pub(super) created: i64,
    #[serde(flatten)]
    pub(super) validity: ValidityRecord,
}

/// A provider of tokens.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProviderRecord {
    pub(super) well_known: Box<str>,
    #[serde(default)]
    pub(super) issuers: Vec<Box<str>>,
    #[serde(default)]
    pub(super) audiences: Vec<Box<str>>,
    #[serde(default)]
    pub(super) roles_claim: Option<Box<str>>,
    /// Microseconds since 1970.
    pub(super) created: i64,
    pub(super) active: bool,
    /// Names of keys.
    #[serde(default)]
    pub(super) refused: Vec<Box<str>>,
}

/// Reads a record.
pub(super) fn read<'a, T: Deserialize<'a>>(
    what: &'static str,
    name: &str,
    record: &'a str,
) -> Result<T, BadRecord> {
    // Not what serde says: it may quote what is a secret.
    serde_json::from_str(record).map_err(|_| BadRecord::new(what, name, "it is damaged"))
}

/// Writes one.
pub(super) fn write(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
