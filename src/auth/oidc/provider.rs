//! A registered provider, and its last known keys.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

use super::document::PublishedKey;
use crate::auth::{
    BadRecord, Revocation,
    record::{self, ProviderRecord},
};
use crate::clock::Timestamp;
use crate::id::{ProviderId, Tenant};

/// An `OpenID` Connect provider that a tenant trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub id: ProviderId,
    /// The tenant that registered it, and so that of its users.
    pub tenant: Tenant,
    /// The address of its discovery document.
    pub well_known: Box<str>,
    /// The accepted issuers; empty for the one that the document names.
    pub issuers: Vec<Box<str>>,
    /// The accepted audiences; empty for any.
    pub audiences: Vec<Box<str>>,
    /// The claim with the roles; none for the one of the settings.
    pub roles_claim: Option<Box<str>>,
    pub created: Timestamp,
    /// Whether its tokens are accepted.
    pub is_active: bool,
    /// The ids of rejected keys, even if it publishes them.
    pub refused: Vec<Box<str>>,
    /// Whether its keys were not known when it was invalidated.
    pub had_unknown_keys: bool,
}

impl Provider {
    /// Whether its document has the same address as another one's, ignoring the query.
    pub(super) fn is_at_the_place_of(&self, other: &Self) -> bool {
        fn place(provider: &Provider) -> &str {
            provider.well_known.split('?').next().unwrap_or_default()
        }
        place(self) == place(other)
    }

    /// The stored form.
    pub fn record(&self) -> String {
        record::write(&ProviderRecord {
            well_known: self.well_known.clone(),
            issuers: self.issuers.clone(),
            audiences: self.audiences.clone(),
            roles_claim: self.roles_claim.clone(),
            created: self.created.micros(),
            active: self.is_active,
            refused: self.refused.clone(),
            refused_unknown: self.had_unknown_keys,
        })
    }

    /// Parses the stored form.
    pub fn read(id: &str, tenant: Tenant, record: &str) -> Result<Self, BadRecord> {
        const WHAT: &str = "OIDC provider";
        let record: ProviderRecord = record::read(WHAT, id, record)?;
        Ok(Self {
            id: id
                .parse()
                .map_err(|_| BadRecord::new(WHAT, id, "it is not a UUID"))?,
            tenant,
            well_known: record.well_known,
            issuers: record.issuers,
            audiences: record.audiences,
            roles_claim: record.roles_claim,
            created: Timestamp::from_micros(record.created),
            is_active: record.active,
            refused: record.refused,
            had_unknown_keys: record.refused_unknown,
        })
    }
}

/// A provider against which tokens are checked.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) provider: Arc<Provider>,
    pub(super) seen: watch::Sender<Seen>,
}

/// What a provider published when it was last contacted.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) issuer: Option<Box<str>>,
    pub(super) keys: Vec<SeenKey>,
    /// When it last answered; none if its keys are not known.
    pub(super) at: Option<Instant>,
    /// When it was last contacted, whatever the result.
    pub(super) asked: Option<Instant>,
}

/// A key, since when it is known, and whether it is still published.
#[derive(Debug, Clone)]
pub(super) struct SeenKey {
    pub(super) key: PublishedKey,
    pub(super) since: Instant,
    pub(super) revocation: Revocation,
}

impl Held {
    /// The new state of a provider after its previous one. Keys are kept while it is active, but
    /// tokens verified with them are not.
    pub(super) fn after(before: Option<&Self>, provider: Arc<Provider>) -> Self {
        let before = before.filter(|before| before.provider.is_active && provider.is_active);
        let mut seen = before.map_or_else(Seen::default, |before| before.seen.borrow().clone());
        for key in &mut seen.keys {
            key.revocation = Revocation::default();
        }
        Self {
            provider,
            seen: watch::Sender::new(seen),
        }
    }

    /// Revokes everything that was verified with its keys.
    pub(super) fn withdraw(&self) {
        for seen in &self.seen.borrow().keys {
            seen.revocation.revoke();
        }
    }

    /// Stores what it publishes now, fetched at `begun`; revokes what was verified with keys that
    /// are gone, or for another issuer.
    pub(super) fn answered(
        &self,
        (issuer, keys): (Box<str>, Vec<PublishedKey>),
        begun: Instant,
        now: Instant,
    ) {
        self.seen.send_modify(|seen| {
            let mut before = std::mem::take(&mut seen.keys);
            let former = seen.issuer.as_ref().filter(|former| **former != issuer);
            if self.provider.issuers.is_empty() && former.is_some() {
                for old in &mut before {
                    std::mem::take(&mut old.revocation).revoke();
                }
            }
            seen.keys = keys
                .into_iter()
                .map(|key| match before.iter().find(|old| old.key == key) {
                    Some(known) => known.clone(),
                    None => SeenKey {
                        key,
                        since: now,
                        revocation: Revocation::default(),
                    },
                })
                .collect();
            for old in &before {
                if !seen.keys.iter().any(|new| new.key == old.key) {
                    old.revocation.revoke();
                }
            }
            seen.issuer = Some(issuer);
            seen.at = Some(now);
            seen.asked = Some(begun);
        });
    }

