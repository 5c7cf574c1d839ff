//! The document as a whole.

use super::{
    BUILT_IN_TERMINALS, Document, Idempotency, MANAGER, Schedule, Trigger,
    check::check,
    fields::{Fields, join, named, text, wrong_kind},
    step::Outline,
};
use crate::dialect::{Findings, Tree, TreeError};
use crate::id::{NAMESPACE_RULE, is_namespace};
use crate::program::{
    Mapping, Name, Plan, START_IN_PATHS, SearchAttribute, Step, Terminal, TerminalStatus,
};

/// The longest name of a workflow or a search attribute, and the longest version, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 256;

const STATUSES: [(&str, TerminalStatus); 4] = [
    ("completed", TerminalStatus::Completed),
    ("failed", TerminalStatus::Failed),
    ("cancelled", TerminalStatus::Cancelled),
    ("timed_out", TerminalStatus::TimedOut),
];

/// The root map of a document, as far as one member does not depend on another.
struct Parts {
    name: Option<Name>,
    version: Option<Box<str>>,
    start: Option<(Option<Step>, Outline)>,
    steps: Vec<(Name, (Option<Step>, Outline))>,
    terminals: Vec<(Name, Terminal)>,
    plans: Vec<(Name, Option<Plan>)>,
}

impl Document {
    /// Reads a document, YAML or JSON. The findings hold everything that is wrong or odd about
    /// it; with an error among them there is no document.
    ///
    /// With a namespace, that of the caller, the document may name no other.
    pub fn read_in(namespace: Option<&str>, text: &[u8]) -> (Option<Self>, Findings) {
        let mut findings = Findings::default();
        let text = str::from_utf8(text).map_err(|_| TreeError::NotText);
        let tree = match text.and_then(Tree::read) {
            Ok(tree) => tree,
            Err(error) => {
                findings.error("E100", "", error.to_string());
                return (None, findings);
            }
        };
        let document = Self::of(&tree, namespace, &mut findings);
        let document = document.filter(|_| !findings.has_errors());
        (document, findings)
    }

    fn of(tree: &Tree, callers: Option<&str>, findings: &mut Findings) -> Option<Self> {
        if !matches!(tree, Tree::Map(_)) {
            let message = format!("the document is {}, not a map", tree.kind());
            findings.error("E100", "", message);
            return None;
        }
        let mut fields = Fields::of(tree, "", findings)?;
        read_kind(&mut fields, findings);
        let name = read_name(&mut fields, findings);
        let version = read_version(&mut fields, findings);
        let description = fields.text("description", findings).unwrap_or_default();
        let namespace = read_namespace(&mut fields, callers, findings);
        let modes = [
            ("none", Idempotency::None),
            ("optional", Idempotency::Optional),
            ("required", Idempotency::Required),
        ];
        let idempotency = fields.word("idempotency", &modes, findings);
        let terminals = read_terminals(&mut fields, findings);
        let plans = read_plans(&mut fields, findings);
        let start = fields.take("start", findings);
        if start.is_none() {
            findings.error("E103", "", "the document needs a `start` step");
        }
        let start = start.map(|(tree, at)| Step::read(tree, &at, findings));
        let steps = read_steps(&mut fields, findings);
        let schedule = fields.fields("schedule", findings);
        let schedule = schedule.and_then(|fields| Schedule::read(fields, findings));
        let trigger = fields.fields("trigger", findings);
        let workflow = name.as_deref().unwrap_or_default();
        let trigger = trigger.and_then(|fields| Trigger::read(fields, workflow, findings));
        let attributes = fields.take("searchAttributes", findings);
        let search_attributes = attributes.map_or_else(Vec::new, |(tree, at)| {
            SearchAttribute::read_all(tree, &at, findings)
        });
        let output = read_output(&mut fields, findings);
        fields.finish(findings);
        let parts = Parts {
            name,
            version,
            start,
            steps,
            terminals,
            plans,
        };
        parts.check(findings);
        parts.into_document(|parts| Self {
            name: parts.name,
            version: parts.version,
            description: description.into(),
            namespace,
            idempotency: idempotency.unwrap_or(Idempotency::None),
            start: parts.start,
            steps: parts.steps,
            terminals: parts.terminals,
            plans: parts.plans,
            schedule,
            trigger,
            search_attributes,
            output,
        })
    }
}

