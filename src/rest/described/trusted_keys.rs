//! The keys that tenants trust.

use super::{Body, Description, Parameter, Tag, clients::MOCKED, nothing, of, parameter};
use crate::error::Code;
use crate::event::payload::trusted_keys::TrustedKey;
use crate::rest::write::{
    key_pairs::{Grace, NewValidity},
    trusted_keys::NewTrustedKey,
};

const OFF: &[Code] = &[Code::FeatureDisabled];

const NO_KEY: &[Code] = &[Code::TrustedKeyNotFound];

const ONE: &[(&str, Parameter)] = &[("keyId", parameter::TRUSTED_KEY)];

pub(in crate::rest) const LIST: Description = Description {
    text: "Including expired ones. Trusted keys require \
           `CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED=true`.",
    codes: &[MOCKED, OFF],
    ..Description::new(
        Tag::Identity,
        "listTrustedKeys",
        "List the trusted keys of the tenant",
        of::<Vec<TrustedKey>>,
    )
};

pub(in crate::rest) const REGISTER: Description = Description {
    text: "The tenant's clients may exchange tokens that it has signed at `POST /oauth/token` for \
           tokens with which they act for the subject.",
    body: Body::Json(of::<NewTrustedKey<'static>>),
    codes: &[
        MOCKED,
        OFF,
        &[
            Code::KeyOwnedByDifferentTenant,
            Code::TrustedKeyCapReached,
            Code::UnsupportedAlgorithm,
            Code::UnsupportedKeyType,
        ],
    ],
    ..Description::new(
        Tag::Identity,
        "registerTrustedKey",
        "Register a trusted key",
        of::<TrustedKey>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Tokens that it signed are no longer exchanged, tokens exchanged before are revoked, and \
           streams opened with those end.",
    parts: ONE,
    codes: &[MOCKED, OFF, NO_KEY],
    ..Description::new(
        Tag::Identity,
        "deleteTrustedKey",
        "Delete a trusted key",
        nothing,
    )
};

pub(in crate::rest) const INVALIDATE: Description = Description {
    text: "Tokens that it signed are exchanged until the end of the grace period. Then tokens \
           exchanged before are revoked, and streams opened with those end.",
    parts: ONE,
    body: Body::OptionalJson(of::<Grace>),
    codes: &[MOCKED, OFF, NO_KEY],
    ..Description::new(
        Tag::Identity,
        "invalidateTrustedKey",
        "Invalidate a trusted key",
        nothing,
    )
};

pub(in crate::rest) const REACTIVATE: Description = Description {
    text: "Tokens that it signed are exchanged again.",
    parts: ONE,
    body: Body::Json(of::<NewValidity>),
    codes: &[MOCKED, OFF, NO_KEY],
    ..Description::new(
        Tag::Identity,
        "reactivateTrustedKey",
        "Reactivate a trusted key",
        of::<TrustedKey>,
    )
};
