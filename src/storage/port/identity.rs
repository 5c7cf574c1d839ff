//! Who may call, as a database has it.

use std::sync::Arc;

use crate::id::Tenant;

/// What is known by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdentityKind {
    Client,
    KeyPair,
    TrustedKey,
    Provider,
}

impl IdentityKind {
    pub(in crate::storage) const fn code(self) -> i64 {
        match self {
            Self::Client => 0,
            Self::KeyPair => 1,
            Self::TrustedKey => 2,
            Self::Provider => 3,
        }
    }

    pub(in crate::storage) fn from_code(code: i64) -> Option<Self> {
        [
            Self::Client,
            Self::KeyPair,
            Self::TrustedKey,
            Self::Provider,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }
}

/// Something that is known by its kind and name to every caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub kind: IdentityKind,
    pub name: Arc<str>,
    pub tenant: Tenant,
    /// JSON.
    pub record: Arc<str>,
}

/// A change of what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityChange {
    /// Makes it, or replaces what the same tenant has of that name.
    Keep(Identity),
    /// Takes away what the tenant has of that name.
    Forget {
        kind: IdentityKind,
        name: Arc<str>,
        tenant: Tenant,
    },
}
