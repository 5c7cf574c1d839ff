//! The documented events, derived from a decision record (`workflow-engine.md` §11).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::engine::{Considered, DispatchRecord, Entry, Reason, RunRecord, StartKind};
use crate::id::TransactionId;
use crate::storage::Recorded;

/// The event of a run that ended successfully.
pub(super) const FINISH: &str = "STATE_MACHINE_FINISH";

/// The reported reason of a rejected write.
const MODIFIED: &str = "ENTITY_MODIFIED";

/// An event of a state machine.
#[derive(Debug, Clone)]
pub struct MachineEvent {
    pub kind: &'static str,
    /// The state before a move; the settled one at the end.
    pub state: Option<String>,
    pub details: String,
    /// As documented for the kind; null for most.
    pub data: Value,
    pub at: Timestamp,
    /// The transaction in which the request began.
    pub transaction: TransactionId,
}

/// The events of one commit, oldest first.
pub(super) fn of(recorded: &Recorded) -> Vec<MachineEvent> {
    let mut drafts = Vec::new();
    for run in &recorded.record.runs {
        draft_events(run, &mut drafts);
    }
    if let (Some(cut), Some(last)) = (recorded.record.cut, drafts.last_mut()) {
        let _ = write!(
            last.details,
            "; the record was too large, so {} decisions and {} leaves were left out of it",
            cut.decisions, cut.leaves
        );
    }
    // Events are distinguished by their time; one that follows a call is not earlier than its end.
    let mut next = recorded.record.runs.first().map_or(0, |run| run.at);
    drafts
        .into_iter()
        .map(|draft| {
            let micros = draft.called.map_or(next, |ended| next.max(ended));
            next = micros + 1;
            MachineEvent {
                kind: draft.kind,
                state: draft.state,
                details: draft.details,
                data: draft.data,
                // None is later than its commit.
                at: Timestamp::from_micros(micros.min(recorded.at.micros())),
                transaction: recorded.entry,
            }
        })
        .collect()
}

struct EventDraft {
    kind: &'static str,
    state: Option<String>,
    details: String,
    data: Value,
    /// When the last call before it ended, in microseconds.
    called: Option<i64>,
}

/// The state of the derivation within a run.
struct Way<'a> {
    drafts: &'a mut Vec<EventDraft>,
    /// The timer with which it began.
    fired: Option<&'a str>,
    /// The state the entity is in, once that is known.
    state: Option<String>,
    workflow: Option<String>,
    /// Whether the transition's pause has been reported.
    paused: bool,
    /// When the last call ended, in microseconds; records of earlier releases do not say it.
    called: Option<i64>,
    /// When the further ones ended.
    ended: std::slice::Iter<'a, i64>,
}

