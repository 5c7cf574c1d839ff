//! The keys that tenants trust.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::{Body, Parameter, Tag, Told, clients::MOCKED, nothing, of, parameter};
use crate::error::Code;
use crate::rest::write::{
    key_pairs::{Grace, NewValidity},
    trusted_keys::NewTrustedKey,
};

/// A key that a tenant trusts.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct TrustedKey {
    /// The `kid` of the tokens that it signs.
    key_id: String,
    /// The tenant.
    legal_entity_id: String,
    /// As it was registered.
    jwk: Map<String, Value>,
    /// `client` or `human`.
    audience: String,
    /// Whose tokens are taken; absent, if anybody's are.
    issuers: Option<Vec<String>>,
    /// Whether it is not invalidated, and its time is not over.
    active: bool,
    #[schemars(schema_with = "parameter::instant")]
    valid_from: String,
    /// Until then it is trusted, also if it was invalidated.
    #[schemars(schema_with = "parameter::instant")]
    valid_to: String,
}

const OFF: &[Code] = &[Code::FeatureDisabled];

const NO_KEY: &[Code] = &[Code::TrustedKeyNotFound];

const ONE: &[(&str, Parameter)] = &[("keyId", parameter::TRUSTED_KEY)];

pub(in crate::rest) const LIST: Told = Told {
    text: "Including expired ones. Trusted keys require \
           `CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED=true`.",
    codes: &[MOCKED, OFF],
    ..Told::new(
        Tag::Identity,
        "listTrustedKeys",
        "List the trusted keys of the tenant",
        of::<Vec<TrustedKey>>,
    )
};

pub(in crate::rest) const REGISTER: Told = Told {
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
    ..Told::new(
        Tag::Identity,
        "registerTrustedKey",
        "Register a trusted key",
        of::<TrustedKey>,
    )
};

pub(in crate::rest) const DELETE: Told = Told {
    text: "Tokens that it signed are no longer exchanged, tokens exchanged before are revoked, and \
           streams opened with those end.",
    parts: ONE,
    codes: &[MOCKED, OFF, NO_KEY],
    ..Told::new(
        Tag::Identity,
        "deleteTrustedKey",
        "Delete a trusted key",
        nothing,
    )
};

pub(in crate::rest) const INVALIDATE: Told = Told {
    text: "Tokens that it signed are exchanged until the end of the grace period. Then tokens \
           exchanged before are revoked, and streams opened with those end.",
    parts: ONE,
    body: Body::OptionalJson(of::<Grace>),
    codes: &[MOCKED, OFF, NO_KEY],
    ..Told::new(
        Tag::Identity,
        "invalidateTrustedKey",
        "Invalidate a trusted key",
        nothing,
    )
};

pub(in crate::rest) const REACTIVATE: Told = Told {
    text: "Tokens that it signed are exchanged again.",
    parts: ONE,
    body: Body::Json(of::<NewValidity>),
    codes: &[MOCKED, OFF, NO_KEY],
    ..Told::new(
        Tag::Identity,
        "reactivateTrustedKey",
        "Reactivate a trusted key",
        of::<TrustedKey>,
    )
};