    /// Notes that a fetch begun at `begun` failed.
    pub(super) fn unanswered(&self, begun: Instant) {
        self.seen.send_modify(|seen| seen.asked = Some(begun));
    }

    /// It has failed for so long that its keys may no longer be its own.
    pub(super) fn forgotten(&self) {
        self.seen.send_modify(|seen| {
            for old in seen.keys.drain(..) {
                old.revocation.revoke();
            }
            seen.at = None;
        });
    }

    /// Whether a token with these claims could be one of its own.
    pub(super) fn fits(&self, claims: &Map<String, Value>) -> bool {
        self.is_of_its_issuer(claims) && self.is_for_its(claims)
    }

    /// Whether a token with these claims is of its issuer.
    pub(super) fn is_of_its_issuer(&self, claims: &Map<String, Value>) -> bool {
        let Some(issuer) = claims.get("iss").and_then(Value::as_str) else {
            return false;
        };
        let provider = &self.provider;
        if provider.issuers.is_empty() {
            match &self.seen.borrow().issuer {
                Some(known) => **known == *issuer,
                None => is_below(&provider.well_known, issuer),
            }
        } else {
            provider.issuers.iter().any(|known| **known == *issuer)
        }
    }

    /// Whether its document is where the issuer of a token publishes its own. Anybody can publish
    /// elsewhere a document that names that issuer and its keys.
    fn is_at_home(&self, claims: &Map<String, Value>) -> bool {
        let issuer = claims.get("iss").and_then(Value::as_str);
        issuer.is_some_and(|issuer| is_below(&self.provider.well_known, issuer))
    }

    /// Whether a token with these claims is for one of its audiences.
    pub(super) fn is_for_its(&self, claims: &Map<String, Value>) -> bool {
        self.provider.audiences.is_empty() || self.is_for(claims.get("aud"))
    }

    /// Its place among those that could have issued a token: those at the address of its issuer
    /// first, of these those that name its audience, and of these the one that was registered first.
    pub(super) fn order(&self, claims: &Map<String, Value>) -> (bool, bool, Timestamp, ProviderId) {
        let provider = &self.provider;
        let is_elsewhere = !self.is_at_home(claims);
        let takes_any = provider.audiences.is_empty();
        (is_elsewhere, takes_any, provider.created, provider.id)
    }

    /// Whether its document has the same address as another one's, ignoring the query.
    pub(super) fn is_at_the_place_of(&self, other: &Provider) -> bool {
        self.provider.is_at_the_place_of(other)
    }

    fn is_for(&self, audience: Option<&Value>) -> bool {
        let known = |given: &Value| {
            let audiences = &self.provider.audiences;
            given
                .as_str()
                .is_some_and(|given| audiences.iter().any(|known| **known == *given))
        };
        match audience {
            Some(Value::Array(list)) => list.iter().any(known),
            Some(one) => known(one),
            None => false,
        }
    }

    /// Whether the key of that id is rejected, even if it is published.
    pub(super) fn refuses(&self, name: &str) -> bool {
        self.provider
            .refused
            .iter()
            .any(|refused| **refused == *name)
    }

    /// The key of that id.
    pub(super) fn key(&self, name: &str) -> Option<SeenKey> {
        let seen = self.seen.borrow();
        seen.keys
            .iter()
            .find(|seen| *seen.key.name == *name)
            .cloned()
    }
}

