//! Imports workflows into a model (`workflow-engine.md` §4).

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::time::timeout;
use tracing::info;

use super::{Access, Context, Family, Operation, Output, conditions::reading};
use crate::compat::Compat;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, workflow},
};
use crate::id::{ModelKey, StateName};
use crate::model::Model;
use crate::runtime::again;
use crate::storage::{Definitions, ModelChange};
use crate::workflow::{CyclePolicy, Entry, Error, ImportMode, Workflow, WorkflowSet, check_cycles};

/// How many warnings are returned.
const WARNINGS_MAX: usize = 100;

/// How long an import waits for the number of entities in each state.
const COUNTED_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct ImportWorkflows {
    model: ModelKey,
    mode: Result<ImportMode, Failure>,
    cycles: CyclePolicy,
    /// None if the member is missing.
    definitions: Option<Vec<Box<RawValue>>>,
    /// Members of the request that nobody knows.
    unknown: Vec<String>,
}

impl Operation for ImportWorkflows {
    type Payload = workflow::Import<'static>;
    type Answer = workflow::Imported;

    const REQUEST: EventType = EventType::EntityWorkflowImportRequest;
    const RESPONSE: EventType = EventType::EntityWorkflowImportResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let (import, unknown): (workflow::Import<'_>, _) = payload::decode_noting(payload)?;
        let mode = import.import_mode.as_deref().unwrap_or_default().parse();
        Ok(Self {
            model: import.model.into(),
            mode: mode.map_err(|error: crate::workflow::UnknownMode| {
                Failure::new(Code::BadRequest, error.to_string())
            }),
            cycles: if import.allow_cycles == Some(true) {
                CyclePolicy::Allowed
            } else {
                CyclePolicy::Refused
            },
            definitions: import
                .workflows
                .map(|given| given.into_iter().map(ToOwned::to_owned).collect()),
            unknown,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let compat = cx.runtime().compat();
        let mut warnings = Vec::new();
        for member in &self.unknown {
            if compat.unknown_members_are_refused() {
                return Err(Failure::malformed(format!("unknown member `{member}`")));
            }
            warnings.push(format!("unknown member `{member}` is ignored"));
        }
        // What is wrong with them is reported only once the model is known to exist.
        let is_given = self.definitions.is_some();
        let given = self.definitions.unwrap_or_default();
        let mut reading_warnings = Vec::new();
        let read = reading(&cx, move || {
            let read = read(&given, compat, &mut reading_warnings);
            read.map(|read| (read, reading_warnings))
        });
        let (read, noted) = read.await??;
        warnings.extend(noted);
        let mode = self.mode?;
        if !is_given && mode != ImportMode::Merge {
            // A misspelled member is not to remove all workflows of a model.
            return Err(Failure::new(
                Code::BadRequest,
                "`workflows` is missing; send an empty list to import none",
            ));
        }
        let import = || async {
            let definitions = cx.definitions(&self.model).await?;
            let workflows = read.clone()?;
            if workflows.is_empty() && !may_be_empty(mode, compat) {
                return Err(Failure::new(
                    Code::ValidationFailed,
                    "`workflows` is empty, but this mode needs at least one; MERGE does not",
                ));
            }
            let merged = definitions.workflows.import(mode, workflows.clone());
            if self.cycles == CyclePolicy::Refused {
                check_cycles(merged.entries.iter().map(|entry| &*entry.workflow))?;
            }
            let mut shown = stuck(&cx, &definitions, &merged).await;
            shown.extend_from_slice(&warnings);
            review(&definitions.model, &merged, &workflows, &mut shown);
            cut(&mut shown);
            let names = workflows.iter().map(|entry| &entry.workflow.name);
            let imported = workflow::Imported {
                model_id: AsText(self.model.id()),
                workflows: names.map(ToString::to_string).collect(),
            };
            let change = ModelChange::SetWorkflows {
                seen: definitions.workflow_revision,
                workflows: merged,
            };
            let changing = cx.change_model(&self.model, change, &imported, &shown);
            changing.await?;
            info!(model = %self.model, ?mode, workflows = ?imported.workflows, "workflows imported");
            Ok(Output::One(imported, shown))
        };
        // Another import may come between: this one is then validated against what that one left.
        again(import).await
    }
}

/// Whether an import may be without workflows (`workflow-engine.md` §4.4).
const fn may_be_empty(mode: ImportMode, compat: Compat) -> bool {
    match mode {
        ImportMode::Merge => true,
        ImportMode::Replace => !compat.replacing_needs_workflows(),
        ImportMode::Activate => false,
    }
}

/// Warns of entities in states that no active workflow has after the import. They are counted only if
/// the import changes which states there are, and not for long.
async fn stuck(cx: &Context, definitions: &Definitions, merged: &WorkflowSet) -> Vec<String> {
    let states = |set: &WorkflowSet| -> BTreeSet<StateName> {
        let states = set.active().flat_map(|workflow| workflow.states.keys());
        states.cloned().collect()
    };
    if states(&definitions.workflows) == states(merged) {
        return Vec::new();
    }
    let counting = cx.storage().counts_by_state(definitions);
    let Ok(Ok(counts)) = timeout(COUNTED_WITHIN, counting).await else {
        return vec![format!(
            "the entities of the model could not be counted within {COUNTED_WITHIN:?}, so some may be in a state that no active workflow has; compare the states with those of EntityStatsByStateGetRequest"
        )];
    };
    let lost = counts
        .into_iter()
        .filter(|(state, _)| merged.govern(None, state).is_none());
    lost.map(|(state, count)| {
        let are = if count == 1 { "entity is" } else { "entities are" };
        format!(
            "{count} {are} in the state \"{state}\", which no active workflow has: no transition can be taken there; add the state, with a transition that leads on"
        )
    })
    .collect()
}

/// Adds warnings of what the author can hardly have meant.
fn review(model: &Model, merged: &WorkflowSet, imported: &[Entry], shown: &mut Vec<String>) {
    let names = imported.iter().map(|entry| &entry.workflow.name);
    shown.extend(merged.review_choice(names));
    for Entry { workflow, .. } in imported {
        shown.extend(workflow.review(Some(&model.schema)));
        // Similar names are not looked for where nobody would read them.
        let room = WARNINGS_MAX.saturating_sub(shown.len());
        shown.extend(workflow.review_fields(model, room));
    }
}

/// Leaves out what nobody would read.
fn cut(warnings: &mut Vec<String>) {
    if let Some(more) = warnings
        .len()
        .checked_sub(WARNINGS_MAX)
        .filter(|more| *more > 0)
    {
        warnings.truncate(WARNINGS_MAX);
        warnings.push(format!("and {more} more warnings"));
    }
}

/// Reads all definitions, so that everything that is wrong is reported at once. What is not a definition
/// at all is a malformed request.
fn read(
    given: &[Box<RawValue>],
    compat: Compat,
    warnings: &mut Vec<String>,
) -> Result<Result<Vec<Entry>, Error>, Failure> {
    let mut workflows = Vec::with_capacity(given.len());
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for (at, definition) in given.iter().enumerate() {
        match Workflow::import(definition.get(), compat) {
            Ok(parsed) => {
                warnings.extend(parsed.warnings);
                if !names.insert(parsed.workflow.name.clone()) {
                    problems.push(parsed.workflow.doubled());
                }
                let active = !compat.active_is_kept() || parsed.active.unwrap_or(true);
                if active && parsed.active == Some(false) {
                    warnings.push(parsed.workflow.activated());
                }
                workflows.push(Entry {
                    workflow: Arc::new(parsed.workflow),
                    active,
                });
            }
            Err(Error::Invalid(more)) => problems.extend(more),
            Err(Error::Json(reason)) => {
                let error = Error::Json(format!("`workflows[{at}]`: {reason}"));
                return Err(Failure::from(error).in_request());
            }
            Err(error @ Error::Version { .. }) => return Err(error.into()),
        }
    }
    Ok(if problems.is_empty() {
        Ok(workflows)
    } else {
        Err(Error::Invalid(problems))
    })
}
