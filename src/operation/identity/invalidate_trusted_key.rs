//! Invalidates a trusted key, at once or after a grace period (`rest.md` §7).

use std::time::Duration;

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit, see_through, store, tokens,
    trusted_keys::{offered, one_of},
};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Rules, Tokens};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs, trusted_keys},
};

pub(in crate::operation) struct InvalidateTrustedKey {
    name: String,
    grace: Duration,
}

impl Operation for InvalidateTrustedKey {
    type Payload = key_pairs::Invalidate;
    type Answer = key_pairs::Changed;

    const REQUEST: EventType = EventType::TrustedKeyInvalidateRequest;
    const RESPONSE: EventType = EventType::TrustedKeyInvalidateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const ONCE: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Invalidate = payload::decode(payload)?;
        trusted_keys::check_name(&request.key_id)?;
        Ok(Self {
            grace: key_pairs::grace(request.grace_period_sec)?,
            name: request.key_id,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let (name, grace) = (self.name.clone(), self.grace);
        let invalidated = move |cx, tokens| invalidate(cx, tokens, name.clone(), grace);
        see_through(&cx, tokens, invalidated).await?;
        Ok(Output::one(key_pairs::Changed { key_id: self.name }))
    }
}

async fn invalidate(
    cx: Context,
    tokens: Tokens,
    name: String,
    grace: Duration,
) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let key = one_of(&cx, &change.known(), &name)?;
    let key = key.with(key.validity.cut(cx.storage().now(), grace));
    let kept = Edit::Keep(Entry::TrustedKey(key.into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(key.id = name, by = %cx.caller().actor.name, "a trusted key was invalidated");
    Ok(())
}
