//! Issues and verifies tokens.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use http::{HeaderMap, header};
use jsonwebtoken::{Algorithm, Validation};
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

use super::{
    Roles,
    claims::{Audience, Claims},
    client::{Client, Registered, fresh_secret, is_registered_name},
    directory::Directory,
    hash::Hash,
    key::{PublicKey, SigningKey},
    login::{Basis, Login},
    oidc::{self, Federation},
    pair::{KeyPair, KeyUse},
    refused::RefusedRequests,
    revocation::Revocation,
    seal::Seal,
    turns::{Lane, Peer, Turns},
    validity::Validity,
    workbench::{Busy, Workbench},
};
use crate::clock::{Clock, Timestamp};
use crate::error::{Code, Failure};
use crate::id::{self, MessageId, Tenant};

/// The tolerated clock skew, in seconds (`config-and-cli.md` §9).
pub(super) const SKEW_SECONDS: i64 = 30;

/// How many verified tokens are cached: verifying a signature takes a tenth of a millisecond, a
/// look-up a thousandth.
const REMEMBERED: usize = 10_000;

/// The maximum length of a token, in bytes.
pub(super) const BYTES_MAX: usize = 8 << 10;

const TIER: &str = "unlimited";

/// How tokens are signed, verified and issued.
#[derive(Debug)]
pub struct Settings {
    pub key: SigningKey,
    /// The tokens that the key signs for tenants without a key pair.
    pub used_for: KeyUse,
    /// The key that encrypts stored private keys.
    pub seal: Option<Seal>,
    /// The issuer, of issued and accepted tokens.
    pub issuer: String,
    /// The required audience, if any.
    pub audience: Option<String>,
    /// The lifetime of issued tokens.
    pub life: Duration,
    /// The client of the settings.
    pub bootstrap: Option<Client>,
    /// Settings of `OpenID` Connect providers.
    pub providers: oidc::Settings,
    pub clock: Clock,
}

/// How often an address may fail to authenticate as a client before it is blocked for that client
/// for a while. Other addresses are not affected by its guesses.
const REFUSALS_MAX: u32 = 20;

/// How long it is blocked.
const REFUSED_FOR: Duration = Duration::from_mins(1);

/// How many pairs of address and client with failures are remembered, and how many verified
/// secrets.
const REFUSED_PAIRS: usize = 10_000;
const PROVED_SECRETS: usize = 10_000;

/// Why a client does not get a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The client is unknown, or its secret is wrong.
    Unknown,
    /// The address failed too often for this client.
    TooMany,
    /// Too many requests are waiting.
    Busy,
    /// The subject token is not trusted, for whatever reason.
    Untrusted,
    /// The subject token belongs to another tenant.
    OtherTenant,
}

/// How many token requests may wait, of known and of unknown clients each: a few seconds' worth;
/// and how many of one address.
const WAITING_MAX: usize = 128;
const WAITING_OF_ONE_MAX: usize = 64;

/// How many requests of administrators that generate secrets or keys may wait.
const ADMINISTRATORS_MAX: usize = 16;

type Digested = [u8; 32];

/// Issues and verifies tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    validation: Validation,
    remembered: Cache<[u8; 32], Remembered>,
    /// How often clients failed to authenticate within the last minute, by address and id.
    refusals: Cache<(Peer, Digested), Arc<Refusals>>,
    refused: RefusedRequests,
    /// Digests of verified secrets, which only this process can compute: a client with a verified
    /// secret does not wait for secrets to be verified.
    proved: Cache<Digested, ()>,
    /// The key of that digest.
    pepper: [u8; 32],
    directory: Directory,
    /// When this process loaded the client of the settings.
    since: Timestamp,
    /// The queue for issuing tokens.
    mint: Turns,
    /// The queue for generating secrets and keys: separate, so that a flood of token requests does
    /// not block administrators.
    workshop: Workbench,
}

/// How often an address was refused for a client.
#[derive(Debug)]
struct Refusals {
    since: Instant,
    count: AtomicU32,
}

impl Refusals {
    fn is_current(&self) -> bool {
        self.since.elapsed() < REFUSED_FOR
    }
}

/// The cached bearer of a token.
#[derive(Debug, Clone)]
struct Remembered {
    basis: Arc<Basis>,
    /// The generation of the directory in which it was verified.
    generation: u64,
}

