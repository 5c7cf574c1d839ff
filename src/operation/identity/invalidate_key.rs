//! Invalidates a key, at once or after a grace period during which its signatures stay valid
//! (`rest.md` §7).

use std::{marker::PhantomData, time::Duration};

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key::Key, see_through, store, tokens};
use crate::auth::{KeyPair, Permission, ROLE_ADMIN, Rules, Tokens, TrustedKey};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

pub(in crate::operation) type InvalidateKeyPair = InvalidateKey<KeyPair>;
pub(in crate::operation) type InvalidateTrustedKey = InvalidateKey<TrustedKey>;

pub(in crate::operation) struct InvalidateKey<K> {
    name: String,
    grace: Duration,
    kind: PhantomData<K>,
}

impl<K: Key> Operation for InvalidateKey<K> {
    type Payload = key_pairs::Invalidate;
    type Answer = key_pairs::Changed;

    const REQUEST: EventType = K::INVALIDATE.request;
    const RESPONSE: EventType = K::INVALIDATE.response;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        K::offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Invalidate = payload::decode(payload)?;
        K::check_name(&request.key_id)?;
        Ok(Self {
            grace: key_pairs::grace(request.grace_period_sec)?,
            name: request.key_id,
            kind: PhantomData,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let (name, grace) = (self.name.clone(), self.grace);
        let invalidated = move |cx, tokens| invalidate::<K>(cx, tokens, name.clone(), grace);
        see_through(&cx, tokens, invalidated).await?;
        Ok(Output::one(key_pairs::Changed { key_id: self.name }))
    }
}

async fn invalidate<K: Key>(
    cx: Context,
    tokens: Tokens,
    name: String,
    grace: Duration,
) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let key = K::find(&cx, &tokens, &change.known(), &name)?;
    let key = K::with(&key, key.validity().cut(cx.storage().now(), grace));
    let kept = Edit::Keep(K::entry(key.into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(key.id = name, by = %cx.caller().actor.name, "{} was invalidated", K::NOUN);
    Ok(())
}
