//! What a step asks of a connector.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A request; its values are JSON texts, so that digits stay as they are.
#[derive(Debug, Deserialize)]
pub(super) struct Request<'a> {
    #[serde(borrow, default)]
    pub(super) operation: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) target: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) payload: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) set: Option<&'a RawValue>,
    #[serde(borrow, rename = "where")]
    pub(super) filter: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) query: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) template: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) to: Option<Cow<'a, str>>,
}

impl<'a> Request<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        crate::json::read(text).map_err(|error| format!("the request cannot be read: {error}"))
    }
}
