//! Invalidates a key pair. Its signatures stay valid for a grace period (`rest.md` §7).

use std::time::Duration;

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key_pair_of, see_through, store, tokens};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Tokens};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

pub(in crate::operation) struct InvalidateKeyPair {
    name: String,
    grace: Duration,
}

impl Operation for InvalidateKeyPair {
    type Payload = key_pairs::Invalidate;
    type Answer = key_pairs::Changed;

    const REQUEST: EventType = EventType::KeyPairInvalidateRequest;
    const RESPONSE: EventType = EventType::KeyPairInvalidateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Invalidate = payload::decode(payload)?;
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
    let pair = key_pair_of(&cx, &tokens, &change.known(), &name)?;
    let pair = pair.with(pair.validity.cut(cx.storage().now(), grace));
    let kept = Edit::Keep(Entry::KeyPair(pair.into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(key.id = name, by = %cx.caller().actor.name, "a key pair was invalidated");
    Ok(())
}