/// An authenticated client, as it appears in its tokens.
pub(super) struct Proved {
    pub(super) id: String,
    user: String,
    pub(super) tenant: Tenant,
    roles: Roles,
    /// Which of its secrets was verified, as seconds since 1970; none for the client of the
    /// settings.
    secret_since: Option<i64>,
}

/// An issued token.
#[derive(Debug)]
pub struct Minted {
    pub token: String,
    pub life: Duration,
}

impl Tokens {
    pub fn new(settings: Settings) -> Self {
        let mut validation = validation();
        validation.set_issuer(&[&settings.issuer]);
        let mut needed = vec!["exp", "iss"];
        match &settings.audience {
            Some(audience) => {
                validation.set_audience(&[audience]);
                needed.push("aud");
            }
            None => validation.validate_aud = false,
        }
        validation.set_required_spec_claims(&needed);
        Self(Arc::new(Inner {
            since: settings.clock.now(),
            directory: Directory::new(Federation::new(settings.providers.clone())),
            settings,
            validation,
            mint: Turns::of_half_the_processors(WAITING_MAX, WAITING_OF_ONE_MAX),
            proved: Cache::new(PROVED_SECRETS),
            pepper: id::secret(),
            workshop: Workbench::new(1, ADMINISTRATORS_MAX),
            remembered: Cache::new(REMEMBERED),
            refusals: Cache::new(REFUSED_PAIRS),
            refused: RefusedRequests::default(),
        }))
    }

