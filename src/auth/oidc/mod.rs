//! `OpenID` Connect providers that tenants trust (`config-and-cli.md` §9, `rest.md` §7).
//!
//! The claims of a token are used only to find the providers it may belong to. That it belongs to
//! one is proved by a key that this provider publishes now, and the tenant is the one that
//! registered the provider, whatever the token says. A token that fits providers of several tenants
//! belongs to the provider at the address of its issuer, of several there to one that names its
//! audience, and of several of these to the one that was registered first: registering it later,
//! elsewhere, or without an audience, neither captures the tokens of that tenant nor invalidates
//! them. This holds as long as the first provider is registered, even if it is invalidated.

mod document;
mod fetch;
mod keeper;
mod provider;
mod provider_url;
mod roles;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Map, Value};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    Caller, Revocation, federated,
    token::{SKEW_SECONDS, is_issued, is_notice},
};
use crate::clock::Timestamp;
use crate::entity::{Actor, ActorKind};
use crate::id::{ProviderId, Tenant};

use fetch::Fetcher;
use keeper::{Ask, Keeper, Why};
use provider::{Held, SeenKey};

pub use fetch::Unfetched;
pub use provider::Provider;
pub use provider_url::{BadProviderUrl, ProviderUrl};

/// How many fetch requests may wait for the keeper.
const ASKS_MAX: usize = 256;

/// How many keys of one tenant, and of all, are tried for a token that fits several providers; and
/// how many providers of one tenant are contacted for an unknown key.
const KEYS_TRIED_OF_ONE: usize = 4;
const KEYS_TRIED: usize = 32;
const ASKED_OF_ONE: usize = 4;

/// Limits and rules for contacting providers (`config-and-cli.md` §2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRules {
    pub needs_https: bool,
    /// Whether providers may be on this machine or on private networks.
    pub allows_private: bool,
    /// The time limit for connecting, including name resolution and handshake.
    pub connect: Duration,
    /// The time limit for the whole answer.
    pub answer: Duration,
    /// How long to wait while too many providers are being contacted.
    pub turn: Duration,
}

impl Default for FetchRules {
    fn default() -> Self {
        const USUAL: Duration = Duration::from_secs(5);
        Self {
            needs_https: true,
            allows_private: false,
            connect: USUAL,
            answer: USUAL,
            turn: USUAL,
        }
    }
}

/// Settings of all providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub rules: FetchRules,
    /// The claim with the roles, unless the provider's registration names another.
    pub roles_claim: Box<str>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: FetchRules::default(),
            roles_claim: "roles".into(),
        }
    }
}

/// The providers of all tenants, and their published keys. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Federation(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    fetcher: Fetcher,
    signature: Validation,
    /// All providers in order of registration; replaced as a whole.
    all: watch::Sender<All>,
    /// Notified of every revocation of credentials, here or in the directory.
    withdrawals: watch::Sender<()>,
    /// The queue of the keeper; there are no requests before it exists.
    asks: OnceLock<mpsc::Sender<Ask>>,
}

type All = Arc<[Arc<Held>]>;

/// A user for whom a provider vouches.
#[derive(Debug)]
pub(super) struct Vouched {
    pub(super) caller: Caller,
    /// When the token was issued and when it expires, in seconds since 1970.
    pub(super) issued: i64,
    pub(super) ends: i64,
    /// The validity of the key that verified the token.
    pub(super) revocation: Revocation,
}

/// What is known about the bearer of a token.
enum Verdict {
    Someone(Vouched),
    Nobody,
    /// Providers whose tokens look like this one may have published a new key of this id.
    Perhaps(Vec<Arc<Held>>, Box<str>),
}

impl Federation {
    /// Without providers.
    pub fn new(settings: Settings) -> Self {
        // Times, issuer and audience are checked here.
        let mut signature = Validation::new(Algorithm::RS256);
        signature.required_spec_claims.clear();
        signature.validate_exp = false;
        signature.validate_aud = false;
        Self(Arc::new(Inner {
            fetcher: Fetcher::new(settings.rules.clone()),
            settings,
            signature,
            all: watch::Sender::new(Arc::default()),
            withdrawals: watch::Sender::new(()),
            asks: OnceLock::new(),
        }))
    }

