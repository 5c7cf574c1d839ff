//! Payloads about the keys that tenants trust (`rest.md` §7). Where such a key is only named, they
//! are those of key pairs.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{Answer, AsText, RawJson, RequestId, RequiredText};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};

/// How many characters the name of a key has at most.
const NAME_CHARS_MAX: usize = 128;

/// How many issuers may be named, and how many bytes each may have.
const ISSUERS_MAX: usize = 100;
const ISSUER_BYTES_MAX: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Register<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The `kid` of the tokens that it signs: 1 to 128 letters, digits, dots, underscores and
    /// hyphens. A key of that name that the tenant trusts already is replaced.
    pub key_id: String,
    /// The public key (RFC 7517): an RSA key of 2048 to 4096 bits.
    #[serde(borrow)]
    #[schemars(with = "Map<String, Value>")]
    pub jwk: &'a RawValue,
    /// The kind of tokens it signs: `client` or `human`.
    pub audience: String,
    /// Whose tokens are taken; anybody's, if there are none.
    #[serde(default)]
    pub issuers: Option<Vec<String>>,
    /// The beginning of its validity; now if absent.
    #[serde(default)]
    pub valid_from: Option<String>,
    /// The end of its validity; a default of the settings if absent.
    #[serde(default)]
    pub valid_to: Option<String>,
    /// Whether the other keys that the tenant trusts for that audience are invalidated.
    #[serde(default)]
    pub invalidate_previous: bool,
    /// For how long those are still trusted, in seconds: 0 to 31622400; 0, if it is not given.
    #[serde(default)]
    pub invalidate_grace_period_sec: Option<u64>,
}

/// Whether a trusted key may have that name.
pub fn check_name(name: &str) -> Result<(), Failure> {
    let may = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(may) {
        return Ok(());
    }
    Err(Failure::new(
        Code::BadRequest,
        format!(
            "a keyId must be 1 to {NAME_CHARS_MAX} letters, digits, dots, underscores and hyphens"
        ),
    ))
}

/// The issuers that are named; none is anybody.
pub fn issuers(given: Option<Vec<String>>) -> Result<Vec<Box<str>>, Failure> {
    let given = given.unwrap_or_default();
    let is_one = |issuer: &String| (1..=ISSUER_BYTES_MAX).contains(&issuer.len());
    if given.len() <= ISSUERS_MAX && given.iter().all(is_one) {
        return Ok(given.into_iter().map(Into::into).collect());
    }
    Err(Failure::new(
        Code::BadRequest,
        format!("at most {ISSUERS_MAX} issuers are allowed, of 1 to {ISSUER_BYTES_MAX} bytes each"),
    ))
}

/// A key that a tenant trusts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedKey {
    /// The `kid` of the tokens that it signs.
    pub key_id: Arc<str>,
    /// The tenant.
    pub legal_entity_id: Arc<str>,
    /// As it was registered.
    #[schemars(with = "Map<String, Value>")]
    pub jwk: RawJson,
    #[schemars(extend("enum" = ["client", "human"]))]
    pub audience: &'static str,
    /// Whose tokens are accepted; absent, if anybody's are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<Box<str>>,
    /// Whether it is neither invalidated nor expired.
    pub active: bool,
    pub valid_from: AsText<Timestamp>,
    /// Until then it is trusted, also if it was invalidated.
    pub valid_to: AsText<Timestamp>,
}

impl Answer for TrustedKey {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// The trusted keys of the tenant.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedKeys {
    pub trusted_keys: Vec<TrustedKey>,
}

impl Answer for TrustedKeys {
    fn placeholder() -> Option<Self> {
        Some(Self {
            trusted_keys: Vec::new(),
        })
    }
}

pub fn not_found(name: &str) -> Failure {
    Failure::new(Code::TrustedKeyNotFound, "trusted key not found").with("keyId", name)
}
