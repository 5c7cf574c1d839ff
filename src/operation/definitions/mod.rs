//! Definitions of runs (`runs.md` §4).

mod actions;
mod create;
mod delete;
mod get;
mod list;
mod set_enabled;
mod validate;

use std::sync::Arc;

use crate::dialect::{Finding as Found, Findings};
use crate::error::{Code, Failure};
use crate::event::payload::{
    AsText,
    definitions::{Finding, Item},
};
use crate::registry::{KeptFinding, Listed};

pub(super) use create::CreateDefinition;
pub(super) use delete::DeleteDefinition;
pub(super) use get::GetDefinition;
pub(super) use list::ListDefinitions;
pub(super) use set_enabled::SetDefinitionEnabled;
pub(super) use validate::ValidateDefinition;

impl From<KeptFinding> for Finding {
    fn from(kept: KeptFinding) -> Self {
        Self {
            code: kept.code,
            severity: kept.severity,
            message: kept.message,
            location: kept.location,
        }
    }
}

impl From<Listed> for Item {
    fn from(listed: Listed) -> Self {
        Self {
            name: listed.name.to_string(),
            kind: listed.kind.as_str(),
            bundle: listed.bundle.map(|bundle| bundle.to_string()),
            version: listed.version.to_string(),
            versions: texts(&listed.versions),
            enabled: listed.enabled,
            description: listed.description.to_string(),
            created_at: AsText(listed.created),
        }
    }
}

fn texts(names: &[Arc<str>]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

pub(super) fn findings(found: &Findings) -> Vec<Finding> {
    let listed = found.listed().iter();
    listed.map(|one| KeptFinding::from(one).into()).collect()
}

/// A document, or something else of that name, with errors.
pub(super) fn invalid(what: &str, found: &Findings) -> Failure {
    let first = found.listed().iter().find(|one| is_error(one));
    let first = first.map(|one| format!(": {one}")).unwrap_or_default();
    let errors = found.errors();
    let plural = if errors == 1 { "" } else { "s" };
    let message = format!("the {what} has {errors} error{plural}{first}");
    let listed = serde_json::to_value(findings(found)).unwrap_or_default();
    Failure::new(Code::ValidationFailed, message).with("findings", listed)
}

fn is_error(finding: &Found) -> bool {
    finding.severity == crate::dialect::Severity::Error
}
