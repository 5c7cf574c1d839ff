//! A document that is to become a version of a definition.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};

use super::{Error, Idempotency};
use crate::dialect::{Finding, Findings, flo};
use crate::program::Program;
use crate::storage::RecordKey;
use crate::text;

/// How many bytes of a description lists show.
const DESCRIPTION_BYTES_MAX: usize = 1_024;

/// A document without errors, and what becomes of it.
#[derive(Debug)]
pub struct NewDefinition {
    pub document: flo::Document,
    pub findings: Vec<KeptFinding>,
    /// SHA-256 of the program, in hexadecimal.
    pub digest: Arc<str>,
    pub(super) program: Arc<str>,
    /// What is stored of it beside its program.
    pub(super) stored: Arc<str>,
}

/// A finding as it is stored and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFinding {
    pub code: String,
    pub severity: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

impl From<&Finding> for KeptFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code.to_owned(),
            severity: finding.severity.as_str().to_owned(),
            message: finding.message.clone(),
            location: finding.location.clone(),
        }
    }
}

/// What is stored of a version beside its program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredDocument {
    /// As it was sent: a text, or an object.
    pub(super) document: Box<RawValue>,
    pub(super) description: String,
    pub(super) plans: Vec<String>,
    pub(super) findings: Vec<KeptFinding>,
}

impl StoredDocument {
    pub(super) fn read(key: &RecordKey, body: &str) -> Result<Self, Error> {
        serde_json::from_str(body).map_err(|_| Error::Unreadable {
            what: "document",
            name: Arc::clone(&key.name),
        })
    }
}

impl NewDefinition {
    /// Reads a document as it was sent: JSON that is a text, which is YAML or JSON, or an object.
    /// There is none if the findings have an error.
    pub fn read(namespace: &str, sent: &RawValue) -> (Option<Self>, Findings) {
        let text: Option<String> = serde_json::from_str(sent.get()).ok();
        let text = text.as_deref().unwrap_or_else(|| sent.get());
        let (document, findings) = flo::Document::read_in(Some(namespace), text.as_bytes());
        let new = document.and_then(|document| Self::of(document, &findings, sent));
        (new, findings)
    }

    fn of(document: flo::Document, findings: &Findings, sent: &RawValue) -> Option<Self> {
        let program = serde_json::to_string(&document.compile()).ok()?;
        let findings: Vec<KeptFinding> = findings.listed().iter().map(Into::into).collect();
        let stored = StoredDocument {
            document: to_raw_value(sent).ok()?,
            description: document.description.to_string(),
            plans: document
                .plans
                .iter()
                .map(|(name, _)| name.to_string())
                .collect(),
            findings: findings.clone(),
        };
        Some(Self {
            digest: hex::encode(Sha256::digest(program.as_bytes())).into(),
            program: program.into(),
            stored: serde_json::to_string(&stored).ok()?.into(),
            findings,
            document,
        })
    }

    pub(super) fn idempotency(&self) -> Idempotency {
        self.document.idempotency.into()
    }

    /// The description as lists show it.
    pub(super) fn description(&self) -> Arc<str> {
        shortened(&self.document.description)
    }
}

pub(super) fn shortened(description: &str) -> Arc<str> {
    text::shortened(description, DESCRIPTION_BYTES_MAX).into()
}

/// A program as it is stored.
pub(super) fn read_program(digest: &str, body: &str) -> Result<Program, Error> {
    serde_json::from_str(body).map_err(|_| Error::Unreadable {
        what: "program",
        name: digest.into(),
    })
}
