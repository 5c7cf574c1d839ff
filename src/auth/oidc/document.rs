//! The documents that providers publish: discovery and keys.

use serde::Deserialize;
use serde_json::Value;

use super::{super::key::CheckingKey, FetchRules, ProviderUrl, Unfetched};

/// How many keys a provider may publish, including those that cannot be used.
const KEYS_MAX: usize = 100;

/// The maximum length of a key id, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The discovery document (`OpenID` Connect Discovery 1.0, §3).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Discovery {
    pub(super) issuer: Box<str>,
    pub(super) keys: ProviderUrl,
}

impl Discovery {
    pub(super) fn parse(text: &[u8], rules: &FetchRules) -> Result<Self, Unfetched> {
        #[derive(Deserialize)]
        struct Document {
            issuer: Box<str>,
            jwks_uri: String,
        }
        let unusable = |reason: String| Unfetched::Unusable {
            what: "the discovery document",
            reason,
        };
        let document: Document = serde_json::from_slice(text)
            .map_err(|_| unusable("it is not JSON with `issuer` and `jwks_uri`".to_owned()))?;
        if document.issuer.is_empty() {
            return Err(unusable("its `issuer` is empty".to_owned()));
        }
        let keys = ProviderUrl::parse(&document.jwks_uri, rules)
            .map_err(|error| unusable(format!("its `jwks_uri`: {error}")))?;
        Ok(Self {
            issuer: document.issuer,
            keys,
        })
    }
}

/// A signing key of a provider.
#[derive(Clone, PartialEq)]
pub(super) struct PublishedKey {
    pub(super) name: Box<str>,
    pub(super) public: CheckingKey,
}

impl PublishedKey {
    /// The usable keys of a set (RFC 7517), and the number of the others, which are skipped, because
    /// the set may contain keys for other purposes.
    pub(super) fn parse_set(text: &[u8]) -> Result<(Vec<Self>, usize), Unfetched> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let unusable = |reason: String| Unfetched::Unusable {
            what: "the key set",
            reason,
        };
        let set: Set = serde_json::from_slice(text)
            .map_err(|_| unusable("it is not JSON with `keys`".to_owned()))?;
        if set.keys.len() > KEYS_MAX {
            return Err(unusable(format!("it has more than {KEYS_MAX}")));
        }
        let count = set.keys.len();
        let keys: Vec<_> = set.keys.into_iter().filter_map(Self::parse).collect();
        let unusable = count - keys.len();
        Ok((keys, unusable))
    }

    /// A key that verifies RS256, of a safe length.
    fn parse(key: Value) -> Option<Self> {
        #[derive(Deserialize)]
        struct Jwk {
            kty: String,
            kid: Box<str>,
            #[serde(rename = "use")]
            purpose: Option<String>,
            alg: Option<String>,
            key_ops: Option<Vec<String>>,
            n: String,
            e: String,
        }
        let key: Jwk = serde_json::from_value(key).ok()?;
        let is_for_this = key.kty == "RSA"
            && (1..=NAME_BYTES_MAX).contains(&key.kid.len())
            && key.purpose.is_none_or(|purpose| purpose == "sig")
            && key.alg.is_none_or(|alg| alg == "RS256")
            && key
                .key_ops
                .is_none_or(|uses| uses.iter().any(|one| one == "verify"));
        if !is_for_this {
            return None;
        }
        let public = CheckingKey::parse(Some(&key.n), Some(&key.e)).ok()?;
        Some(Self {
            name: key.kid,
            public,
        })
    }
}

impl std::fmt::Debug for PublishedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublishedKey({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;
    use crate::auth::SigningKey;

    fn discovered(text: &str) -> Result<Discovery, Unfetched> {
        Discovery::parse(text.as_bytes(), &FetchRules::default())
    }

    fn key() -> Value {
        let key = SigningKey::parse(include_str!("../../../tests/keys/signing.pem"));
        serde_json::from_str(&key.expect("a key").public().jwk()).expect("JSON")
    }

    fn with(member: &str, value: Value) -> Value {
        let mut key = key();
        key[member] = value;
        key
    }

    fn without(member: &str) -> Value {
        let mut key = key();
        key.as_object_mut().expect("an object").remove(member);
        key
    }

    #[test]
    fn a_discovery_document_says_who_it_is_and_where_its_keys_are() {
        let whole = r#"{"issuer":"https://id.example","jwks_uri":"https://id.example/keys","scopes_supported":["openid"]}"#;
        let found = discovered(whole).expect("a document");
        assert_eq!(
            (&*found.issuer, found.keys.as_str()),
            ("https://id.example", "https://id.example/keys")
        );
        for text in [
            "",
            "garbage",
            "[]",
            "{}",
            r#"{"issuer":"https://id.example"}"#,
            r#"{"jwks_uri":"https://id.example/keys"}"#,
            r#"{"issuer":7,"jwks_uri":"https://id.example/keys"}"#,
            r#"{"issuer":"","jwks_uri":"https://id.example/keys"}"#,
            r#"{"issuer":"i","jwks_uri":"http://id.example/keys"}"#,
            r#"{"issuer":"i","jwks_uri":"file:///etc/passwd"}"#,
            r#"{"issuer":"i","jwks_uri":"keys"}"#,
        ] {
            assert!(discovered(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(discovered(&deep).is_err());
    }

    #[test]
    fn only_keys_that_check_this_kind_of_signature_are_taken() {
        let usable = |key: &Value| {
            let set = json!({"keys": [key]}).to_string();
            let (keys, unusable) = PublishedKey::parse_set(set.as_bytes()).expect("a set");
            assert_eq!(keys.len() + unusable, 1);
            unusable == 0
        };
        for key in [
            key(),
            without("use"),
            without("alg"),
            with("key_ops", json!(["verify"])),
            with("x5t", json!("whatever")),
        ] {
            assert!(usable(&key), "{key}");
        }
        let short = vec![0xff_u8; 128];
        for key in [
            json!(7),
            with("kty", json!("EC")),
            with("kty", json!("oct")),
            with("use", json!("enc")),
            with("alg", json!("PS256")),
            with("alg", json!("HS256")),
            with("key_ops", json!(["encrypt"])),
            with("kid", json!("")),
            with("kid", json!("k".repeat(NAME_BYTES_MAX + 1))),
            without("kid"),
            without("n"),
            with("n", json!("*")),
            with("n", json!("")),
            with("n", json!(BASE64_URL_SAFE_NO_PAD.encode(&short))),
            with("e", json!("")),
            with("e", json!("Ag")),
            // An exponent as long as a key takes as long as a signature.
            with("e", json!(BASE64_URL_SAFE_NO_PAD.encode(&short))),
        ] {
            assert!(!usable(&key), "{key}");
        }
    }

    #[test]
    fn a_set_has_bounds_and_a_form() {
        let of = |keys: Vec<Value>| {
            PublishedKey::parse_set(json!({"keys": keys}).to_string().as_bytes())
        };
        assert_eq!(of(Vec::new()).expect("none").0.len(), 0);
        assert_eq!(of(vec![key(); KEYS_MAX]).expect("many").0.len(), KEYS_MAX);
        assert!(of(vec![key(); KEYS_MAX + 1]).is_err());
        for text in ["", "{}", "[]", r#"{"keys":{}}"#] {
            assert!(PublishedKey::parse_set(text.as_bytes()).is_err(), "{text}");
        }
    }
}
