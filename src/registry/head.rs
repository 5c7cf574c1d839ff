//! What is stored of one name of a definition: its versions, and which of them are disabled.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::clock::Timestamp;
use crate::dialect::flo;
use crate::storage::{Record, RecordKey, RecordKind};

/// What a definition was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionKind {
    Flo,
    Saga,
}

impl DefinitionKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Flo, Self::Saga]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flo => "flo",
            Self::Saga => "saga",
        }
    }
}

/// Whether a start takes an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Idempotency {
    /// A key is ignored.
    None,
    Optional,
    /// A start without a key is rejected.
    Required,
}

impl From<flo::Idempotency> for Idempotency {
    fn from(mode: flo::Idempotency) -> Self {
        match mode {
            flo::Idempotency::None => Self::None,
            flo::Idempotency::Optional => Self::Optional,
            flo::Idempotency::Required => Self::Required,
        }
    }
}

/// What is stored of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) kind: DefinitionKind,
    /// The bundle that a saga belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bundle: Option<Arc<str>>,
    /// Whether the whole name is disabled.
    #[serde(default)]
    pub(super) disabled: bool,
    /// That of the latest version, shortened.
    pub(super) description: Arc<str>,
    /// In the order in which they were created; the last is the latest. There is at least one.
    pub(super) versions: Vec<VersionHead>,
}

/// What is stored of a version beside its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VersionHead {
    pub(super) version: Arc<str>,
    /// Names its program.
    pub(super) digest: Arc<str>,
    pub(super) idempotency: Idempotency,
    /// Microseconds.
    pub(super) created: i64,
    #[serde(default)]
    pub(super) disabled: bool,
}

impl VersionHead {
    pub(super) const fn created(&self) -> Timestamp {
        Timestamp::from_micros(self.created)
    }
}

impl Head {
    pub(super) fn read(record: &Record) -> Result<Self, Error> {
        let head: Option<Self> = serde_json::from_str(&record.body).ok();
        head.filter(|head| !head.versions.is_empty())
            .ok_or_else(|| Error::Unreadable {
                what: "definition",
                name: Arc::clone(&record.key.name),
            })
    }

    pub(super) fn write(&self) -> Arc<str> {
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// A version by its name, or the latest.
    pub(super) fn version(&self, version: Option<&str>) -> Option<&VersionHead> {
        match version {
            None => self.versions.last(),
            Some(name) => self.versions.iter().find(|one| *one.version == *name),
        }
    }

    pub(super) fn disabled_versions(&self) -> Vec<Arc<str>> {
        let disabled = self.versions.iter().filter(|one| one.disabled);
        disabled.map(|one| Arc::clone(&one.version)).collect()
    }
}

/// The record of a name.
pub(super) fn head_key(namespace: &str, name: &str) -> RecordKey {
    RecordKey::new(RecordKind::Definition, namespace, name)
}

/// The record of the document of a version.
pub(super) fn document_key(namespace: &str, name: &str, version: &str) -> RecordKey {
    // Neither part may be taken for the other.
    let name = serde_json::to_string(&[name, version]).unwrap_or_default();
    RecordKey::new(RecordKind::Document, namespace, name)
}

/// The record of a compiled program.
pub(super) fn program_key(namespace: &str, digest: &str) -> RecordKey {
    RecordKey::new(RecordKind::Program, namespace, digest)
}
