//! Tokens and keys.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas, in the words of RFC 6749"
)]

use schemars::JsonSchema;

use super::{Body, Shape, Tag, Told, of};
use crate::error::Code;

/// What a client asks for.
#[derive(JsonSchema)]
struct TokenRequest {
    /// `client_credentials`, or `urn:ietf:params:oauth:grant-type:token-exchange`.
    grant_type: String,
    /// Only where the client does not name itself with HTTP Basic.
    client_id: Option<String>,
    client_secret: Option<String>,
    /// To be exchanged: a JWT that a trusted key has signed.
    subject_token: Option<String>,
    /// `urn:ietf:params:oauth:token-type:jwt`.
    subject_token_type: Option<String>,
}

/// A token.
#[derive(JsonSchema)]
struct TokenAnswer {
    access_token: String,
    token_type: String,
    /// In seconds.
    expires_in: u64,
    /// Of a token in exchange: `urn:ietf:params:oauth:token-type:access_token`.
    issued_token_type: Option<String>,
}

/// Why there is none (RFC 6749 §5.2).
#[derive(JsonSchema)]
struct Refused {
    error: String,
    error_description: String,
}

/// Keys that check tokens (RFC 7517).
#[derive(JsonSchema)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(JsonSchema)]
struct Key {
    kty: String,
    kid: String,
    r#use: String,
    alg: String,
    n: String,
    e: String,
}

const FORM: &[(&str, Shape)] = &[("application/x-www-form-urlencoded", of::<TokenRequest>)];

pub(in crate::rest) const TOKEN_MEDIA: &[(&str, Shape)] =
    &[("application/json", of::<TokenAnswer>)];

pub(in crate::rest) const TOKEN_REFUSALS: &[(u16, Shape)] = &[
    (400, of::<Refused>),
    (401, of::<Refused>),
    (403, of::<Refused>),
    (429, of::<Refused>),
    (503, of::<Refused>),
];

pub(in crate::rest) const TOKEN: Told = Told {
    text: "The client names itself with HTTP Basic. While authentication is mocked, anyone gets \
        a token, and nobody looks at it. An address that is refused twenty times in a minute for a \
        client is refused with status 429 for that client for a minute. In exchange for the token of a subject, which \
        a key has signed that the tenant trusts (RS256, named by `kid`), and in which `sub` is the \
        subject and `caas_org_id` the tenant, it gets one with which it acts for the subject: with \
        the roles in `user_roles`, and until that expires at the latest. Another tenant is refused \
        with status 403, everything else that is wrong with that token with `invalid_grant`.",
    body: Body::Media(FORM),
    codes: &[&[Code::ServerError]],
    ..Told::new(
        Tag::Account,
        "getToken",
        "A token for a client",
        of::<TokenAnswer>,
    )
};

pub(in crate::rest) const KEYS_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Keys>)];

pub(in crate::rest) const KEYS: Told = Told {
    text: "That of the settings, and the key pairs of all tenants whose time is not over: also \
        those that are to sign later, and those that were invalidated, for their period of grace. \
        Only where `CYODA_IAM_MODE` is `jwt`.",
    codes: &[&[Code::NotFound]],
    ..Told::new(
        Tag::Account,
        "getKeys",
        "The keys that check tokens",
        of::<Keys>,
    )
};
