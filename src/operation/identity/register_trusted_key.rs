//! Registers a trusted key: clients may exchange the tokens that it signs (`rest.md` §7).

use std::{sync::Arc, time::Duration};

use tracing::info;

use super::super::{Access, Context, Family, Operation, Output};
use super::{
    Edit, see_through, store, tokens,
    trusted_keys::{answer, offered},
};
use crate::auth::{
    BadJwk, Entry, Jwk, KeyUse, Known, Permission, ROLE_ADMIN, Rules, Tokens, TrustedKey,
};
use crate::clock::Timestamp;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, key_pairs, trusted_keys},
};
use crate::id::Tenant;

pub(in crate::operation) struct RegisterTrustedKey {
    name: String,
    jwk: String,
    used_for: KeyUse,
    issuers: Vec<Box<str>>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    /// What is left to the tenant's other keys of that use, if they are to be trusted no more.
    grace: Option<Duration>,
}

impl Operation for RegisterTrustedKey {
    type Payload = trusted_keys::Register<'static>;
    type Answer = trusted_keys::TrustedKey;

    const REQUEST: EventType = EventType::TrustedKeyRegisterRequest;
    const RESPONSE: EventType = EventType::TrustedKeyRegisterResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const ONCE: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_ADMIN);

    fn offered(rules: &Rules) -> Result<(), Failure> {
        offered(rules)
    }

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: trusted_keys::Register<'_> = payload::decode(payload)?;
        trusted_keys::check_name(&request.key_id)?;
        let grace = key_pairs::grace(request.invalidate_grace_period_sec)?;
        Ok(Self {
            name: request.key_id,
            jwk: request.jwk.get().to_owned(),
            used_for: super::used_for(&request.audience)?,
            issuers: trusted_keys::issuers(request.issuers)?,
            from: key_pairs::optional_instant("validFrom", request.valid_from.as_deref())?,
            to: key_pairs::optional_instant("validTo", request.valid_to.as_deref())?,
            grace: request.invalidate_previous.then_some(grace),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tokens = tokens(&cx)?;
        let now = cx.storage().now();
        let rules = cx.rules().trusted_keys;
        let from = self.from.unwrap_or(now);
        let to = self.to.unwrap_or_else(|| from.after(rules.life));
        let key = TrustedKey {
            name: self.name.into(),
            tenant: cx.caller().tenant.clone(),
            jwk: Jwk::parse(&self.jwk, rules.members_max).map_err(|error| refused(&error))?,
            used_for: self.used_for,
            issuers: self.issuers.into(),
            created: now,
            validity: super::validity(from, to, now)?,
        };
        let (registered, grace) = (key.clone(), self.grace);
        let registering = move |cx, tokens| register(cx, tokens, registered.clone(), grace);
        see_through(&cx, tokens, registering).await?;
        Ok(Output::one(answer(&cx, &key)))
    }
}

fn refused(error: &BadJwk) -> Failure {
    let code = match error {
        BadJwk::Type => Code::UnsupportedKeyType,
        BadJwk::Algorithm => Code::UnsupportedAlgorithm,
        BadJwk::NoObject
        | BadJwk::Large
        | BadJwk::TooMany(..)
        | BadJwk::Use
        | BadJwk::Private(_)
        | BadJwk::Numbers(_) => Code::BadRequest,
    };
    Failure::new(code, error.to_string())
}

async fn register(
    cx: Context,
    tokens: Tokens,
    key: TrustedKey,
    grace: Option<Duration>,
) -> Result<(), Failure> {
    let change = tokens.directory().change().await;
    let known = change.known();
    room(&known, &key.tenant, &key.name, cx.rules().trusted_keys.max)?;
    let others = known
        .trusted_keys_of(&key.tenant)
        .into_iter()
        .filter(|other| {
            other.name != key.name
                && other.used_for == key.used_for
                && other.validity.is_active(key.created)
        });
    let previous: Vec<_> = grace.map_or_else(Vec::new, |grace| {
        let invalidated = others.map(|other| other.with(other.validity.cut(key.created, grace)));
        invalidated.collect()
    });
    let kept = previous.into_iter().chain([key.clone()]);
    let kept = kept.map(|key| Edit::Keep(Entry::TrustedKey(key.into())));
    store(&cx, &tokens, &change, kept.collect()).await?;
    info!(key.id = %key.name, by = %cx.caller().actor.name, "a trusted key was registered");
    Ok(())
}

/// Whether a tenant may trust a key of that name: nobody else has it, and there is room.
fn room(
    known: &Known,
    tenant: &Tenant,
    name: &Arc<str>,
    max: Option<usize>,
) -> Result<(), Failure> {
    match known.trusted_key(name) {
        // It is replaced.
        Some(key) if key.tenant == *tenant => return Ok(()),
        Some(_) => {
            return Err(Failure::new(
                Code::KeyOwnedByDifferentTenant,
                "another tenant has a trusted key of this name",
            )
            .with("keyId", &**name));
        }
        None => {}
    }
    match max {
        Some(max) if known.trusted_keys_of(tenant).len() >= max => Err(Failure::new(
            Code::TrustedKeyCapReached,
            format!("a tenant may trust at most {max} keys; delete an unused one"),
        )),
        _ => Ok(()),
    }
}
