//! A run: one entity on its way through its workflow.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    Armed, Timer, TimerChange, TimerKind,
    record::{Entry, RunRecord, StartKind},
};
use crate::clock::Timestamp;
use crate::condition::{Condition, Facts, Lifecycle, Told};
use crate::entity::{Document, Image, Json};
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
#[derive(Debug, Clone)]
pub enum Start {
    /// A new entity: choose its workflow, then cascade from the initial state.
    Create,
    /// A save: cascade from the state the entity is in.
    Loopback,
    /// A transition by name, then cascade from its target.
    Named(TransitionName),
    /// A timer that is due.
    Fired {
        kind: TimerKind,
        transition: TransitionName,
    },
    /// A run that had committed a part of what it did.
    Resumed(Suspended),
}

/// What became of the entity in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is to be saved as it is now.
    Saved,
    /// The guard of what was due did not hold: nothing but the record is kept.
    Declined,
    /// What was due is not defined any more.
    Dropped,
}

/// What a run leaves, once it has settled.
#[derive(Debug)]
pub struct Outcome {
    pub fate: Fate,
    pub image: Image,
    pub record: RunRecord,
    pub warnings: Vec<String>,
    pub timers: Vec<TimerChange>,
}

/// A run in front of the call of a processor, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suspended {
    workflow: String,
    transition: String,
    /// The number of the processor that is called next.
    processor: usize,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    visits: BTreeMap<String, u32>,
    #[serde(default)]
    steps: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    /// What the version before the whole run asked for.
    previous_transition: String,
    /// Timers that processors have asked for, to be armed when the run ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    timers: Vec<AwaitedTimer>,
}

/// A timer of a processor, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwaitedTimer {
    state: String,
    transition: String,
    /// In microseconds since 1970.
    due: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

/// One entity on its way.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) subject: Subject,
    pub(super) document: Document,
    /// The latest committed version; none of a new entity.
    base: Option<Json>,
    before: OnceLock<Option<Document>>,
    pub(super) state: StateName,
    /// What the latest committed write asked for; empty for a new entity.
    previous_transition: Arc<str>,
    /// The transition this run was asked for.
    pub(super) asked: Option<TransitionName>,
    /// The workflow to remember; none if it is the built-in one.
    pub(super) chosen: Option<WorkflowName>,
    pub(super) began: Timestamp,
    pub(super) phase: Phase,
    pub(super) fate: Fate,
    pub(super) record: RunRecord,
    pub(super) warnings: Vec<String>,
    /// The timers the entity has.
    pub(super) armed: Vec<Armed>,
    /// Timers of processors that await the end of the run.
    pub(super) pending: Vec<Timer>,
    pub(super) timers: Vec<TimerChange>,
}

/// Where a run stands.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    Starting(Start),
    /// Looking at the active workflow of that number.
    Choosing {
        at: usize,
        told: Told,
    },
    /// Before the guard of a transition that was asked for, by name or by time.
    Guarding {
        cascade: Cascade,
        transition: usize,
        told: Told,
    },
    /// In a state, about to try its transition of that number.
    Cascading {
        cascade: Cascade,
        at: usize,
        told: Told,
    },
    /// On a transition, about to call its processor of that number.
    Taking {
        cascade: Cascade,
        transition: usize,
        processor: usize,
    },
    /// In the state where the run ends, about to arm its transition of that number.
    Arming {
        workflow: Arc<Workflow>,
        at: usize,
    },
    /// A call is out; the phase that goes on with its answer.
    Waiting {
        asked: Asked,
        phase: Box<Self>,
    },
    Settled,
}

