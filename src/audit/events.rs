//! The documented events, out of a decision record (`workflow-engine.md` §11).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::engine::{CallRecord, Considered, Entry, Reason, RunRecord, StartKind};
use crate::id::TransactionId;
use crate::storage::Recorded;

/// The kind of event with which a run ends well.
pub(super) const FINISH: &str = "STATE_MACHINE_FINISH";

/// Something a state machine did.
#[derive(Debug, Clone)]
pub struct MachineEvent {
    pub kind: &'static str,
    /// The state before a move; the settled one at the end.
    pub state: Option<String>,
    pub details: String,
    /// As documented for the kind; null for most.
    pub data: Value,
    pub at: Timestamp,
    /// The transaction that the request began with.
    pub transaction: TransactionId,
}

/// The events of one commit, oldest first.
pub(super) fn of(recorded: &Recorded) -> Vec<MachineEvent> {
    let mut told = Vec::new();
    for run in &recorded.record.runs {
        tell(run, &mut told);
    }
    if let (Some(cut), Some(last)) = (recorded.record.cut, told.last_mut()) {
        let _ = write!(
            last.details,
            "; the record was too large, so {} decisions and {} leaves were left out of it",
            cut.decisions, cut.leaves
        );
    }
    let began = recorded.record.runs.first().map_or(0, |run| run.at);
    let events = told.into_iter().zip(began..);
    events
        .map(|(told, micros)| MachineEvent {
            kind: told.kind,
            state: told.state,
            details: told.details,
            data: told.data,
            // Events are told apart by their time, and are none later than their commit.
            at: Timestamp::from_micros(micros.min(recorded.at.micros())),
            transaction: recorded.entry,
        })
        .collect()
}

struct Told {
    kind: &'static str,
    state: Option<String>,
    details: String,
    data: Value,
}

/// What a run has come by so far.
struct Way<'a> {
    told: &'a mut Vec<Told>,
    /// The state the entity is in, once that is known.
    state: Option<String>,
    workflow: Option<String>,
    /// Whether the transition's pause was told.
    paused: bool,
}

fn tell(run: &RunRecord, told: &mut Vec<Told>) {
    let mut way = Way {
        told,
        state: first_state(&run.entries),
        workflow: None,
        paused: false,
    };
    if run.start != StartKind::Continued {
        let asked = run.asked.as_deref().map_or_else(String::new, |transition| {
            format!(" for transition {transition}")
        });
        let state = way.state.clone().filter(|_| run.start != StartKind::Create);
        way.say(
            "STATE_MACHINE_START",
            state,
            format!("the state machine starts{asked}"),
            Value::Null,
        );
    }
    let mut ended = false;
    for (index, entry) in run.entries.iter().enumerate() {
        if let Some(state) = first_state(&run.entries[index..]) {
            way.state = Some(state);
        }
        ended |= matches!(entry, Entry::Settled { .. } | Entry::Ungoverned { .. });
        way.entry(run, entry);
    }
    if ended {
        let state = way.state.clone();
        let details = format!(
            "the state machine ends in state {}",
            state.as_deref().unwrap_or_default()
        );
        way.say(FINISH, state, details, json!({"success": true}));
    }
}

/// The state that the next entry which names one speaks of.
fn first_state(entries: &[Entry]) -> Option<String> {
    entries.iter().find_map(|entry| match entry {
        Entry::Moved { from, .. } => Some(from.clone()),
        Entry::Settled { state } | Entry::Ungoverned { state } | Entry::Expired { state, .. } => {
            Some(state.clone())
        }
        Entry::Skipped(_)
        | Entry::Chosen { .. }
        | Entry::Considered(_)
        | Entry::Called(_)
        | Entry::Fired { .. }
        | Entry::Armed { .. }
        | Entry::Cancelled { .. } => None,
    })
}

