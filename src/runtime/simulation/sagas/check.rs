//! What must hold of sagas, whatever happened.
#![cfg(test)]

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use super::Notes;
use crate::program::{EventKind, HistoryEvent, Kind, Payload, Program, Status};
use crate::runtime::runs::RunState;

/// Everything that is stored of a run.
pub(super) struct CheckedSaga {
    pub(super) state: Arc<RunState>,
    pub(super) history: Vec<HistoryEvent>,
    pub(super) program: Arc<Program>,
}

impl CheckedSaga {
    /// What does not hold, or not yet.
    pub(super) fn check(&self, notes: &Notes, things: &[String], findings: &mut Vec<String>) {
        let run = &self.state.run;
        let before = findings.len();
        if !run.status.is_end() || run.outstanding().is_some() {
            findings.push(format!("it does not end: {:?}", run.waiting));
        }
        let Payload::Inline(input) = &run.input else {
            panic!("a small input");
        };
        let input: serde_json::Value = serde_json::from_str(input).expect("JSON");
        let input = input["id"].as_str().expect("an identifier");
        for (name, step) in &self.program.steps {
            let Kind::Saga(step) = &step.kind else {
                panic!("a step of a saga");
            };
            let thing = format!("{input}:{name}");
            let count = things.iter().filter(|id| **id == thing).count();
            let is_left = count == 1 || notes.is_left(&run.id, name);
            let has_failed = run
                .results
                .get(name)
                .is_some_and(|result| &*result.outcome == "failure");
            let is_right = match run.status {
                Status::Completed => is_left || (step.skips_failure && has_failed),
                Status::Pending | Status::Running | Status::Waiting => true,
                // `on_complete` has failed.
                _ if !run.saga.as_ref().is_some_and(|saga| saga.has_unwound) => true,
                Status::Failed | Status::Cancelled | Status::TimedOut => !is_left,
            };
            if !is_right || count > 1 {
                findings.push(format!("{name} of {input} is left: {is_left}, {count}"));
            }
        }
        self.check_order(findings);
        if findings.len() > before {
            let mut story = format!("of {} {:?}:", run.id, run.status);
            for event in &self.history {
                let (kind, detail) = (event.kind.as_str(), &event.detail);
                let _ = write!(story, "\n    {} {kind} {detail}", event.at().millis());
            }
            findings.push(story);
        }
    }

    /// What has completed last is undone first, and once; nothing that was undone was not done.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "of the others nothing is asked"
    )]
    fn check_order(&self, findings: &mut Vec<String>) {
        let numbers = self.history.iter().map(|event| event.sequence);
        if !numbers.eq(1..=self.state.run.sequence) {
            findings.push("the history has gaps".to_owned());
        }
        let (mut completed, mut passed) = (Vec::new(), BTreeSet::new());
        for event in &self.history {
            match event.kind {
                EventKind::StepCompleted => {
                    passed.remove(&event.detail);
                    completed.push(event.detail.clone());
                }
                EventKind::CompensationStarted => {
                    let step = &event.detail;
                    while let Some(newest) = completed.pop().filter(|newest| newest != step) {
                        passed.insert(newest);
                    }
                    if passed.contains(step) {
                        findings.push(format!("{step} is undone too late, or twice"));
                    }
                }
                EventKind::CompensationFailed => {
                    findings.push(format!("{} could not be undone", event.detail));
                }
                _ => {}
            }
        }
    }
}
