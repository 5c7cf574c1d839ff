//! Values by path, and JSON that is filled with them (`orchestration.md` 1.9 and 2.2).
//!
//! May use: [`crate::text`].
//! Must not: await, read a clock, draw a random number, touch storage.
//! Texts are copied, never parsed into numbers, so every digit stays as it was written; only what
//! an expression computes is rounded.

mod budget;
mod cel;
mod error;
mod mapping;
mod path;
mod scan;
mod template;

pub use budget::{Budget, at_once};
pub use error::CelError;
pub use mapping::{Mapping, MappingError};
pub use path::{Path, PathError, Root};
pub use template::{Read, Roots, Scope, Template, Values, check_condition, compute, holds};

use indexmap::IndexMap;
use serde_json::value::RawValue;

/// The members of a JSON object, the last of those with the same name; none of any other value.
pub fn members(json: &str) -> Option<IndexMap<String, &RawValue>> {
    serde_json::from_str(json).ok()
}

/// The text of a JSON string; none of any other value.
pub fn string(json: &str) -> Option<String> {
    json.starts_with('"')
        .then(|| serde_json::from_str(json).ok())?
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
