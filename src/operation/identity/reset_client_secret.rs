//! Replaces the secret of a client, and returns the new one once. This revokes the tokens obtained
//! with the previous one (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, client_of, see_through, store, tokens};
use crate::auth::{Entry, Permission, ROLE_ADMIN, Registered, Tokens};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, clients},
};

pub(in crate::operation) struct ResetClientSecret {
    name: String,
}

impl Operation for ResetClientSecret {
    type Payload = clients::One;
    type Answer = clients::Credentials;

    const REQUEST: EventType = EventType::ClientSecretResetRequest;
    const RESPONSE: EventType = EventType::ClientSecretResetResponse;
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
        let replaced = move |cx, tokens| reset(cx, tokens, self.name.clone());
        let (client, secret) = see_through(&cx, tokens, replaced).await?;
        let roles = client.roles.iter().map(Into::into).collect();
        let credentials = clients::Credentials::new(client.id, secret, roles);
        Ok(Output::one(credentials))
    }
}

async fn reset(cx: Context, tokens: Tokens, name: String) -> Result<(Registered, String), Failure> {
    client_of(&cx, &tokens, &tokens.directory().known(), &name)?;
    let (secret, hash) = tokens.new_secret().await?;
    let change = tokens.directory().change().await;
    // It may have gone meanwhile.
    let client = client_of(&cx, &tokens, &change.known(), &name)?;
    let client = client.with_secret(hash, cx.storage().now());
    let client = client.ok_or_else(|| {
        Failure::new(
            Code::TooManyRequests,
            "the client received too many secrets within a second; retry in the next",
        )
    })?;
    let kept = Edit::Keep(Entry::Client(client.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(client.id = %client.id, by = %cx.caller().actor.name, "the secret of a client was replaced");
    Ok((client, secret))
}
