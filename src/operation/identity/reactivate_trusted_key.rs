//! Reactivates an invalidated or expired trusted key (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit, see_through, store, tokens,
    trusted_keys::{answer, offered, one_of},
};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Rules, Tokens, TrustedKey};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs, trusted_keys},
};

#[derive(Clone)]
pub(in crate::operation) struct ReactivateTrustedKey {
    name: String,
    from: Option<Timestamp>,
    to: Timestamp,
}

impl Operation for ReactivateTrustedKey {
    type Payload = key_pairs::Reactivate;
    type Answer = trusted_keys::TrustedKey;

    const REQUEST: EventType = EventType::TrustedKeyReactivateRequest;
    const RESPONSE: EventType = EventType::TrustedKeyReactivateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const ONCE: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Reactivate = payload::decode(payload)?;
        trusted_keys::check_name(&request.key_id)?;
        Ok(Self {
            to: key_pairs::instant("validTo", &request.valid_to)?,
            name: request.key_id,
            from: key_pairs::optional_instant("validFrom", request.valid_from.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let reactivated = move |cx, tokens| reactivate(cx, tokens, self.clone());
        let key = see_through(&cx, tokens, reactivated).await?;
        Ok(Output::one(answer(&cx, &key)))
    }
}

async fn reactivate(
    cx: Context,
    tokens: Tokens,
    asked: ReactivateTrustedKey,
) -> Result<TrustedKey, Failure> {
    let change = tokens.directory().change().await;
    let key = one_of(&cx, &change.known(), &asked.name)?;
    let from = asked.from.unwrap_or(key.validity.from);
    let validity = super::validity(from, asked.to, cx.storage().now())?;
    let key = key.with(validity);
    let kept = Edit::Keep(Entry::TrustedKey(key.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(key.id = %key.name, by = %cx.caller().actor.name, "a trusted key was reactivated");
    Ok(key)
}