fn draft_events<'a>(run: &'a RunRecord, drafts: &'a mut Vec<EventDraft>) {
    let mut way = Way {
        drafts,
        fired: None,
        state: first_state(&run.entries),
        workflow: None,
        // A run is continued within a transition, whose pause its first part has reported.
        paused: run.start.is_continued(),
        called: None,
        ended: run.ended.iter(),
    };
    way.fired = fired(run);
    // A timer that fired nothing is reported by the one event that says why.
    let is_reported = run.start != StartKind::Timer || way.fired.is_some();
    if is_reported && !run.start.is_continued() {
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
    let (mut ended, mut parted) = (false, false);
    for (index, entry) in run.entries.iter().enumerate() {
        if let Some(state) = first_state(&run.entries[index..]) {
            way.state = Some(state);
        }
        ended |= matches!(entry, Entry::Settled { .. } | Entry::Ungoverned { .. });
        parted |= matches!(entry, Entry::Parted { .. });
        way.entry(run, entry);
    }
    // A timer fires where its run ends, possibly in a later transaction. Records without `Parted`,
    // of older versions, do not say in which; there it is reported where they end.
    if let Some(transition) = way.fired.filter(|_| !parted) {
        let details = format!("transition {transition} was due");
        way.here("SCHEDULED_TRANSITION_FIRE", details, Value::Null);
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

/// The transition that a timer has fired in a run, or in the run that it continues.
fn fired(run: &RunRecord) -> Option<&str> {
    let noted = run.entries.iter().find_map(|entry| {
        if let Entry::Fired { transition } = entry {
            Some(transition.as_str())
        } else {
            None
        }
    });
    let continued = run.start == StartKind::TimerContinued;
    noted.or_else(|| run.asked.as_deref().filter(|_| continued))
}

/// The state that the next entry with a state names.
fn first_state(entries: &[Entry]) -> Option<String> {
    entries.iter().find_map(|entry| match entry {
        Entry::Moved { from, .. } => Some(from.clone()),
        Entry::Settled { state }
        | Entry::Ungoverned { state }
        | Entry::Expired { state, .. }
        | Entry::Declined { state, .. }
        | Entry::Parted { state }
        | Entry::Aborted { state, .. } => Some(state.clone()),
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
        self.drafts.push(EventDraft {
            kind,
            state,
            details,
            data,
            called: self.called,
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
                format!("workflow {} does not match this entity", considered.name),
                json!({"workflowName": considered.name, "reason": reason(considered)}),
            ),
            Entry::Chosen { workflow, why, .. } => {
                self.workflow = Some(workflow.clone());
                if run.start == StartKind::Create {
                    let why = match why {
                        Reason::Matched(_) | Reason::HasState => "",
                        Reason::NoneImported => ", because no workflow was imported",
                        Reason::NoneMatched => ", because no imported one matched",
                    };
                    let details = format!("workflow {workflow} governs the entity{why}");
                    self.say("WORKFLOW_FOUND", None, details, Value::Null);
                }
            }
            Entry::Ungoverned { state } => {
                let details = format!("no workflow contains state {state}; no transition can fire");
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
            Entry::Armed {
                transition,
                state,
                due,
            } => {
                let due = Timestamp::from_micros(*due);
                let details = format!("transition {transition} is due at {due}");
                let data = json!({
                    "transition": transition,
                    "sourceState": state,
                    "scheduledTime": due.millis(),
                });
                let kind = "SCHEDULED_TRANSITION_ARM";
                self.say(kind, Some(state.clone()), details, data);
            }
            Entry::Cancelled { transition, state } => {
                let details = format!("transition {transition} is no longer scheduled");
                let data = json!({"transition": transition, "sourceState": state});
                // The entity has left that state.
                let kind = "SCHEDULED_TRANSITION_CANCEL";
                self.say(kind, Some(state.clone()), details, data);
            }
            Entry::Expired { transition, state } => {
                let details = format!("transition {transition} expired, because it was too late");
                let data = json!({"transition": transition, "sourceState": state});
                let kind = "SCHEDULED_TRANSITION_EXPIRE";
                self.say(kind, Some(state.clone()), details, data);
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
            Entry::Aborted {
                state,
                expected,
                actual,
            } => {
                let details = format!(
                    "nothing was written: the caller expected transaction {expected}, and {actual} wrote the newest version"
                );
                let data = json!({
                    "reason": MODIFIED,
                    "transitionName": run.asked.as_deref().unwrap_or("loopback"),
                    "expectedTxId": expected,
                    "actualTxId": actual,
                });
                self.say("TRANSITION_ABORTED", Some(state.clone()), details, data);
            }
            // The call that follows the commit may be the first of the transition.
            Entry::Parted { .. } => self.pause(),
            // The firing of a timer is reported where the run ends.
            Entry::Fired { .. } | Entry::Settled { .. } | Entry::Declined { .. } => {}
        }
    }

    /// A function has no event of its own: its criterion has.
    fn called(&mut self, call: &DispatchRecord) {
        if call.mode.is_some() {
            self.pause();
        }
        self.called = self.ended.next().copied().or(self.called);
        let Some(mode) = &call.mode else { return };
        let success = call.failure.is_none();
        let details = match &call.failure {
            None => format!("processor {} succeeded", call.name),
            Some(failure) => failure.clone(),
        };
        let data = json!({"success": success, "mode": mode});
        self.here("STATE_PROCESS_RESULT", details, data);
    }

    /// Reported once, before the first processor of a transition.
    fn pause(&mut self) {
        if !std::mem::replace(&mut self.paused, true) {
            let details = "the transition waits for its processors".to_owned();
            self.here("PAUSE_FOR_PROCESSING", details, Value::Null);
        }
    }
}

fn reason(considered: &Considered) -> &str {
    considered
        .reason
        .as_deref()
        .unwrap_or("criterion did not match")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Record;
    use crate::entity::Position;

    /// The events of a stored record, which was committed at 1000.
    fn all_of(record: &str) -> Vec<MachineEvent> {
        of(&Recorded {
            position: Position(1),
            at: Timestamp::from_micros(1_000),
            transaction: TransactionId::NIL,
            entry: TransactionId::NIL,
            change: None,
            record: Record::decode(record).expect("a record"),
        })
    }

    /// `TYPE time` of the events of a stored record.
    fn times_of(record: &str) -> Vec<String> {
        let events = all_of(record).into_iter();
        events
            .map(|event| format!("{} {}", event.kind, event.at.micros()))
            .collect()
    }

    /// `TYPE state` of the events of a stored record.
    fn events_of(record: &str) -> Vec<String> {
        let events = all_of(record).into_iter();
        events
            .map(|event| format!("{} {}", event.kind, event.state.as_deref().unwrap_or("-")))
            .collect()
    }

    #[test]
    fn records_of_earlier_releases_are_listed_as_those_of_this_one() {
        let fired = r#"{"runs":[{"start":"timer","asked":"GO","at":1,"entries":[
            {"chosen":{"workflow":"w","hash":"h","why":"hasState"}},{"fired":{"transition":"GO"}},
            {"moved":{"transition":"GO","from":"A","to":"B"}},{"settled":{"state":"B"}},
            {"cancelled":{"transition":"OTHER","state":"A"}},
            {"armed":{"transition":"NEXT","state":"B","due":5000}}]}]}"#;
        assert_eq!(
            events_of(fired),
            [
                "STATE_MACHINE_START A",
                "TRANSITION_MAKE A",
                "SCHEDULED_TRANSITION_CANCEL A",
                "SCHEDULED_TRANSITION_ARM B",
                "SCHEDULED_TRANSITION_FIRE B",
                "STATE_MACHINE_FINISH B"
            ]
        );
        let expired = r#"{"runs":[{"start":"timer","asked":"GO","at":1,"entries":[
            {"expired":{"transition":"GO","state":"A"}}]}]}"#;
        assert_eq!(events_of(expired), ["SCHEDULED_TRANSITION_EXPIRE A"]);
        let declined = r#"{"runs":[{"start":"timer","asked":"GO","at":1,"entries":[
            {"chosen":{"workflow":"w","hash":"h","why":"hasState"}},
            {"considered":{"name":"GO","held":false,"leaves":[]}}]}]}"#;
        assert_eq!(events_of(declined), ["TRANSITION_NOT_MATCH_CRITERION -"]);
        // The first part of a run begun by a timer, whose rest does not say that it belongs to one.
        let part = r#"{"runs":[{"start":"timer","asked":"GO","at":1,"entries":[
            {"fired":{"transition":"GO"}},{"moved":{"transition":"GO","from":"A","to":"B"}}]}]}"#;
        assert_eq!(
            events_of(part),
            [
                "STATE_MACHINE_START A",
                "TRANSITION_MAKE A",
                "SCHEDULED_TRANSITION_FIRE B"
            ]
        );
        let rest = r#"{"runs":[{"start":"continued","asked":"GO","at":1,"entries":[
            {"moved":{"transition":"ON","from":"B","to":"C"}},{"settled":{"state":"C"}}]}]}"#;
        assert_eq!(
            events_of(rest),
            ["TRANSITION_MAKE B", "STATE_MACHINE_FINISH C"]
        );
    }

    #[test]
    fn an_event_after_a_call_is_not_earlier_than_its_end() {
        let record = |ended: &str| {
            format!(
                r#"{{"runs":[{{"start":"create","at":100{ended},"entries":[
                {{"chosen":{{"workflow":"w","hash":"h","why":"hasState"}}}},
                {{"called":{{"name":"c","attempts":1,"micros":1,"changed":false}}}},
                {{"called":{{"name":"p","mode":"SYNC","attempts":1,"micros":1,"changed":false}}}},
                {{"moved":{{"transition":"T","from":"A","to":"B"}}}},
                {{"settled":{{"state":"B"}}}}]}}]}}"#
            )
        };
        assert_eq!(
            times_of(&record(r#","ended":[500,900]"#)),
            [
                "STATE_MACHINE_START 100",
                "WORKFLOW_FOUND 101",
                "PAUSE_FOR_PROCESSING 500",
                "STATE_PROCESS_RESULT 900",
                "TRANSITION_MAKE 901",
                "STATE_MACHINE_FINISH 902"
            ]
        );
        // No event is later than the commit.
        let late = times_of(&record(r#","ended":[5000,9000]"#));
        assert_eq!(
            late[2..4],
            ["PAUSE_FOR_PROCESSING 1000", "STATE_PROCESS_RESULT 1000"]
        );
        // A record of an earlier release keeps its times.
        let earlier = times_of(&record(""));
        assert_eq!(
            (earlier[2].as_str(), earlier[5].as_str()),
            ("PAUSE_FOR_PROCESSING 102", "STATE_MACHINE_FINISH 105")
        );
    }

    #[test]
    fn a_transition_pauses_once_in_whatever_parts_its_run_is_committed() {
        let first = r#"{"runs":[{"start":"update","at":1,"entries":[
            {"parted":{"state":"A"}}]}]}"#;
        assert_eq!(
            events_of(first),
            ["STATE_MACHINE_START A", "PAUSE_FOR_PROCESSING A"]
        );
        let second = r#"{"runs":[{"start":"continued","at":1,"entries":[
            {"called":{"name":"p","mode":"SYNC","attempts":1,"micros":1,"changed":false}},
            {"parted":{"state":"A"}}]}]}"#;
        assert_eq!(events_of(second), ["STATE_PROCESS_RESULT A"]);
        let third = r#"{"runs":[{"start":"continued","at":1,"entries":[
            {"called":{"name":"q","mode":"SYNC","attempts":1,"micros":1,"changed":false}},
            {"moved":{"transition":"T","from":"A","to":"B"}},{"parted":{"state":"B"}}]}]}"#;
        assert_eq!(
            events_of(third),
            [
                "STATE_PROCESS_RESULT A",
                "TRANSITION_MAKE A",
                "PAUSE_FOR_PROCESSING B"
            ]
        );
    }
}
