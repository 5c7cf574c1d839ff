//! Stored secrets: their argon2id hashes.

use std::{fmt, sync::Arc};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};

use crate::error::Failure;
use crate::id;

/// The length of the salt.
const SALT_BYTES: usize = 16;

/// A hash without a known secret; verifying against it takes as long as for any other.
const NOBODYS: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The hash with its parameters (a PHC string).
#[derive(Clone, PartialEq, Eq)]
pub struct Hash(Arc<str>);

impl Hash {
    /// Takes tens of milliseconds and 19 MiB, like [`Self::is_of`]; that is its purpose.
    pub(super) fn new(secret: &str) -> Result<Self, Failure> {
        let random = id::secret();
        let salt = random
            .first_chunk::<SALT_BYTES>()
            .unwrap_or(&[0; SALT_BYTES]);
        let hash = Argon2::default().hash_password_with_salt(secret.as_bytes(), salt);
        let hash = hash
            .map_err(|error| Failure::internal(format!("a secret could not be hashed: {error}")))?;
        Ok(Self(hash.to_string().into()))
    }

    /// Parses a stored hash.
    pub(super) fn stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The hash of nobody's secret.
    pub(super) fn of_nobody() -> Self {
        Self::stored(NOBODYS)
    }

    pub(super) fn is_of(&self, secret: &str) -> bool {
        let verified = Argon2::default().verify_password(secret.as_bytes(), &*self.0);
        verified.is_ok()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_distinguishes_its_secret_from_others() {
        let hash = Hash::new("s3cret").expect("hashes");
        assert!(hash.is_of("s3cret"));
        for other in ["", "s3cre", "s3cret ", "S3cret"] {
            assert!(!hash.is_of(other), "{other}");
        }
        let stored = Hash::stored(hash.as_str());
        assert!(stored.is_of("s3cret"));
        assert_ne!(Hash::new("s3cret").expect("hashes"), hash, "another salt");
        assert!(!format!("{hash:?}").contains('$'));
    }

    #[test]
    fn nobodys_hash_is_as_dear_as_any() {
        let cost = |hash: &Hash| {
            let parts: Vec<_> = hash.as_str().split('$').map(str::to_owned).collect();
            let lengths: Vec<_> = parts.iter().skip(4).map(String::len).collect();
            (parts.into_iter().take(4).collect::<Vec<_>>(), lengths)
        };
        let any = Hash::new("s3cret").expect("hashes");
        assert_eq!(cost(&Hash::of_nobody()), cost(&any));
        assert!(!Hash::of_nobody().is_of(""));
    }
}
