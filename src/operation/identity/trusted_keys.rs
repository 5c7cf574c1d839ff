//! Shared by operations on trusted keys.

use std::sync::Arc;

use super::super::Context;
use crate::auth::{Known, Rules, TrustedKey};
use crate::error::{Code, Failure};
use crate::event::payload::{AsText, RawJson, trusted_keys};

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

/// A trusted key, as it is answered.
pub(super) fn answer(cx: &Context, key: &TrustedKey) -> trusted_keys::TrustedKey {
    trusted_keys::TrustedKey {
        key_id: (&*key.name).into(),
        legal_entity_id: key.tenant.shared(),
        jwk: RawJson::trusted(key.jwk.as_str()),
        audience: key.used_for.as_str(),
        issuers: key.issuers.to_vec(),
        active: key.validity.is_active(cx.storage().now()),
        valid_from: AsText(key.validity.from),
        valid_to: AsText(key.validity.to),
    }
}
