//! Key pairs.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Body, Parameter, Tag, Told, clients::MOCKED, nothing, of, parameter::instant};
use crate::error::Code;
use crate::rest::write::key_pairs::{Grace, NewKeyPair, NewValidity};

/// A key pair, of which the private key is told to nobody.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct KeyPair {
    /// The `kid` of the tokens that it signs.
    key_id: String,
    /// `RS256`.
    algorithm: String,
    /// The public key as `SubjectPublicKeyInfo`, in base64.
    public_key: String,
    /// Whether it is not invalidated, and its time is not over.
    active: bool,
    #[schemars(schema_with = "instant")]
    valid_from: String,
    /// Absent of the key of the settings.
    #[schemars(with = "Option<String>")]
    valid_to: Option<String>,
}

fn audience(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["client", "human"]})
}

const NO_PAIR: &[Code] = &[Code::KeypairNotFound];

const AUDIENCE: Parameter =
    Parameter::query("audience", audience, "The kind of tokens it signs.").required();

pub(in crate::rest) const ISSUE: Told = Told {
    text: "From its `validFrom` on it signs the tokens of its audience, instead of the key of the \
           settings. Of several, the one with the latest `validFrom` signs.",
    body: Body::Json(of::<NewKeyPair>),
    codes: &[MOCKED, &[Code::UnsupportedAlgorithm, Code::TooManyRequests]],
    ..Told::new(
        Tag::Identity,
        "issueKeyPair",
        "Issue a key pair",
        of::<KeyPair>,
    )
};

pub(in crate::rest) const CURRENT: Told = Told {
    text: "The key of the settings, for a tenant without a key pair.",
    parameters: &[AUDIENCE],
    codes: &[MOCKED, NO_PAIR],
    ..Told::new(
        Tag::Identity,
        "getCurrentKeyPair",
        "The signing key pair",
        of::<KeyPair>,
    )
};

pub(in crate::rest) const DELETE: Told = Told {
    text: "The tokens that it signed are revoked.",
    codes: &[MOCKED, NO_PAIR],
    ..Told::new(Tag::Identity, "deleteKeyPair", "Delete a key pair", nothing)
};

pub(in crate::rest) const INVALIDATE: Told = Told {
    text: "It no longer signs. Its signatures stay valid for the grace period, during which \
           `/.well-known/jwks.json` lists it.",
    body: Body::OptionalJson(of::<Grace>),
    codes: &[MOCKED, NO_PAIR],
    ..Told::new(
        Tag::Identity,
        "invalidateKeyPair",
        "Invalidate a key pair",
        nothing,
    )
};

pub(in crate::rest) const REACTIVATE: Told = Told {
    text: "It signs again, and its signatures are valid again.",
    body: Body::Json(of::<NewValidity>),
    codes: &[MOCKED, NO_PAIR],
    ..Told::new(
        Tag::Identity,
        "reactivateKeyPair",
        "Reactivate a key pair",
        of::<KeyPair>,
    )
};
