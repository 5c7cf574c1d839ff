//! Tokens and keys.

use super::{Body, Description, Shape, Tag, of};
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
    text: "The client names itself with HTTP Basic. While authentication is mocked, anyone gets \
        a token, and nobody looks at it. An address that is refused twenty times in a minute for a \
        client is refused with status 429 for that client for a minute. In exchange for the token of a subject, which \
        a key has signed that the tenant trusts (RS256, named by `kid`), and in which `sub` is the \
        subject and `caas_org_id` the tenant, it gets one with which it acts for the subject: with \
        the roles in `user_roles`, and until that expires at the latest. Another tenant is refused \
        with status 403, everything else that is wrong with that token with `invalid_grant`.",
    body: Body::Media(FORM),
    codes: &[&[Code::ServerError]],
    ..Description::new(
        Tag::Account,
        "getToken",
        "A token for a client",
        of::<TokenAnswer>,
    )
};

pub(in crate::rest) const KEYS_MEDIA: &[(&str, Shape)] = &[("application/json", of::<Keys>)];

pub(in crate::rest) const KEYS: Description = Description {
    text: "That of the settings, and the key pairs of all tenants whose time is not over: also \
        those that are to sign later, and those that were invalidated, for their period of grace. \
        Only where `CYODA_IAM_MODE` is `jwt`.",
    codes: &[&[Code::NotFound]],
    ..Description::new(
        Tag::Account,
        "getKeys",
        "The keys that check tokens",
        of::<Keys>,
    )
};
