//! The schema of documents, and its life cycle.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::compat`],
//! [`crate::entity`].
//! A [`Schema`] is inferred from samples and only ever grows: merging is commutative and
//! associative, so the order in which samples or deltas arrive does not matter
//! (`models-and-entities.md` §3).

mod check;
mod codec;
mod export;
mod infer;
mod level;
#[cfg(test)]
mod oracle;
mod schema;
mod types;
mod unique;
mod view;

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::compat::Compat;
use crate::entity::Document;
use crate::error::{Code, Coded, Properties};
use crate::id::ModelKey;

pub use check::{Violation, Violations};
pub use codec::CodecError;
pub use export::{json_schema, simple_view};
pub use level::{ChangeLevel, Excess, Extension};
pub use schema::{Node, Schema, SchemaMembers};
pub use types::{DataType, Types};
pub use unique::{InvalidKeys, InvalidValue, KeyDefinition, KeyValue, UniqueKeys};
pub use view::{SimpleView, ViewError};

/// A model of a tenant.
#[derive(Debug, Clone)]
pub struct Model {
    pub key: ModelKey,
    pub lock: Lock,
    /// How far documents may extend the schema; none if not at all.
    pub change_level: Option<ChangeLevel>,
    pub schema: Arc<Schema>,
    /// When a sample was last imported.
    pub updated: Timestamp,
    pub unique_keys: UniqueKeys,
}

/// Whether entities can be created, or the schema changed.
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

/// Why a model rejects a document as it is.
#[derive(Debug, Clone, thiserror::Error)]
#[error("validation failed: {violations}")]
pub struct Mismatch {
    model: ModelKey,
    violations: Violations,
}

/// Why a model rejects a document, even with its change level.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error(transparent)]
    Excess(#[from] Excess),
    /// A field of a unique key would no longer be a scalar.
    #[error(transparent)]
    Keys(#[from] InvalidKeys),
}

impl Coded for Mismatch {
    /// `models-and-entities.md` §4.2: one leaf of the wrong type decides the code.
    fn code(&self) -> Code {
        if self.violations.of_type().is_some() {
            Code::IncompatibleType
        } else {
            Code::BadRequest
        }
    }

    fn properties(&self) -> Properties {
        let Some((path, expected, actual)) = self.violations.of_type() else {
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

impl Coded for Refusal {
    fn code(&self) -> Code {
        match self {
            Self::Mismatch(mismatch) => mismatch.code(),
            Self::Excess(excess) => excess.code(),
            Self::Keys(invalid) => invalid.code(),
        }
    }

    fn properties(&self) -> Properties {
        match self {
            Self::Mismatch(mismatch) => mismatch.properties(),
            Self::Excess(excess) => excess.properties(),
            Self::Keys(invalid) => invalid.properties(),
        }
    }
}

impl Model {
    /// The violations of a document, leaf by leaf.
    pub fn violations(&self, document: &Document, compat: Compat) -> Violations {
        check::violations(&self.schema, document, compat)
    }

    /// Validates a document that may not extend the model.
    pub fn check(&self, document: &Document, compat: Compat) -> Result<(), Mismatch> {
        let violations = self.violations(document, compat);
        if violations.is_none() {
            return Ok(());
        }
        Err(Mismatch {
            model: self.key.clone(),
            violations,
        })
    }

    /// Validates a document that may extend the model as far as the change level permits; returns
    /// what it adds (`models-and-entities.md` §4.1).
    pub fn admit(&self, document: &Document, compat: Compat) -> Result<Option<Extension>, Refusal> {
        let Some(level) = self.change_level else {
            return Ok(self.check(document, compat).map(|()| None)?);
        };
        let extension = level::extension(&self.schema, document, level, compat)?;
        if let Some(added) = extension.as_ref().filter(|_| !self.unique_keys.is_empty()) {
            self.check_keys(&Schema::clone(&self.schema).merge(added.delta.clone()))?;
        }
        Ok(extension)
    }
}
