//! The end of a run that cannot be advanced any more: its form cannot be read, or a turn panics.

use super::{
    history::{EventKind, HistoryEvent},
    run::{Run, Status},
};
use crate::clock::Timestamp;

impl Run {
    /// Cancels the run without a turn, and returns the last event of its history.
    pub fn end_by_force(&mut self, now: Timestamp, reason: &str) -> HistoryEvent {
        self.sequence = self.sequence.saturating_add(1);
        self.status = Status::Cancelled;
        self.position = None;
        self.waiting = None;
        self.pass = None;
        self.ended = Some(now);
        self.error = None;
        let event = HistoryEvent {
            sequence: self.sequence,
            kind: EventKind::WorkflowCancelled,
            detail: reason.into(),
            micros: now.micros(),
            data: None,
            task: None,
            attempt: None,
        };
        self.history_bytes = self.history_bytes.saturating_add(event.bytes());
        event
    }
}
