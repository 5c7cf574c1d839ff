//! Deletes a key pair, which revokes the tokens that it signed (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key_pair_of, see_through, store, tokens};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Tokens};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

pub(in crate::operation) struct DeleteKeyPair {
    name: String,
}

impl Operation for DeleteKeyPair {
    type Payload = key_pairs::One;
    type Answer = key_pairs::Changed;

    const REQUEST: EventType = EventType::KeyPairDeleteRequest;
    const RESPONSE: EventType = EventType::KeyPairDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::One = payload::decode(payload)?;
        Ok(Self {
            name: request.key_id,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let name = self.name.clone();
        see_through(&cx, tokens, move |cx, tokens| {
            delete(cx, tokens, name.clone())
        })
        .await?;
        Ok(Output::one(key_pairs::Changed { key_id: self.name }))
    }
}

async fn delete(cx: Context, tokens: Tokens, name: String) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let pair = key_pair_of(&cx, &tokens, &change.known(), &name)?;
    let forgotten = Edit::Forget(Entry::KeyPair(pair));
    store(&cx, &tokens, &change, vec![forgotten]).await?;
    info!(key.id = name, by = %cx.caller().actor.name, "a key pair was deleted");
    Ok(())
}
