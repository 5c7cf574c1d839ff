//! Tokens and keys.

use super::{Body, Description, STORAGE, Shape, Tag, of};
use crate::error::Code;
use crate::rest::oauth::{Asked, Keys, TokenAnswer, TokenRefusal};

const FORM: &[(&str, Shape)] = &[("application/x-www-form-urlencoded", of::<Asked>)];

pub(in crate::rest) const TOKEN_MEDIA: &[(&str, Shape)] =
    &[("application/json", of::<TokenAnswer>)];

pub(in crate::rest) const TOKEN_REFUSALS: &[(u16, Shape)] = &[
    (400, of::<TokenRefusal>),
    (401, of::<TokenRefusal>),
    (403, of::<TokenRefusal>),
    (429, of::<TokenRefusal>),
    (503, of::<TokenRefusal>),
];

pub(in crate::rest) const TOKEN: Description = Description {
    text: "The client authenticates with HTTP Basic. While authentication is mocked, any \
           credentials receive a token, which is not checked. After twenty failures within a \
           minute, an address receives status 429 for that client for a minute. A client can \
           exchange the token of a subject, signed by a trusted key of the tenant (RS256, named by \
           `kid`) with the subject in `sub` and the tenant in `caas_org_id`, for a token with \
           which it acts for the subject: with the roles in `user_roles`, expiring no later than \
           the subject token. A subject token of another tenant is rejected with status 403, any \
           other fault of it with `invalid_grant`.",
    body: Body::Media(FORM),
    codes: &[STORAGE],
    ..Description::new(
        Tag::Account,
        "getToken",
        "Obtain a token",
        of::<TokenAnswer>,
    )
};

pub(in crate::rest) const KEYS_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Keys>)];

pub(in crate::rest) const KEYS: Description = Description {
    text: "The key of the settings, and the valid key pairs of all tenants: including those that \
           will sign later, and invalidated ones during their grace period. Only if \
           `CYODA_IAM_MODE` is `jwt`.",
    codes: &[&[Code::NotFound], STORAGE],
    ..Description::new(
        Tag::Account,
        "getKeys",
        "The keys that verify tokens",
        of::<Keys>,
    )
};
