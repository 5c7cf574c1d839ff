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
mod place;
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
pub use export::{ViewTooLarge, json_schema, simple_view};
pub use level::{ChangeLevel, Excess, Extension};
use schema::NODE_BYTES;
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

/// How large the schema of a model may become, in MiB: each extension copies and merges it.
const SCHEMA_MIB_MAX: usize = 16;

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
    violations: Box<Violations>,
}

/// A schema that would become too large.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "the schema of model {0} would be larger than {SCHEMA_MIB_MAX} MiB, where each field counts its \
     name and {NODE_BYTES} bytes; use a list where names are data"
)]
pub struct Oversized(ModelKey);

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
    #[error(transparent)]
    Oversized(#[from] Oversized),
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

impl Coded for Oversized {
    fn code(&self) -> Code {
        Code::BadRequest
    }
}

impl Coded for Refusal {
    fn code(&self) -> Code {
        match self {
            Self::Mismatch(mismatch) => mismatch.code(),
            Self::Excess(excess) => excess.code(),
            Self::Keys(invalid) => invalid.code(),
            Self::Oversized(oversized) => oversized.code(),
        }
    }

    fn properties(&self) -> Properties {
        match self {
            Self::Mismatch(mismatch) => mismatch.properties(),
            Self::Excess(excess) => excess.properties(),
            Self::Keys(invalid) => invalid.properties(),
            Self::Oversized(oversized) => oversized.properties(),
        }
    }
}

impl Model {
    /// Whether documents can add no field to it.
    pub fn has_all_fields(&self) -> bool {
        // From that level on, null may become an object.
        self.lock == Lock::Locked && self.change_level < Some(ChangeLevel::ArrayElements)
    }

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
            violations: Box::new(violations),
        })
    }

    /// Validates a document that may extend the model as far as the change level permits; returns
    /// what it adds (`models-and-entities.md` §4.1).
    pub fn admit(&self, document: &Document, compat: Compat) -> Result<Option<Extension>, Refusal> {
        let Some(level) = self.change_level else {
            return Ok(self.check(document, compat).map(|()| None)?);
        };
        let extension = level::extension(&self.schema, document, level, compat)?;
        if let Some(added) = &extension {
            check_size(&self.key, self.schema.bytes() + added.delta.bytes())?;
        }
        if let Some(added) = &extension {
            self.check_keys_with(&added.delta)?;
        }
        Ok(extension)
    }
}

impl Schema {
    /// Checks that it is not too large for a model.
    pub fn check_size(&self, model: &ModelKey) -> Result<(), Oversized> {
        check_size(model, self.bytes())
    }
}

fn check_size(model: &ModelKey, bytes: usize) -> Result<(), Oversized> {
    if bytes > SCHEMA_MIB_MAX << 20 {
        return Err(Oversized(model.clone()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_do_not_extend_a_schema_without_a_limit() {
        let document = |text: &str| Document::parse(text).expect(text);
        let named = |letter: &str| {
            let name = letter.repeat((SCHEMA_MIB_MAX << 20) / 3);
            document(&format!("{{\"{name}\":1}}"))
        };
        let mut model = Model {
            key: ModelKey::new("doc", 1),
            lock: Lock::Locked,
            change_level: Some(ChangeLevel::Structural),
            schema: Arc::new(Schema::infer(&document("{}"))),
            updated: Timestamp::from_micros(0),
            unique_keys: UniqueKeys::default(),
        };
        for letter in ["a", "b"] {
            let added = model.admit(&named(letter), Compat::Documented);
            let added = added.expect("fits").expect("is new");
            model.schema = Arc::new(Schema::clone(&model.schema).merge(added.delta));
        }
        let refused = model.admit(&named("c"), Compat::Documented);
        let refused = refused.expect_err("too large");
        assert!(matches!(refused, Refusal::Oversized(_)), "{refused}");
        assert_eq!(refused.code(), Code::BadRequest);
        let known = model.admit(&named("b"), Compat::Documented);
        assert_eq!(known.expect("is known"), None);
    }
}
