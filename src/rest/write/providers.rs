//! Providers of tokens (`rest.md` §7).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::parts::Parts;
use super::{Written, begin, read};
use crate::error::Failure;
use crate::event::payload::Object;

/// The members of a body that the payload has, too.
const MEMBERS: &[&str] = &[
    "wellKnownConfigUri",
    "issuers",
    "expectedAudiences",
    "rolesClaim",
];

pub(in crate::rest) fn listed(parts: &Parts, id: &str) -> Written {
    let object = begin(id);
    Ok(match parts.query_truth("activeOnly")? {
        Some(active) => object.truth("activeOnly", active),
        None => object,
    }
    .finish())
}

/// The members that the body has of these, be they `null`.
fn members(object: Object, body: &BTreeMap<String, &RawValue>, names: &[&str]) -> Object {
    names
        .iter()
        .fold(object, |object, name| match body.get(*name) {
            Some(value) => object.raw(name, value.get()),
            None => object,
        })
}

fn of_provider(parts: &Parts, id: &str) -> Result<Object, Failure> {
    Ok(begin(id).text("providerId", parts.provider()?))
}

pub(in crate::rest) fn register(parts: &Parts, id: &str) -> Written {
    let body = parts.json_as("provider")?;
    Ok(members(begin(id), &body, MEMBERS).finish())
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(of_provider(parts, id)?.finish())
}

pub(in crate::rest) fn update(parts: &Parts, id: &str) -> Written {
    let body = parts.json_as("provider")?;
    Ok(members(of_provider(parts, id)?, &body, MEMBERS).finish())
}

pub(in crate::rest) fn reactivate(parts: &Parts, id: &str) -> Written {
    let object = of_provider(parts, id)?;
    // The body may be left out.
    if parts.text()?.trim().is_empty() {
        return Ok(object.finish());
    }
    let body = parts.json_as("reactivation")?;
    Ok(members(object, &body, &["reactivateKeys"]).finish())
}

pub(in crate::rest) fn providers(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Providers<'a> {
        #[serde(borrow)]
        providers: &'a RawValue,
    }
    let answer: Providers<'_> = read(payload)?;
    Ok(answer.providers.get().to_owned())
}

pub(in crate::rest) fn provider(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    struct Provider<'a> {
        #[serde(borrow)]
        provider: &'a RawValue,
    }
    let answer: Provider<'_> = read(payload)?;
    Ok(answer.provider.get().to_owned())
}

pub(in crate::rest) fn reloaded(parts: &Parts, payload: &str) -> Written {
    let providers = providers(parts, payload)?;
    Ok(Object::new().raw("providers", &providers).finish())
}

pub(in crate::rest) fn deleted(_: &Parts, payload: &str) -> Written {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Deleted {
        provider_id: String,
    }
    let answer: Deleted = read(payload)?;
    Ok(Object::new()
        .text("message", "OIDC provider deleted successfully")
        .text("id", &answer.provider_id)
        .finish())
}
