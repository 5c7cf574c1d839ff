//! The end of a run that cannot be advanced any more: its form cannot be read, or a turn panics.

use super::{
    form::{Name, Program},
    history::{EventKind, HistoryEvent},
    run::{Run, RunError, Status, Waiting},
    saga::Purpose,
    unwinding::{Cause, CompensationError, Phase, SagaState},
};
use crate::clock::Timestamp;

/// Why a step stays as it is.
const BY_FORCE: &str = "the run was ended by force, as it could not be advanced";

impl Run {
    /// Cancels the run without a turn, and returns the last events of its history. A saga undoes
    /// nothing, and says of which steps. Its form tells which can be undone, if it can be read.
    pub fn end_by_force(
        &mut self,
        now: Timestamp,
        reason: &str,
        program: Option<&Program>,
    ) -> Vec<HistoryEvent> {
        let waiting = self.waiting.take();
        self.status = Status::Cancelled;
        self.position = None;
        self.pass = None;
        self.ended = Some(now);
        self.error = None;
        let mut events = Vec::new();
        if let Some(saga) = &mut self.saga {
            self.error = Some(RunError {
                code: None,
                message: reason.into(),
            });
            for error in saga.end_by_force(waiting.as_ref(), reason, program) {
                events.push((EventKind::CompensationFailed, error.step.clone()));
                saga.errors.push(error);
            }
        }
        events.push((EventKind::WorkflowCancelled, reason.into()));
        let event = |(kind, detail): (EventKind, Box<str>)| {
            self.sequence = self.sequence.saturating_add(1);
            let event = HistoryEvent {
                sequence: self.sequence,
                kind,
                detail: detail.into(),
                micros: now.micros(),
                data: None,
                task: None,
                attempt: None,
            };
            self.history_bytes = self.history_bytes.saturating_add(event.bytes());
            event
        };
        events.into_iter().map(event).collect()
    }
}

impl SagaState {
    /// Gives up what is to be undone; what that is.
    fn end_by_force(
        &mut self,
        waiting: Option<&Waiting>,
        reason: &str,
        program: Option<&Program>,
    ) -> Vec<CompensationError> {
        self.phase = Phase::Unwinding(Cause {
            status: Status::Cancelled,
            message: reason.into(),
        });
        self.has_unwound = true;
        let can_undo = |step: &Name| program.is_none_or(|program| program.can_undo(step));
        let out = match waiting {
            Some(Waiting::Task { task, .. }) => task.purpose.clone(),
            Some(_) | None => None,
        };
        let given_up = self.given_up.drain(..).filter_map(|call| call.task.purpose);
        let calls = out
            .into_iter()
            .chain(given_up)
            .filter_map(|call| match call {
                Purpose::Action(step) if can_undo(&step) => Some((step, "done")),
                Purpose::Undo(step) => Some((step, "undone")),
                Purpose::Action(_) | Purpose::OnComplete | Purpose::OnFailure => None,
            });
        let calls = calls.map(|(step, done)| CompensationError {
            step: (&*step).into(),
            message: format!("it is not known whether the step was {done}: {BY_FORCE}").into(),
        });
        let completed = self.completed.drain(..).rev();
        let completed = completed.map(|step| CompensationError {
            step: (&*step).into(),
            message: format!("the step is not undone: {BY_FORCE}").into(),
        });
        calls.chain(completed).collect()
    }
}
