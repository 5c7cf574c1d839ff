//! How what may call is written when it is stored. Who adds a member gives it a default, so that
//! what was stored before can still be read.

use serde::{Deserialize, Serialize};

/// Why what is stored is of no use.
#[derive(Debug, thiserror::Error)]
#[error("the stored {what} `{name}` cannot be read")]
pub struct BadRecord {
    pub what: &'static str,
    pub name: Box<str>,
    #[source]
    pub source: Option<serde_json::Error>,
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

/// Reads a record.
pub(super) fn read<'a, T: Deserialize<'a>>(
    what: &'static str,
    name: &str,
    record: &'a str,
) -> Result<T, BadRecord> {
    serde_json::from_str(record).map_err(|source| BadRecord {
        what,
        name: name.into(),
        source: Some(source),
    })
}

/// Writes one.
pub(super) fn write(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
