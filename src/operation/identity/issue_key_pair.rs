//! Issues a key pair, which signs the tokens of the tenant's clients or people (`rest.md` §7).

use std::{sync::Arc, time::Duration};

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{Edit, key_pair, see_through, store, tokens};
use crate::auth::{Entry, KeyPair, KeyUse, Known, Permission, ROLE_ADMIN, Tokens, Validity};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};
use crate::id::Tenant;

/// How many key pairs a tenant may have. There is no list of them, so those that are over make
/// room.
const KEY_PAIRS_MAX: usize = 100;

#[derive(Clone)]
pub(in crate::operation) struct IssueKeyPair {
    used_for: KeyUse,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    /// What is left to the pair that signs now, if it is to sign no more.
    grace: Option<Duration>,
}

impl Operation for IssueKeyPair {
    type Payload = key_pairs::Issue;
    type Answer = key_pairs::KeyPair;

    const REQUEST: EventType = EventType::KeyPairIssueRequest;
    const RESPONSE: EventType = EventType::KeyPairIssueResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const ONCE: bool = false;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: key_pairs::Issue = payload::decode(payload)?;
        if request.algorithm != key_pairs::ALGORITHM {
            return Err(Failure::new(
                Code::UnsupportedAlgorithm,
                format!("the algorithm is {}", key_pairs::ALGORITHM),
            ));
        }
        let grace = key_pairs::grace(request.invalidate_grace_period_sec)?;
        Ok(Self {
            used_for: super::used_for(&request.audience)?,
            from: key_pairs::optional_instant("validFrom", request.valid_from.as_deref())?,
            to: key_pairs::optional_instant("validTo", request.valid_to.as_deref())?,
            grace: request.invalidate_current.then_some(grace),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let now = cx.storage().now();
        let from = self.from.unwrap_or(now);
        let life = cx.rules().key_pair_life;
        let validity = super::validity(from, self.to.unwrap_or_else(|| from.after(life)), now)?;
        let issued = move |cx, tokens| issue(cx, tokens, self.clone(), validity);
        let pair = see_through(&cx, tokens, issued).await?;
        Ok(Output::one(key_pair(&cx, &pair)))
    }
}

async fn issue(
    cx: Context,
    tokens: Tokens,
    asked: IssueKeyPair,
    validity: Validity,
) -> Result<KeyPair, Failure> {
    let tenant = &cx.caller().tenant;
    let pair = tokens
        .new_key_pair(tenant.clone(), asked.used_for, validity)
        .await?;
    let change = tokens.directory().change().await;
    let known = change.known();
    let now = cx.storage().now();
    let old = room(&known, tenant, now)?;
    let replaced = asked
        .grace
        .and_then(|grace| Some((known.signer(tenant, asked.used_for, now)?, grace)))
        .map(|(current, grace)| current.with(current.validity.cut(now, grace)));
    let kept = [Some(pair.clone()), replaced].into_iter().flatten();
    let kept = kept.map(|pair| Edit::Keep(Entry::KeyPair(pair.into())));
    let forgotten = old.map(|old| Edit::Forget(Entry::KeyPair(old)));
    store(&cx, &tokens, &change, kept.chain(forgotten).collect()).await?;
    info!(key.id = %pair.name, by = %cx.caller().actor.name, "a key pair was issued");
    Ok(pair)
}

/// What must go for one more: nothing, as long as there is room.
fn room(known: &Known, tenant: &Tenant, now: Timestamp) -> Result<Option<Arc<KeyPair>>, Failure> {
    let pairs = known.key_pairs_of(tenant);
    if pairs.len() < KEY_PAIRS_MAX {
        return Ok(None);
    }
    let over = pairs.iter().filter(|pair| pair.validity.is_over(now));
    let oldest = over.min_by_key(|pair| pair.validity.to);
    let oldest = oldest.ok_or_else(|| {
        Failure::new(
            Code::BadRequest,
            format!(
                "a tenant may have at most {KEY_PAIRS_MAX} valid key pairs; delete an unused one"
            ),
        )
    })?;
    Ok(Some(Arc::clone(oldest)))
}
