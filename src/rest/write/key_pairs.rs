//! Key pairs (`rest.md` §7), and what is said of trusted keys just so.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::parts::Parts;
use super::{Written, bad, begin, optional};
use crate::event::payload::Object;

/// A key pair to be made.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct NewKeyPair {
    /// `RS256`.
    algorithm: String,
    /// The kind of tokens it signs: `client` or `human`.
    audience: String,
    /// Now, if it is not given (RFC 3339).
    #[serde(default)]
    valid_from: Option<String>,
    /// After that `CYODA_IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS`, if it is not given.
    #[serde(default)]
    valid_to: Option<String>,
    /// Whether to invalidate the pair that signs for that audience now.
    #[serde(default)]
    invalidate_current: bool,
    /// For how long what that has signed is good, in seconds: 0 to 31622400.
    #[serde(default)]
    invalidate_grace_period_sec: Option<u64>,
}

/// For how long a key is good that signs no more.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct Grace {
    /// In seconds: 0 to 31622400; 0, if it is not given.
    #[serde(default)]
    grace_period_sec: Option<u64>,
}

/// When a key is good that was invalidated.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct NewValidity {
    /// In the future (RFC 3339).
    valid_to: String,
    /// Unchanged if absent.
    #[serde(default)]
    valid_from: Option<String>,
}

/// A number that need not be there.
pub(super) fn seconds(object: Object, name: &str, seconds: Option<u64>) -> Object {
    match seconds {
        Some(seconds) => object.raw(name, &seconds.to_string()),
        None => object,
    }
}

pub(in crate::rest) fn issue(parts: &Parts, id: &str) -> Written {
    let body: NewKeyPair = parts.json_as("key pair")?;
    let object = begin(id)
        .text("algorithm", &body.algorithm)
        .text("audience", &body.audience)
        .truth("invalidateCurrent", body.invalidate_current);
    let object = optional(object, "validFrom", body.valid_from.as_deref());
    let object = optional(object, "validTo", body.valid_to.as_deref());
    let grace = body.invalidate_grace_period_sec;
    Ok(seconds(object, "invalidateGracePeriodSec", grace).finish())
}

pub(in crate::rest) fn current(parts: &Parts, id: &str) -> Written {
    let audience = parts.query("audience");
    let audience = audience.ok_or_else(|| bad("`audience` must be client or human"))?;
    Ok(begin(id).text("audience", audience).finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("keyId", parts.path("keyId")).finish())
}

pub(in crate::rest) fn invalidate(parts: &Parts, id: &str) -> Written {
    let body: Grace = if parts.text()?.trim().is_empty() {
        Grace::default()
    } else {
        parts.json_as("period of grace")?
    };
    let object = begin(id).text("keyId", parts.path("keyId"));
    Ok(seconds(object, "gracePeriodSec", body.grace_period_sec).finish())
}

pub(in crate::rest) fn reactivate(parts: &Parts, id: &str) -> Written {
    let body: NewValidity = parts.json_as("validity")?;
    let object = begin(id)
        .text("keyId", parts.path("keyId"))
        .text("validTo", &body.valid_to);
    Ok(optional(object, "validFrom", body.valid_from.as_deref()).finish())
}
