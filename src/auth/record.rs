//! The stored forms of credentials. A new member needs a default, so that older records can still
//! be read.

use serde::{Deserialize, Serialize};

/// Why a stored record cannot be used.
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
    /// The argon2id hash of the secret, as a PHC string.
    pub(super) secret: String,
    pub(super) roles: Vec<String>,
    /// Microseconds since 1970, like the next.
    pub(super) created: i64,
    pub(super) updated: i64,
    /// Seconds since 1970.
    pub(super) tokens_since: i64,
}

/// When a key is valid.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ValidityRecord {
    /// Microseconds since 1970, like the next.
    pub(super) valid_from: i64,
    pub(super) valid_to: i64,
    pub(super) invalidated: bool,
}

/// A key pair.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyPairRecord {
    /// The private key: PKCS #8, possibly encrypted, in base64.
    pub(super) key: String,
    pub(super) sealed: bool,
    /// The public key, with which signatures are verified where the private key cannot be decrypted:
    /// `SubjectPublicKeyInfo` in base64.
    #[serde(default)]
    pub(super) public: Option<String>,
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
    /// JSON as text: its further members are not interpreted here.
    pub(super) jwk: String,
    pub(super) audience: String,
    pub(super) issuers: Vec<String>,
    /// Microseconds since 1970.
    pub(super) created: i64,
    #[serde(flatten)]
    pub(super) validity: ValidityRecord,
}

/// An `OpenID` Connect provider.
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
    /// Ids of keys.
    #[serde(default)]
    pub(super) refused: Vec<Box<str>>,
    /// Whether it had further keys that were not known.
    #[serde(default)]
    pub(super) refused_unknown: bool,
}

/// Parses a record.
pub(super) fn read<'a, T: Deserialize<'a>>(
    what: &'static str,
    name: &str,
    record: &'a str,
) -> Result<T, BadRecord> {
    // Not the error of serde, which may quote a secret.
    serde_json::from_str(record).map_err(|_| BadRecord::new(what, name, "it is damaged"))
}

/// Writes a record.
pub(super) fn write(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
