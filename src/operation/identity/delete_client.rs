//! Deletes a client, which revokes its tokens (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, client_of, see_through, store, tokens};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Tokens};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, clients},
};

pub(in crate::operation) struct DeleteClient {
    name: String,
}

impl Operation for DeleteClient {
    type Payload = clients::One;
    type Answer = clients::Deleted;

    const REQUEST: EventType = EventType::ClientDeleteRequest;
    const RESPONSE: EventType = EventType::ClientDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let name = payload::decode::<clients::One>(payload)?.name()?;
        Ok(Self { name })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let name = self.name.clone();
        see_through(&cx, tokens, move |cx, tokens| {
            delete(cx, tokens, name.clone())
        })
        .await?;
        Ok(Output::one(clients::Deleted {
            client_id: self.name,
        }))
    }
}

async fn delete(cx: Context, tokens: Tokens, name: String) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let client = client_of(&cx, &tokens, &change.known(), &name)?;
    let forgotten = Edit::Forget(Entry::Client(client));
    store(&cx, &tokens, &change, vec![forgotten]).await?;
    info!(client.id = name, by = %cx.caller().actor.name, "a client was deleted");
    Ok(())
}