/// What a call that is out was made for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    /// The function of that number in the criterion.
    Function(u32),
    Processor,
    Schedule,
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
            base: None,
            before: OnceLock::new(),
            state: StateName::from(""),
            previous_transition: "".into(),
            asked: None,
            chosen: None,
            began: at,
            phase: Phase::Starting(Start::Create),
            fate: Fate::Saved,
            record: record(StartKind::Create, None, at),
            warnings: Vec::new(),
            armed: Vec::new(),
            pending: Vec::new(),
            timers: Vec::new(),
        }
    }

    /// A run over `base` that gives it `document`, begun by anything but its creation.
    pub fn update(
        base: &Image,
        document: Document,
        start: Start,
        transaction: TransactionId,
        now: Timestamp,
    ) -> Self {
        let mut previous: Arc<str> = base.transition_for_latest_save().into();
        let mut pending = Vec::new();
        let (kind, asked) = match &start {
            Start::Create | Start::Loopback => (StartKind::Update, None),
            Start::Named(name) => (StartKind::Transition, Some(name.clone())),
            Start::Fired { transition, .. } => (StartKind::Timer, Some(transition.clone())),
            Start::Resumed(suspended) => {
                previous = suspended.previous_transition.as_str().into();
                pending.extend(suspended.timers.iter().map(Timer::from));
                let asked = suspended.asked.as_deref().map(TransitionName::from);
                (StartKind::Continued, asked)
            }
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
            base: Some(base.document.clone()),
            before: OnceLock::new(),
            state: base.state.clone(),
            previous_transition: previous,
            chosen: base.workflow.clone(),
            began: now,
            phase: Phase::Starting(start),
            fate: Fate::Saved,
            record: record(kind, asked.as_ref(), now),
            asked,
            warnings: Vec::new(),
            armed: Vec::new(),
            pending,
            timers: Vec::new(),
        }
    }

    /// Tells the run of the timers that the entity has.
    pub fn has_armed(&mut self, armed: Vec<Armed>) {
        self.armed = armed;
    }

    /// How many bytes its criteria may look at: those of its document, or of the one before.
    pub fn size(&self) -> usize {
        let before = self.base.as_ref().map_or(0, |base| base.as_str().len());
        self.document.json().as_str().len().max(before)
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

    /// What conditions are told of the entity, if it had that document; nothing has changed.
    pub fn facts_of<'a>(&'a self, document: &'a Document, schema: &'a Schema) -> Facts<'a> {
        Facts {
            document: document.root(),
            before: Some(document.root()),
            schema,
            lifecycle: self.lifecycle(),
        }
    }

    fn lifecycle(&self) -> Lifecycle<'_> {
        Lifecycle {
            id: self.subject.id,
            state: self.state.as_str(),
            created: self.subject.created,
            updated: self.subject.updated,
            previous_transition: &self.previous_transition,
            transaction: self.subject.transaction,
        }
    }

    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What the run has come to, once it has settled.
    pub fn finish(self) -> Outcome {
        Outcome {
            fate: self.fate,
            image: self.image(),
            record: self.record,
            warnings: self.warnings,
            timers: self.timers,
        }
    }

    /// How the run goes on after what it did so far has been committed, if it is in front of a
    /// processor.
    pub fn suspended(&self) -> Option<Suspended> {
        let Phase::Waiting { phase, .. } = &self.phase else {
            return None;
        };
        let Phase::Taking {
            cascade,
            transition,
            processor,
        } = phase.as_ref()
        else {
            return None;
        };
        let taken = cascade.transition(&self.state, *transition)?;
        Some(Suspended {
            workflow: cascade.workflow.name.to_string(),
            transition: taken.name.to_string(),
            processor: *processor,
            visits: cascade
                .visits
                .iter()
                .map(|(state, visits)| (state.to_string(), *visits))
                .collect(),
            steps: cascade.steps,
            asked: self.asked.as_ref().map(ToString::to_string),
            previous_transition: self.previous_transition.to_string(),
            timers: self.pending.iter().map(AwaitedTimer::from).collect(),
        })
    }

    /// What was recorded so far, for the part that is committed before the rest; the rest begins
    /// a record of its own.
    pub fn split_record(&mut self) -> RunRecord {
        let rest = RunRecord {
            start: StartKind::Continued,
            entries: Vec::new(),
            ..self.record.clone()
        };
        std::mem::replace(&mut self.record, rest)
    }

    /// Gives the entity another document, which someone else has made of it.
    pub fn take_in(&mut self, document: Document) {
        self.document = document;
    }

    /// Goes on in another transaction, on top of what was committed.
    pub fn enter(&mut self, base: &Image, transaction: TransactionId) {
        self.subject.transaction = transaction;
        self.subject.updated = base.updated;
        self.base = Some(base.document.clone());
        self.before = OnceLock::new();
    }

    pub(super) fn resume(
        suspended: &Suspended,
        state: &StateName,
        workflow: Arc<Workflow>,
    ) -> Option<Phase> {
        let transition = workflow
            .state(state)?
            .transitions
            .iter()
            .position(|transition| transition.name.as_str() == suspended.transition)?;
        Some(Phase::Taking {
            cascade: Cascade {
                workflow,
                visits: suspended
                    .visits
                    .iter()
                    .map(|(state, visits)| (state.as_str().into(), *visits))
                    .collect(),
                steps: suspended.steps,
            },
            transition,
            processor: suspended.processor,
        })
    }

    pub(super) fn note(&mut self, entry: Entry) {
        self.record.entries.push(entry);
    }

    /// What a condition is told, which `condition` asks for.
    pub(super) fn facts<'a>(&'a self, schema: &'a Schema, condition: &Condition) -> Facts<'a> {
        let before = if condition.compares() {
            self.before
                .get_or_init(|| Document::from_json(self.base.as_ref()?).ok())
                .as_ref()
        } else {
            None
        };
        Facts {
            document: self.document.root(),
            before: before.map(Document::root),
            schema,
            lifecycle: self.lifecycle(),
        }
    }
}

impl From<&Timer> for AwaitedTimer {
    fn from(timer: &Timer) -> Self {
        let millis = |timeout: Duration| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            state: timer.state.to_string(),
            transition: timer.transition.to_string(),
            due: timer.due.micros(),
            timeout_ms: timer.timeout.map(millis),
        }
    }
}

impl From<&AwaitedTimer> for Timer {
    fn from(timer: &AwaitedTimer) -> Self {
        Self {
            kind: TimerKind::Processor,
            state: timer.state.as_str().into(),
            transition: timer.transition.as_str().into(),
            due: Timestamp::from_micros(timer.due),
            timeout: timer.timeout_ms.map(Duration::from_millis),
        }
    }
}

impl Suspended {
    pub(super) fn workflow(&self) -> &str {
        &self.workflow
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
