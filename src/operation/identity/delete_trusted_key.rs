//! Deletes a trusted key: tokens that it signed are no longer exchanged (`rest.md` §7).

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

pub(in crate::operation) struct DeleteTrustedKey {
    name: String,
}

impl Operation for DeleteTrustedKey {
    type Payload = key_pairs::One;
    type Answer = key_pairs::Changed;

    const REQUEST: EventType = EventType::TrustedKeyDeleteRequest;
    const RESPONSE: EventType = EventType::TrustedKeyDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const ONCE: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::One = payload::decode(payload)?;
        trusted_keys::check_name(&request.key_id)?;
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
    let key = one_of(&cx, &change.known(), &name)?;
    let forgotten = Edit::Forget(Entry::TrustedKey(key));
    store(&cx, &tokens, &change, vec![forgotten]).await?;
    info!(key.id = name, by = %cx.caller().actor.name, "a trusted key was deleted");
    Ok(())
}
