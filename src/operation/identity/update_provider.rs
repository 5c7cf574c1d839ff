//! Updates an `OpenID` Connect provider (`rest.md` §7).

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
    payload::{
        self,
        providers::{self, Said},
    },
};
use crate::id::ProviderId;

pub(in crate::operation) struct UpdateProvider {
    id: ProviderId,
    changes: providers::Changes,
}

impl Operation for UpdateProvider {
    type Payload = providers::Update;
    type Answer = providers::OneProvider;

    const REQUEST: EventType = EventType::OidcProviderUpdateRequest;
    const RESPONSE: EventType = EventType::OidcProviderUpdateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: providers::Update = payload::decode(payload)?;
        Ok(Self {
            id: request.provider()?,
            changes: request.changes()?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens_of_tenant(&cx)?;
        let updated = move |cx, tokens| update(cx, tokens, self.id, self.changes.clone());
        let provider = see_through(&cx, tokens, updated).await?;
        Ok(Output::one(answer(&provider)))
    }
}

async fn update(
    cx: Context,
    tokens: Tokens,
    id: ProviderId,
    changes: providers::Changes,
) -> Result<Provider, Failure> {
    let change = tokens.directory().change().await;
    let mut provider = Provider::clone(&*provider_of(&cx, &tokens, id)?);
    if !provider.is_active {
        let text = "the OIDC provider is not active; reactivate it first";
        return Err(Failure::new(Code::OidcProviderInactive, text).with("id", id.to_string()));
    }
    if changes
        .well_known
        .is_some_and(|place| *place != *provider.well_known)
    {
        return Err(Failure::new(
            Code::BadRequest,
            "`wellKnownConfigUri` cannot be changed; register another provider",
        ));
    }
    changes.issuers.change(&mut provider.issuers);
    changes.audiences.change(&mut provider.audiences);
    match changes.roles_claim {
        Said::Nothing => {}
        Said::Away => provider.roles_claim = None,
        Said::This(claim) => provider.roles_claim = Some(claim),
    }
    let kept = Edit::Keep(Entry::Provider(provider.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(provider.id = %id, by = %cx.caller().actor.name, "an OIDC provider was changed");
    Ok(provider)
}
