//! A run: one entity on its way through its workflow.

use std::{collections::BTreeMap, sync::Arc};

use super::record::{Entry, RunRecord, StartKind};
use crate::clock::Timestamp;
use crate::condition::{Facts, Lifecycle};
use crate::entity::{Document, Image};
use crate::id::{EntityId, ModelKey, StateName, TransactionId, TransitionName, WorkflowName};
use crate::model::Schema;
use crate::workflow::{State, Transition, Workflow};

/// The facts about an entity that a run does not change.
#[derive(Debug, Clone)]
pub struct Subject {
    pub id: EntityId,
    pub model: ModelKey,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub transaction: TransactionId,
}

/// What begins a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A new entity: choose its workflow, then cascade from the initial state.
    Create,
    /// A save: cascade from the state the entity is in.
    Loopback,
    /// A transition by name, then cascade from its target.
    Named(TransitionName),
}

/// One entity on its way.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) subject: Subject,
    pub(super) document: Document,
    pub(super) state: StateName,
    /// What the latest committed write asked for; empty for a new entity.
    previous_transition: Arc<str>,
    /// The transition this run was asked for.
    pub(super) asked: Option<TransitionName>,
    /// The workflow to remember; none if it is the built-in one.
    pub(super) chosen: Option<WorkflowName>,
    pub(super) phase: Phase,
    pub(super) record: RunRecord,
    pub(super) warnings: Vec<String>,
}

/// Where a run stands.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    Starting(Start),
    /// In a state, about to try its automated transitions.
    Cascading(Cascade),
    /// On a transition, about to call its processor of that number.
    Taking {
        cascade: Cascade,
        transition: usize,
        processor: usize,
    },
    /// As before, while the call is out.
    Calling {
        cascade: Cascade,
        transition: usize,
        processor: usize,
    },
    Settled,
}

/// What a cascade keeps in mind.
#[derive(Debug, Clone)]
pub(super) struct Cascade {
    pub(super) workflow: Arc<Workflow>,
    pub(super) visits: BTreeMap<StateName, u32>,
    pub(super) steps: u32,
}

impl Run {
    /// A run that makes an entity.
    pub fn create(subject: Subject, document: Document) -> Self {
        let at = subject.created;
        Self {
            subject,
            document,
            state: StateName::from(""),
            previous_transition: "".into(),
            asked: None,
            chosen: None,
            phase: Phase::Starting(Start::Create),
            record: record(StartKind::Create, None, at),
            warnings: Vec::new(),
        }
    }

    /// A run that saves `document` over `base`, and takes `asked` if one is named.
    pub fn update(
        base: &Image,
        document: Document,
        asked: Option<TransitionName>,
        transaction: TransactionId,
        now: Timestamp,
    ) -> Self {
        let kind = if asked.is_some() {
            StartKind::Transition
        } else {
            StartKind::Update
        };
        Self {
            subject: Subject {
                id: base.id,
                model: base.model.clone(),
                created: base.created,
                updated: base.updated,
                transaction,
            },
            document,
            state: base.state.clone(),
            previous_transition: base.transition_for_latest_save().into(),
            chosen: base.workflow.clone(),
            phase: Phase::Starting(asked.clone().map_or(Start::Loopback, Start::Named)),
            record: record(kind, asked.as_ref(), now),
            asked,
            warnings: Vec::new(),
        }
    }

    /// The entity as it is now.
    pub fn image(&self) -> Image {
        Image {
            id: self.subject.id,
            model: self.subject.model.clone(),
            state: self.state.clone(),
            document: self.document.json().clone(),
            created: self.subject.created,
            updated: self.subject.updated,
            transaction: self.subject.transaction,
            transition: self.asked.clone(),
            workflow: self.chosen.clone(),
        }
    }

    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What was decided, and what the caller should know, once the run has ended.
    pub fn into_record(self) -> (RunRecord, Vec<String>) {
        (self.record, self.warnings)
    }

    pub(super) fn note(&mut self, entry: Entry) {
        self.record.entries.push(entry);
    }

    pub(super) fn facts<'a>(&'a self, schema: &'a Schema) -> Facts<'a> {
        Facts {
            document: &self.document,
            schema,
            lifecycle: Lifecycle {
                id: self.subject.id,
                state: self.state.as_str(),
                created: self.subject.created,
                updated: self.subject.updated,
                previous_transition: &self.previous_transition,
                transaction: self.subject.transaction,
            },
        }
    }
}

impl Cascade {
    pub(super) const fn new(workflow: Arc<Workflow>) -> Self {
        Self {
            workflow,
            visits: BTreeMap::new(),
            steps: 0,
        }
    }

    /// The state, which exists: a run is only ever in states of its workflow.
    pub(super) fn state(&self, name: &StateName) -> Option<&State> {
        self.workflow.state(name)
    }

    pub(super) fn transition(&self, state: &StateName, index: usize) -> Option<&Transition> {
        self.state(state)?.transitions.get(index)
    }
}

fn record(start: StartKind, asked: Option<&TransitionName>, at: Timestamp) -> RunRecord {
    RunRecord {
        start,
        asked: asked.map(ToString::to_string),
        at: at.micros(),
        entries: Vec::new(),
    }
}
