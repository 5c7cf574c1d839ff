//! Key pairs.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{Body, Description, Parameter, Tag, clients::MOCKED, nothing, of};
use crate::error::Code;
use crate::event::payload::key_pairs::KeyPair;
use crate::rest::write::key_pairs::{Grace, NewKeyPair, NewValidity};

fn audience(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["client", "human"]})
}

const NO_PAIR: &[Code] = &[Code::KeypairNotFound];

const AUDIENCE: Parameter =
    Parameter::query("audience", audience, "The kind of tokens it signs.").required();

pub(in crate::rest) const ISSUE: Description = Description {
    text: "From its `validFrom` on it signs the tokens of its audience, instead of the key of the \
           settings. Of several, the one with the latest `validFrom` signs.",
    body: Body::Json(of::<NewKeyPair>),
    codes: &[MOCKED, &[Code::UnsupportedAlgorithm, Code::TooManyRequests]],
    ..Description::new(
        Tag::Identity,
        "issueKeyPair",
        "Issue a key pair",
        of::<KeyPair>,
    )
};

pub(in crate::rest) const CURRENT: Description = Description {
    text: "The key of the settings, for a tenant without a key pair.",
    parameters: &[AUDIENCE],
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(
        Tag::Identity,
        "getCurrentKeyPair",
        "The signing key pair",
        of::<KeyPair>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "The tokens that it signed are revoked.",
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(Tag::Identity, "deleteKeyPair", "Delete a key pair", nothing)
};

pub(in crate::rest) const INVALIDATE: Description = Description {
    text: "It no longer signs. Its signatures stay valid for the grace period, during which \
           `/.well-known/jwks.json` lists it.",
    body: Body::OptionalJson(of::<Grace>),
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(
        Tag::Identity,
        "invalidateKeyPair",
        "Invalidate a key pair",
        nothing,
    )
};

pub(in crate::rest) const REACTIVATE: Description = Description {
    text: "It signs again, and its signatures are valid again.",
    body: Body::Json(of::<NewValidity>),
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(
        Tag::Identity,
        "reactivateKeyPair",
        "Reactivate a key pair",
        of::<KeyPair>,
    )
};
