//! Key pairs of tenants, which sign the tokens of a tenant's clients instead of the key of the
//! settings, while they are valid (`rest.md` §7).

use std::{str::FromStr, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{
    key::{PublicKey, SigningKey},
    record::{self, BadRecord, KeyPairRecord},
    seal::{NotSealed, Seal},
    validity::Validity,
};
use crate::clock::Timestamp;
use crate::error::Failure;
use crate::id::Tenant;

/// The message for a stored key that cannot be decrypted.
const HOW_TO_OPEN: &str =
    "it is encrypted; start with the INTERLOCK_KEY_ENCRYPTION_KEY with which it was stored";

/// The kind of tokens that a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyUse {
    /// Tokens of programs.
    Client,
    /// Tokens of people.
    Human,
}

impl KeyUse {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Human => "human",
        }
    }
}

/// An unknown kind of tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audience is `{0}`; use client or human")]
pub struct UnknownUse(String);

impl FromStr for KeyUse {
    type Err = UnknownUse;

    fn from_str(text: &str) -> Result<Self, UnknownUse> {
        [Self::Client, Self::Human]
            .into_iter()
            .find(|known| known.as_str() == text)
            .ok_or_else(|| UnknownUse(text.to_owned()))
    }
}

/// A private key in its stored form.
#[derive(Clone)]
struct Private {
    /// PKCS #8 in base64.
    text: Arc<str>,
    is_sealed: bool,
}

/// A key pair of a tenant.
#[derive(Clone)]
pub struct KeyPair {
    pub name: Arc<str>,
    pub tenant: Tenant,
    pub used_for: KeyUse,
    pub created: Timestamp,
    /// The period in which its signatures are valid.
    pub validity: Validity,
    /// None if it is encrypted with a key that this process does not have: then it only verifies.
    pub(super) key: Option<SigningKey>,
    public: PublicKey,
    private: Private,
}

impl KeyPair {
    /// Generates a key pair. Takes a good part of a second.
    pub(super) fn make(
        tenant: Tenant,
        used_for: KeyUse,
        validity: Validity,
        created: Timestamp,
        seal: Option<&Seal>,
    ) -> Result<Self, Failure> {
        let (key, der) = SigningKey::make()?;
        let name: Arc<str> = (*key.public().name).into();
        Ok(Self {
            private: Private::new(&name, der.as_bytes(), seal)
                .map_err(|error| Failure::internal(error.to_string()))?,
            name,
            tenant,
            used_for,
            created,
            validity,
            public: key.public().clone(),
            key: Some(key),
        })
    }

    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Why it cannot sign here, if its private key cannot be decrypted.
    pub fn locked(&self) -> Option<BadRecord> {
        let bad = || BadRecord::new("key pair", &self.name, HOW_TO_OPEN);
        self.key.is_none().then(bad)
    }

    /// Whether it may sign.
    pub(super) fn signs(&self, now: Timestamp) -> bool {
        self.validity.is_active(now) && self.validity.holds(now)
    }

    /// A copy of the key pair with another validity.
    #[must_use]
    pub fn with(&self, validity: Validity) -> Self {
        Self {
            validity,
            ..self.clone()
        }
    }

    /// A copy of the key pair with its private key encrypted; none if it already is.
    pub(super) fn sealed(&self, seal: &Seal) -> Result<Option<Self>, NotSealed> {
        if self.private.is_sealed {
            return Ok(None);
        }
        let der = BASE64_STANDARD
            .decode(&*self.private.text)
            .map_err(|_| NotSealed)?;
        Ok(Some(Self {
            private: Private::new(&self.name, &der, Some(seal))?,
            ..self.clone()
        }))
    }

    /// The stored form.
    pub fn record(&self) -> String {
        record::write(&KeyPairRecord {
            key: self.private.text.to_string(),
            sealed: self.private.is_sealed,
            public: Some(self.public.info.to_string()),
            audience: self.used_for.as_str().to_owned(),
            created: self.created.micros(),
            validity: self.validity.record(),
        })
    }

