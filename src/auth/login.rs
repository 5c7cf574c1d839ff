//! A caller, for as long as what made it one stands.
//!
//! A request is over soon; a stream is not. What a stream's caller relies on (a client and its
//! secret, a key) may be taken away meanwhile, and then the stream ends. Nothing is asked while
//! nothing changes: each stream waits for the next withdrawal of anything, looks whether it is
//! concerned, and goes on waiting. That a token expires does not end a stream.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{Caller, Standing, directory::Known, token::Tokens, validity::Validity};
use crate::clock::Timestamp;

/// How long withdrawals are gathered after one that did not concern a stream: how often it looks
/// is bounded however much is administered.
const GATHERED_FOR: Duration = Duration::from_millis(200);

/// Someone who calls, and what that rests on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Login {
    pub caller: Caller,
    rests_on: Option<(Tokens, Arc<Basis>)>,
}

/// What a token rests on beside its signature.
#[derive(Debug)]
pub(super) struct Basis {
    pub(super) caller: Caller,
    /// When the token was issued, in seconds since 1970.
    pub(super) issued: i64,
    /// The client that it was issued to, if one that requests have made.
    pub(super) client: Option<Box<str>>,
    /// The key pair that has signed it.
    pub(super) pair: Option<Arc<str>>,
    /// The trusted key that had signed what it was exchanged for.
    pub(super) trusted: Option<Box<str>>,
    /// That of the provider's key, if one has vouched for it.
    pub(super) standing: Standing,
}

/// How long something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    UntilChanged,
    /// Its time of grace ends then.
    Until(Timestamp),
    NoMore,
}

impl Login {
    pub(super) const fn new(caller: Caller, rests_on: Option<(Tokens, Arc<Basis>)>) -> Self {
        Self { caller, rests_on }
    }

    /// Waits until what the caller rests on is withdrawn; for ever, if it rests on nothing that
    /// can be.
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
    /// Whether all of it is there still, and was not given up for something else.
    pub(super) fn is_known(&self, known: &Known, now: Timestamp) -> bool {
        let is_trusted = |validity: Validity| validity.holds(now);
        let trusted = self.trusted_validity(known);
        self.has_client(known) && (self.trusted.is_none() || trusted.is_some_and(is_trusted))
    }

    /// Whether the client that a token was issued to is still there, and has its secret still. What
    /// was issued elsewhere is good as long as it says: only those who have the key can do that.
    fn has_client(&self, known: &Known) -> bool {
        self.client.as_ref().is_none_or(|client| {
            known.client(client).is_some_and(|known| {
                known.tenant == self.caller.tenant && self.issued >= known.tokens_since
            })
        })
    }

    /// The time of the trusted key that it rests on, if that is still the one it was.
    fn trusted_validity(&self, known: &Known) -> Option<Validity> {
        let key = known.trusted_key(self.trusted.as_ref()?)?;
        let created = key.created.millis().div_euclid(1_000);
        let is_it = key.tenant == self.caller.tenant && created <= self.issued;
        is_it.then_some(key.validity)
    }

    /// The end of the time of the trusted key.
    pub(super) fn trusted_until(&self, known: &Known) -> Option<Timestamp> {
        self.trusted_validity(known).map(|validity| validity.to)
    }

    fn stands(&self, known: &Known, now: Timestamp) -> Stands {
        if !self.standing.holds() || !self.has_client(known) {
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
