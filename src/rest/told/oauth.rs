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
    text: "The client authenticates with HTTP Basic. While authentication is mocked, any \
           credentials receive a token, which is not checked. After twenty failures within a \
           minute, an address receives status 429 for that client for a minute. A client can \
           exchange the token of a subject, signed by a trusted key of the tenant (RS256, named by \
           `kid`) with the subject in `sub` and the tenant in `caas_org_id`, for a token with \
           which it acts for the subject: with the roles in `user_roles`, expiring no later than \
           the subject token. A subject token of another tenant is rejected with status 403, any \
           other fault of it with `invalid_grant`.",
    body: Body::Media(FORM),
    codes: &[&[Code::ServerError]],
    ..Told::new(
        Tag::Account,
        "getToken",
        "Obtain a token",
        of::<TokenAnswer>,
    )
};

pub(in crate::rest) const KEYS_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Keys>)];

pub(in crate::rest) const KEYS: Told = Told {
    text: "The key of the settings, and the valid key pairs of all tenants: including those that \
           will sign later, and invalidated ones during their grace period. Only if \
           `CYODA_IAM_MODE` is `jwt`.",
    codes: &[&[Code::NotFound]],
    ..Told::new(
        Tag::Account,
        "getKeys",
        "The keys that verify tokens",
        of::<Keys>,
    )
};