    /// Parses the stored form. Without the key that encrypted it, a pair only verifies.
    pub fn read(
        name: &str,
        tenant: Tenant,
        record: &str,
        seal: Option<&Seal>,
    ) -> Result<Self, BadRecord> {
        let bad = |why: &'static str| BadRecord::new("key pair", name, why);
        let record: KeyPairRecord = record::read("key pair", name, record)?;
        let der = if record.sealed {
            seal.and_then(|seal| seal.open(name, &record.key))
        } else {
            let decoded = BASE64_STANDARD.decode(&record.key);
            Some(decoded.map_err(|_| bad("it is not base64"))?)
        };
        let key = der.map(|der| SigningKey::read(&der)).transpose();
        let key = key.map_err(|_| bad("it is not a valid key"))?;
        let public = match (&key, &record.public) {
            (Some(key), _) => key.public().clone(),
            (None, Some(info)) => {
                PublicKey::read(info).map_err(|_| bad("its public key is not a valid key"))?
            }
            // Stored by a version that did not keep the public key beside it.
            (None, None) => return Err(bad(HOW_TO_OPEN)),
        };
        // The name is derived from the public key, so another one cannot take its place.
        if *public.name != *name {
            return Err(bad("it is a different key"));
        }
        Ok(Self {
            name: name.into(),
            tenant,
            used_for: record
                .audience
                .parse()
                .map_err(|_| bad("its audience is unknown"))?,
            created: Timestamp::from_micros(record.created),
            validity: Validity::read(&record.validity),
            key,
            public,
            private: Private {
                text: record.key.into(),
                is_sealed: record.sealed,
            },
        })
    }
}

impl Private {
    fn new(name: &str, der: &[u8], seal: Option<&Seal>) -> Result<Self, NotSealed> {
        let text = match seal {
            Some(seal) => seal.close(name, der)?,
            None => BASE64_STANDARD.encode(der),
        };
        Ok(Self {
            text: text.into(),
            is_sealed: seal.is_some(),
        })
    }
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyPair({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn pair(seal: Option<&Seal>) -> KeyPair {
        let validity = Validity::new(at(10), at(100));
        KeyPair::make("t".into(), KeyUse::Client, validity, at(5), seal).expect("a pair")
    }

    fn seal(byte: u8) -> Seal {
        Seal::parse(&BASE64_STANDARD.encode([byte; 32])).expect("a key")
    }

    #[test]
    fn a_pair_signs_in_its_time_unless_that_is_cut() {
        let pair = pair(None);
        let signs = |pair: &KeyPair| [9, 10, 99, 100].map(|now| pair.signs(at(now)));
        assert_eq!(signs(&pair), [false, true, true, false]);
        let cut = pair.with(pair.validity.cut(at(20), Duration::from_secs(70)));
        assert_eq!(signs(&cut), [false; 4]);
        assert!(cut.validity.holds(at(89)));
    }

    #[test]
    fn a_pair_is_read_as_it_was_stored_by_who_has_the_key() {
        let open = pair(None);
        let read = |pair: &KeyPair, seal: Option<&Seal>| {
            KeyPair::read(&pair.name, "t".into(), &pair.record(), seal)
        };
        let same = read(&open, None).expect("reads");
        let same = same.with(same.validity.cut(at(20), Duration::ZERO));
        let same = read(&same, Some(&seal(1))).expect("reads");
        assert!(!same.validity.is_active(at(15)));
        assert_eq!(same.public().jwk(), open.public().jwk());

        let sealed = open
            .sealed(&seal(1))
            .expect("seals")
            .expect("was not sealed");
        assert!(sealed.sealed(&seal(1)).expect("seals").is_none());
        assert!(!sealed.record().contains(&*open.private.text));
        for wrong in [None, Some(&seal(2))] {
            let locked = read(&sealed, wrong).expect("reads");
            assert!(locked.key.is_none() && sealed.key.is_some());
            assert_eq!(locked.public().jwk(), open.public().jwk());
            assert_eq!(locked.record(), sealed.record());
            // Of a version that did not keep the public key.
            let older = sealed.record().replace("\"public\"", "\"other\"");
            let error = KeyPair::read(&sealed.name, "t".into(), &older, wrong);
            let error = error.expect_err("sealed").to_string();
            assert!(error.contains("INTERLOCK_KEY_ENCRYPTION_KEY"), "{error}");
        }
        let read = read(&sealed, Some(&seal(1))).expect("reads");
        assert_eq!((read.validity, read.created), (open.validity, open.created));
        assert_eq!(read.public().jwk(), open.public().jwk());
        let moved = KeyPair::read("other", "t".into(), &open.record(), None);
        assert!(moved.is_err());
    }
}