/// As [`Parts`], of which nothing is missing.
struct WholeParts {
    name: Name,
    version: Box<str>,
    start: Step,
    steps: Vec<(Name, Step)>,
    terminals: Vec<(Name, Terminal)>,
    plans: Vec<(Name, Plan)>,
}

impl Parts {
    fn check(&self, findings: &mut Findings) {
        let steps = self.steps.iter();
        let steps = steps.map(|(name, (_, outline))| (&**name, outline));
        let terminals = self.terminals.iter().map(|(name, _)| &**name);
        let plans = self.plans.iter().map(|(name, _)| &**name);
        check(
            self.name.as_deref(),
            self.start.as_ref().map(|(_, outline)| outline),
            &steps.collect::<Vec<_>>(),
            &terminals.collect::<Vec<_>>(),
            &plans.collect::<Vec<_>>(),
            findings,
        );
    }

    fn into_document(self, make: impl FnOnce(WholeParts) -> Document) -> Option<Document> {
        fn whole<T>(parts: impl Iterator<Item = (Name, Option<T>)>) -> Option<Vec<(Name, T)>> {
            parts.map(|(name, part)| Some((name, part?))).collect()
        }
        Some(make(WholeParts {
            name: self.name?,
            version: self.version?,
            start: self.start?.0?,
            steps: whole(self.steps.into_iter().map(|(name, (step, _))| (name, step)))?,
            terminals: self.terminals,
            plans: whole(self.plans.into_iter())?,
        }))
    }
}

fn read_kind(fields: &mut Fields<'_>, findings: &mut Findings) {
    match fields.take("kind", findings) {
        Some((Tree::Text(kind), _)) if &**kind == "Workflow" => {}
        Some((_, at)) => findings.error("E100", &at, "`kind` must be `Workflow`"),
        None => findings.error("E100", "", "the document needs `kind: Workflow`"),
    }
}

