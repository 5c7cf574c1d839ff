//! An authenticated caller, and whether its credentials are still valid.
//!
//! A request is short; a stream is not. The credentials of a stream's caller (a client and its
//! secret, a key) may be revoked meanwhile, and then the stream ends. Nothing is polled: each
//! stream waits for the next revocation of anything, checks whether it is concerned, and waits
//! again. The expiry of a token does not end a stream. Work that begins long after its caller was
//! authenticated, as that of a request whose body comes slowly, checks the credentials again.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{Caller, Revocation, directory::Known, token::Tokens, unknown, validity::Validity};
use crate::clock::Timestamp;
use crate::error::Failure;

/// How long revocations are collected after one that did not concern a stream, which bounds how
/// often a stream checks, however much is administered.
const GATHERED_FOR: Duration = Duration::from_millis(200);

/// A caller with its credentials. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Login {
    pub caller: Caller,
    rests_on: Option<(Tokens, Arc<Basis>)>,
}

/// The credentials behind a token, beside its signature.
#[derive(Debug)]
pub(super) struct Basis {
    pub(super) caller: Caller,
    /// When the token was issued, in seconds since 1970.
    pub(super) issued: i64,
    /// The client to which it was issued, if a request created it.
    pub(super) client: Option<Box<str>>,
    /// Which secret of the client it was issued for; none if it was issued elsewhere.
    pub(super) secret_since: Option<i64>,
    /// The key pair that signed it.
    pub(super) pair: Option<Arc<str>>,
    /// The trusted key that signed the exchanged token.
    pub(super) trusted: Option<Box<str>>,
    /// When that key was registered, in microseconds since 1970, if the token says so.
    pub(super) trusted_since: Option<i64>,
    /// The validity of the provider's key, if a provider vouches for it.
    pub(super) revocation: Revocation,
    /// When the token expires.
    pub(super) until: Timestamp,
}

/// How long a credential stays valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    UntilChanged,
    /// Until the end of its grace period.
    Until(Timestamp),
    NoMore,
}

impl Login {
    pub(super) const fn new(caller: Caller, rests_on: Option<(Tokens, Arc<Basis>)>) -> Self {
        Self { caller, rests_on }
    }

    /// A caller whom another node of the cluster has authenticated; that node watches the
    /// credentials.
    pub const fn carried(caller: Caller) -> Self {
        Self::new(caller, None)
    }

