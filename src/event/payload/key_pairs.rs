//! Payloads about key pairs (`rest.md` §7).

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, AsText, RequestId, RequiredText};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};

/// The only algorithm that signs tokens here.
pub const ALGORITHM: &str = "RS256";

/// How many seconds of grace there are at most: a leap year.
const GRACE_SECONDS_MAX: u64 = 31_622_400;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// `RS256`.
    pub algorithm: String,
    /// The kind of tokens it signs: `client` or `human`.
    pub audience: String,
    /// The beginning of its validity; now if absent.
    #[serde(default)]
    pub valid_from: Option<String>,
    /// The end of its validity; a default of the settings if absent.
    #[serde(default)]
    pub valid_to: Option<String>,
    /// Whether to invalidate the pair that signs for that audience now.
    #[serde(default)]
    pub invalidate_current: bool,
    /// The grace period for the signatures of that pair, in seconds: 0 to 31622400; 0 if absent.
    #[serde(default)]
    pub invalidate_grace_period_sec: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// `client` or `human`.
    pub audience: String,
}

/// Names a key pair, or a trusted key.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct One {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub key_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invalidate {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub key_id: String,
    /// The grace period for its signatures, in seconds: 0 to 31622400; 0 if absent.
    #[serde(default)]
    pub grace_period_sec: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reactivate {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub key_id: String,
    /// In the future.
    pub valid_to: String,
    /// Unchanged if absent.
    #[serde(default)]
    pub valid_from: Option<String>,
}

/// A time of grace.
pub fn grace(seconds: Option<u64>) -> Result<Duration, Failure> {
    let seconds = seconds.unwrap_or_default();
    if seconds <= GRACE_SECONDS_MAX {
        return Ok(Duration::from_secs(seconds));
    }
    Err(Failure::new(
        Code::BadRequest,
        format!("a grace period must be 0 to {GRACE_SECONDS_MAX} seconds"),
    ))
}

/// The instant that a member says.
pub fn instant(member: &'static str, text: &str) -> Result<Timestamp, Failure> {
    let bad = |error| Failure::new(Code::BadRequest, format!("{member}: {error}"));
    Timestamp::parse(text).map_err(bad)
}

/// The instant that a member says, if it is there.
pub fn optional_instant(
    member: &'static str,
    text: Option<&str>,
) -> Result<Option<Timestamp>, Failure> {
    text.map(|text| instant(member, text)).transpose()
}

/// A key pair, without the private key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyPair {
    /// The `kid` of the tokens that it signs.
    pub key_id: Arc<str>,
    /// `RS256`.
    pub algorithm: &'static str,
    /// The public key as `SubjectPublicKeyInfo`, in base64.
    pub public_key: Arc<str>,
    /// Whether it is neither invalidated nor expired.
    pub active: bool,
    pub valid_from: AsText<Timestamp>,
    /// Absent from the key of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<AsText<Timestamp>>,
}

impl Answer for KeyPair {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// The answer to a request that only names a key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "KeyChanged")]
pub struct Changed {
    pub key_id: String,
}

impl Answer for Changed {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

pub fn not_found(name: &str, more: &str) -> Failure {
    Failure::new(Code::KeypairNotFound, format!("key pair not found{more}")).with("keyId", name)
}
