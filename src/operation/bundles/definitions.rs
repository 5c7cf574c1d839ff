//! Applies the definitions of the operator at the start: all of them in one commit, or none.

use std::fmt::Write as _;

use serde_json::value::to_raw_value;

use super::{
    apply::{check, give_machines},
    models::note_models,
};
use crate::connector::Trust;
use crate::dialect::{Findings, Tree};
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::operation::Services;
use crate::registry::{
    Created, NewDefinition,
    bundle::{Applied, BundleFile, NewBundle, Variables},
};
use crate::runtime::Initiator;
use crate::storage::Attribution;

/// The namespace of the operator's definitions.
const NAMESPACE: &str = "default";

/// How often it is tried while others change what it depends on.
const ATTEMPTS: usize = 20;

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
                native = new.of_entities(NAMESPACE);
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
        let (new, found) = NewDefinition::read(NAMESPACE, &text);
        findings_so_far.add(Some(&document.path), &found);
        definitions.extend(new.map(|new| (&*document.path, new)));
    }
    if findings_so_far.has_errors {
        return Err(findings_so_far.refused());
    }
    let mut attempt = 1;
    loop {
        match store(
            services,
            tenant,
            bundle.as_ref(),
            &definitions,
            &mut findings_so_far,
        )
        .await
        {
            Err(failure) if failure.code() == Code::Conflict && attempt < ATTEMPTS => attempt += 1,
            Err(failure) => return Err(failure.into()),
            Ok(()) if findings_so_far.has_errors => return Err(findings_so_far.refused()),
            Ok(()) => break,
        }
    }
    if let Some(bundle) = &bundle {
        let made = services
            .runtime
            .make_mirror(tenant, NAMESPACE, &bundle.name);
        findings_so_far.lines.extend(made.await);
    }
    let by = Attribution {
        author: Initiator::system(tenant).principal.actor,
        executor: None,
    };
    give_machines(services, tenant, &by, &native).await;
    Ok(findings_so_far.lines)
}

async fn store(
    services: &Services,
    tenant: &Tenant,
    bundle: Option<&NewBundle>,
    definitions: &[(&str, NewDefinition)],
    findings_so_far: &mut FindingLines,
) -> Result<(), Failure> {
    let by = Initiator::system(tenant);
    let mut session = services.runtime.session(&by, None).await?;
    let now = services.now();
    if let Some(bundle) = bundle {
        let applied = services
            .registry
            .apply(session.unit()?, NAMESPACE, bundle, now)
            .await?;
        if let Applied::Refused(found) = applied {
            findings_so_far.add(None, &found);
        }
    }
    for (path, new) in definitions {
        let created = new.create(session.unit()?, NAMESPACE, now).await?;
        if matches!(created, Created::NameTaken) {
            let mut found = Findings::default();
            let name = &new.document.name;
            let message = format!("the name {name} is that of a saga; choose another");
            found.error("E109", "name", message);
            findings_so_far.add(Some(path), &found);
        }
    }
    if findings_so_far.has_errors {
        return Ok(());
    }
    session.finish(&by.cancel).await
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