/// Whether a document at `place` is where an issuer of that name publishes its own (`OpenID`
/// Connect Discovery 1.0, §4): for providers that have never answered.
fn is_below(place: &str, issuer: &str) -> bool {
    let issuer = issuer.trim_end_matches('/');
    let rest = place.strip_prefix(issuer);
    !issuer.is_empty() && rest.is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn held(issuers: &[&str], audiences: &[&str], discovered: Option<&str>) -> Held {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).into()).collect();
        let provider = Provider {
            id: ProviderId::NIL,
            tenant: "t".into(),
            well_known: "https://id.example/a/.well-known/openid-configuration".into(),
            issuers: list(issuers),
            audiences: list(audiences),
            roles_claim: None,
            created: Timestamp::from_micros(0),
            is_active: true,
            refused: Vec::new(),
            had_unknown_keys: false,
        };
        let held = Held::after(None, Arc::new(provider));
        held.seen
            .send_modify(|seen| seen.issuer = discovered.map(Into::into));
        held
    }

    #[test]
    fn a_token_fits_by_issuer_and_audience() {
        let own = "https://id.example/a";
        for (held, claims, expected) in [
            // The issuer is one of those registered, otherwise the discovered one.
            (held(&["i", "j"], &[], None), json!({"iss": "j"}), true),
            (held(&["i"], &[], Some(own)), json!({"iss": own}), false),
            (held(&[], &[], Some("other")), json!({"iss": own}), false),
            (held(&[], &[], Some("other")), json!({"iss": "other"}), true),
            // Before discovery, the one that its address implies.
            (held(&[], &[], None), json!({"iss": own}), true),
            (
                held(&[], &[], None),
                json!({"iss": "https://id.example/a/"}),
                true,
            ),
            (
                held(&[], &[], None),
                json!({"iss": "https://id.example"}),
                true,
            ),
            (
                held(&[], &[], None),
                json!({"iss": "https://id.exam"}),
                false,
            ),
            (
                held(&[], &[], None),
                json!({"iss": "https://id.example/b"}),
                false,
            ),
            (held(&[], &[], None), json!({"iss": ""}), false),
            (held(&[], &[], None), json!({"iss": "/"}), false),
            (held(&["i"], &[], None), json!({"iss": ["i"]}), false),
            (held(&["i"], &[], None), json!({}), false),
            // An audience is required if any is registered.
            (
                held(&["i"], &[], None),
                json!({"iss": "i", "aud": "x"}),
                true,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": "x"}),
                true,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": ["y", "x"]}),
                true,
            ),
            (
                held(&["i"], &["x", "z"], None),
                json!({"iss": "i", "aud": "z"}),
                true,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": "xx"}),
                false,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": ["y"]}),
                false,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": [["x"]]}),
                false,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": {"x": 1}}),
                false,
            ),
            (
                held(&["i"], &["x"], None),
                json!({"iss": "i", "aud": null}),
                false,
            ),
            (held(&["i"], &["x"], None), json!({"iss": "i"}), false),
        ] {
            let claims = claims.as_object().expect("an object");
            assert_eq!(held.fits(claims), expected, "{held:?} {claims:?}");
        }
    }

    #[test]
    fn a_provider_is_read_as_it_was_stored() {
        let provider = Provider {
            roles_claim: Some("groups".into()),
            is_active: false,
            refused: vec!["k".into()],
            had_unknown_keys: true,
            ..Provider::clone(&held(&["i"], &["a", "b"], None).provider)
        };
        let id = provider.id.to_string();
        let read = Provider::read(&id, "t".into(), &provider.record());
        assert_eq!(read.expect("reads"), provider);
        for (id, record, why) in [
            (&*id, "{}", "it is damaged"),
            ("7", &provider.record(), "it is not a UUID"),
        ] {
            let bad = Provider::read(id, "t".into(), record).expect_err("nothing");
            let outcomes = format!("the stored OIDC provider `{id}` cannot be read: {why}");
            assert_eq!(bad.to_string(), outcomes);
        }
    }

    fn key(pem: &str, name: &str) -> PublishedKey {
        let jwk = crate::auth::SigningKey::parse(pem).expect("a key");
        let mut jwk: Value = serde_json::from_str(&jwk.public().jwk()).expect("JSON");
        jwk["kid"] = json!(name);
        let set = json!({"keys": [jwk]}).to_string();
        let keys = PublishedKey::parse_set(set.as_bytes());
        keys.expect("a set").0.remove(0)
    }

    #[test]
    fn a_key_that_is_published_again_stays_and_one_that_is_not_goes() {
        let one = include_str!("../../../tests/keys/signing.pem");
        let other = include_str!("../../../tests/keys/strange.pem");
        let held = held(&["i"], &[], None);
        let now = Instant::now();
        let keys = vec![key(one, "a"), key(other, "b")];
        held.answered(("i".into(), keys), now, now);
        let (a, b) = (held.key("a").expect("a key"), held.key("b").expect("a key"));
        let keys = vec![key(one, "a"), key(one, "b")];
        held.answered(("i".into(), keys), now, now);
        assert!(!a.revocation.is_revoked(), "it is the same");
        assert!(b.revocation.is_revoked(), "only its name is the same");
        let b = held.key("b").expect("the new one");
        held.forgotten();
        assert!(a.revocation.is_revoked() && b.revocation.is_revoked() && held.key("a").is_none());
    }

    #[test]
    fn what_was_verified_for_a_former_issuer_goes_unless_that_one_is_registered() {
        let now = Instant::now();
        for (issuers, expected) in [(&[][..], true), (&["i"], false)] {
            let held = held(issuers, &[], None);
            let keys = || vec![key(include_str!("../../../tests/keys/signing.pem"), "a")];
            held.answered(("i".into(), keys()), now, now);
            let first = held.key("a").expect("a key");
            held.answered(("i".into(), keys()), now, now);
            assert!(!first.revocation.is_revoked(), "nothing has changed");
            held.answered(("j".into(), keys()), now, now);
            assert_eq!(first.revocation.is_revoked(), expected);
            let key = held.key("a").expect("it is still published");
            assert!(!key.revocation.is_revoked());
        }
    }
}
