//! Tokens: who bears one, and one for who may have it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, header};
use jsonwebtoken::{Algorithm, Validation};
use moka::sync::Cache;
use sha2::{Digest as _, Sha256};

use super::{
    Caller,
    claims::{Audience, Claims},
    client::Client,
    key::{PublicKey, SigningKey},
};
use crate::clock::{Clock, Timestamp};
use crate::error::Failure;
use crate::id::MessageId;

/// How much clocks may differ, in seconds (`config-and-cli.md` §9).
const SKEW_SECONDS: u64 = 30;

/// How many tokens are remembered with who bears them: checking a signature takes a tenth of a
/// millisecond, knowing a token a thousandth.
const REMEMBERED: u64 = 10_000;

/// The longest token that is looked at, in bytes.
const BYTES_MAX: usize = 8 << 10;

const TIER: &str = "unlimited";

/// How tokens are signed, checked and minted.
#[derive(Debug)]
pub struct Settings {
    pub key: SigningKey,
    /// Minted, and asked for.
    pub issuer: String,
    /// Asked for, where it is set.
    pub audience: Option<String>,
    /// How long a minted token is good.
    pub life: Duration,
    /// The client that there is from the start.
    pub bootstrap: Option<Client>,
    pub clock: Clock,
}

/// How often a client may be refused before it is not listened to for a while.
const REFUSALS_MAX: u32 = 20;

/// That while.
const REFUSED_FOR: Duration = Duration::from_mins(1);

/// How many clients that were refused are remembered.
const REFUSED_CLIENTS: u64 = 10_000;

/// Why a client gets no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is none of this name, or the secret is another one.
    Unknown,
    /// It was refused too often.
    TooMany,
}

/// Knows tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    validation: Validation,
    remembered: Cache<[u8; 32], Known>,
    /// How often clients were refused within the last minute.
    refusals: Cache<String, Arc<AtomicU32>>,
}

/// Who bears a token, and until when, in seconds since 1970.
#[derive(Debug, Clone)]
struct Known {
    caller: Caller,
    until: i64,
}

/// A token that was minted.
#[derive(Debug)]
pub struct Minted {
    pub token: String,
    pub life: Duration,
}

impl Tokens {
    pub fn new(settings: Settings) -> Self {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.leeway = SKEW_SECONDS;
        validation.validate_nbf = true;
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
            settings,
            validation,
            remembered: Cache::new(REMEMBERED),
            refusals: Cache::builder()
                .max_capacity(REFUSED_CLIENTS)
                .time_to_live(REFUSED_FOR)
                .build(),
        }))
    }

    /// The keys that tell whether a token is ours.
    pub fn keys(&self) -> impl Iterator<Item = &PublicKey> {
        std::iter::once(self.0.settings.key.public())
    }

    /// Who bears the token that headers carry. Whatever is wrong with it, the answer is the same.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Failure> {
        let now = self.0.settings.clock.now();
        bearer(headers)
            .and_then(|token| self.bearer_of(token, now))
            .ok_or_else(super::unknown)
    }

    fn bearer_of(&self, token: &str, now: Timestamp) -> Option<Caller> {
        let digest = Sha256::digest(token).into();
        if let Some(known) = self.0.remembered.get(&digest) {
            if now.millis() < known.until * 1_000 {
                return Some(known.caller);
            }
            self.0.remembered.invalidate(&digest);
            return None;
        }
        let claims = self.check(token, now)?;
        let caller = claims.caller()?;
        let skew = i64::try_from(SKEW_SECONDS).unwrap_or(0);
        let known = Known {
            caller: caller.clone(),
            until: claims.exp.saturating_add(skew),
        };
        self.0.remembered.insert(digest, known);
        Some(caller)
    }

    fn check(&self, token: &str, now: Timestamp) -> Option<Claims> {
        let header = jsonwebtoken::decode_header(token).ok()?;
        let name = header.kid?;
        let key = self.keys().find(|key| *key.name == *name)?;
        let claims = jsonwebtoken::decode::<Claims>(token, &key.decoding, &self.0.validation)
            .ok()?
            .claims;
        let skew = i64::try_from(SKEW_SECONDS).unwrap_or(0);
        let is_issued = claims.iat <= now.millis() / 1_000 + skew;
        is_issued.then_some(claims)
    }

    /// A token for a client that knows its secret. Whoever asks for one without, again and again,
    /// is not listened to for a minute, whatever comes then.
    pub(super) fn mint(
        &self,
        client: &str,
        secret: &str,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        let refused = self.0.refusals.get(client);
        if refused.is_some_and(|refused| refused.load(Ordering::Relaxed) >= REFUSALS_MAX) {
            return Ok(Err(Refusal::TooMany));
        }
        let settings = &self.0.settings;
        // The secret is compared whatever the name is, so that time tells nothing.
        let known = settings.bootstrap.as_ref();
        let is_secret = known.is_some_and(|known| known.secret.is(secret));
        let Some(client) = known.filter(|known| is_secret && *known.id == *client) else {
            let refused = self.0.refusals.get_with_by_ref(client, Arc::default);
            refused.fetch_add(1, Ordering::Relaxed);
            return Ok(Err(Refusal::Unknown));
        };
        let now = settings.clock.now();
        let issued = now.millis() / 1_000;
        let life = i64::try_from(settings.life.as_secs()).unwrap_or(i64::MAX);
        let claims = Claims {
            sub: Some(client.id.to_string()),
            iss: settings.issuer.clone(),
            caas_user_id: Some(client.user.to_string()),
            caas_org_id: Some(client.tenant.as_str().to_owned()),
            scopes: Some(client.roles.iter().map(str::to_owned).collect()),
            caas_tier: Some(TIER.to_owned()),
            exp: issued.saturating_add(life),
            iat: issued,
            jti: Some(MessageId::fresh().to_string()),
            // What is asked for must be in what is minted.
            aud: settings.audience.clone().map(Audience::One),
            ..Claims::default()
        };
        Ok(Ok(Minted {
            token: settings.key.sign(&claims)?,
            life: settings.life,
        }))
    }
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
