//! A run: one entity moving through its workflow.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    Armed, Limits, Timer, TimerChange, TimerKind,
    record::{DispatchRecord, Entry, RunRecord, StartKind},
};
use crate::clock::Timestamp;
use crate::condition::{Condition, Facts, FunctionResults, Lifecycle};
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
    /// A new entity: select its workflow, then cascade from the initial state.
    Create,
    /// A save: cascade from the entity's state.
    Loopback,
    /// A transition by name, then cascade from its target.
    Named(TransitionName),
    /// A timer that is due.
    Fired {
        kind: TimerKind,
        transition: TransitionName,
    },
    /// A partially committed run.
    Resumed(Suspended),
    /// The rest of a partially committed run is given up: the entity stays in its state, whose
    /// timers are armed.
    GivenUp(Suspended),
}

/// What a run does with the entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is saved as it is now.
    Saved,
    /// The guard of a due timer did not hold: only the record is stored.
    Declined,
    /// The rest of the run is given up: only its timers and the record are stored.
    Rested,
    /// The due transition is no longer defined.
    Dropped,
}

/// The outcome of a run that has settled.
#[derive(Debug)]
pub struct RunOutcome {
    pub fate: Fate,
    pub image: Image,
    pub record: RunRecord,
    pub timers: Vec<TimerChange>,
}

/// A run in front of the call of a processor, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suspended {
    workflow: String,
    transition: String,
    /// The number of the processor that is called next.
    processor: usize,
    /// Its name. Runs that earlier releases suspended do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    callee: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    visits: BTreeMap<String, u32>,
    #[serde(default)]
    steps: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    /// The transition of the version before the whole run.
    previous_transition: String,
    /// Whether a timer began it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_timer: bool,
    /// Timers that processors have requested, to be armed when the run ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    timers: Vec<AwaitedTimer>,
    /// The states that it has left and that timers of processors were armed for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    left: BTreeSet<String>,
}

/// A timer of a processor, in its stored form.
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

/// The state of a run.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) subject: Subject,
    pub(super) document: Document,
    /// The latest committed version; none for a new entity.
    base: Option<Json>,
    before: OnceLock<Option<Document>>,
    pub(super) state: StateName,
    /// The transition of the latest committed write; empty for a new entity.
    previous_transition: Arc<str>,
    /// Whether a path below a missing list yields a missing value instead of no element.
    absent_lists_are_null: bool,
    /// The transition that the run was asked to take.
    pub(super) asked: Option<TransitionName>,
    /// The workflow to store; none if it is the built-in one.
    pub(super) chosen: Option<WorkflowName>,
    pub(super) began: Timestamp,
    pub(super) phase: Phase,
    pub(super) fate: Fate,
    pub(super) record: RunRecord,
    /// The armed timers of the entity.
    pub(super) armed: Vec<Armed>,
    /// The states that it has left and that timers of processors were armed for. It may have come
    /// back to them.
    pub(super) left: BTreeSet<StateName>,
    /// Timers of processors that are armed when the run ends.
    pub(super) pending: Vec<Timer>,
    pub(super) timers: Vec<TimerChange>,
}

/// The position of a run.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    Starting(Start),
    /// Evaluating the active workflow of that number.
    Choosing {
        at: usize,
        answers: FunctionResults,
    },
    /// Before the guard of a requested transition, named or due.
    Guarding {
        cascade: Cascade,
        transition: usize,
        answers: FunctionResults,
    },
    /// In a state, about to try its transition of that number.
    Cascading {
        cascade: Cascade,
        at: usize,
        answers: FunctionResults,
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
    /// A call is in flight; the phase that continues with its response.
    Waiting {
        asked: Asked,
        phase: Box<Self>,
    },
    Settled,
}

/// The purpose of a call in flight.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    /// The function of that number in the criterion.
    Function(u32),
    Processor,
    Schedule,
}

/// The state of a cascade.
#[derive(Debug, Clone)]
pub(super) struct Cascade {
    pub(super) workflow: Arc<Workflow>,
    pub(super) visits: BTreeMap<StateName, u32>,
    pub(super) steps: u32,
}

impl Run {
    /// A run that creates an entity.
    pub fn create(subject: Subject, document: Document) -> Self {
        let at = subject.created;
        Self {
            subject,
            document,
            base: None,
            before: OnceLock::new(),
            state: StateName::from(""),
            previous_transition: "".into(),
            absent_lists_are_null: false,
            asked: None,
            chosen: None,
            began: at,
            phase: Phase::Starting(Start::Create),
            fate: Fate::Saved,
            record: record(StartKind::Create, None, at),
            armed: Vec::new(),
            left: BTreeSet::new(),
            pending: Vec::new(),
            timers: Vec::new(),
        }
    }

