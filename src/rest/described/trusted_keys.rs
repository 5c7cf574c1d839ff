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
    text: "Also those that are over. None of this is there unless \
        `CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED` is `true`.",
    codes: &[MOCKED, OFF],
    ..Description::new(
        Tag::Identity,
        "listTrustedKeys",
        "The keys that the tenant trusts",
        of::<Vec<TrustedKey>>,
    )
};

pub(in crate::rest) const REGISTER: Description = Description {
    text: "The tenant's clients may exchange tokens that it has signed at `POST /oauth/token` for \
        tokens with which they act for who has got them.",
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
        "Trust a key",
        of::<TrustedKey>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Nothing more is exchanged that it has signed, and what was exchanged before is \
        worthless; streams that were opened with it end.",
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
    text: "What it has signed is exchanged for the period of grace. After that nothing more is, what \
        was exchanged before is worthless, and streams that were opened with it end.",
    parts: ONE,
    body: Body::OptionalJson(of::<Grace>),
    codes: &[MOCKED, OFF, NO_KEY],
    ..Description::new(
        Tag::Identity,
        "invalidateTrustedKey",
        "Trust a key no more",
        nothing,
    )
};

pub(in crate::rest) const REACTIVATE: Description = Description {
    text: "What it has signed is exchanged again.",
    parts: ONE,
    body: Body::Json(of::<NewValidity>),
    codes: &[MOCKED, OFF, NO_KEY],
    ..Description::new(
        Tag::Identity,
        "reactivateTrustedKey",
        "Trust a key again",
        of::<TrustedKey>,
    )
};
