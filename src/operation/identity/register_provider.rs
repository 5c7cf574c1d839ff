//! Registers an `OpenID` Connect provider (`rest.md` §7).

use tracing::{info, warn};

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit,
    provider::{answer, tokens_of_tenant},
    see_through, store,
};
use crate::auth::{
    Entry, Permission, ROLE_ADMIN, Tokens,
    oidc::{Provider, ProviderUrl, Unfetched},
};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, providers},
};
use crate::id::ProviderId;

/// How many providers a tenant may have: each is asked for its keys every few minutes.
const PROVIDERS_MAX: usize = 100;

pub(in crate::operation) struct RegisterProvider(providers::Registration);

impl Operation for RegisterProvider {
    type Payload = providers::Register;
    type Answer = providers::OneProvider;

    const REQUEST: EventType = EventType::OidcProviderRegisterRequest;
    const RESPONSE: EventType = EventType::OidcProviderRegisterResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: providers::Register = payload::decode(payload)?;
        request.registration().map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens_of_tenant(&cx)?;
        let federation = tokens.federation();
        let place =
            ProviderUrl::parse(&self.0.well_known, federation.rules()).map_err(|error| {
                Failure::new(Code::BadRequest, format!("`wellKnownConfigUri`: {error}"))
            })?;
        // One that has no address now may have one later: they are looked at whenever it is asked.
        if let Err(blocked @ (Unfetched::Blocked(_) | Unfetched::Local(_))) =
            federation.check(&place).await
        {
            return Err(Failure::new(Code::OidcSsrfBlocked, blocked.to_string()));
        }
        let registered = move |cx, tokens| register(cx, tokens, place.clone(), self.0.clone());
        let provider = see_through(&cx, tokens, registered).await?;
        Ok(Output::one(answer(&provider)))
    }
}

async fn register(
    cx: Context,
    tokens: Tokens,
    place: ProviderUrl,
    registration: providers::Registration,
) -> Result<Provider, Failure> {
    let change = tokens.directory().change().await;
    let caller = cx.caller();
    let own = change.known().providers(&caller.tenant);
    if let Some(same) = own
        .iter()
        .find(|provider| *provider.well_known == *place.as_str())
    {
        let text = "an OIDC provider with this wellKnownConfigUri is registered";
        return Err(Failure::new(Code::OidcProviderDuplicate, text).with("id", same.id.to_string()));
    }
    if own.len() >= PROVIDERS_MAX {
        return Err(Failure::new(
            Code::BadRequest,
            format!("a tenant may have at most {PROVIDERS_MAX} OIDC providers"),
        ));
    }
    let provider = Provider {
        id: ProviderId::fresh(),
        tenant: caller.tenant.clone(),
        well_known: place.as_str().into(),
        issuers: registration.issuers,
        audiences: registration.audiences,
        roles_claim: registration.roles_claim,
        created: cx.storage().now(),
        is_active: true,
        refused: Vec::new(),
        had_unknown_keys: false,
    };
    let kept = Edit::Keep(Entry::Provider(provider.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(provider.id = %provider.id, by = %caller.actor.name, "an OIDC provider was registered");
    for rival in tokens.federation().rivals(&provider) {
        // Reported to the operator alone: tenants do not know of each other.
        warn!(provider.id = %provider.id, %rival, "two tenants registered this OIDC provider with common audiences: tokens that fit both belong to the tenant that names their audience, else to the one that registered it first");
    }
    Ok(provider)
}
