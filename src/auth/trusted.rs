//! Trusted keys of tenants: they verify the tokens of subjects that clients exchange (`rest.md`
//! §7). They sign nothing here, and a token they have signed is not one of ours: it can only be
//! exchanged for one.

use std::sync::Arc;

use jsonwebtoken::DecodingKey;
use serde_json::{Map, Value};

use super::{
    key::{BadNumbers, CheckingKey},
    pair::KeyUse,
    record::{self, BadRecord, TrustedKeyRecord},
    validity::Validity,
};
use crate::clock::Timestamp;
use crate::id::Tenant;

/// The maximum size of a JWK in bytes, with all its members.
const JWK_BYTES_MAX: usize = 16 << 10;

/// The private members of a JWK (RFC 7518 §6.3.2, §6.4).
const PRIVATE: &[&str] = &["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Why a JWK is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadJwk {
    #[error("the jwk is not a JSON object")]
    NoObject,
    #[error("the jwk is larger than {JWK_BYTES_MAX} bytes")]
    Large,
    #[error("the jwk has {0} members; at most {1} are accepted")]
    TooMany(usize, usize),
    #[error("the kty of a trusted key must be RSA")]
    Type,
    #[error("the alg of a trusted key must be RS256")]
    Algorithm,
    #[error("the use of a trusted key must be sig")]
    Use,
    #[error("the jwk has the private member `{0}`; send the public key only")]
    Private(&'static str),
    #[error(transparent)]
    Numbers(#[from] BadNumbers),
}

/// A public key, as it was registered.
#[derive(Clone)]
pub struct Jwk {
    text: Arc<str>,
    key: CheckingKey,
}

impl Jwk {
    /// Parses one with at most that many members.
    pub fn parse(text: &str, members_max: usize) -> Result<Self, BadJwk> {
        if text.len() > JWK_BYTES_MAX {
            return Err(BadJwk::Large);
        }
        // What is stored is what was understood, even if a member was given twice.
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
        let number = |name| members.get(name).and_then(Value::as_str);
        let key = CheckingKey::parse(number("n"), number("e"))?;
        Ok(Self {
            text: Value::Object(members).to_string().into(),
            key,
        })
    }

    /// JSON.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Debug for Jwk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A key that a tenant trusts.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    /// The `kid` of the tokens that it signs.
    pub name: Arc<str>,
    pub tenant: Tenant,
    pub jwk: Jwk,
    /// The kind of tokens that it signs, which selects the key that signs the exchanged ones.
    pub used_for: KeyUse,
    /// The accepted issuers; empty for any.
    pub issuers: Arc<[Box<str>]>,
    pub created: Timestamp,
    /// The period in which its signatures are accepted.
    pub validity: Validity,
}

impl TrustedKey {
    /// Whether it accepts an issuer.
    pub(super) fn trusts(&self, issuer: Option<&str>) -> bool {
        self.issuers.is_empty()
            || issuer.is_some_and(|issuer| self.issuers.iter().any(|known| **known == *issuer))
    }

    /// The verification key, while it is valid.
    pub(super) fn decoding(&self, now: Timestamp) -> Option<&DecodingKey> {
        self.validity.holds(now).then_some(&self.jwk.key.decoding)
    }

    /// A copy of the key with another validity.
    #[must_use]
    pub fn with(&self, validity: Validity) -> Self {
        Self {
            validity,
            ..self.clone()
        }
    }

    /// The stored form.
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
            validity: self.validity.record(),
        })
    }

    /// Parses the stored form.
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
            validity: Validity::read(&record.validity),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
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
            (
                json!({"kty": "RSA", "e": "AQAB"}),
                BadNumbers::Number("n").into(),
            ),
            (with("n", json!("")), BadNumbers::Number("n").into()),
            (with("n", json!("?")), BadNumbers::Number("n").into()),
            (with("e", json!(65_537)), BadNumbers::Number("e").into()),
            (with("n", json!("AQAB")), BadNumbers::Bits(17).into()),
            (
                with("n", number(&[&[1][..], &[255; 255]].concat())),
                BadNumbers::Bits(2_041).into(),
            ),
            (
                with("n", number(&[255; 513])),
                BadNumbers::Bits(4_104).into(),
            ),
            (with("n", number(&[254; 256])), BadNumbers::Unusable.into()),
            (with("e", number(&[1])), BadNumbers::Unusable.into()),
            (with("e", number(&[0])), BadNumbers::Unusable.into()),
            (with("e", number(&[4])), BadNumbers::Unusable.into()),
            (with("e", number(&[255; 9])), BadNumbers::Unusable.into()),
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
            validity: Validity::new(at(10), at(100)),
        };
        let graced = key.with(key.validity.cut(at(20), Duration::from_secs(5)));
        let checks = |now| graced.decoding(at(now)).is_some();
        assert_eq!([9, 10, 24, 25].map(checks), [false, true, true, false]);

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
