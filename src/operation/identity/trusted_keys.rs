//! Shared by operations on trusted keys.

use std::sync::Arc;

use super::super::Context;
use crate::auth::{Known, Rules, TrustedKey};
use crate::error::{Code, Failure};
use crate::event::payload::trusted_keys;

/// Whether the settings let tenants trust keys.
pub(super) fn offered(rules: &Rules) -> Result<(), Failure> {
    if rules.trusted_keys.are_on {
        return Ok(());
    }
    Err(Failure::new(
        Code::FeatureDisabled,
        "trusted keys are disabled; CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED=true enables them",
    ))
}

/// The trusted key of that name, which must be the tenant's. Another tenant's is as unknown as
/// none.
pub(super) fn one_of(cx: &Context, known: &Known, name: &str) -> Result<Arc<TrustedKey>, Failure> {
    let key = known.trusted_key(name);
    let key = key.filter(|key| key.tenant == cx.caller().tenant);
    key.cloned().ok_or_else(|| trusted_keys::not_found(name))
}

pub(super) fn told<'a>(cx: &Context, key: &'a TrustedKey) -> trusted_keys::TrustedKey<'a> {
    trusted_keys::TrustedKey {
        name: &key.name,
        tenant: key.tenant.as_str(),
        jwk: key.jwk.as_str(),
        audience: key.used_for.as_str(),
        issuers: &key.issuers,
        is_active: key.validity.is_active(cx.storage().now()),
        valid_from: key.validity.from,
        valid_to: key.validity.to,
    }
}
