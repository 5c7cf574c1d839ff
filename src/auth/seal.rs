//! Encrypts what is stored and nobody may read: private keys, and variables of bundles.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};

use crate::id;

/// The length of the encryption key.
const KEY_BYTES: usize = 32;

/// The length of the nonce.
const NONCE_BYTES: usize = 24;

/// Why the key of the settings is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not {KEY_BYTES} bytes in base64; `openssl rand -base64 {KEY_BYTES}` makes one")]
pub struct BadSeal;

/// A text could not be encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a private key could not be encrypted")]
pub struct NotSealed;

/// Encrypts and decrypts stored text (XChaCha20-Poly1305, whose nonces may be random). The
/// ciphertext is bound to a name, so that records cannot be swapped.
#[derive(Clone)]
pub struct Seal(XChaCha20Poly1305);

impl Seal {
    /// Parses a key.
    pub fn parse(base64: &str) -> Result<Self, BadSeal> {
        let bytes = BASE64_STANDARD.decode(base64.trim()).map_err(|_| BadSeal)?;
        let key: [u8; KEY_BYTES] = bytes.try_into().map_err(|_| BadSeal)?;
        Ok(Self(XChaCha20Poly1305::new(&key.into())))
    }

    /// A key that nobody has, and its text for [`Self::parse`].
    pub fn fresh() -> (Self, String) {
        let key = id::secret();
        let seal = Self(XChaCha20Poly1305::new(&key.into()));
        (seal, BASE64_STANDARD.encode(key))
    }

    /// Encrypts text under a name.
    pub fn close(&self, name: &str, said: &[u8]) -> Result<String, NotSealed> {
        let chance = id::secret();
        let nonce: [u8; NONCE_BYTES] = std::array::from_fn(|index| chance[index]);
        let payload = Payload {
            msg: said,
            aad: name.as_bytes(),
        };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| NotSealed)?;
        Ok(BASE64_STANDARD.encode([&nonce[..], &sealed].concat()))
    }

    /// Decrypts what was encrypted under that name; none with another key.
    pub fn open(&self, name: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = BASE64_STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: sealed,
            aad: name.as_bytes(),
        };
        self.0.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(byte: u8) -> Seal {
        Seal::parse(&BASE64_STANDARD.encode([byte; KEY_BYTES])).expect("a key")
    }

    #[test]
    fn what_is_sealed_is_opened_with_the_same_key_and_name_only() {
        let sealed = seal(1).close("k", b"private").expect("seals");
        assert_eq!(seal(1).open("k", &sealed).as_deref(), Some(&b"private"[..]));
        assert_eq!(seal(2).open("k", &sealed), None);
        assert_eq!(seal(1).open("other", &sealed), None);
        assert_eq!(seal(1).open("k", "AAAA"), None);
        let mut bytes = BASE64_STANDARD.decode(&sealed).expect("base64");
        bytes
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|byte| *byte ^= 1);
        assert_eq!(seal(1).open("k", &BASE64_STANDARD.encode(bytes)), None);
        assert_ne!(seal(1).close("k", b"private").expect("seals"), sealed);
        assert!(!sealed.contains("private"));
    }

    #[test]
    fn a_key_is_32_bytes_in_base64() {
        for bad in ["", "short", "!", &BASE64_STANDARD.encode([1; 31])] {
            assert_eq!(Seal::parse(bad).err(), Some(BadSeal), "{bad}");
        }
    }
}
