//! Clients: programs that obtain tokens with an id and a secret.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{
    Roles,
    hash::Hash,
    record::{self, BadRecord, ClientRecord},
};
use crate::clock::Timestamp;
use crate::id::{self, Tenant};

/// The length of a generated client id.
const NAME_CHARS: usize = 16;

/// Its alphabet, five bits for each character (`rest.md` §7).
const NAME_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// How far in the future tokens may be issued, in seconds: well within the tolerated clock skew.
const AHEAD_SECONDS_MAX: i64 = 10;

/// The client of the settings, and the caller it is.
#[derive(Debug)]
pub struct Client {
    pub id: Box<str>,
    pub secret: Secret,
    pub tenant: Tenant,
    pub user: Box<str>,
    pub roles: Roles,
}

/// A client created by a request. It calls as itself.
#[derive(Debug, Clone)]
pub struct Registered {
    pub id: Arc<str>,
    pub tenant: Tenant,
    pub roles: Roles,
    pub created: Timestamp,
    /// When it received its secret.
    pub updated: Timestamp,
    pub(super) hash: Hash,
    /// Tokens issued before that second are revoked. Token times are whole seconds, so each
    /// replacement secret is valid from the next second.
    pub(super) tokens_since: i64,
}

impl Registered {
    /// A new client with a unique id.
    pub fn new(tenant: Tenant, roles: Roles, hash: Hash, now: Timestamp) -> Self {
        Self {
            id: fresh_name(),
            tenant,
            roles,
            created: now,
            updated: now,
            hash,
            tokens_since: 0,
        }
    }

    /// Replaces the secret, which revokes the former tokens. None if so many secrets were requested
    /// within a second that new tokens would be issued in the future.
    pub fn with_secret(&self, hash: Hash, now: Timestamp) -> Option<Self> {
        let second = now.millis().div_euclid(1_000);
        let tokens_since = self.tokens_since.max(second) + 1;
        (tokens_since - second <= AHEAD_SECONDS_MAX).then(|| Self {
            updated: now,
            hash,
            tokens_since,
            ..self.clone()
        })
    }

    /// The stored form.
    pub fn record(&self) -> String {
        record::write(&ClientRecord {
            secret: self.hash.as_str().to_owned(),
            roles: self.roles.iter().map(str::to_owned).collect(),
            created: self.created.micros(),
            updated: self.updated.micros(),
            tokens_since: self.tokens_since,
        })
    }

    /// Parses the stored form.
    pub fn read(id: &str, tenant: Tenant, record: &str) -> Result<Self, BadRecord> {
        let record: ClientRecord = record::read("client", id, record)?;
        Ok(Self {
            id: id.into(),
            tenant,
            roles: Roles::of(record.roles.iter().map(String::as_str)),
            created: Timestamp::from_micros(record.created),
            updated: Timestamp::from_micros(record.updated),
            hash: Hash::stored(&record.secret),
            tokens_since: record.tokens_since,
        })
    }
}

/// A unique id: 80 random bits.
fn fresh_name() -> Arc<str> {
    let random = id::secret();
    // The bytes between them mark the version of the random UUID.
    let bytes: Vec<u8> = [&random[..6], &random[10..16]].concat();
    let mut bits = bytes
        .iter()
        .fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    let name = (0..NAME_CHARS).map(|_| {
        let index = usize::try_from(bits & 31).unwrap_or_default();
        bits >>= 5;
        char::from(NAME_ALPHABET[index])
    });
    name.collect::<String>().into()
}

/// Whether a request may have created a client with this id.
pub(super) fn is_registered_name(name: &str) -> bool {
    name.len() == NAME_CHARS && name.bytes().all(|byte| NAME_ALPHABET.contains(&byte))
}

/// A new secret, in characters that need no escaping anywhere.
pub(super) fn fresh_secret() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(id::secret())
}

/// A secret known by its digest only, so that comparisons always have the same length.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    pub fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Compares in constant time.
    pub fn is(&self, given: impl AsRef<[u8]>) -> bool {
        Sha256::digest(given).ct_eq(&self.0).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_secrets_are_of_their_form_and_differ() {
        let names: HashSet<_> = (0..1_000).map(|_| fresh_name()).collect();
        assert_eq!(names.len(), 1_000);
        assert!(names.iter().all(|name| is_registered_name(name)));
        let used: HashSet<_> = names.iter().flat_map(|name| name.bytes()).collect();
        assert_eq!(used.len(), NAME_ALPHABET.len());
        for other in ["", "first", "0123456789ABCDEW", "0123456789abcdef"] {
            assert!(!is_registered_name(other), "{other}");
        }
        let secrets: HashSet<_> = (0..1_000).map(|_| fresh_secret()).collect();
        assert_eq!(secrets.len(), 1_000);
        assert!(secrets.iter().all(|secret| secret.len() == 43));
    }

    #[test]
    fn a_client_is_read_as_it_was_stored() {
        let now = Timestamp::from_micros(5_000_001);
        let client = Registered::new(
            "t".into(),
            Roles::parse("ROLE_M2M"),
            Hash::stored("$h"),
            now,
        );
        let later = Timestamp::from_micros(7_000_002);
        let client = client.with_secret(Hash::stored("$i"), later);
        let client = client.expect("the first one");
        let mut again = client.clone();
        for since in 9..=17 {
            again = again.with_secret(Hash::stored("$j"), later).expect("soon");
            assert_eq!(again.tokens_since, since);
        }
        assert!(again.with_secret(Hash::stored("$k"), later).is_none());
        let read = Registered::read(&client.id, "t".into(), &client.record()).expect("reads");
        assert_eq!(
            (read.created, read.updated, read.tokens_since),
            (now, later, 8)
        );
        assert_eq!((read.roles, read.hash), (client.roles, client.hash));
        let bad = Registered::read("N", "t".into(), "{}").expect_err("nothing");
        assert!(
            bad.to_string().starts_with("the stored client `N`"),
            "{bad}"
        );
    }
}
