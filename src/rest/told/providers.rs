//! Providers of tokens.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;

use super::{
    Body, Parameter, Tag, Told,
    clients::MOCKED,
    of,
    parameter::{instant, uuid},
};
use crate::error::Code;

/// A provider of tokens that a tenant trusts.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Provider {
    #[schemars(schema_with = "uuid")]
    id: String,
    well_known_config_uri: String,
    /// Whether its tokens are taken.
    active: bool,
    #[schemars(schema_with = "instant")]
    created_at: String,
    issuers: Option<Vec<String>>,
    expected_audiences: Option<Vec<String>>,
    roles_claim: Option<String>,
}

/// A provider to be trusted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Registration {
    /// Where its discovery document is, for instance
    /// `https://id.example/.well-known/openid-configuration`: at most 1000 characters, `https`, and
    /// on the public internet, unless the settings allow more.
    well_known_config_uri: String,
    /// Who may have issued its tokens, at most 10; without, the issuer of the document.
    issuers: Option<Vec<String>>,
    /// For whom its tokens are, at most 10; without, for anyone. Give some: another tenant may
    /// trust the same provider, and a token that could be of both is of the one that registered it
    /// first.
    expected_audiences: Option<Vec<String>>,
    /// The claim that says the roles, as a list, the members of an object or words; without,
    /// `CYODA_OIDC_ROLES_CLAIM`.
    roles_claim: Option<String>,
}

/// A change: absent members stay, and `null` or an empty list removes the value.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Change {
    issuers: Option<Vec<String>>,
    expected_audiences: Option<Vec<String>>,
    roles_claim: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Reactivation {
    /// Whether tokens are taken again that are signed with the keys it had when it was
    /// invalidated; `false` takes only those with keys it has made since.
    reactivate_keys: Option<bool>,
}

/// A provider that was deleted.
#[derive(JsonSchema)]
struct Deleted {
    message: String,
    #[schemars(schema_with = "uuid")]
    id: String,
}

#[derive(JsonSchema)]
struct Reloaded {
    /// The active ones.
    providers: Vec<Outcome>,
}

/// What became of asking a provider for its keys.
#[derive(JsonSchema)]
struct Outcome {
    #[schemars(schema_with = "uuid")]
    id: String,
    /// How many there are that can be used.
    keys: Option<i64>,
    /// Why they are not known; those of before are used for an hour.
    error: Option<String>,
}

const ACTIVE_ONLY: Parameter = Parameter::query(
    "activeOnly",
    of::<bool>,
    "Whether to omit invalidated providers; false by default.",
);

const TENANT: &[Code] = &[Code::OidcInvalidTenant];
const NO_PROVIDER: &[Code] = &[Code::OidcProviderNotFound];

pub(in crate::rest) const LIST: Told = Told {
    parameters: &[ACTIVE_ONLY],
    codes: &[MOCKED, TENANT],
    ..Told::new(
        Tag::Identity,
        "listOidcProviders",
        "List the OpenID Connect providers of the tenant",
        of::<Vec<Provider>>,
    )
};

pub(in crate::rest) const REGISTER: Told = Told {
    text: "Its tokens are accepted if they are signed with RS256 and a key that it publishes: their bearer is the user in `sub`, in this tenant. New keys are fetched when a token names one.",
    body: Body::Json(of::<Registration>),
    codes: &[
        MOCKED,
        TENANT,
        &[Code::OidcProviderDuplicate, Code::OidcSsrfBlocked],
    ],
    ..Told::new(
        Tag::Identity,
        "registerOidcProvider",
        "Register an OpenID Connect provider",
        of::<Provider>,
    )
};

pub(in crate::rest) const RELOAD: Told = Told {
    text: "Unknown keys are fetched anyway when a token names one. This detects removed keys without a delay of minutes.",
    codes: &[MOCKED, TENANT],
    ..Told::new(
        Tag::Identity,
        "reloadOidcProviders",
        "Fetch the keys of the providers",
        of::<Reloaded>,
    )
};

pub(in crate::rest) const UPDATE: Told = Told {
    text: "Its address cannot be changed; register another provider instead.",
    body: Body::Json(of::<Change>),
    codes: &[MOCKED, TENANT, NO_PROVIDER, &[Code::OidcProviderInactive]],
    ..Told::new(
        Tag::Identity,
        "updateOidcProvider",
        "Update an OpenID Connect provider",
        of::<Provider>,
    )
};

pub(in crate::rest) const DELETE: Told = Told {
    text: "Its tokens are revoked.",
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Told::new(
        Tag::Identity,
        "deleteOidcProvider",
        "Delete an OpenID Connect provider",
        of::<Deleted>,
    )
};

pub(in crate::rest) const INVALIDATE: Told = Told {
    text: "Its tokens are rejected until it is reactivated.",
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Told::new(
        Tag::Identity,
        "invalidateOidcProvider",
        "Invalidate an OpenID Connect provider",
        of::<Provider>,
    )
};

pub(in crate::rest) const REACTIVATE: Told = Told {
    body: Body::OptionalJson(of::<Reactivation>),
    codes: &[MOCKED, TENANT, NO_PROVIDER],
    ..Told::new(
        Tag::Identity,
        "reactivateOidcProvider",
        "Reactivate an OpenID Connect provider",
        of::<Provider>,
    )
};
