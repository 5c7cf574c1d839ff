//! Reactivates an invalidated or expired key, which makes its signatures valid again (`rest.md` §7).

use std::marker::PhantomData;

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key::Key, see_through, store, tokens};
use crate::auth::{KeyPair, Permission, ROLE_ADMIN, Rules, Tokens, TrustedKey};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

pub(in crate::operation) type ReactivateKeyPair = ReactivateKey<KeyPair>;
pub(in crate::operation) type ReactivateTrustedKey = ReactivateKey<TrustedKey>;

#[derive(Clone)]
pub(in crate::operation) struct ReactivateKey<K> {
    name: String,
    from: Option<Timestamp>,
    to: Timestamp,
    kind: PhantomData<K>,
}

impl<K: Key> Operation for ReactivateKey<K> {
    type Payload = key_pairs::Reactivate;
    type Answer = K::Answer;

    const REQUEST: EventType = K::REACTIVATE.request;
    const RESPONSE: EventType = K::REACTIVATE.response;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        K::offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Reactivate = payload::decode(payload)?;
        K::check_name(&request.key_id)?;
        Ok(Self {
            to: key_pairs::instant("validTo", &request.valid_to)?,
            name: request.key_id,
            from: key_pairs::optional_instant("validFrom", request.valid_from.as_deref())?,
            kind: PhantomData,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let reactivated = move |cx, tokens| reactivate(cx, tokens, self.clone());
        let key = see_through(&cx, tokens, reactivated).await?;
        Ok(Output::one(key.answer(&cx)))
    }
}

async fn reactivate<K: Key>(
    cx: Context,
    tokens: Tokens,
    asked: ReactivateKey<K>,
) -> Result<K, Failure> {
    let change = tokens.directory().change().await;
    let key = K::find(&cx, &tokens, &change.known(), &asked.name)?;
    let from = asked.from.unwrap_or_else(|| key.validity().from);
    let validity = super::validity(from, asked.to, cx.storage().now())?;
    let key = K::with(&key, validity);
    let kept = Edit::Keep(K::entry(key.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(key.id = asked.name, by = %cx.caller().actor.name, "{} was reactivated", K::NOUN);
    Ok(key)
}
