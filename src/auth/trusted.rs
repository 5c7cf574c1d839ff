//! Trusted keys of tenants: what tells whether the token of a subject comes from where a tenant
//! trusts it to come from (`rest.md` §7). They sign nothing here, and no token that they have
//! signed is one of ours: it can be exchanged for one.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::DecodingKey;
use rsa::{BigUint, RsaPublicKey, traits::PublicKeyParts as _};
use serde_json::{Map, Value};

use super::{
    key::BITS_MIN,
    pair::{KeyUse, Validity},
    record::{self, BadRecord, TrustedKeyRecord},
};
use crate::clock::Timestamp;
use crate::id::Tenant;

/// How many bits keys have at most: what checking a token may cost has an end.
const BITS_MAX: usize = 4_096;

/// How many bytes a JWK has at most, with all that is said beside the key.
const JWK_BYTES_MAX: usize = 16 << 10;

/// The members of a JWK that are nobody else's business (RFC 7518 §6.3.2, §6.4).
const PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Why a JWK is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadJwk {
    #[error("the jwk is no JSON object")]
    NoObject,
    #[error("the jwk is larger than {JWK_BYTES_MAX} bytes")]
    Large,
    #[error("the jwk has {0} members; at most {1} are taken")]
    TooMany(usize, usize),
    #[error("the kty of a trusted key is RSA")]
    Type,
    #[error("the alg of a trusted key is RS256")]
    Algorithm,
    #[error("the use of a trusted key is sig")]
    Use,
    #[error("the jwk has the private member `{0}`; send the public key only")]
    Private(&'static str),
    #[error("the `{0}` of the jwk is no number in base64url")]
    Number(&'static str),
    #[error("the key has {0} bits; {BITS_MIN} to {BITS_MAX} are taken")]
    Bits(usize),
    #[error("the jwk is no RSA key")]
    Unusable,
}

/// A public key, as who trusts it has written it.
#[derive(Clone)]
pub struct Jwk {
    text: Arc<str>,
    decoding: DecodingKey,
}

impl Jwk {
    /// Reads one with so many members at most.
    pub fn parse(text: &str, members_max: usize) -> Result<Self, BadJwk> {
        if text.len() > JWK_BYTES_MAX {
            return Err(BadJwk::Large);
        }
        // What is kept is what was understood, also where a member was given twice.
        let members: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| BadJwk::NoObject)?;
        if members.len() > members_max {
            return Err(BadJwk::TooMany(members.len(), members_max));
        }
        if members.get("kty").and_then(Value::as_str) != Some("RSA") {
            return Err(BadJwk::Type);
        }
        let is_other = |name: &str, expected: &str| {
            let given = members.get(name);
            given.is_some_and(|given| given.as_str() != Some(expected))
        };
        if is_other("alg", "RS256") {
            return Err(BadJwk::Algorithm);
        }
        if is_other("use", "sig") {
            return Err(BadJwk::Use);
        }
        let private = PRIVATE.iter().find(|name| members.contains_key(**name));
        if let Some(name) = private {
            return Err(BadJwk::Private(name));
        }
        let (modulus, exponent) = (number(&members, "n")?, number(&members, "e")?);
        let bits = modulus.bits();
        if !(BITS_MIN..=BITS_MAX).contains(&bits) {
            return Err(BadJwk::Bits(bits));
        }
        let key = RsaPublicKey::new(modulus, exponent).map_err(|_| BadJwk::Unusable)?;
        // With that exponent a signature is the message itself.
        if key.e().bits() == 1 {
            return Err(BadJwk::Unusable);
        }
        let (modulus, exponent) = (key.n().to_bytes_be(), key.e().to_bytes_be());
        Ok(Self {
            text: Value::Object(members).to_string().into(),
            decoding: DecodingKey::from_rsa_raw_components(&modulus, &exponent),
        })
    }

    /// JSON.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A number as a JWK writes it. Some pad it, though none should.
fn number(members: &Map<String, Value>, name: &'static str) -> Result<BigUint, BadJwk> {
    let text = members.get(name).and_then(Value::as_str);
    let bytes = text.and_then(|text| {
        BASE64_URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .ok()
    });
    let bytes = bytes.filter(|bytes| !bytes.is_empty());
    Ok(BigUint::from_bytes_be(&bytes.ok_or(BadJwk::Number(name))?))
}

impl std::fmt::Debug for Jwk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A key that a tenant trusts.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    /// The `kid` of the tokens that it has signed.
    pub name: Arc<str>,
    pub tenant: Tenant,
    pub jwk: Jwk,
    /// Whose tokens it signs, and so which of our keys signs what they are exchanged for.
    pub used_for: KeyUse,
    /// Whose tokens are taken; anybody's, if there are none.
    pub issuers: Arc<[Box<str>]>,
    pub created: Timestamp,
    /// In which tokens that it has signed are taken.
    pub validity: Validity,
    /// Whether it was to be trusted no more, whatever its validity says: what is left of that is a
    /// time of grace.
    pub is_invalidated: bool,
}

impl TrustedKey {
    /// Whether it is in use, or will be.
    pub fn is_active(&self, now: Timestamp) -> bool {
        !self.is_invalidated && now < self.validity.to
    }

    /// Whether what it has signed is taken.
    fn checks(&self, now: Timestamp) -> bool {
        (self.validity.from..self.validity.to).contains(&now)
    }

    /// Whether it speaks for an issuer.
    pub(super) fn trusts(&self, issuer: Option<&str>) -> bool {
        self.issuers.is_empty()
            || issuer.is_some_and(|issuer| self.issuers.iter().any(|known| **known == *issuer))
    }

    /// What checks signatures, as long as it is valid.
    pub(super) fn decoding(&self, now: Timestamp) -> Option<&DecodingKey> {
        self.checks(now).then_some(&self.jwk.decoding)
    }

    /// The same, trusted for a time of grace only. That never makes it longer valid than it was.
    #[must_use]
    pub fn invalidated(&self, now: Timestamp, grace: Duration) -> Self {
        Self {
            is_invalidated: true,
            validity: self.validity.cut(now.after(grace)),
            ..self.clone()
        }
    }

    /// The same, in use.
    #[must_use]
    pub fn reactivated(&self, validity: Validity) -> Self {
        Self {
            is_invalidated: false,
            validity,
            ..self.clone()
        }
    }

    /// As it is stored.
    pub fn record(&self) -> String {
        record::write(&TrustedKeyRecord {
            jwk: self.jwk.text.to_string(),
            audience: self.used_for.as_str().to_owned(),
            issuers: self
                .issuers
                .iter()
                .map(|issuer| (**issuer).to_owned())
                .collect(),
            created: self.created.micros(),
            valid_from: self.validity.from.micros(),
            valid_to: self.validity.to.micros(),
            invalidated: self.is_invalidated,
        })
    }

    /// One that was stored.
    pub fn read(name: &str, tenant: Tenant, record: &str) -> Result<Self, BadRecord> {
        const WHAT: &str = "trusted key";
        let record: TrustedKeyRecord = record::read(WHAT, name, record)?;
        let jwk = Jwk::parse(&record.jwk, usize::MAX);
        let used_for = record.audience.parse();
        Ok(Self {
            name: name.into(),
            tenant,
            jwk: jwk.map_err(|error| BadRecord::new(WHAT, name, &error.to_string()))?,
            used_for: used_for
                .map_err(|_| BadRecord::new(WHAT, name, "its audience is unknown"))?,
            issuers: record.issuers.into_iter().map(Into::into).collect(),
            created: Timestamp::from_micros(record.created),
            validity: Validity {
                from: Timestamp::from_micros(record.valid_from),
                to: Timestamp::from_micros(record.valid_to),
            },
            is_invalidated: record.invalidated,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::auth::SigningKey;

    fn jwk() -> Value {
        let key = SigningKey::parse(include_str!("../../tests/keys/signing.pem")).expect("a key");
        serde_json::from_str(&key.public().jwk()).expect("JSON")
    }

    fn with(member: &str, value: Value) -> Value {
        let mut jwk = jwk();
        jwk[member] = value;
        jwk
    }

    fn parse(jwk: &Value) -> Result<Jwk, BadJwk> {
        Jwk::parse(&jwk.to_string(), 6)
    }

    #[test]
    fn a_jwk_is_a_public_key_for_rs256() {
        let number = |bytes: &[u8]| json!(BASE64_URL_SAFE_NO_PAD.encode(bytes));
        parse(&jwk()).expect("a key");
        parse(&with("e", json!("AQAB="))).expect("padded");
        let bare = json!({"kty": "RSA", "n": jwk()["n"], "e": "AQAB"});
        let read = parse(&bare).expect("a key");
        assert_eq!(read.as_str().parse::<Value>().expect("JSON"), bare);
        for (bad, why) in [
            (json!([]), BadJwk::NoObject),
            (json!("RSA"), BadJwk::NoObject),
            (with("x5t", json!(1)), BadJwk::TooMany(7, 6)),
            (json!({}), BadJwk::Type),
            (with("kty", json!("EC")), BadJwk::Type),
            (with("kty", json!("oct")), BadJwk::Type),
            (with("kty", json!("rsa")), BadJwk::Type),
            (with("alg", json!("RS512")), BadJwk::Algorithm),
            (with("alg", json!("none")), BadJwk::Algorithm),
            (with("use", json!("enc")), BadJwk::Use),
            (
                json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"}),
                BadJwk::Private("d"),
            ),
            (json!({"kty": "RSA", "e": "AQAB"}), BadJwk::Number("n")),
            (with("n", json!("")), BadJwk::Number("n")),
            (with("n", json!("?")), BadJwk::Number("n")),
            (with("e", json!(65_537)), BadJwk::Number("e")),
            (with("n", json!("AQAB")), BadJwk::Bits(17)),
            (
                with("n", number(&[&[1][..], &[255; 255]].concat())),
                BadJwk::Bits(2_041),
            ),
            (with("n", number(&[255; 513])), BadJwk::Bits(4_104)),
            (with("n", number(&[254; 256])), BadJwk::Unusable),
            (with("e", number(&[1])), BadJwk::Unusable),
            (with("e", number(&[0])), BadJwk::Unusable),
            (with("e", number(&[4])), BadJwk::Unusable),
            (with("e", number(&[255; 9])), BadJwk::Unusable),
            (with("kid", json!("x".repeat(JWK_BYTES_MAX))), BadJwk::Large),
        ] {
            assert_eq!(parse(&bad).err(), Some(why), "{bad}");
        }
    }

    #[test]
    fn a_key_is_trusted_in_its_time_and_read_as_it_was_stored() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let key = TrustedKey {
            name: "k".into(),
            tenant: "t".into(),
            jwk: parse(&jwk()).expect("a key"),
            used_for: KeyUse::Human,
            issuers: ["i".into()].into(),
            created: at(5),
            validity: Validity {
                from: at(10),
                to: at(100),
            },
            is_invalidated: false,
        };
        let states = |key: &TrustedKey, now| (key.is_active(at(now)), key.checks(at(now)));
        assert_eq!(states(&key, 9), (true, false));
        assert_eq!(states(&key, 10), (true, true));
        assert_eq!(states(&key, 100), (false, false));
        let graced = key.invalidated(at(20), Duration::from_secs(5));
        assert_eq!(states(&graced, 24), (false, true));
        assert_eq!(states(&graced, 25), (false, false));
        let again = graced.invalidated(at(20), Duration::from_secs(50));
        assert_eq!(again.validity, graced.validity);
        assert_eq!(states(&graced.reactivated(key.validity), 50), (true, true));

        assert!(key.trusts(Some("i")) && !key.trusts(Some("j")) && !key.trusts(None));
        let anybodys = TrustedKey {
            issuers: [].into(),
            ..key.clone()
        };
        assert!(anybodys.trusts(Some("j")) && anybodys.trusts(None));

        let read = TrustedKey::read("k", "t".into(), &graced.record()).expect("reads");
        assert_eq!(read.record(), graced.record());
        assert!(TrustedKey::read("k", "t".into(), "{}").is_err());
    }
}