    /// Keeps the keys of the providers, until the service stops.
    pub async fn keep(self, stop: CancellationToken) {
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        if self.0.asks.set(asks).is_ok() {
            Keeper::new(self, asked).run(stop).await;
        }
    }

    /// Notified of every revocation of credentials.
    pub(super) fn withdrawals(&self) -> watch::Receiver<()> {
        self.0.withdrawals.subscribe()
    }

    /// Credentials may have been revoked.
    pub(super) fn withdrew(&self) {
        self.0.withdrawals.send_replace(());
    }

    pub fn rules(&self) -> &FetchRules {
        self.0.fetcher.rules()
    }

    /// The ids of the last known keys of a provider; none if it has not answered.
    pub fn keys_of(&self, id: ProviderId) -> Option<Vec<Box<str>>> {
        let all = self.all();
        let held = all.iter().find(|held| held.provider.id == id)?;
        let seen = held.seen.borrow();
        let names = seen.keys.iter().map(|seen| seen.key.name.clone());
        seen.at.map(|_| names.collect())
    }

    /// The providers of other tenants that could vouch for the same tokens. Of two, the one that
    /// names their audience does, else the one registered first.
    pub fn rivals(&self, provider: &Provider) -> Vec<ProviderId> {
        let may_be_for_both = |one: &[Box<str>], other: &[Box<str>]| {
            one.is_empty() || other.is_empty() || one.iter().any(|text| other.contains(text))
        };
        let all = self.all();
        let rivals = all.iter().map(|held| &held.provider).filter(|other| {
            other.tenant != provider.tenant
                && other.is_active
                && other.is_at_the_place_of(provider)
                && may_be_for_both(&other.audiences, &provider.audiences)
        });
        rivals.map(|rival| rival.id).collect()
    }

