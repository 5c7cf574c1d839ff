//! Keys that sign and verify tokens.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use rsa::{
    BigUint, RsaPrivateKey, RsaPublicKey,
    pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _},
    pkcs8::{
        DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
        SecretDocument,
    },
    rand_core::OsRng,
    traits::PublicKeyParts as _,
};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::claims::Claims;
use crate::error::Failure;

/// The size of generated keys in bits, the usual one for RS256.
const BITS: usize = 2_048;

/// The maximum size of foreign keys in bits, which bounds the cost of verifying a token.
const BITS_MAX: usize = 4_096;

/// The minimum safe size, in bits.
const BITS_MIN: usize = 2_048;

/// How many bytes of a digest are used as the id of a key.
const NAME_BYTES: usize = 16;

/// The beginning of PEM, which base64 cannot have.
const PEM_BEGINS: &str = "-----BEGIN";

/// The PEM that a text encodes in base64, ignoring line ends.
fn pem_in_base64(text: &str) -> Option<String> {
    let line: String = text.trim().replace(['\r', '\n'], "");
    let pem = BASE64_STANDARD.decode(line).ok()?;
    Some(String::from_utf8(pem).ok()?.trim().to_owned())
}

/// Why a text is not a usable key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    #[error("it is not an RSA private key in PEM (PKCS #8 or PKCS #1), nor the base64 of one")]
    Unreadable,
    #[error("it has {0} bits; at least {BITS_MIN} are needed")]
    Short(usize),
}

/// A key that signs tokens.
#[derive(Clone)]
pub struct SigningKey {
    encoding: EncodingKey,
    public: PublicKey,
}

/// A key that verifies the tokens signed by the key of this id.
#[derive(Clone)]
pub struct PublicKey {
    /// The `kid`: derived from the key, so it is the same on all nodes and after every start
    /// (`config-and-cli.md` §9).
    pub name: Box<str>,
    /// `SubjectPublicKeyInfo` in base64.
    pub info: Box<str>,
    pub(super) decoding: DecodingKey,
    modulus: String,
    exponent: String,
}

impl SigningKey {
    /// Parses PEM, PKCS #8 or PKCS #1, or the base64 of one, which is a single line. In a variable,
    /// line ends of PEM may be written `\n`.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let pem = if text.trim_start().starts_with(PEM_BEGINS) {
            text.trim().replace("\\n", "\n")
        } else {
            pem_in_base64(text).ok_or(BadKey::Unreadable)?
        };
        let key = RsaPrivateKey::from_pkcs8_pem(&pem)
            .or_else(|_| RsaPrivateKey::from_pkcs1_pem(&pem))
            .map_err(|_| BadKey::Unreadable)?;
        Self::of(&key)
    }

    /// Parses PKCS #8 in DER.
    pub(super) fn read(der: &[u8]) -> Result<Self, BadKey> {
        Self::of(&RsaPrivateKey::from_pkcs8_der(der).map_err(|_| BadKey::Unreadable)?)
    }

    /// Generates a key, in the form that [`Self::read`] reads. Takes a good part of a second.
    pub(super) fn make() -> Result<(Self, SecretDocument), Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::internal(format!("a key could not be made: {error}"))
        };
        let key = RsaPrivateKey::new(&mut OsRng, BITS).map_err(|error| failed(&error))?;
        let der = key.to_pkcs8_der().map_err(|error| failed(&error))?;
        Ok((Self::of(&key).map_err(|error| failed(&error))?, der))
    }

    fn of(key: &RsaPrivateKey) -> Result<Self, BadKey> {
        let bits = key.n().bits();
        if bits < BITS_MIN {
            return Err(BadKey::Short(bits));
        }
        let unreadable = |_| BadKey::Unreadable;
        Ok(Self {
            encoding: EncodingKey::from_rsa_der(key.to_pkcs1_der().map_err(unreadable)?.as_bytes()),
            public: PublicKey::of(&key.to_public_key())?,
        })
    }

    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs claims; takes milliseconds.
    pub(super) fn sign(&self, claims: &Claims) -> Result<String, Failure> {
        let header = Header {
            kid: Some(self.public.name.to_string()),
            ..Header::new(Algorithm::RS256)
        };
        jsonwebtoken::encode(&header, claims, &self.encoding)
            .map_err(|error| Failure::internal(format!("a token could not be signed: {error}")))
    }
}

