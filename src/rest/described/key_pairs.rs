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
    Parameter::query("audience", audience, "Whose tokens it signs.").required();

pub(in crate::rest) const ISSUE: Description = Description {
    text: "From its `validFrom` on it signs the tokens of the tenant's clients, if that is its \
        audience, in the place of the key of the settings. The one with the latest `validFrom` \
        signs, of several.",
    body: Body::Json(of::<NewKeyPair>),
    codes: &[MOCKED, &[Code::UnsupportedAlgorithm, Code::TooManyRequests]],
    ..Description::new(
        Tag::Identity,
        "issueKeyPair",
        "Make a key pair",
        of::<KeyPair>,
    )
};

pub(in crate::rest) const CURRENT: Description = Description {
    text: "The key of the settings, for a tenant that has none of its own.",
    parameters: &[AUDIENCE],
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(
        Tag::Identity,
        "getCurrentKeyPair",
        "The key pair that signs",
        of::<KeyPair>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "What it has signed is worthless from then on.",
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(Tag::Identity, "deleteKeyPair", "Delete a key pair", nothing)
};

pub(in crate::rest) const INVALIDATE: Description = Description {
    text: "It signs no more. What it has signed is good for the period of grace, and so long \
        `/.well-known/jwks.json` tells of it.",
    body: Body::OptionalJson(of::<Grace>),
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(
        Tag::Identity,
        "invalidateKeyPair",
        "Have a key pair sign no more",
        nothing,
    )
};

pub(in crate::rest) const REACTIVATE: Description = Description {
    text: "It signs again, and what it has signed is good again.",
    body: Body::Json(of::<NewValidity>),
    codes: &[MOCKED, NO_PAIR],
    ..Description::new(
        Tag::Identity,
        "reactivateKeyPair",
        "Have a key pair sign again",
        of::<KeyPair>,
    )
};
