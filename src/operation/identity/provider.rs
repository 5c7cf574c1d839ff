//! What requests about providers of tokens share (`rest.md` §7).

use std::sync::Arc;

use uuid::Uuid;

use super::super::Context;
use super::tokens;
use crate::auth::{Tokens, oidc::Provider};
use crate::error::{Code, Failure};
use crate::event::payload::{AsText, providers};
use crate::id::ProviderId;

/// What knows tokens. Providers are for tenants that are UUIDs.
pub(super) fn tokens_of_tenant(cx: &Context) -> Result<Tokens, Failure> {
    let tokens = tokens(cx)?;
    let tenant = cx.caller().tenant.as_str();
    if Uuid::try_parse(tenant).is_err() {
        return Err(Failure::new(
            Code::OidcInvalidTenant,
            format!("the tenant `{tenant}` is not a UUID, which OIDC providers require"),
        ));
    }
    Ok(tokens)
}

/// The provider of that id, which must be the tenant's. Another tenant's is as unknown as none.
pub(super) fn provider_of(
    cx: &Context,
    tokens: &Tokens,
    id: ProviderId,
) -> Result<Arc<Provider>, Failure> {
    let known = tokens.directory().known();
    let provider = known
        .provider(id)
        .filter(|provider| provider.tenant == cx.caller().tenant);
    provider.cloned().ok_or_else(|| providers::not_found(id))
}

/// A provider, as it is answered.
pub(super) fn answer(provider: &Provider) -> providers::OneProvider {
    providers::OneProvider {
        provider: providers::Provider {
            id: AsText(provider.id),
            well_known_config_uri: (&*provider.well_known).into(),
            active: provider.is_active,
            created_at: AsText(provider.created),
            issuers: provider.issuers.clone(),
            expected_audiences: provider.audiences.clone(),
            roles_claim: provider.roles_claim.clone(),
        },
    }
}
