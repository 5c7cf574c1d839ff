//! Providers of tokens.

use super::{Body, Description, Parameter, Tag, clients::MOCKED, of};
use crate::error::Code;
use crate::event::payload::providers::{Provider, Reloaded};
use crate::rest::write::providers::{Change, ProviderDeleted, Reactivation, Registration};

const ACTIVE_ONLY: Parameter = Parameter::query(
    "activeOnly",
    of::<bool>,
    "Whether to omit invalidated providers; false by default.",
);

const TENANT: &[Code] = &[Code::OidcInvalidTenant];
const NO_PROVIDER: &[Code] = &[Code::OidcProviderNotFound];

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[ACTIVE_ONLY],
    codes: &[MOCKED, TENANT],
    ..Description::new(
        Tag::Identity,
        "listOidcProviders",
        "List the OpenID Connect providers of the tenant",
        of::<Vec<Provider>>,
    )
};

pub(in crate::rest) const REGISTER: Description = Description {
    text: "Its tokens are accepted if they are signed with RS256 and a key that it publishes: their bearer is the user in `sub`, in this tenant. New keys are fetched when a token names one.",
    body: Body::Json(of::<Registration<'static>>),
    codes: &[
        MOCKED,
        TENANT,
        &[Code::OidcProviderDuplicate, Code::OidcSsrfBlocked],
    ],
    ..Description::new(
        Tag::Identity,
        "registerOidcProvider",
        "Register an OpenID Connect provider",
        of::<Provider>,
    )
};

pub(in crate::rest) const RELOAD: Description = Description {
    text: "Unknown keys are fetched anyway when a token names one. This detects removed keys without a delay of minutes.",
    codes: &[MOCKED, TENANT],
    ..Description::new(
        Tag::Identity,
        "reloadOidcProviders",
        "Fetch the keys of the providers",
        of::<Reloaded>,
    )
};

pub(in crate::rest) const UPDATE: Description = Description {
    text: "Its address cannot be changed; register another provider instead.",
    body: Body::Json(of::<Change<'static>>),
    codes: &[MOCKED, TENANT, NO_PROVIDER, &[Code::OidcProviderInactive]],
    ..Description::new(
        Tag::Identity,
        "updateOidcProvider",
        "Update an OpenID Connect provider",
        of::<Provider>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Its tokens are revoked.",
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Description::new(
        Tag::Identity,
        "deleteOidcProvider",
        "Delete an OpenID Connect provider",
        of::<ProviderDeleted>,
    )
};

pub(in crate::rest) const INVALIDATE: Description = Description {
    text: "Its tokens are rejected until it is reactivated.",
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Description::new(
        Tag::Identity,
        "invalidateOidcProvider",
        "Invalidate an OpenID Connect provider",
        of::<Provider>,
    )
};

pub(in crate::rest) const REACTIVATE: Description = Description {
    body: Body::OptionalJson(of::<Reactivation<'static>>),
    codes: &[MOCKED, TENANT, NO_PROVIDER, &[Code::OidcProviderInactive]],
    ..Description::new(
        Tag::Identity,
        "reactivateOidcProvider",
        "Reactivate an OpenID Connect provider",
        of::<Provider>,
    )
};
