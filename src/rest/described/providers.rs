//! Providers of tokens.

use super::{Body, Description, Parameter, Tag, clients::MOCKED, of};
use crate::error::Code;
use crate::event::payload::providers::{Provider, Reloaded};
use crate::rest::write::providers::{Change, ProviderDeleted, Reactivation, Registration};

const ACTIVE_ONLY: Parameter = Parameter::query(
    "activeOnly",
    of::<bool>,
    "Whether providers that were invalidated are left out; by default they are not.",
);

const TENANT: &[Code] = &[Code::OidcInvalidTenant];
const NO_PROVIDER: &[Code] = &[Code::OidcProviderNotFound];

pub(in crate::rest) const LIST: Description = Description {
    parameters: &[ACTIVE_ONLY],
    codes: &[MOCKED, TENANT],
    ..Description::new(
        Tag::Identity,
        "listOidcProviders",
        "The providers of tokens that the tenant trusts",
        of::<Vec<Provider>>,
    )
};

pub(in crate::rest) const REGISTER: Description = Description {
    text: "Its tokens are taken from then on, signed with RS256 and a key it publishes: whoever bears one is the user of its `sub`, in this tenant. Keys it makes later are found when a token names one.",
    body: Body::Json(of::<Registration<'static>>),
    codes: &[
        MOCKED,
        TENANT,
        &[Code::OidcProviderDuplicate, Code::OidcSsrfBlocked],
    ],
    ..Description::new(
        Tag::Identity,
        "registerOidcProvider",
        "Trust a provider of tokens",
        of::<Provider>,
    )
};

pub(in crate::rest) const RELOAD: Description = Description {
    text: "A token that names an unknown key has its provider asked anyway. This finds, without waiting for minutes, that a key is gone.",
    codes: &[MOCKED, TENANT],
    ..Description::new(
        Tag::Identity,
        "reloadOidcProviders",
        "Ask the providers for their keys",
        of::<Reloaded>,
    )
};

pub(in crate::rest) const UPDATE: Description = Description {
    text: "Where it is cannot be changed; register it again for that.",
    body: Body::Json(of::<Change<'static>>),
    codes: &[MOCKED, TENANT, NO_PROVIDER, &[Code::OidcProviderInactive]],
    ..Description::new(
        Tag::Identity,
        "updateOidcProvider",
        "Change which tokens of a provider are taken",
        of::<Provider>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Its tokens are worthless from then on.",
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Description::new(
        Tag::Identity,
        "deleteOidcProvider",
        "Delete a provider of tokens",
        of::<ProviderDeleted>,
    )
};

pub(in crate::rest) const INVALIDATE: Description = Description {
    text: "Its tokens are worthless until it is reactivated.",
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Description::new(
        Tag::Identity,
        "invalidateOidcProvider",
        "Trust a provider of tokens no longer",
        of::<Provider>,
    )
};

pub(in crate::rest) const REACTIVATE: Description = Description {
    body: Body::OptionalJson(of::<Reactivation<'static>>),
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Description::new(
        Tag::Identity,
        "reactivateOidcProvider",
        "Trust a provider of tokens again",
        of::<Provider>,
    )
};
