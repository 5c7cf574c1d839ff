//! Providers of tokens (`rest.md` §7).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, begin};
use crate::error::Failure;
use crate::event::payload::{
    AsText, Object, json,
    providers::{Deleted, OneProvider, Providers},
};
use crate::id::ProviderId;
use crate::operation::Success;

pub(in crate::rest) fn listed(parts: &Parts, id: &str) -> Written {
    let object = begin(id);
    Ok(match parts.query_truth("activeOnly")? {
        Some(active) => object.truth("activeOnly", active),
        None => object,
    }
    .finish())
}

/// A provider to be trusted.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct Registration<'a> {
    /// Where its discovery document is, for instance
    /// `https://id.example/.well-known/openid-configuration`: at most 1000 characters, `https`, and
    /// on the public internet, unless the settings allow more.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "String", !default)]
    well_known_config_uri: Option<&'a RawValue>,
    /// Who may have issued its tokens, at most 10; without, the issuer of the document.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    issuers: Option<&'a RawValue>,
    /// For whom its tokens are, at most 10; without, for anyone. Give some: another tenant may
    /// trust the same provider, and a token that could be of both is of the one that registered it
    /// first.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    expected_audiences: Option<&'a RawValue>,
    /// The claim that says the roles, as a list, the members of an object or words; without,
    /// `CYODA_OIDC_ROLES_CLAIM`.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    roles_claim: Option<&'a RawValue>,
}

/// A change: what is absent stays, and `null` and an empty list remove what there is.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct Change<'a> {
    /// Cannot be changed: the present value, or absent.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    well_known_config_uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    issuers: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<Vec<String>>")]
    expected_audiences: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    roles_claim: Option<&'a RawValue>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::rest) struct Reactivation<'a> {
    /// Whether tokens are accepted again that are signed with the keys it had when it was
    /// invalidated; `false` accepts only those with keys it has made since.
    #[serde(borrow, default, deserialize_with = "given")]
    #[schemars(with = "Option<bool>")]
    reactivate_keys: Option<&'a RawValue>,
}

/// A member that is there, be it null.
fn given<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Adds the members that are given.
fn with(object: Object, members: &[(&str, Option<&RawValue>)]) -> Object {
    members
        .iter()
        .fold(object, |object, (name, value)| match value {
            Some(value) => object.raw(name, value.get()),
            None => object,
        })
}

fn of_provider(parts: &Parts, id: &str) -> Result<Object, Failure> {
    Ok(begin(id).text("providerId", parts.provider()?))
}

pub(in crate::rest) fn register(parts: &Parts, id: &str) -> Written {
    let body: Registration<'_> = parts.json_as("provider")?;
    let members = [
        ("wellKnownConfigUri", body.well_known_config_uri),
        ("issuers", body.issuers),
        ("expectedAudiences", body.expected_audiences),
        ("rolesClaim", body.roles_claim),
    ];
    Ok(with(begin(id), &members).finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(of_provider(parts, id)?.finish())
}

pub(in crate::rest) fn update(parts: &Parts, id: &str) -> Written {
    let body: Change<'_> = parts.json_as("provider")?;
    let members = [
        ("wellKnownConfigUri", body.well_known_config_uri),
        ("issuers", body.issuers),
        ("expectedAudiences", body.expected_audiences),
        ("rolesClaim", body.roles_claim),
    ];
    Ok(with(of_provider(parts, id)?, &members).finish())
}

pub(in crate::rest) fn reactivate(parts: &Parts, id: &str) -> Written {
    let object = of_provider(parts, id)?;
    // The body may be left out.
    if parts.text()?.trim().is_empty() {
        return Ok(object.finish());
    }
    let body: Reactivation<'_> = parts.json_as("reactivation")?;
    let members = [("reactivateKeys", body.reactivate_keys)];
    Ok(with(object, &members).finish())
}

pub(in crate::rest) fn providers(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Providers>()?.providers))
}

pub(in crate::rest) fn provider(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<OneProvider>()?.provider))
}

/// A provider that was deleted.
#[derive(Serialize, JsonSchema)]
pub(in crate::rest) struct ProviderDeleted {
    message: &'static str,
    id: AsText<ProviderId>,
}

pub(in crate::rest) fn deleted(_: &Parts, answer: Success) -> Written {
    Ok(json(&ProviderDeleted {
        message: "OIDC provider deleted successfully",
        id: answer.take::<Deleted>()?.provider_id,
    }))
}