impl Way<'_> {
    fn say(&mut self, kind: &'static str, state: Option<String>, details: String, data: Value) {
        self.told.push(Told {
            kind,
            state,
            details,
            data,
        });
    }

    fn here(&mut self, kind: &'static str, details: String, data: Value) {
        let state = self.state.clone();
        self.say(kind, state, details, data);
    }

    fn entry(&mut self, run: &RunRecord, entry: &Entry) {
        match entry {
            Entry::Skipped(considered) => self.say(
                "WORKFLOW_SKIP",
                None,
                format!("workflow {} is not for this entity", considered.name),
                json!({"workflowName": considered.name, "reason": reason(considered)}),
            ),
            Entry::Chosen { workflow, why, .. } => {
                self.workflow = Some(workflow.clone());
                if run.start == StartKind::Create {
                    let why = match why {
                        Reason::Matched(_) | Reason::HasState => "",
                        Reason::NoneImported => ", because none was imported",
                        Reason::NoneMatched => ", because no imported one matched",
                    };
                    let details = format!("workflow {workflow} governs the entity{why}");
                    self.say("WORKFLOW_FOUND", None, details, Value::Null);
                }
            }
            Entry::Ungoverned { state } => {
                let details = format!("no workflow has state {state}; nothing can fire");
                self.here("FORCE_SUCCESS", details, Value::Null);
            }
            Entry::Considered(considered) if considered.held => {}
            Entry::Considered(considered) => {
                let data = json!({
                    "workflowName": self.workflow,
                    "transition": considered.name,
                    "criterion": considered.criterion,
                    "reason": reason(considered),
                });
                let details = format!(
                    "the criterion of transition {} did not match",
                    considered.name
                );
                self.here("TRANSITION_NOT_MATCH_CRITERION", details, data);
            }
            Entry::Called(call) => self.called(call),
            Entry::Fired { transition } => {
                let details = format!("transition {transition} was due");
                self.here("SCHEDULED_TRANSITION_FIRE", details, Value::Null);
            }
            Entry::Armed {
                transition,
                state,
                due,
            } => {
                let due = Timestamp::from_micros(*due).to_string();
                let details = format!("transition {transition} is due at {due}");
                let data =
                    json!({"transition": transition, "sourceState": state, "scheduledTime": due});
                self.here("SCHEDULED_TRANSITION_ARM", details, data);
            }
            Entry::Cancelled { transition, state } => {
                let details = format!("transition {transition} is not due any more");
                let data = json!({"transition": transition, "sourceState": state});
                self.here("SCHEDULED_TRANSITION_CANCEL", details, data);
            }
            Entry::Expired { transition, state } => {
                let details = format!("transition {transition} came too late");
                let data = json!({"transition": transition, "sourceState": state});
                self.here("SCHEDULED_TRANSITION_EXPIRE", details, data);
            }
            Entry::Moved {
                transition,
                from,
                to,
            } => {
                let details =
                    format!("transition {transition} moves the entity from {from} to {to}");
                self.here("TRANSITION_MAKE", details, Value::Null);
                self.state = Some(to.clone());
                self.paused = false;
            }
            Entry::Settled { .. } => {}
        }
    }

    /// A function leaves no event of its own: the criterion it is in does.
    fn called(&mut self, call: &CallRecord) {
        let Some(mode) = &call.mode else { return };
        if !std::mem::replace(&mut self.paused, true) {
            let details = "the transition waits for its processors".to_owned();
            self.here("PAUSE_FOR_PROCESSING", details, Value::Null);
        }
        let success = call.failure.is_none();
        let details = match &call.failure {
            None => format!("processor {} is done", call.name),
            Some(failure) => failure.clone(),
        };
        let data = json!({"success": success, "mode": mode});
        self.here("STATE_PROCESS_RESULT", details, data);
    }
}

fn reason(considered: &Considered) -> &str {
    considered
        .reason
        .as_deref()
        .unwrap_or("criterion did not match")
}
