//! Lists the `OpenID` Connect providers of the tenant (`rest.md` §7).

use super::super::{Access, Context, Family, Operation, Output};
use super::provider::{answer, tokens_of_tenant};
use crate::auth::ROLE_ADMIN;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, providers},
};

pub(in crate::operation) struct ListProviders {
    active_only: bool,
}

impl Operation for ListProviders {
    type Payload = providers::List;
    type Answer = providers::Providers;

    const REQUEST: EventType = EventType::OidcProvidersGetRequest;
    const RESPONSE: EventType = EventType::OidcProvidersGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: providers::List = payload::decode(payload)?;
        Ok(Self {
            active_only: request.is_active_only(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens_of_tenant(&cx)?;
        let is_administrator = cx.caller().roles.contain(ROLE_ADMIN);
        let all = tokens.directory().known().providers(&cx.caller().tenant);
        let all = all
            .iter()
            .filter(|provider| provider.is_active || !self.active_only)
            .map(|provider| {
                let mut shown = answer(provider).provider;
                if !is_administrator {
                    // The query may contain secrets.
                    let uri = shown.well_known_config_uri.split('?').next();
                    shown.well_known_config_uri = uri.unwrap_or_default().into();
                }
                shown
            });
        Ok(Output::one(providers::Providers {
            providers: all.collect(),
        }))
    }
}
