//! Invalidates an `OpenID` Connect provider, which revokes its tokens at once (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit,
    provider::{answer, provider_of, tokens_of_tenant},
    see_through, store,
};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Tokens, oidc::Provider};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, providers},
};
use crate::id::ProviderId;

pub(in crate::operation) struct InvalidateProvider(ProviderId);

impl Operation for InvalidateProvider {
    type Payload = providers::One;
    type Answer = providers::OneProvider;

    const REQUEST: EventType = EventType::OidcProviderInvalidateRequest;
    const RESPONSE: EventType = EventType::OidcProviderInvalidateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: providers::One = payload::decode(payload)?;
        request.provider().map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens_of_tenant(&cx)?;
        let invalidated = move |cx, tokens| invalidate(cx, tokens, self.0);
        let provider = see_through(&cx, tokens, invalidated).await?;
        Ok(Output::one(answer(&provider)))
    }
}

async fn invalidate(cx: Context, tokens: Tokens, id: ProviderId) -> Result<Provider, Failure> {
    let change = tokens.directory().change().await;
    let mut provider = Provider::clone(&*provider_of(&cx, &tokens, id)?);
    if !provider.is_active {
        return Ok(provider);
    }
    provider.is_active = false;
    // For a reactivation that asks for other keys than these.
    let keys = tokens.federation().keys_of(id);
    provider.had_unknown_keys |= keys.is_none();
    for key in keys.into_iter().flatten() {
        if !provider.refused.contains(&key) {
            provider.refused.push(key);
        }
    }
    let kept = Edit::Keep(Entry::Provider(provider.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(provider.id = %id, by = %cx.caller().actor.name, "an OIDC provider was invalidated");
    Ok(provider)
}
