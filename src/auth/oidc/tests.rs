//! The bearers of tokens, given what providers have published.

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;
use tokio::time::Instant;

use super::{document::PublishedKey, *};
use crate::auth::SigningKey;

const KEY: &str = include_str!("../../../tests/keys/signing.pem");
const OTHER_KEY: &str = include_str!("../../../tests/keys/strange.pem");

/// Now, in seconds.
const NOW: i64 = 1_000_000;

fn federation() -> Federation {
    Federation::new(Settings::default())
}

fn provider(tenant: &str) -> Provider {
    Provider {
        id: ProviderId::fresh(),
        tenant: tenant.into(),
        well_known: "https://id.example/.well-known/openid-configuration".into(),
        issuers: vec!["https://id.example".into()],
        audiences: Vec::new(),
        roles_claim: None,
        created: Timestamp::from_micros(0),
        is_active: true,
        refused: Vec::new(),
        had_unknown_keys: false,
    }
}

fn published(keys: &[(&str, &str)]) -> Vec<PublishedKey> {
    let jwk = |(name, pem): &(&str, &str)| {
        let key = SigningKey::parse(pem).expect("a key");
        let mut jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
        jwk["kid"] = json!(name);
        jwk
    };
    let set = json!({"keys": keys.iter().map(jwk).collect::<Vec<_>>()}).to_string();
    PublishedKey::parse_set(set.as_bytes()).expect("a set").0
}

impl Federation {
    /// As if the provider had been contacted and had answered this.
    fn answered(&self, id: ProviderId, keys: &[(&str, &str)]) {
        let all = self.all();
        let held = all.iter().find(|held| held.provider.id == id);
        let (answer, now) = (
            ("https://id.example".into(), published(keys)),
            Instant::now(),
        );
        held.expect("there is one").answered(answer, now, now);
    }

    /// As if the provider had been contacted and had failed.
    fn unanswered(&self, id: ProviderId) {
        let all = self.all();
        let held = all.iter().find(|held| held.provider.id == id);
        held.expect("there is one").unanswered(Instant::now());
    }

    /// As if it were registered or changed.
    fn put(&self, provider: Provider) {
        let all = self.all();
        let others = all.iter().filter(|held| held.provider.id != provider.id);
        let mut next: Vec<_> = others.map(|held| Arc::clone(&held.provider)).collect();
        next.push(Arc::new(provider));
        self.follow(next.iter());
    }

    /// A provider that has answered.
    fn with(&self, provider: &Provider, keys: &[(&str, &str)]) {
        self.put(provider.clone());
        self.answered(provider.id, keys);
    }

    fn who(&self, token: &str) -> Option<Vouched> {
        match self.verdict(token, Timestamp::from_micros(NOW * 1_000_000), None) {
            Verdict::Someone(vouched) => Some(vouched),
            Verdict::Nobody | Verdict::Perhaps(..) => None,
        }
    }

    /// How many providers would be contacted because of a token.
    fn perhaps(&self, token: &str) -> usize {
        match self.verdict(token, Timestamp::from_micros(NOW * 1_000_000), None) {
            Verdict::Someone(_) | Verdict::Nobody => 0,
            Verdict::Perhaps(all, _) => all.len(),
        }
    }
}

fn claims() -> Value {
    json!({"iss": "https://id.example", "sub": "ann", "aud": "app", "roles": ["ROLE_A"],
        "iat": NOW, "exp": NOW + 60})
}

fn with(member: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[member] = value;
    claims
}

fn without(member: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("an object").remove(member);
    claims
}