    /// A run over `base` with the new `document`.
    pub fn update(
        base: &Image,
        document: Document,
        start: Start,
        transaction: TransactionId,
        now: Timestamp,
    ) -> Self {
        let mut previous: Arc<str> = base.transition_for_latest_save().into();
        let (mut pending, mut left) = (Vec::new(), BTreeSet::new());
        let (kind, asked) = match &start {
            Start::Create | Start::Loopback => (StartKind::Update, None),
            Start::Named(name) => (StartKind::Transition, Some(name.clone())),
            Start::Fired { transition, .. } => (StartKind::Timer, Some(transition.clone())),
            Start::Resumed(suspended) | Start::GivenUp(suspended) => {
                previous = suspended.previous_transition.as_str().into();
                pending.extend(suspended.timers.iter().map(Timer::from));
                left.extend(suspended.left.iter().map(|state| state.as_str().into()));
                let asked = suspended.asked.as_deref().map(TransitionName::from);
                let began = if suspended.by_timer {
                    StartKind::TimerContinued
                } else {
                    StartKind::Continued
                };
                (began, asked)
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
            absent_lists_are_null: false,
            chosen: base.workflow.clone(),
            began: now,
            phase: Phase::Starting(start),
            fate: Fate::Saved,
            record: record(kind, asked.as_ref(), now),
            asked,
            armed: Vec::new(),
            left,
            pending,
            timers: Vec::new(),
        }
    }

    /// The time left for the run.
    pub fn time_left(&self, now: Timestamp, limits: Limits) -> Duration {
        limits.time.saturating_sub(now.since(self.began))
    }

    /// Lets conditions see the requested transition as the previous one; if none was requested, the
    /// empty text.
    pub fn record_what_was_asked(&mut self) {
        let asked = self.asked.as_ref().map_or("", TransitionName::as_str);
        self.previous_transition = asked.into();
    }

    /// Lets `IS_NULL` hold below a missing list.
    pub const fn take_absent_lists_as_null(&mut self) {
        self.absent_lists_are_null = true;
    }

    /// Sets the armed timers of the entity.
    pub fn has_armed(&mut self, armed: Vec<Armed>) {
        self.armed = armed;
    }

    /// How many bytes its criteria may read: those of its document and of the one before.
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

    /// Has the run begin in a state of a workflow, whatever has governed the entity before.
    pub fn begin_at(&mut self, workflow: WorkflowName, state: StateName) {
        self.chosen = Some(workflow);
        self.state = state;
    }

    /// The facts that conditions see if the entity had that document.
    pub fn facts_of<'a>(&'a self, document: &'a Document, schema: &'a Schema) -> Facts<'a> {
        Facts {
            document: document.root(),
            before: Some(document.root()),
            schema,
            lifecycle: self.lifecycle(),
            absent_lists_are_null: self.absent_lists_are_null,
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

    /// The outcome of the run, once it has settled.
    pub fn finish(self) -> RunOutcome {
        RunOutcome {
            fate: self.fate,
            image: self.image(),
            record: self.record,
            timers: self.timers,
        }
    }

    /// How the run resumes after the work so far has been committed, if it is in front of a
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
        let callee = taken.processors.get(*processor)?;
        Some(Suspended {
            workflow: cascade.workflow.name.to_string(),
            transition: taken.name.to_string(),
            processor: *processor,
            callee: Some(callee.name.to_string()),
            visits: cascade
                .visits
                .iter()
                .map(|(state, visits)| (state.to_string(), *visits))
                .collect(),
            steps: cascade.steps,
            asked: self.asked.as_ref().map(ToString::to_string),
            previous_transition: self.previous_transition.to_string(),
            by_timer: self.record.start.continued() == StartKind::TimerContinued,
            timers: self.pending.iter().map(AwaitedTimer::from).collect(),
            left: self.left.iter().map(ToString::to_string).collect(),
        })
    }

    /// Notes that the state is left, if a timer of a processor was armed for it.
    pub(super) fn leave_state(&mut self) {
        let is_of_state =
            |armed: &Armed| armed.kind == TimerKind::Processor && armed.state == self.state;
        if self.armed.iter().any(is_of_state) {
            self.left.insert(self.state.clone());
        }
    }

    /// The record so far, for the part that is committed first; the rest begins a new record.
    pub fn split_record(&mut self) -> RunRecord {
        // What the rest reports names the workflow.
        let mut entries = self.record.entries.iter().rev();
        let chosen = entries.find_map(Entry::chosen_before);
        let rest = RunRecord {
            start: self.record.start.continued(),
            asked: self.record.asked.clone(),
            at: self.record.at,
            entries: chosen.into_iter().collect(),
            ended: Vec::new(),
        };
        let mut part = std::mem::replace(&mut self.record, rest);
        part.entries.push(Entry::Parted {
            state: self.state.to_string(),
        });
        part
    }

    /// Replaces the document by one that another request has written.
    pub fn take_in(&mut self, document: Document) {
        self.document = document;
    }

    /// Continues in another transaction, on top of the committed version.
    pub fn enter(&mut self, base: &Image, transaction: TransactionId) {
        // The rest is later than what was committed before it.
        self.record.at = self.record.at.max(base.updated.micros());
        self.subject.transaction = transaction;
        self.subject.updated = base.updated;
        self.base = Some(base.document.clone());
        self.before = OnceLock::new();
    }

    /// The phase that continues a suspended run; none if its definition was changed so that the
    /// processor is not at its place any more: others would be left out.
    pub(super) fn resume(
        suspended: &Suspended,
        state: &StateName,
        workflow: Arc<Workflow>,
    ) -> Option<Phase> {
        let transitions = &workflow.state(state)?.transitions;
        let transition = transitions
            .iter()
            .position(|transition| transition.name.as_str() == suspended.transition)?;
        let next = transitions[transition]
            .processors
            .get(suspended.processor)?;
        let callee = suspended.callee.as_deref();
        if callee.is_some_and(|callee| callee != next.name.as_str()) {
            return None;
        }
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

    /// Notes a call that has just ended.
    pub(super) fn note_call(&mut self, call: DispatchRecord, now: Timestamp) {
        self.record.ended.push(now.micros());
        self.note(Entry::Called(call));
    }

    /// The facts that a condition needs.
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
            absent_lists_are_null: self.absent_lists_are_null,
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

    pub(super) fn transition(&self) -> &str {
        &self.transition
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

    /// The state, which exists: a run is only in states of its workflow.
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
        ended: Vec::new(),
    }
}
