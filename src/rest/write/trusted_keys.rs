//! The keys that tenants trust (`rest.md` §7).

use axum::extract::RawPathParams;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::super::parts::Parts;
use super::{Written, begin, key_pairs::seconds, optional};
use crate::error::Failure;
use crate::event::payload::{self, json, text_list, trusted_keys::TrustedKeys};
use crate::operation::Success;

/// A key to be trusted.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct NewTrustedKey<'a> {
    /// The `kid` of the tokens that it signs: 1 to 128 letters, digits, dots, underscores and
    /// hyphens. A key of that name that the tenant trusts already is replaced.
    key_id: String,
    /// The public key (RFC 7517): an RSA key of 2048 to 4096 bits.
    #[serde(borrow)]
    #[schemars(with = "Map<String, Value>")]
    jwk: &'a RawValue,
    /// The kind of tokens it signs: `client` or `human`.
    audience: String,
    /// Whose tokens (`iss`) are taken; anybody's, if there are none.
    #[serde(default)]
    issuers: Option<Vec<String>>,
    /// Now, if it is not given (RFC 3339).
    #[serde(default)]
    valid_from: Option<String>,
    /// After that `CYODA_IAM_TRUSTED_KEY_MAX_VALIDITY_DAYS`, if it is not given.
    #[serde(default)]
    valid_to: Option<String>,
    /// Whether the other keys that the tenant trusts for that audience are invalidated.
    #[serde(default)]
    invalidate_previous: bool,
    /// For how long those are still trusted, in seconds: 0 to 31622400.
    #[serde(default)]
    invalidate_grace_period_sec: Option<u64>,
}

/// Whether the path names a key that there could be.
pub(in crate::rest) fn check(path: &RawPathParams) -> Result<(), Failure> {
    let named = path.iter().find(|(name, _)| *name == "keyId");
    named.map_or(Ok(()), |(_, name)| payload::trusted_keys::check_name(name))
}

pub(in crate::rest) fn register(parts: &Parts, id: &str) -> Written {
    let body: NewTrustedKey<'_> = parts.json_as("trusted key")?;
    let object = begin(id)
        .text("keyId", &body.key_id)
        .raw("jwk", body.jwk.get())
        .text("audience", &body.audience)
        .truth("invalidatePrevious", body.invalidate_previous);
    let object = match body.issuers {
        Some(issuers) => object.raw("issuers", &text_list(issuers)),
        None => object,
    };
    let object = optional(object, "validFrom", body.valid_from.as_deref());
    let object = optional(object, "validTo", body.valid_to.as_deref());
    let grace = body.invalidate_grace_period_sec;
    Ok(seconds(object, "invalidateGracePeriodSec", grace).finish())
}

pub(in crate::rest) fn trusted_keys(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<TrustedKeys>()?.trusted_keys))
}
