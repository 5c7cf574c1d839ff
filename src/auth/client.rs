//! Clients: programs that get tokens with a name and a secret.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::Roles;
use crate::id::Tenant;

/// A client, and as whom it calls.
#[derive(Debug)]
pub struct Client {
    pub id: Box<str>,
    pub secret: Secret,
    pub tenant: Tenant,
    pub user: Box<str>,
    pub roles: Roles,
}

/// A secret that is known only by its digest, so that what is compared is always as long.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    pub fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// How long this takes tells nothing of where the two differ.
    pub fn is(&self, given: impl AsRef<[u8]>) -> bool {
        Sha256::digest(given).ct_eq(&self.0).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}
