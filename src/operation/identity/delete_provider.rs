//! Deletes an `OpenID` Connect provider, which revokes its tokens (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit,
    provider::{provider_of, tokens_of_tenant},
    see_through, store,
};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Tokens};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, providers},
};
use crate::id::ProviderId;

pub(in crate::operation) struct DeleteProvider(ProviderId);

impl Operation for DeleteProvider {
    type Payload = providers::One;
    type Answer = providers::Deleted;

    const REQUEST: EventType = EventType::OidcProviderDeleteRequest;
    const RESPONSE: EventType = EventType::OidcProviderDeleteResponse;
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
        see_through(&cx, tokens, move |cx, tokens| delete(cx, tokens, self.0)).await?;
        Ok(Output::one(providers::Deleted {
            provider_id: AsText(self.0),
        }))
    }
}

async fn delete(cx: Context, tokens: Tokens, id: ProviderId) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let provider = provider_of(&cx, &tokens, id)?;
    let forgotten = Edit::Forget(Entry::Provider(provider));
    store(&cx, &tokens, &change, vec![forgotten]).await?;
    info!(provider.id = %id, by = %cx.caller().actor.name, "an OIDC provider was deleted");
    Ok(())
}
