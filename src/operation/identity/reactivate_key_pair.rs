//! Reactivates a key pair, which makes its signatures valid again (`rest.md` §7).

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key_pair, key_pair_of, see_through, store, tokens};
use crate::auth::{Entry, KeyPair, Permission, ROLE_ADMIN, Tokens};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

#[derive(Clone)]
pub(in crate::operation) struct ReactivateKeyPair {
    name: String,
    from: Option<Timestamp>,
    to: Timestamp,
}

impl Operation for ReactivateKeyPair {
    type Payload = key_pairs::Reactivate;
    type Answer = key_pairs::KeyPair;

    const REQUEST: EventType = EventType::KeyPairReactivateRequest;
    const RESPONSE: EventType = EventType::KeyPairReactivateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Reactivate = payload::decode(payload)?;
        Ok(Self {
            to: key_pairs::instant("validTo", &request.valid_to)?,
            name: request.key_id,
            from: key_pairs::optional_instant("validFrom", request.valid_from.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let reactivated = move |cx, tokens| reactivate(cx, tokens, self.clone());
        let pair = see_through(&cx, tokens, reactivated).await?;
        Ok(Output::one(key_pair(&cx, &pair)))
    }
}

async fn reactivate(
    cx: Context,
    tokens: Tokens,
    asked: ReactivateKeyPair,
) -> Result<KeyPair, Failure> {
    let change = tokens.directory().change().await;
    let pair = key_pair_of(&cx, &tokens, &change.known(), &asked.name)?;
    let from = asked.from.unwrap_or(pair.validity.from);
    let validity = super::validity(from, asked.to, cx.storage().now())?;
    let pair = pair.with(validity);
    let kept = Edit::Keep(Entry::KeyPair(pair.clone().into()));
    store(&cx, &tokens, &change, vec![kept]).await?;
    info!(key.id = %pair.name, by = %cx.caller().actor.name, "a key pair was reactivated");
    Ok(pair)
}
