//! The workflows of a model: an ordered list, and how imports change it
//! (`workflow-engine.md` §4.1 and §7.1).

use std::{collections::HashMap, str::FromStr, sync::Arc};

use super::Workflow;
use crate::id::{StateName, WorkflowName};

/// The workflows of one model, in the order in which they are tried.
#[derive(Debug, Clone, Default)]
pub struct WorkflowSet {
    pub entries: Vec<Entry>,
}

/// A workflow, and whether it may be selected.
#[derive(Debug, Clone)]
pub struct Entry {
    pub workflow: Arc<Workflow>,
    pub active: bool,
}

impl From<Arc<Workflow>> for Entry {
    /// As an import makes it.
    fn from(workflow: Arc<Workflow>) -> Self {
        Self {
            workflow,
            active: true,
        }
    }
}

/// How an import changes the list of workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Replaces workflows of the same name in place, appends the others.
    Merge,
    /// Keeps no other workflow.
    Replace,
    /// Keeps the workflows that are not imported, made inactive, before the imported ones.
    Activate,
}

/// An unknown mode.
#[derive(Debug, Clone, thiserror::Error)]
#[error("unknown importMode `{0}`; known are MERGE, REPLACE, ACTIVATE")]
pub struct UnknownMode(String);

impl FromStr for ImportMode {
    type Err = UnknownMode;

    /// Case-insensitive; empty means `MERGE`.
    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text.to_ascii_uppercase().as_str() {
            "" | "MERGE" => Ok(Self::Merge),
            "REPLACE" => Ok(Self::Replace),
            "ACTIVATE" => Ok(Self::Activate),
            _ => Err(UnknownMode(text.to_owned())),
        }
    }
}

impl WorkflowSet {
    /// The list after an import of `incoming`.
    #[must_use]
    pub fn import(&self, mode: ImportMode, incoming: Vec<Entry>) -> Self {
        let mut named: HashMap<_, _> = incoming
            .iter()
            .map(|entry| (entry.workflow.name.clone(), entry.clone()))
            .collect();
        let mut entries = self.entries.clone();
        match mode {
            ImportMode::Replace => entries.clear(),
            ImportMode::Activate => {
                entries.retain(|entry| !named.contains_key(&entry.workflow.name));
                for entry in &mut entries {
                    entry.active = false;
                }
            }
            ImportMode::Merge => {
                for entry in &mut entries {
                    if let Some(incoming) = named.remove(&entry.workflow.name) {
                        *entry = incoming;
                    }
                }
            }
        }
        let new = incoming
            .into_iter()
            .filter(|entry| named.contains_key(&entry.workflow.name));
        entries.extend(new);
        Self { entries }
    }

    /// How many times, at most, the bytes of a document are read in one step.
    pub fn weight(&self) -> u64 {
        let weights = self.entries.iter().map(|entry| entry.workflow.weight);
        weights.max().unwrap_or(0)
    }

    /// Whether entities may have timers.
    pub fn has_timers(&self) -> bool {
        self.entries.iter().any(|entry| entry.workflow.has_timers())
    }

    /// Whether workflows are made from state machines of bundles.
    pub fn has_machines(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.workflow.machine.is_some())
    }

    /// The workflow of that name.
    pub fn named(&self, name: &WorkflowName) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.workflow.name == *name)
    }

    /// Whether this very workflow may be selected.
    pub fn has(&self, workflow: &Workflow) -> bool {
        let known = self.named(&workflow.name).filter(|entry| entry.active);
        known.is_some_and(|known| known.workflow.definition.hash == workflow.definition.hash)
    }

    pub fn active(&self) -> impl Iterator<Item = &Arc<Workflow>> {
        self.entries
            .iter()
            .filter(|entry| entry.active)
            .map(|entry| &entry.workflow)
    }

    /// The workflow that governs an entity after its creation: the one selected then if it is still
    /// active and contains the state, else the first active one that contains it, else the built-in
    /// one if it does (`workflow-engine.md` §7.1).
    pub fn govern(
        &self,
        chosen: Option<&WorkflowName>,
        state: &StateName,
    ) -> Option<Arc<Workflow>> {
        let has_state = |workflow: &&Arc<Workflow>| workflow.states.contains_key(state);
        let remembered = chosen.and_then(|name| {
            self.active()
                .filter(has_state)
                .find(|workflow| workflow.name == *name)
        });
        remembered
            .or_else(|| self.active().find(has_state))
            .cloned()
            .or_else(|| {
                Some(Workflow::built_in()).filter(|workflow| workflow.states.contains_key(state))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(name: &str, state: &str) -> Entry {
        let json =
            format!(r#"{{"name":"{name}","initialState":"{state}","states":{{"{state}":{{}}}}}}"#);
        Arc::new(Workflow::parse(&json).expect("valid").workflow).into()
    }

    fn listed(set: &WorkflowSet) -> String {
        let entries: Vec<_> = set
            .entries
            .iter()
            .map(|entry| {
                format!(
                    "{}{}{}",
                    entry.workflow.name,
                    entry.workflow.initial,
                    if entry.active { "" } else { "-" }
                )
            })
            .collect();
        entries.join(" ")
    }

    #[test]
    fn the_modes_change_the_list_as_documented() {
        let stored = WorkflowSet::default().import(
            ImportMode::Merge,
            vec![workflow("a", "A"), workflow("b", "A")],
        );
        for (mode, incoming, result) in [
            (
                ImportMode::Merge,
                vec![workflow("c", "A"), workflow("a", "B")],
                "aB bA cA",
            ),
            (
                ImportMode::Replace,
                vec![workflow("c", "A"), workflow("a", "B")],
                "cA aB",
            ),
            (ImportMode::Replace, vec![], ""),
            (
                ImportMode::Activate,
                vec![workflow("c", "A"), workflow("a", "B")],
                "bA- cA aB",
            ),
            (ImportMode::Activate, vec![], "aA- bA-"),
        ] {
            assert_eq!(listed(&stored.import(mode, incoming)), result, "{mode:?}");
        }
    }

    #[test]
    fn an_entity_stays_with_its_workflow_while_that_can_hold_it() {
        let mut set = WorkflowSet::default().import(
            ImportMode::Merge,
            vec![workflow("a", "A"), workflow("b", "A"), workflow("c", "C")],
        );
        let governing = |set: &WorkflowSet, chosen: Option<&str>, state: &str| {
            set.govern(chosen.map(WorkflowName::from).as_ref(), &state.into())
                .map(|workflow| workflow.name.to_string())
        };
        assert_eq!(governing(&set, Some("b"), "A").as_deref(), Some("b"));
        assert_eq!(governing(&set, Some("c"), "A").as_deref(), Some("a"));
        assert_eq!(governing(&set, None, "CREATED").as_deref(), Some("default"));
        assert_eq!(governing(&set, None, "Z"), None);
        set.entries[1].active = false;
        assert_eq!(governing(&set, Some("b"), "A").as_deref(), Some("a"));
    }
}
