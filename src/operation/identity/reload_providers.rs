//! Fetches the keys of the tenant's `OpenID` Connect providers (`rest.md` §7).

use super::super::{Access, Context, Family, Operation, Output};
use super::provider::tokens_of_tenant;
use crate::auth::{Permission, ROLE_ADMIN};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, providers},
};

pub(in crate::operation) struct ReloadProviders;

impl Operation for ReloadProviders {
    type Payload = providers::All;
    type Answer = providers::Reloaded;

    const REQUEST: EventType = EventType::OidcProvidersReloadRequest;
    const RESPONSE: EventType = EventType::OidcProvidersReloadResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        payload::decode::<providers::All>(payload).map(|_| Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens_of_tenant(&cx)?;
        let outcomes = tokens.federation().reload(&cx.caller().tenant).await;
        let outcomes = outcomes
            .into_iter()
            .map(|(id, outcome)| (id, outcome.map_err(|error| error.to_string())))
            .map(|(id, outcome)| providers::ReloadedProvider::new(id, outcome));
        Ok(Output::one(providers::Reloaded {
            providers: outcomes.collect(),
        }))
    }
}