fn read_name(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Name> {
    let Some((tree, at)) = fields.take("name", findings) else {
        findings.error("E101", "", "the document needs a `name`");
        return None;
    };
    let name = text(tree, &at, findings)?;
    if name.is_empty() {
        findings.error("E101", &at, "the `name` is empty");
    } else if name.len() > NAME_BYTES_MAX {
        let message = format!(
            "the name has {} bytes; at most {NAME_BYTES_MAX}",
            name.len()
        );
        findings.error("E109", &at, message);
    } else if [MANAGER, ".", ".."].contains(&name) {
        // Clients leave dots out of paths.
        let message = format!("the name {name} is reserved; choose another");
        findings.error("E109", &at, message);
    } else if name.contains(char::is_control) {
        findings.error("E109", &at, "the name has control characters");
    }
    Some(name.into())
}

fn read_namespace(
    fields: &mut Fields<'_>,
    callers: Option<&str>,
    findings: &mut Findings,
) -> Option<Name> {
    let (tree, at) = fields.take("namespace", findings)?;
    let given = text(tree, &at, findings)?;
    if !is_namespace(given) {
        let message = format!("\"{given}\" is not a namespace: {NAMESPACE_RULE}");
        findings.error("E109", &at, message);
    } else if let Some(callers) = callers
        && callers != given
    {
        let message = format!(
            "the document is of the namespace \"{given}\", the request of \"{callers}\"; name the same in both"
        );
        findings.error("E109", &at, message);
    }
    Some(given.into())
}

/// A number is a version as it is written: `1.10` is not `1.1`.
fn read_version(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Box<str>> {
    let Some((tree, at)) = fields.take("version", findings) else {
        findings.error("E102", "", "the document needs a `version`");
        return None;
    };
    let version = if let Tree::Number(written) = tree {
        written
    } else {
        text(tree, &at, findings)?
    };
    if version.is_empty() {
        findings.error("E102", &at, "the `version` is empty");
    } else if version.len() > NAME_BYTES_MAX {
        let message = format!(
            "the version has {} bytes; at most {NAME_BYTES_MAX}",
            version.len()
        );
        findings.error("E109", &at, message);
    } else if version.contains(char::is_control) {
        findings.error("E109", &at, "the version has control characters");
    }
    Some(version.into())
}

fn read_steps(
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Vec<(Name, (Option<Step>, Outline))> {
    let Some((tree, path)) = fields.take("steps", findings) else {
        return Vec::new();
    };
    let members = named(tree, &path, "E105", "step", findings);
    let mut steps = Vec::with_capacity(members.len());
    for (name, tree) in members {
        let at = join(&path, name);
        if name == START_IN_PATHS || name.is_empty() {
            let message = format!("\"{name}\" is reserved; choose another name for the step");
            findings.error("E105", &at, message);
        } else if name.contains('.') {
            let message = "paths cannot address a step whose name contains a dot";
            findings.warning("E105", &at, message);
        }
        steps.push((name.into(), Step::read(tree, &at, findings)));
    }
    steps
}

fn read_terminals(fields: &mut Fields<'_>, findings: &mut Findings) -> Vec<(Name, Terminal)> {
    let Some((tree, path)) = fields.take("terminals", findings) else {
        return Vec::new();
    };
    let members = named(tree, &path, "E107", "terminal", findings);
    let mut terminals = Vec::with_capacity(members.len());
    for (name, tree) in members {
        let at = join(&path, name);
        if BUILT_IN_TERMINALS.iter().any(|(known, _)| *known == name) {
            let message = format!("\"{name}\" is built in; it is not declared");
            findings.error("E107", &at, message);
        }
        // `Name:` with nothing behind it takes the defaults.
        let terminal = if *tree == Tree::Null {
            Some(Terminal {
                status: TerminalStatus::Failed,
                output: None,
            })
        } else {
            Terminal::read(tree, &at, findings)
        };
        terminals.extend(terminal.map(|terminal| (name.into(), terminal)));
    }
    terminals
}

impl Terminal {
    fn read(tree: &Tree, path: &str, findings: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(tree, path, findings)?;
        let mut status = TerminalStatus::Failed;
        if let Some((tree, at)) = fields.take("status", findings) {
            let given = text(tree, &at, findings);
            let known = given.and_then(|given| STATUSES.iter().find(|(word, _)| *word == given));
            match (known, given) {
                (Some((_, known)), _) => status = *known,
                (None, Some(given)) => {
                    let message = format!(
                        "\"{given}\" is not one of completed, failed, cancelled, timed_out"
                    );
                    findings.error("E501", &at, message);
                }
                (None, None) => {}
            }
        }
        let output = fields.take("output", findings);
        let output = output.map(|(tree, at)| Mapping::read(tree, &at, findings));
        fields.finish(findings);
        Some(Self { status, output })
    }
}

fn read_plans(fields: &mut Fields<'_>, findings: &mut Findings) -> Vec<(Name, Option<Plan>)> {
    let Some((tree, path)) = fields.take("plans", findings) else {
        return Vec::new();
    };
    let members = named(tree, &path, "E109", "plan", findings);
    let plans = members.into_iter().map(|(name, tree)| {
        let plan = Plan::read(tree, &join(&path, name), findings);
        (name.into(), plan)
    });
    plans.collect()
}

fn read_output(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Mapping> {
    let (tree, at) = fields.take("output", findings)?;
    if matches!(tree, Tree::Text(_) | Tree::Map(_)) {
        return Some(Mapping::read(tree, &at, findings));
    }
    wrong_kind(findings, &at, "a path or a map", tree);
    None
}