fn signed(claims: &Value, name: &str, pem: &str) -> String {
    let header = Header {
        kid: Some(name.to_owned()),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_pem(pem.as_bytes()).expect("a key");
    encode(&header, claims, &key).expect("signed")
}

#[test]
fn the_bearer_is_the_providers_user_in_the_tenant_that_registered_it() {
    let federation = federation();
    federation.with(&provider("acme"), &[("k", KEY)]);
    let ours = json!({"caas_org_id": "other", "caas_user_id": "root", "user_roles": ["ROLE_ADMIN"],
        "scopes": ["ROLE_ADMIN"], "caas_tier": "x"});
    let mut lies = claims();
    for (member, value) in ours.as_object().expect("an object") {
        lies[member] = value.clone();
    }
    for claims in [claims(), lies] {
        let vouched = federation.who(&signed(&claims, "k", KEY)).expect("someone");
        let caller = vouched.caller;
        assert_eq!(
            (
                caller.tenant.as_str(),
                caller.user_name(),
                caller.actor.kind
            ),
            ("acme", "ann", ActorKind::User)
        );
        assert_eq!(caller.roles.iter().collect::<Vec<_>>(), ["ROLE_A"]);
        assert_eq!(vouched.ends, NOW + 60);
    }
}

#[test]
fn only_what_is_signed_and_good_now_is_taken() {
    let federation = federation();
    let provider = Provider {
        audiences: vec!["app".into()],
        ..provider("acme")
    };
    federation.with(&provider, &[("k", KEY)]);
    for claims in [
        with("exp", json!(NOW - 29)),
        with("iat", json!(NOW + 29)),
        with("nbf", json!(NOW + 29)),
        // A date may have a fraction.
        with("exp", json!(1_000_060.5)),
        with("aud", json!(["else", "app"])),
        without("roles"),
    ] {
        let token = signed(&claims, "k", KEY);
        assert!(federation.who(&token).is_some(), "{claims}");
    }
    for claims in [
        with("exp", json!(NOW - 31)),
        with("exp", json!("tomorrow")),
        with("exp", json!(null)),
        without("exp"),
        with("iat", json!(NOW + 31)),
        without("iat"),
        with("nbf", json!(NOW + 31)),
        with("nbf", json!("now")),
        with("iss", json!("https://id.example/")),
        without("iss"),
        with("aud", json!("else")),
        without("aud"),
        with("sub", json!("")),
        with("sub", json!(7)),
        without("sub"),
        json!([]),
        json!("ann"),
    ] {
        let token = signed(&claims, "k", KEY);
        assert!(federation.who(&token).is_none(), "{claims}");
    }
    let hmac = |header: Header| {
        let modulus = EncodingKey::from_secret(b"k");
        encode(&header, &claims(), &modulus).expect("signed")
    };
    let good = signed(&claims(), "k", KEY);
    let (said, _) = good.rsplit_once('.').expect("three parts");
    let named = |alg: Algorithm| Header {
        kid: Some("k".to_owned()),
        ..Header::new(alg)
    };
    let key = EncodingKey::from_rsa_pem(KEY.as_bytes()).expect("a key");
    let critical = Header {
        crit: Some(vec!["b64".to_owned()]),
        ..named(Algorithm::RS256)
    };
    for (what, token) in [
        ("another key", signed(&claims(), "k", OTHER_KEY)),
        ("a name that is not known", signed(&claims(), "j", KEY)),
        ("no name", signed(&claims(), "", KEY)),
        ("a shared secret", hmac(named(Algorithm::HS256))),
        (
            "another algorithm",
            encode(&named(Algorithm::RS512), &claims(), &key).expect("signed"),
        ),
        (
            "what must be understood",
            encode(&critical, &claims(), &key).expect("signed"),
        ),
        ("no signature", format!("{said}.")),
        ("two parts", said.to_owned()),
        ("nothing", String::new()),
        ("noise", "a.b.c".to_owned()),
    ] {
        assert!(federation.who(&token).is_none(), "{what}");
    }
}

/// The same provider, registered at another instant.
fn registered_at(provider: &Provider, micros: i64) -> Provider {
    Provider {
        created: Timestamp::from_micros(micros),
        ..provider.clone()
    }
}

impl Federation {
    fn tenant_of(&self, token: &str) -> Option<String> {
        let vouched = self.who(token)?;
        Some(vouched.caller.tenant.as_str().to_owned())
    }
}

#[test]
fn a_token_that_could_be_of_two_tenants_is_of_the_one_that_names_its_audience_or_was_first() {
    let federation = federation();
    let (one, two) = (provider("one"), registered_at(&provider("two"), 1));
    federation.with(&two, &[("k", KEY)]);
    let token = signed(&claims(), "k", KEY);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("two"));
    // An older one of another tenant may have the same key: at first, it is not known.
    federation.put(one.clone());
    assert_eq!(federation.perhaps(&token), 1);
    // If it fails, it is not considered.
    federation.unanswered(one.id);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("two"));
    federation.answered(one.id, &[("k", KEY)]);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"));
    assert_eq!(federation.rivals(&one), [two.id]);
    // A younger one is not contacted, and is not considered however it changes.
    let three = registered_at(&provider("three"), 2);
    federation.put(three.clone());
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"));
    // Audiences distinguish them.
    let for_whom = |provider: &Provider, audience: &str| Provider {
        audiences: vec![audience.into()],
        ..provider.clone()
    };
    federation.put(for_whom(&two, "other"));
    let theirs = signed(&with("aud", json!("other")), "k", KEY);
    assert_eq!(federation.tenant_of(&theirs).as_deref(), Some("two"));
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"), "any");
    // Its tokens are not of the one without an audience while it is invalidated.
    federation.put(Provider {
        is_active: false,
        ..for_whom(&two, "other")
    });
    assert!(federation.who(&theirs).is_none());
    federation.put(for_whom(&two, "other"));
    federation.answered(two.id, &[("k", KEY)]);
    federation.put(for_whom(&one, "app"));
    assert_eq!(federation.rivals(&for_whom(&one, "app")), [three.id]);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"));
    assert_eq!(federation.tenant_of(&theirs).as_deref(), Some("two"));
}

#[test]
fn a_provider_that_names_an_issuer_elsewhere_captures_none_of_its_tokens() {
    let federation = federation();
    let elsewhere = Provider {
        well_known: "https://evil.example/.well-known/openid-configuration".into(),
        issuers: Vec::new(),
        ..provider("other")
    };
    federation.with(&elsewhere, &[("k", KEY)]);
    let one = registered_at(&provider("one"), 1);
    federation.with(&one, &[("k", KEY)]);
    let token = signed(&claims(), "k", KEY);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"));
    // Nor does it while the other is invalidated.
    federation.put(Provider {
        is_active: false,
        ..one
    });
    assert!(federation.who(&token).is_none());
}