impl PublicKey {
    /// Parses `SubjectPublicKeyInfo` in base64.
    pub(super) fn read(info: &str) -> Result<Self, BadKey> {
        let der = BASE64_STANDARD.decode(info);
        let der = der.map_err(|_| BadKey::Unreadable)?;
        Self::of(&RsaPublicKey::from_public_key_der(&der).map_err(|_| BadKey::Unreadable)?)
    }

    fn of(key: &RsaPublicKey) -> Result<Self, BadKey> {
        let info = key.to_public_key_der().map_err(|_| BadKey::Unreadable)?;
        let digest = Sha256::digest(info.as_bytes());
        let name: [u8; NAME_BYTES] =
            std::array::from_fn(|index| digest.get(index).copied().unwrap_or_default());
        let name = Uuid::from_bytes(name).simple().to_string();
        let der = key.to_pkcs1_der().map_err(|_| BadKey::Unreadable)?;
        Ok(Self {
            name: name.into(),
            info: BASE64_STANDARD.encode(info.as_bytes()).into(),
            decoding: DecodingKey::from_rsa_der(der.as_bytes()),
            modulus: BASE64_URL_SAFE_NO_PAD.encode(key.n().to_bytes_be()),
            exponent: BASE64_URL_SAFE_NO_PAD.encode(key.e().to_bytes_be()),
        })
    }

    /// The key as a JWK (RFC 7517), as `rest.md` §7 lists its members.
    pub fn jwk(&self) -> String {
        format!(
            r#"{{"kty":"RSA","kid":"{}","use":"sig","alg":"RS256","n":"{}","e":"{}"}}"#,
            self.name, self.modulus, self.exponent
        )
    }
}

/// Why the numbers of a JWK are not a usable key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadNumbers {
    #[error("the `{0}` of the jwk is not a base64url number")]
    Number(&'static str),
    #[error("the key has {0} bits; {BITS_MIN} to {BITS_MAX} are accepted")]
    Bits(usize),
    #[error("the jwk is not an RSA key")]
    Unusable,
}

/// A foreign public key, as a JWK represents it (RFC 7518 §6.3.1).
#[derive(Clone)]
pub(super) struct CheckingKey {
    pub(super) decoding: DecodingKey,
    key: RsaPublicKey,
}

impl CheckingKey {
    /// Parses `n` and `e` of a JWK. Padding is accepted, although it should not be there.
    pub(super) fn parse(n: Option<&str>, e: Option<&str>) -> Result<Self, BadNumbers> {
        let number = |name, text: Option<&str>| {
            let text = text.map(|text| text.trim_end_matches('='));
            let bytes = text.and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok());
            let bytes = bytes.filter(|bytes| !bytes.is_empty());
            let bytes = bytes.ok_or(BadNumbers::Number(name))?;
            Ok(BigUint::from_bytes_be(&bytes))
        };
        let (modulus, exponent) = (number("n", n)?, number("e", e)?);
        let bits = modulus.bits();
        if !(BITS_MIN..=BITS_MAX).contains(&bits) {
            return Err(BadNumbers::Bits(bits));
        }
        // Rejects exponents that are too small to be safe, or too large to be fast.
        let key = RsaPublicKey::new(modulus, exponent).map_err(|_| BadNumbers::Unusable)?;
        Ok(Self {
            decoding: DecodingKey::from_rsa_raw_components(
                &key.n().to_bytes_be(),
                &key.e().to_bytes_be(),
            ),
            key,
        })
    }
}

impl PartialEq for CheckingKey {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = include_str!("../../tests/keys/signing.pem");

    #[test]
    fn a_key_is_read_however_its_lines_end() {
        let key = SigningKey::parse(PEM).expect("a key");
        // Computed with: openssl rsa -pubout -outform DER | sha256sum | cut -c1-32
        assert_eq!(&*key.public().name, "4a1ca9f4e27d7cc9dbb62e60aa90ed8d");
        let one_line = SigningKey::parse(&PEM.trim().replace('\n', "\\n")).expect("a key");
        assert_eq!(one_line.public().jwk(), key.public().jwk());
        assert!(key.public().jwk().contains(r#""e":"AQAB""#));
    }

    #[test]
    fn what_is_no_key_is_said_to_be_none() {
        assert_eq!(SigningKey::parse("secret").err(), Some(BadKey::Unreadable));
        assert_eq!(
            SigningKey::parse(include_str!("../../tests/keys/short.pem")).err(),
            Some(BadKey::Short(1_024))
        );
    }
}