    /// The stored clients, keys and providers.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.settings.clock.now()
    }

    /// The `OpenID` Connect providers of tenants.
    pub fn federation(&self) -> &Federation {
        self.0.directory.federation()
    }

    /// The client of the settings, and since when it is loaded.
    pub fn bootstrap(&self) -> Option<(&Client, Timestamp)> {
        let client = self.0.settings.bootstrap.as_ref()?;
        Some((client, self.0.since))
    }

    /// A new secret, and its stored form.
    pub async fn new_secret(&self) -> Result<(String, Hash), Failure> {
        let make = || {
            let secret = fresh_secret();
            let hash = Hash::new(&secret)?;
            Ok((secret, hash))
        };
        self.at_workshop(make).await
    }

    /// A new key pair.
    pub async fn new_key_pair(
        &self,
        tenant: Tenant,
        used_for: KeyUse,
        validity: Validity,
    ) -> Result<KeyPair, Failure> {
        let tokens = self.clone();
        let make = move || {
            let settings = &tokens.0.settings;
            let now = settings.clock.now();
            KeyPair::make(tenant, used_for, validity, now, settings.seal.as_ref())
        };
        self.at_workshop(make).await
    }

    async fn at_workshop<T: Send + 'static>(
        &self,
        make: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.0.workshop.run(make).await.unwrap_or_else(|Busy| {
            Err(Failure::new(
                Code::TooManyRequests,
                "too many secrets and keys are being generated; retry in a second",
            ))
        })
    }

    /// The encryption of stored private keys.
    pub fn seal(&self) -> Option<&Seal> {
        self.0.settings.seal.as_ref()
    }

    /// The key of the settings, if it signs such tokens, and since when it does.
    pub fn settings_key(&self, used_for: KeyUse) -> Option<(&PublicKey, Timestamp)> {
        let settings = &self.0.settings;
        let key = settings.key.public();
        (settings.used_for == used_for).then_some((key, self.0.since))
    }

    /// Whether this is the id of the key of the settings.
    pub fn is_settings_key(&self, name: &str) -> bool {
        *self.0.settings.key.public().name == *name
    }

    /// The keys that verify tokens, as JWKs: including those that will sign later, and those whose
    /// signatures are still valid.
    pub(super) fn keys(&self) -> Vec<String> {
        let (known, now) = (self.0.directory.known(), self.0.settings.clock.now());
        let mut pairs: Vec<_> = known
            .key_pairs()
            .filter(|pair| !pair.validity.is_over(now))
            .collect();
        pairs.sort_unstable_by_key(|pair| (pair.created, &pair.name));
        let pairs = pairs.into_iter().map(|pair| pair.public());
        let keys = std::iter::once(self.0.settings.key.public()).chain(pairs);
        keys.map(PublicKey::jwk).collect()
    }

    /// The bearer of the token in these headers. Every failure gives the same answer. Waits only if
    /// a provider may have published a new key.
    pub(super) async fn login(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        let login = |basis: Arc<Basis>| {
            let caller = basis.caller.clone();
            Login::new(caller, Some((self.clone(), basis)))
        };
        let now = self.0.settings.clock.now();
        let token = bearer(headers).ok_or_else(super::unknown)?;
        let digest = Sha256::digest(token).into();
        // Read first, so that a later change invalidates what is cached here.
        let generation = self.0.directory.generation();
        if let Some(known) = self.0.remembered.get(&digest)
            && known.generation == generation
            && !known.basis.revocation.is_revoked()
        {
            if now < known.basis.until {
                return Ok(login(known.basis));
            }
            self.0.remembered.remove(&digest);
            return Err(super::unknown());
        }
        let basis = self.bearer_of(token, now).await;
        let basis = Arc::new(basis.ok_or_else(super::unknown)?);
        let remembered = Remembered {
            basis: Arc::clone(&basis),
            generation,
        };
        self.0.remembered.insert(digest, remembered);
        Ok(login(basis))
    }

    /// The bearer of a token and its credentials: one of our tokens, or one of a trusted provider,
    /// whichever has the named key.
    async fn bearer_of(&self, token: &str, now: Timestamp) -> Option<Basis> {
        let until = |ends: i64| {
            Timestamp::from_micros(ends.saturating_add(SKEW_SECONDS).saturating_mul(1_000_000))
        };
        let name = key_named(token)?;
        let known = self.0.directory.known();
        let pair = known.key_pair(&name);
        if pair.is_none() && !self.is_settings_key(&name) {
            let vouched = Box::pin(self.federation().bearer_of(token, now)).await?;
            let basis = Basis {
                caller: vouched.caller,
                issued: vouched.issued,
                client: None,
                secret_since: None,
                pair: None,
                trusted: None,
                trusted_since: None,
                revocation: vouched.revocation,
                until: until(vouched.ends),
            };
            return Some(basis);
        }
        let pair = pair.filter(|pair| pair.validity.holds(now));
        let key = match pair {
            Some(pair) => pair.public(),
            None if self.is_settings_key(&name) => self.0.settings.key.public(),
            None => return None,
        };
        let claims = self.check(token, key, now)?;
        let caller = claims.caller()?;
        // A tenant's key pair is valid for that tenant only.
        let is_pairs = pair.is_none_or(|pair| pair.tenant == caller.tenant);
        let bootstrap = self.0.settings.bootstrap.as_ref();
        let client = claims.client().filter(|client| {
            is_registered_name(client)
                && bootstrap.is_none_or(|bootstrap| *bootstrap.id != **client)
        });
        let mut basis = Basis {
            client: client.map(Into::into),
            secret_since: claims.secret_since,
            caller,
            issued: claims.iat,
            pair: pair.map(|pair| Arc::clone(&pair.name)),
            trusted: claims.subject_key.map(Into::into),
            trusted_since: claims.subject_key_registered,
            revocation: Revocation::default(),
            until: until(claims.exp),
        };
        if !is_pairs || !basis.is_known(&known, now) {
            return None;
        }
        let ends = pair.map(|pair| pair.validity.to).into_iter();
        let ends = ends.chain(basis.trusted_until(&known));
        basis.until = ends.fold(basis.until, Timestamp::min);
        (now < basis.until).then_some(basis)
    }

    /// The claims of a token that this key has signed, which may have expired.
    fn check(&self, token: &str, key: &PublicKey, now: Timestamp) -> Option<Claims> {
        let claims = jsonwebtoken::decode::<Claims>(token, &key.decoding, &self.0.validation)
            .ok()?
            .claims;
        let begins = claims.nbf.unwrap_or(claims.iat);
        (is_issued(claims.iat, now) && is_issued(begins, now)).then_some(claims)
    }

    /// A token for a client with the right secret.
    pub(super) async fn mint(
        &self,
        client: &str,
        secret: &str,
        peer: Peer,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        self.grant(client, secret, peer, |tokens, client| {
            tokens.issue(&client).map(Ok)
        })
        .await
    }

    /// Authenticates a client. An address that repeatedly fails for a client is blocked for that
    /// client for a minute; other addresses are not, and neither is that address for other clients.
    pub(super) async fn grant(
        &self,
        client: &str,
        secret: &str,
        peer: Peer,
        give: impl FnOnce(&Self, Proved) -> Result<Result<Minted, Refusal>, Failure> + Send + 'static,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        let pair = (peer, Sha256::digest(client).into());
        if self.is_refused(&pair) {
            return Ok(Err(Refusal::TooMany));
        }
        let lane = self.lane(client, secret);
        let (tokens, name, secret) = (self.clone(), client.to_owned(), secret.to_owned());
        let prove = move || {
            // Others from that address may have failed while this request waited.
            if tokens.is_refused(&pair) {
                return Ok(Err(Refusal::TooMany));
            }
            let Some(proved) = tokens.prove(&name, &secret) else {
                tokens.count_refusal(&pair);
                return Ok(Err(Refusal::Unknown));
            };
            // Failures before were this client's own, for instance with the other of the two
            // encodings of a secret.
            tokens.0.refusals.remove(&pair);
            give(&tokens, proved)
        };
        let given = self.0.mint.run(lane, peer, prove).await;
        given.unwrap_or(Ok(Err(Refusal::Busy)))
    }

    /// Reports that none of these clients got a token.
    pub(super) fn report_refusal<'a>(
        &self,
        clients: impl IntoIterator<Item = &'a str>,
        peer: Peer,
        refusal: Refusal,
    ) {
        let known = self.0.directory.known();
        let is_known =
            |client: &&str| self.bootstrap_of(client).is_some() || known.client(client).is_some();
        let client = clients.into_iter().find(is_known);
        self.0.refused.report(client, peer, refusal);
    }

    fn is_refused(&self, pair: &(Peer, Digested)) -> bool {
        let refused = self.0.refusals.get(pair);
        refused.is_some_and(|refused| {
            refused.count.load(Ordering::Relaxed) >= REFUSALS_MAX && refused.is_current()
        })
    }

    /// Counts a refusal. Of those that come at once each counts.
    fn count_refusal(&self, pair: &(Peer, Digested)) {
        let refusals = &self.0.refusals;
        refusals.remove_if(pair, |refused| !refused.is_current());
        let none = || {
            Ok::<_, Infallible>(Arc::new(Refusals {
                since: Instant::now(),
                count: AtomicU32::new(0),
            }))
        };
        let Ok(refused) = refusals.get_or_insert_with(pair, none);
        refused.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The lane of a request, as far as it can be decided without verifying the secret.
    fn lane(&self, client: &str, secret: &str) -> Lane {
        if let Some(bootstrap) = self.bootstrap_of(client) {
            return if bootstrap.secret.is(secret) {
                Lane::Proved
            } else {
                Lane::Known
            };
        }
        match self.0.directory.known().client(client) {
            Some(known) if self.is_proved(known, secret) => Lane::Proved,
            Some(_) => Lane::Known,
            None => Lane::Unknown,
        }
    }

    fn bootstrap_of(&self, client: &str) -> Option<&Client> {
        let bootstrap = self.0.settings.bootstrap.as_ref();
        bootstrap.filter(|known| *known.id == *client)
    }

    fn is_proved(&self, client: &Registered, secret: &str) -> bool {
        self.0.proved.contains_key(&self.proof(client, secret))
    }

    /// The digest of a verified secret. It depends on the stored hash, so it changes with the
    /// secret.
    fn proof(&self, client: &Registered, secret: &str) -> Digested {
        Sha256::new()
            .chain_update(self.0.pepper)
            .chain_update(Sha256::digest(client.hash.as_str()))
            .chain_update(Sha256::digest(&*client.id))
            .chain_update(secret)
            .finalize()
            .into()
    }

    /// The client of that id, if the secret is right. Takes equally long whatever is wrong.
    fn prove(&self, client: &str, secret: &str) -> Option<Proved> {
        let bootstrap = self.bootstrap_of(client);
        if let Some(known) = bootstrap.filter(|known| known.secret.is(secret)) {
            return Some(Proved {
                id: known.id.to_string(),
                user: known.user.to_string(),
                tenant: known.tenant.clone(),
                roles: known.roles.clone(),
                secret_since: None,
            });
        }
        let known = self.0.directory.known().client(client).cloned();
        let hash = known.as_ref().map(|known| known.hash.clone());
        let is_known = known
            .as_ref()
            .is_some_and(|known| self.is_proved(known, secret));
        let is_its_secret = is_known || hash.unwrap_or_else(Hash::of_nobody).is_of(secret);
        let known = known.filter(|_| is_its_secret && bootstrap.is_none())?;
        if !is_known {
            self.0.proved.insert(self.proof(&known, secret), ());
        }
        Some(Proved {
            id: known.id.to_string(),
            user: known.id.to_string(),
            tenant: known.tenant.clone(),
            roles: known.roles.clone(),
            secret_since: Some(known.tokens_since),
        })
    }

    /// Issues a token for a client.
    fn issue(&self, client: &Proved) -> Result<Minted, Failure> {
        let claims = Claims {
            sub: Some(client.id.clone()),
            caas_user_id: Some(client.user.clone()),
            scopes: Some(client.roles.iter().map(str::to_owned).collect()),
            ..Claims::default()
        };
        self.signed(client, KeyUse::Client, claims, None)
    }

    /// Issues a token with these claims and those of every token, valid until an instant at most.
    pub(super) fn signed(
        &self,
        client: &Proved,
        used_for: KeyUse,
        claims: Claims,
        until: Option<Timestamp>,
    ) -> Result<Minted, Failure> {
        let settings = &self.0.settings;
        let now = settings.clock.now();
        let known = self.0.directory.known();
        let pair = known.signer(&client.tenant, used_for, now);
        // The key of the settings also signs where that of the pair cannot be decrypted.
        let pair = pair.and_then(|pair| Some((pair.key.as_ref()?, pair.validity.to)));
        let key = pair.map_or(&settings.key, |(key, _)| key);
        // It expires no later than the key that signs it.
        let ends = pair.map(|(_, to)| to).into_iter().chain(until);
        let expires = ends.fold(now.after(settings.life), Timestamp::min);
        let seconds = |instant: Timestamp| instant.millis().div_euclid(1_000);
        let claims = Claims {
            iss: settings.issuer.clone(),
            caas_org_id: Some(client.tenant.as_str().to_owned()),
            caas_tier: Some(TIER.to_owned()),
            exp: seconds(expires),
            iat: seconds(now).max(client.secret_since.unwrap_or_default()),
            secret_since: client.secret_since,
            jti: Some(MessageId::fresh().to_string()),
            // Issued tokens must satisfy what is required of accepted ones.
            aud: settings.audience.clone().map(Audience::One),
            ..claims
        };
        Ok(Minted {
            token: key.sign(&claims)?,
            life: Duration::from_secs(expires.since(now).as_secs()),
        })
    }
}