    /// Replaces the list of providers. Tokens of a provider that was removed or changed are no
    /// longer valid; its keys are kept as long as it is active.
    pub(super) fn follow<'a>(&self, providers: impl Iterator<Item = &'a Arc<Provider>>) {
        self.0.all.send_if_modified(|all| {
            let mut next: Vec<_> = providers
                .map(|provider| {
                    let mut before = all.iter();
                    let before = before.find(|held| held.provider.id == provider.id);
                    match before {
                        Some(held) if held.provider == *provider => Arc::clone(held),
                        Some(_) | None => {
                            Arc::new(Held::after(before.map(AsRef::as_ref), Arc::clone(provider)))
                        }
                    }
                })
                .collect();
            next.sort_by_key(|held| (held.provider.created, held.provider.id));
            let stays = |held: &Arc<Held>| next.iter().any(|next| Arc::ptr_eq(next, held));
            let gone: Vec<_> = all.iter().filter(|held| !stays(held)).collect();
            for held in &gone {
                held.withdraw();
            }
            let is_changed = !gone.is_empty() || next.len() != all.len();
            *all = next.into();
            is_changed
        });
    }

    /// Whether an address may be contacted, as far as its name resolves now.
    pub async fn check(&self, place: &ProviderUrl) -> Result<(), Unfetched> {
        self.0.fetcher.check(place).await
    }

    /// Fetches the keys of the active providers of a tenant, and returns the number of usable keys
    /// of each.
    pub async fn reload(&self, tenant: &Tenant) -> Vec<(ProviderId, Result<usize, Unfetched>)> {
        let all = self.all();
        let own = all
            .iter()
            .filter(|held| held.provider.tenant == *tenant && held.provider.is_active);
        let mut waiting = Vec::new();
        for held in own {
            let (ask, answer) = ask(held, Why::Reload);
            // The keeper accepts requests as long as the service runs.
            if let Some(asks) = self.0.asks.get() {
                let _ = asks.send(ask).await;
            }
            waiting.push((held.provider.id, answer));
        }
        let mut outcomes = Vec::with_capacity(waiting.len());
        for (id, answer) in waiting {
            // A provider that was removed meanwhile is not reported.
            if let Ok(outcome) = answer.await {
                outcomes.push((id, outcome));
            }
        }
        outcomes
    }

    /// The bearer of a token. Waits only for a provider that may have a new key, and not long.
    pub(super) async fn bearer_of(&self, token: &str, now: Timestamp) -> Option<Vouched> {
        let (unknown, key) = match self.verdict(token, now, None) {
            Verdict::Someone(vouched) => return Some(vouched),
            Verdict::Nobody => return None,
            Verdict::Perhaps(unknown, key) => (unknown, key),
        };
        let begun = Instant::now();
        let mut waiting = FuturesUnordered::new();
        for held in &unknown {
            let (ask, answer) = ask(held, Why::UnknownKey(key.clone()));
            // Too many requests wait already, so this provider is not contacted.
            if self.0.asks.get()?.try_send(ask).is_ok() {
                waiting.push(answer);
            }
        }
        let rules = self.rules();
        let ends = begun + rules.connect + rules.answer;
        // One that fails does not prevent the others.
        while let Ok(Some(_)) = timeout_at(ends, waiting.next()).await {
            match self.verdict(token, now, Some(begun)) {
                Verdict::Someone(vouched) => return Some(vouched),
                Verdict::Nobody => return None,
                Verdict::Perhaps(..) => {}
            }
        }
        None
    }

    /// The bearer of a token by the present knowledge. Providers fetched after `begun` have been
    /// considered completely.
    fn verdict(&self, token: &str, now: Timestamp, begun: Option<Instant>) -> Verdict {
        self.found(token, now, begun).unwrap_or(Verdict::Nobody)
    }

    fn found(&self, token: &str, now: Timestamp, begun: Option<Instant>) -> Option<Verdict> {
        // Nothing in it is trusted before its signature is verified.
        let said = jsonwebtoken::dangerous::insecure_decode::<Map<String, Value>>(token).ok()?;
        let (header, claims) = (said.header, said.claims);
        let name = header.kid.filter(|name| !name.is_empty())?;
        // Only tokens that report something have `events`, whatever their type.
        let is_notice = is_notice(header.typ.as_deref()) || claims.contains_key("events");
        if header.alg != Algorithm::RS256 || header.crit.is_some() || is_notice {
            return None;
        }
        let (issued, ends) = good_from_until(&claims, now)?;
        let all = self.all();
        let fitting = all
            .iter()
            .filter(|held| held.provider.is_active && !held.refuses(&name) && held.fits(&claims))
            .filter(|held| is_within_trust(issued, &held.provider));
        let mut fitting: Vec<_> = fitting.collect();
        fitting.sort_by_cached_key(|held| held.order(&claims));
        let is_before = |one: &Held, other: &Held| one.order(&claims) < other.order(&claims);
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for held in fitting {
            match held.key(&name) {
                Some(key) => with.push((held, key)),
                None => without.push(held),
            }
        }
        let signer = self.signer(token, &with);
        // Another tenant's earlier provider takes precedence, too, until it was contacted after the
        // key was first seen: otherwise a later registration could capture its tokens. A provider
        // that fails has been considered, or it could block others.
        let until_asked = |held: &&Arc<Held>, since: Option<Instant>| {
            let asked = held.seen.borrow().asked;
            let since = since.into_iter().chain(begun).min();
            asked.is_none_or(|asked| since.is_none_or(|since| asked < since))
        };
        match signer {
            Some((first, key)) => without.retain(|held| {
                is_before(held, first)
                    && held.provider.tenant != first.provider.tenant
                    && until_asked(held, Some(key.since))
            }),
            None => without.retain(|held| begun.is_none() || until_asked(held, None)),
        }
        if !without.is_empty() {
            let mut asked = HashMap::new();
            without.retain(|held| {
                let of_one: &mut usize = asked.entry(&held.provider.tenant).or_default();
                *of_one += 1;
                *of_one <= ASKED_OF_ONE
            });
            let without = without.into_iter().cloned().collect();
            return Some(Verdict::Perhaps(without, name.into()));
        }
        let (held, key) = signer?;
        let is_withheld = all.iter().any(|earlier| {
            is_before(earlier, held)
                && earlier.provider.tenant != held.provider.tenant
                && (earlier.is_at_the_place_of(&held.provider) || earlier.is_of_its_issuer(&claims))
                && earlier.is_for_its(&claims)
                && (!earlier.provider.is_active || earlier.refuses(&name))
        });
        if is_withheld {
            return None;
        }
        Some(Verdict::Someone(Vouched {
            caller: self.caller(&held.provider, &claims)?,
            issued,
            ends,
            revocation: key.revocation.clone(),
        }))
    }

    /// The first provider whose key verifies the signature.
    fn signer<'a>(
        &self,
        token: &str,
        with: &'a [(&'a Arc<Held>, SeenKey)],
    ) -> Option<&'a (&'a Arc<Held>, SeenKey)> {
        let mut tried: Vec<(&Tenant, &SeenKey)> = Vec::new();
        with.iter().find(|(held, key)| {
            let tenant = &held.provider.tenant;
            if tried
                .iter()
                .any(|(_, other)| other.key.public == key.key.public)
            {
                return false;
            }
            let of_one = tried.iter().filter(|(other, _)| *other == tenant).count();
            if of_one >= KEYS_TRIED_OF_ONE || tried.len() >= KEYS_TRIED {
                return false;
            }
            tried.push((tenant, key));
            jsonwebtoken::decode::<Map<String, Value>>(
                token,
                &key.key.public.decoding,
                &self.0.signature,
            )
            .is_ok()
        })
    }

    /// The user of a provider's token; what the token says about tenants is ignored.
    fn caller(&self, provider: &Provider, claims: &Map<String, Value>) -> Option<Caller> {
        let user = claims.get("sub")?.as_str().filter(|sub| is_subject(sub))?;
        let claim = provider.roles_claim.as_ref();
        let claim = claim.unwrap_or(&self.0.settings.roles_claim);
        Some(Caller {
            tenant: provider.tenant.clone(),
            actor: Actor {
                kind: ActorKind::User,
                name: federated(provider.id, user).into(),
            },
            roles: roles::roles(claims, claim),
        })
    }

    fn all(&self) -> All {
        Arc::clone(&self.0.all.borrow())
    }
}

