//! Applies the definitions of the operator at the start: all of them in one commit, or none.

use std::fmt::Write as _;

use serde_json::value::to_raw_value;

use super::{
    apply::{check, give_machines},
    models::note_models,
};
use crate::connector::Trust;
use crate::dialect::{Findings, Tree};
use crate::error::Failure;
use crate::id::{DEFAULT_NAMESPACE, Tenant};
use crate::operation::Services;
use crate::registry::{
    Created, NewDefinition,
    bundle::{Applied, BundleFile, NewBundle, Variables},
};
use crate::runtime::{Initiator, again};
use crate::storage::Attribution;

/// Why the definitions could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionsError {
    /// All findings, a line each.
    #[error("the definitions have errors:\n{0}")]
    Findings(String),
    #[error("the definitions could not be stored: {0}")]
    Storage(Failure),
}

impl From<Failure> for DefinitionsError {
    fn from(failure: Failure) -> Self {
        Self::Storage(failure)
    }
}

/// Whether a text is a document with `kind: Workflow`.
pub fn is_step_workflow(text: &str) -> bool {
    let Ok(Tree::Map(members)) = Tree::read(text) else {
        return false;
    };
    let is_kind = |(key, value): &(Box<str>, Tree)| {
        &**key == "kind" && matches!(value, Tree::Text(kind) if &**kind == "Workflow")
    };
    members.iter().any(is_kind)
}

/// Applies HCL files as one bundle, and documents of step workflows, each with its path. Returns
/// the warnings.
pub async fn apply_definitions(
    services: &Services,
    tenant: &Tenant,
    hcl: Vec<BundleFile>,
    variables: Variables,
    documents: &[BundleFile],
) -> Result<Vec<String>, DefinitionsError> {
    let mut findings_so_far = FindingLines::default();
    let (mut bundle, mut native) = (None, Vec::new());
    if !hcl.is_empty() {
        let new = NewBundle::read(None, hcl, variables, Trust::Operator);
        let new = new.and_then(|new| check(new, tenant, &services.connectors, &services.routes));
        match new {
            Ok(mut new) => {
                native = new.of_entities(DEFAULT_NAMESPACE);
                note_models(services, tenant, &native, &mut new).await?;
                findings_so_far.add(None, &new.findings);
                bundle = Some(new);
            }
            Err(found) => findings_so_far.add(None, &found),
        }
    }
    let mut definitions = Vec::new();
    for document in documents {
        let text = to_raw_value(&document.text)
            .map_err(|error| DefinitionsError::Findings(format!("{}: {error}", document.path)))?;
        let (new, found) = NewDefinition::read(DEFAULT_NAMESPACE, &text);
        findings_so_far.add(Some(&document.path), &found);
        definitions.extend(new.map(|new| (&*document.path, new)));
    }
    if findings_so_far.has_errors {
        return Err(findings_so_far.refused());
    }
    let refused = again(|| store(services, tenant, bundle.as_ref(), &definitions)).await?;
    if refused.has_errors {
        findings_so_far.lines.extend(refused.lines);
        return Err(findings_so_far.refused());
    }
    if let Some(bundle) = &bundle {
        let made = services
            .runtime
            .make_mirror(tenant, DEFAULT_NAMESPACE, &bundle.name);
        findings_so_far.lines.extend(made.await);
    }
    let by = Attribution {
        author: Initiator::system(tenant).principal.actor,
        executor: None,
    };
    give_machines(services, tenant, &by, &native).await;
    Ok(findings_so_far.lines)
}

/// Stores all, unless something is refused: the findings about that.
async fn store(
    services: &Services,
    tenant: &Tenant,
    bundle: Option<&NewBundle>,
    definitions: &[(&str, NewDefinition)],
) -> Result<FindingLines, Failure> {
    let mut refused = FindingLines::default();
    let by = Initiator::system(tenant);
    let mut session = services.runtime.session(&by, None).await?;
    let now = services.now();
    if let Some(bundle) = bundle {
        let applied = services
            .registry
            .apply(session.unit()?, DEFAULT_NAMESPACE, bundle, now)
            .await?;
        if let Applied::Refused(found) = applied {
            refused.add(None, &found);
        }
    }
    for (path, new) in definitions {
        let created = new.create(session.unit()?, DEFAULT_NAMESPACE, now).await?;
        if matches!(created, Created::NameTaken) {
            let mut found = Findings::default();
            let name = &new.document.name;
            let message = format!("the name {name} is that of a saga; choose another");
            found.error("E109", "name", message);
            refused.add(Some(path), &found);
        }
    }
    if !refused.has_errors {
        session.finish(&by.cancel).await?;
    }
    Ok(refused)
}

/// All findings, as lines.
#[derive(Default)]
struct FindingLines {
    lines: Vec<String>,
    has_errors: bool,
}

impl FindingLines {
    /// Adds the findings about a file; those about HCL name their file.
    fn add(&mut self, path: Option<&str>, found: &Findings) {
        self.has_errors |= found.has_errors();
        for finding in found.listed() {
            let mut line = path.map_or_else(String::new, |path| format!("{path}: "));
            let _ = write!(line, "{finding}");
            self.lines.push(line);
        }
    }

    fn refused(&self) -> DefinitionsError {
        DefinitionsError::Findings(self.lines.join("\n"))
    }
}
