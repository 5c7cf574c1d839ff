//! The shape a document must have, and the life of that shape.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`].
//! A [`Schema`] is inferred from samples and only ever grows: merging is commutative and
//! associative, so the order in which samples or deltas arrive does not matter
//! (`models-and-entities.md` §3).

mod check;
mod codec;
mod export;
mod infer;
mod schema;
mod types;
mod unique;

use crate::clock::Timestamp;
use crate::entity::Document;
use crate::error::{Code, Coded, Properties};
use crate::id::ModelKey;

pub use check::Violation;
pub use codec::CodecError;
pub use export::{json_schema, simple_view};
pub use schema::{Node, Schema};
pub use types::{DataType, Types};
pub use unique::{InvalidKeys, InvalidValue, KeyDefinition, KeyValue, UniqueKeys};

/// A model of a tenant.
#[derive(Debug, Clone)]
pub struct Model {
    pub key: ModelKey,
    pub lock: Lock,
    pub schema: Schema,
    /// When a sample was last imported.
    pub updated: Timestamp,
    pub unique_keys: UniqueKeys,
}

/// Whether entities can be made, or the schema changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    Unlocked,
    Locked,
}

impl Lock {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unlocked => "UNLOCKED",
            Self::Locked => "LOCKED",
        }
    }
}

/// Why a model does not take a document.
#[derive(Debug, Clone, thiserror::Error)]
#[error("validation failed: {}", check::list(.violations))]
pub struct Mismatch {
    model: ModelKey,
    violations: Vec<Violation>,
}

impl Mismatch {
    fn first_of_type(&self) -> Option<(&str, &Types, DataType)> {
        self.violations.iter().find_map(Violation::of_type)
    }
}

impl Coded for Mismatch {
    /// `models-and-entities.md` §4.2: one leaf of the wrong type decides the code.
    fn code(&self) -> Code {
        if self.first_of_type().is_some() {
            Code::IncompatibleType
        } else {
            Code::BadRequest
        }
    }

    fn properties(&self) -> Properties {
        let Some((path, expected, actual)) = self.first_of_type() else {
            return Properties::new();
        };
        let expected: Vec<_> = expected.iter().map(DataType::as_str).collect();
        vec![
            ("fieldPath", path.into()),
            ("expectedType", expected.into()),
            ("actualType", actual.as_str().into()),
            ("entityName", (*self.model.name).into()),
            ("entityVersion", self.model.version.to_string().into()),
        ]
    }
}

impl Model {
    /// Checks a document against the schema, every leaf of it.
    pub fn check(&self, document: &Document) -> Result<(), Mismatch> {
        let violations = check::violations(&self.schema, document);
        if violations.is_empty() {
            return Ok(());
        }
        Err(Mismatch {
            model: self.key.clone(),
            violations,
        })
    }
}