/// The `kid` of a token. A token whose header requires extensions (`crit`, RFC 7515 §4.1.11) has
/// none: no extension is supported.
pub(super) fn key_named(token: &str) -> Option<String> {
    let header = jsonwebtoken::decode_header(token).ok()?;
    header
        .kid
        .filter(|_| header.crit.is_none() && !is_notice(header.typ.as_deref()))
}

/// Whether a token of this type reports an event, such as a logout, and authenticates nobody (RFC
/// 8417, `OpenID` Connect Back-Channel Logout 1.0 §2.4).
pub(super) fn is_notice(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| {
        let kind = kind.to_ascii_lowercase();
        let kind = kind.strip_prefix("application/").unwrap_or(&kind);
        matches!(kind, "logout+jwt" | "secevent+jwt")
    })
}

/// The checks that apply to every token, whichever key signed it. The library would compare times
/// with the clock of this machine, so they are compared here.
pub(super) fn validation() -> Validation {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation
}

/// Whether a token was issued, or is valid, from before now on, within clock skew.
pub(super) const fn is_issued(at: i64, now: Timestamp) -> bool {
    at <= now.millis() / 1_000 + SKEW_SECONDS
}

/// The bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let value = given.next()?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let is_one = given.next().is_none()
        && scheme.eq_ignore_ascii_case("bearer")
        && (1..=BYTES_MAX).contains(&token.len());
    is_one.then_some(token)
}
