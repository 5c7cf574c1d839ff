//! Deletes a key (`rest.md` §7). Tokens that a deleted key pair signed are revoked; those that a
//! deleted trusted key signed are no longer exchanged.

use std::marker::PhantomData;

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key::Key, see_through, store, tokens};
use crate::auth::{KeyPair, Permission, ROLE_ADMIN, Rules, Tokens, TrustedKey};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

pub(in crate::operation) type DeleteKeyPair = DeleteKey<KeyPair>;
pub(in crate::operation) type DeleteTrustedKey = DeleteKey<TrustedKey>;

pub(in crate::operation) struct DeleteKey<K> {
    name: String,
    kind: PhantomData<K>,
}

impl<K: Key> Operation for DeleteKey<K> {
    type Payload = key_pairs::One;
    type Answer = key_pairs::Changed;

    const REQUEST: EventType = K::DELETE.request;
    const RESPONSE: EventType = K::DELETE.response;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        K::offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::One = payload::decode(payload)?;
        K::check_name(&request.key_id)?;
        Ok(Self {
            name: request.key_id,
            kind: PhantomData,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let name = self.name.clone();
        let deleted = move |cx, tokens| delete::<K>(cx, tokens, name.clone());
        see_through(&cx, tokens, deleted).await?;
        Ok(Output::one(key_pairs::Changed { key_id: self.name }))
    }
}

async fn delete<K: Key>(cx: Context, tokens: Tokens, name: String) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let key = K::find(&cx, &tokens, &change.known(), &name)?;
    let forgotten = Edit::Forget(K::entry(key));
    store(&cx, &tokens, &change, vec![forgotten]).await?;
    info!(key.id = name, by = %cx.caller().actor.name, "{} was deleted", K::NOUN);
    Ok(())
}