    /// Refuses what would begin after the caller's credentials were revoked. Reads memory only.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.rests_on {
            Some((tokens, basis)) => {
                match basis.stands(&tokens.directory().known(), tokens.now()) {
                    Stands::NoMore => Err(super::withdrawn()),
                    Stands::UntilChanged | Stands::Until(_) => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    /// Refuses what would begin after the caller's token has expired.
    pub fn check_expiry(&self) -> Result<(), Failure> {
        match &self.rests_on {
            Some((tokens, basis)) if basis.until <= tokens.now() => Err(unknown()),
            Some(_) | None => Ok(()),
        }
    }

    /// Waits until the caller's credentials are revoked; forever, if they cannot be.
    pub async fn withdrawn(&self) {
        let Some((tokens, basis)) = &self.rests_on else {
            return pending().await;
        };
        let mut withdrawals = tokens.federation().withdrawals();
        loop {
            withdrawals.mark_unchanged();
            let now = tokens.now();
            let grace = match basis.stands(&tokens.directory().known(), now) {
                Stands::NoMore => return,
                Stands::UntilChanged => None,
                Stands::Until(end) => Some(end.since(now)),
            };
            let ends = async {
                match grace {
                    Some(grace) => sleep(grace).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                changed = withdrawals.changed() => if changed.is_err() {
                    return pending().await;
                },
                () = ends => {}
            }
            match basis.stands(&tokens.directory().known(), tokens.now()) {
                Stands::NoMore => return,
                Stands::UntilChanged | Stands::Until(_) => sleep(GATHERED_FOR).await,
            }
        }
    }
}

impl Basis {
    /// Whether all credentials still exist unchanged.
    pub(super) fn is_known(&self, known: &Known, now: Timestamp) -> bool {
        let is_trusted = |validity: Validity| validity.holds(now);
        let trusted = self.trusted_validity(known);
        self.has_client(known) && (self.trusted.is_none() || trusted.is_some_and(is_trusted))
    }

    /// Whether the client of a token still exists with the same secret. A token issued elsewhere is
    /// valid as long as it says: only holders of the key can issue one.
    fn has_client(&self, known: &Known) -> bool {
        self.client.as_ref().is_none_or(|client| {
            known.client(client).is_some_and(|known| {
                let is_of_its_secret = match self.secret_since {
                    Some(since) => since == known.tokens_since,
                    None => self.issued >= known.tokens_since,
                };
                known.tenant == self.caller.tenant && is_of_its_secret
            })
        })
    }

    /// The validity of the trusted key, if it is still the same key.
    fn trusted_validity(&self, known: &Known) -> Option<Validity> {
        let key = known.trusted_key(self.trusted.as_ref()?)?;
        let is_it = match self.trusted_since {
            Some(registered) => key.created.micros() == registered,
            None => key.created.millis().div_euclid(1_000) <= self.issued,
        };
        (key.tenant == self.caller.tenant && is_it).then_some(key.validity)
    }

    /// The end of the trusted key's validity.
    pub(super) fn trusted_until(&self, known: &Known) -> Option<Timestamp> {
        self.trusted_validity(known).map(|validity| validity.to)
    }

    fn stands(&self, known: &Known, now: Timestamp) -> Stands {
        if self.revocation.is_revoked() || !self.has_client(known) {
            return Stands::NoMore;
        }
        let pair = self.pair.iter();
        let pair = pair.map(|pair| known.key_pair(pair).map(|pair| pair.validity));
        let trusted = self.trusted.iter().map(|_| self.trusted_validity(known));
        let keys = pair.chain(trusted);
        let mut stands = Stands::UntilChanged;
        for validity in keys {
            let Some(validity) = validity else {
                return Stands::NoMore;
            };
            match validity.grace_ends() {
                _ if now < validity.from => return Stands::NoMore,
                None => {}
                Some(end) if end <= now => return Stands::NoMore,
                Some(end) => {
                    stands = match stands {
                        Stands::Until(other) => Stands::Until(other.min(end)),
                        Stands::UntilChanged | Stands::NoMore => Stands::Until(end),
                    }
                }
            }
        }
        stands
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, header::AUTHORIZATION};

    use super::*;
    use crate::auth::{
        Entry, Hash, Jwk, KeyUse, Registered, Roles, Settings, SigningKey, TrustedKey,
        claims::Claims, oidc,
    };
    use crate::clock::{Clock, ManualClock};

    const KEY: &str = include_str!("../../tests/keys/signing.pem");
    /// Long ago by the clock of this machine, in seconds since 1970.
    const NOW: i64 = 1_000_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn tokens() -> (Tokens, ManualClock) {
        let clock = ManualClock::default();
        clock.set(at(NOW));
        let tokens = Tokens::new(Settings {
            key: SigningKey::parse(KEY).expect("a key"),
            used_for: KeyUse::Client,
            seal: None,
            issuer: "cyoda".to_owned(),
            audience: None,
            life: Duration::from_hours(1),
            bootstrap: None,
            providers: oidc::Settings::default(),
            clock: Clock::Manual(clock.clone()),
        });
        (tokens, clock)
    }

    fn claims() -> Claims {
        Claims {
            sub: Some("u".to_owned()),
            iss: "cyoda".to_owned(),
            caas_org_id: Some("t".to_owned()),
            user_roles: Some(Vec::new()),
            iat: NOW,
            exp: NOW + 60,
            ..Claims::default()
        }
    }

    async fn is_taken(tokens: &Tokens, claims: &Claims) -> bool {
        let key = SigningKey::parse(KEY).expect("a key");
        let token = key.sign(claims).expect("signed");
        let bearer = format!("Bearer {token}").parse().expect("a header");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        tokens.login(&headers).await.is_ok()
    }

    #[tokio::test]
    async fn tokens_expire_by_the_clock_of_the_service() {
        let (tokens, clock) = tokens();
        assert!(is_taken(&tokens, &claims()).await);
        for (begins, is_good) in [(NOW + 30, true), (NOW + 31, false)] {
            let nbf = Some(begins);
            assert_eq!(
                is_taken(&tokens, &Claims { nbf, ..claims() }).await,
                is_good
            );
        }
        clock.set(at(NOW + 89));
        assert!(is_taken(&tokens, &claims()).await);
        clock.set(at(NOW + 90));
        // What was verified before, and what is verified only now.
        let jti = Some("other".to_owned());
        assert!(!is_taken(&tokens, &claims()).await);
        assert!(!is_taken(&tokens, &Claims { jti, ..claims() }).await);
    }

    #[tokio::test]
    async fn a_token_for_a_replaced_secret_is_refused_whenever_it_was_issued() {
        let (tokens, _) = tokens();
        let hash = || Hash::stored("$h");
        let client = Registered::new("t".into(), Roles::default(), hash(), at(NOW - 100));
        let client = client.with_secret(hash(), at(NOW - 50)).expect("soon");
        let change = tokens.directory().change().await;
        change.edit(|known| known.put(Entry::Client(client.clone().into())));
        for (secret_since, is_good) in [
            (Some(client.tokens_since), true),
            (Some(0), false),
            // Of a version that did not say so.
            (None, true),
        ] {
            let claims = Claims {
                sub: Some(client.id.to_string()),
                user_roles: None,
                scopes: Some(Vec::new()),
                secret_since,
                ..claims()
            };
            assert_eq!(
                is_taken(&tokens, &claims).await,
                is_good,
                "{secret_since:?}"
            );
        }
    }

    #[tokio::test]
    async fn an_exchanged_token_is_refused_once_another_key_has_the_name() {
        let (tokens, _) = tokens();
        let jwk = SigningKey::parse(KEY).expect("a key").public().jwk();
        let created = at(NOW);
        let key = TrustedKey {
            name: "k".into(),
            tenant: "t".into(),
            jwk: Jwk::parse(&jwk, 20).expect("a key"),
            used_for: KeyUse::Human,
            issuers: [].into(),
            created,
            validity: Validity::new(created, at(NOW + 1_000)),
        };
        let change = tokens.directory().change().await;
        change.edit(|known| known.put(Entry::TrustedKey(key.into())));
        for (subject_key_registered, is_good) in [
            (Some(created.micros()), true),
            (Some(created.micros() - 1), false),
            // Of a version that did not say so.
            (None, true),
        ] {
            let claims = Claims {
                subject_key: Some("k".to_owned()),
                subject_key_registered,
                ..claims()
            };
            let is = is_taken(&tokens, &claims).await;
            assert_eq!(is, is_good, "{subject_key_registered:?}");
        }
    }
}
