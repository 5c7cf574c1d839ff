//! What requests about key pairs and about trusted keys share: both are found by their name and are
//! valid for a time (`rest.md` §7).

use std::sync::Arc;

use super::super::Context;
use super::{key_pair, key_pair_of, trusted_keys};
use crate::auth::{Entry, KeyPair, Known, Rules, Tokens, TrustedKey, Validity};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, key_pairs},
};

/// The event types of an operation.
pub(in crate::operation) struct Types {
    pub(super) request: EventType,
    pub(super) response: EventType,
}

/// A kind of key that administrators invalidate, reactivate and delete.
pub(in crate::operation) trait Key: Clone + Send + Sync + 'static {
    /// A key, as it is answered.
    type Answer: payload::Answer;

    /// With its article, as the log names it.
    const NOUN: &'static str;
    const INVALIDATE: Types;
    const REACTIVATE: Types;
    const DELETE: Types;

    /// Whether the settings let tenants have such keys.
    fn offered(_: &Rules) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether a key can have this name at all.
    fn check_name(_: &str) -> Result<(), Failure> {
        Ok(())
    }

    /// The key of that name, which must be the tenant's.
    fn find(cx: &Context, tokens: &Tokens, known: &Known, name: &str)
    -> Result<Arc<Self>, Failure>;

    fn validity(&self) -> Validity;

    /// A copy of the key with another validity.
    fn with(&self, validity: Validity) -> Self;

    fn entry(key: Arc<Self>) -> Entry;

    fn answer(&self, cx: &Context) -> Self::Answer;
}

impl Key for KeyPair {
    type Answer = key_pairs::KeyPair;

    const NOUN: &'static str = "a key pair";
    const INVALIDATE: Types = Types {
        request: EventType::KeyPairInvalidateRequest,
        response: EventType::KeyPairInvalidateResponse,
    };
    const REACTIVATE: Types = Types {
        request: EventType::KeyPairReactivateRequest,
        response: EventType::KeyPairReactivateResponse,
    };
    const DELETE: Types = Types {
        request: EventType::KeyPairDeleteRequest,
        response: EventType::KeyPairDeleteResponse,
    };

    fn find(
        cx: &Context,
        tokens: &Tokens,
        known: &Known,
        name: &str,
    ) -> Result<Arc<Self>, Failure> {
        key_pair_of(cx, tokens, known, name)
    }

    fn validity(&self) -> Validity {
        self.validity
    }

    fn with(&self, validity: Validity) -> Self {
        self.with(validity)
    }

    fn entry(key: Arc<Self>) -> Entry {
        Entry::KeyPair(key)
    }

    fn answer(&self, cx: &Context) -> Self::Answer {
        key_pair(cx, self)
    }
}

impl Key for TrustedKey {
    type Answer = payload::trusted_keys::TrustedKey;

    const NOUN: &'static str = "a trusted key";
    const INVALIDATE: Types = Types {
        request: EventType::TrustedKeyInvalidateRequest,
        response: EventType::TrustedKeyInvalidateResponse,
    };
    const REACTIVATE: Types = Types {
        request: EventType::TrustedKeyReactivateRequest,
        response: EventType::TrustedKeyReactivateResponse,
    };
    const DELETE: Types = Types {
        request: EventType::TrustedKeyDeleteRequest,
        response: EventType::TrustedKeyDeleteResponse,
    };

    fn offered(rules: &Rules) -> Result<(), Failure> {
        trusted_keys::offered(rules)
    }

    fn check_name(name: &str) -> Result<(), Failure> {
        payload::trusted_keys::check_name(name)
    }

    fn find(cx: &Context, _: &Tokens, known: &Known, name: &str) -> Result<Arc<Self>, Failure> {
        trusted_keys::one_of(cx, known, name)
    }

    fn validity(&self) -> Validity {
        self.validity
    }

    fn with(&self, validity: Validity) -> Self {
        self.with(validity)
    }

    fn entry(key: Arc<Self>) -> Entry {
        Entry::TrustedKey(key)
    }

    fn answer(&self, cx: &Context) -> Self::Answer {
        trusted_keys::answer(cx, self)
    }
}
