//! Reactivates an `OpenID` Connect provider, with its former keys or with new ones only (`rest.md`
//! §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit,
    provider::{answer, provider_of, tokens_of_tenant},
    see_through, store,
};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Tokens, oidc::Provider};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, providers},
};
use crate::id::ProviderId;

pub(in crate::operation) struct ReactivateProvider {
    id: ProviderId,
    with_keys: bool,
}

impl Operation for ReactivateProvider {
    type Payload = providers::Reactivate;
    type Answer = providers::OneProvider;

    const REQUEST: EventType = EventType::OidcProviderReactivateRequest;
    const RESPONSE: EventType = EventType::OidcProviderReactivateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: providers::Reactivate = payload::decode(payload)?;
        Ok(Self {
            id: request.provider()?,
            with_keys: request.with_keys(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens_of_tenant(&cx)?;
        let reactivated = move |cx, tokens| reactivate(cx, tokens, self.id, self.with_keys);
        let provider = see_through(&cx, tokens, reactivated).await?;
        Ok(Output::one(answer(&provider)))
    }
}

async fn reactivate(
    cx: Context,
    tokens: Tokens,
    id: ProviderId,
    with_keys: bool,
) -> Result<Provider, Failure> {
    let change = tokens.directory().change().await;
    let before = provider_of(&cx, &tokens, id)?;
    let mut provider = Provider::clone(&*before);
    provider.is_active = true;
    if with_keys {
        provider.refused.clear();
        provider.had_unknown_keys = false;
    } else if provider.had_unknown_keys {
        let text = "the keys that the provider had are not known, because it had not answered when it \
                    was invalidated; once it publishes new keys only, reactivate it with \
                    `reactivateKeys`: true";
        return Err(Failure::new(Code::OidcProviderInactive, text).with("id", id.to_string()));
    }
    if provider != *before {
        let kept = Edit::Keep(Entry::Provider(provider.clone().into()));
        store(&cx, &tokens, &change, vec![kept]).await?;
        info!(provider.id = %id, with_keys, by = %cx.caller().actor.name, "an OIDC provider was reactivated");
    }
    Ok(provider)
}