fn ask(held: &Arc<Held>, why: Why) -> (Ask, oneshot::Receiver<Result<usize, Unfetched>>) {
    let (answered, answer) = oneshot::channel();
    let ask = Ask {
        held: Arc::clone(held),
        why,
        answered,
    };
    (ask, answer)
}

/// The maximum length of `sub` (`OpenID` Connect Core 1.0, §2).
const SUBJECT_CHARS_MAX: usize = 255;

/// Whether a text is a valid user name.
fn is_subject(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= SUBJECT_CHARS_MAX
        && !text.chars().any(|char| char.is_ascii_control())
}

/// Whether a token was issued after the provider was registered, within clock skew: before that,
/// its address may have belonged to someone else.
const fn is_within_trust(issued: i64, provider: &Provider) -> bool {
    issued >= provider.created.millis().div_euclid(1_000) - SKEW_SECONDS
}

/// When a valid token was issued and when it expires, in seconds since 1970; none if it is not
/// valid.
fn good_from_until(claims: &Map<String, Value>, now: Timestamp) -> Option<(i64, i64)> {
    // A date may have a fraction, which is ignored.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a date beyond is cut to the last one"
    )]
    let date = |value: &Value| value.as_i64().or_else(|| Some(value.as_f64()? as i64));
    let seconds = now.millis() / 1_000;
    let (ends, issued) = (date(claims.get("exp")?)?, date(claims.get("iat")?)?);
    let begins = match claims.get("nbf") {
        Some(begins) => date(begins)?,
        None => issued,
    };
    let is_good = seconds < ends.saturating_add(SKEW_SECONDS)
        && is_issued(issued, now)
        && is_issued(begins, now);
    is_good.then_some((issued, ends))
}

#[cfg(test)]
mod tests;
