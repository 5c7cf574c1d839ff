//! The secret that all nodes share, and what is derived from it.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The secret of a cluster. Every key is derived from it for one purpose (HMAC-SHA256).
#[derive(Clone)]
pub struct Secret(Hmac<Sha256>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The secret of these bytes.
    ///
    /// # Panics
    /// Never: a key may have any length.
    pub fn new(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("any length of key will do"))
    }

    /// The key that signs transaction tokens.
    pub(super) fn of_tokens(&self) -> [u8; 32] {
        self.of("interlock transaction tokens", &[])
            .finalize()
            .into_bytes()
            .into()
    }

    /// What is derived for a purpose, of these parts.
    pub(super) fn derive(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        self.of(purpose, parts).finalize().into_bytes().into()
    }

    /// Whether a proof is the one that is derived so, in constant time.
    pub(super) fn is_proof(&self, purpose: &str, parts: &[&[u8]], proof: &[u8]) -> bool {
        self.of(purpose, parts).verify_slice(proof).is_ok()
    }

    fn of(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in std::iter::once(&purpose.as_bytes()).chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }
}