#[test]
fn the_tokens_of_an_invalidated_provider_are_nobody_elses() {
    let federation = federation();
    let (one, two) = (provider("one"), registered_at(&provider("two"), 1));
    // In another spelling.
    let two = Provider {
        well_known: format!("{}?more", two.well_known).into(),
        ..two
    };
    federation.with(&one, &[("k", KEY)]);
    federation.with(&two, &[("k", KEY), ("l", OTHER_KEY)]);
    let token = signed(&claims(), "k", KEY);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"));
    for withheld in [
        Provider {
            is_active: false,
            ..one.clone()
        },
        Provider {
            refused: vec!["k".into()],
            ..one.clone()
        },
    ] {
        federation.put(withheld);
        assert!(federation.who(&token).is_none());
    }
    // Once it is deleted there is no other.
    let two = Arc::new(two);
    federation.follow([&two].into_iter());
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("two"));
}

#[test]
fn keys_of_other_tenants_do_not_crowd_out_those_of_one() {
    let federation = federation();
    // Another tenant claims the issuer, and a key of that id, many times and first.
    for n in 0..6 {
        let bits = SigningKey::make().expect("a key").0;
        let mut jwk: Value = serde_json::from_str(&bits.public().jwk()).expect("JSON");
        jwk["kid"] = json!("k");
        let set = json!({"keys": [jwk]}).to_string();
        let (keys, _) = PublishedKey::parse_set(set.as_bytes()).expect("a set");
        let other = registered_at(&provider("other"), n);
        federation.put(other.clone());
        let all = federation.all();
        let held = all.iter().find(|held| held.provider.id == other.id);
        let now = Instant::now();
        held.expect("there is one")
            .answered(("https://id.example".into(), keys), now, now);
    }
    let one = registered_at(&provider("one"), 50);
    federation.with(&one, &[("k", KEY)]);
    let token = signed(&claims(), "k", KEY);
    assert_eq!(federation.tenant_of(&token).as_deref(), Some("one"));
}

#[test]
fn the_same_name_of_another_key_is_no_matter() {
    let federation = federation();
    let (one, two) = (provider("one"), provider("two"));
    federation.with(&one, &[("k", KEY)]);
    federation.with(&two, &[("k", OTHER_KEY)]);
    for (pem, tenant) in [(KEY, "one"), (OTHER_KEY, "two")] {
        let vouched = federation.who(&signed(&claims(), "k", pem));
        assert_eq!(vouched.expect("someone").caller.tenant.as_str(), tenant);
    }
    // Two providers of one tenant are no exception: the older one counts.
    let again = Provider {
        roles_claim: Some("else".into()),
        created: Timestamp::from_micros(1),
        ..provider("one")
    };
    federation.with(&again, &[("k", KEY)]);
    let vouched = federation.who(&signed(&claims(), "k", KEY));
    assert!(vouched.expect("someone").caller.roles.contain("ROLE_A"));
}

#[test]
fn what_was_vouched_for_goes_with_the_key_and_with_the_provider() {
    let federation = federation();
    let provider = provider("acme");
    federation.with(&provider, &[("k", KEY), ("l", OTHER_KEY)]);
    let token = signed(&claims(), "k", KEY);
    let who = || federation.who(&token);
    let revocation = || who().expect("someone").revocation;
    // Rotated.
    let first = revocation();
    federation.answered(provider.id, &[("k", KEY)]);
    assert!(!first.is_revoked());
    federation.answered(provider.id, &[("l", KEY)]);
    assert!(first.is_revoked() && who().is_none());
    // Changed.
    federation.answered(provider.id, &[("k", KEY)]);
    let second = revocation();
    federation.put(Provider {
        roles_claim: Some("else".into()),
        ..provider.clone()
    });
    assert!(second.is_revoked());
    assert!(!who().expect("keys are kept").caller.roles.contain("ROLE_A"));
    // No longer active, and active again without the key it had.
    let third = revocation();
    let names = federation.keys_of(provider.id).expect("it has answered");
    federation.put(Provider {
        is_active: false,
        ..provider.clone()
    });
    assert!(third.is_revoked() && who().is_none() && federation.perhaps(&token) == 0);
    federation.put(Provider {
        refused: names,
        ..provider.clone()
    });
    federation.answered(provider.id, &[("k", KEY)]);
    assert!(who().is_none());
    federation.put(provider.clone());
    let fourth = revocation();
    let other = Arc::new(self::provider("else"));
    federation.follow([&other].into_iter());
    assert!(fourth.is_revoked() && who().is_none());
}

#[test]
fn what_does_not_change_stays_as_it_is() {
    let federation = federation();
    let provider = provider("acme");
    federation.with(&provider, &[("k", KEY)]);
    let vouched = federation
        .who(&signed(&claims(), "k", KEY))
        .expect("someone");
    federation.put(self::provider("else"));
    federation.put(provider);
    assert!(!vouched.revocation.is_revoked());
}
