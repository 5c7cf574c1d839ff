//! What a run of a saga has beside that of a step workflow: what is to be undone, and how far that
//! has come.

use serde::{Deserialize, Serialize};

use super::{
    arrival::Task,
    form::Name,
    run::{Payload, Run, Status, Waiting, is_zero, maybe_micros},
    saga::Purpose,
};
use crate::clock::Timestamp;

/// The part of a run's state that only sagas have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SagaState {
    /// When the run times out if it is still going forward.
    #[serde(with = "maybe_micros", default)]
    pub deadline: Option<Timestamp>,
    /// The place in the order of the step at which the run is, or was when it ended.
    pub at: usize,
    /// The payload of the last signal.
    pub signal: Option<Payload>,
    pub(super) phase: Phase,
    /// The steps that have completed and can be undone, oldest first.
    pub(super) completed: Vec<Name>,
    pub(super) given_up: Vec<GivenUp>,
    /// Whether compensation has begun.
    pub has_unwound: bool,
    /// Whether `on_failure` was called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_followed: bool,
    /// How often work was deferred since the last write of an entity that met no conflict.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) deferrals: u32,
    /// The compensations that failed.
    pub errors: Vec<CompensationError>,
}

/// A call of a step whose end is not waited for any more. If it succeeds nevertheless, the step is
/// undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GivenUp {
    pub(super) task: Task,
    /// Whether a member does it, and not this process.
    pub(super) is_with_member: bool,
    /// Whether it is still out, so that it is sent again after a crash: otherwise nobody would
    /// know how it ended.
    pub(super) is_out: bool,
}

/// In which direction a saga moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    Forward,
    /// Every step has completed; `on_complete` is called.
    Completing,
    Unwinding(Cause),
}

/// Why a saga is undone, and how it ends then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cause {
    pub(super) status: Status,
    pub(super) message: Box<str>,
}

/// A compensation that failed; the others ran nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompensationError {
    pub step: Box<str>,
    pub message: Box<str>,
}

impl SagaState {
    pub(super) const fn new(deadline: Option<Timestamp>) -> Self {
        Self {
            deadline,
            at: 0,
            signal: None,
            phase: Phase::Forward,
            completed: Vec::new(),
            given_up: Vec::new(),
            has_unwound: false,
            has_followed: false,
            deferrals: 0,
            errors: Vec::new(),
        }
    }

    /// The deadline, as long as it matters.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.deadline.filter(|_| self.phase == Phase::Forward)
    }
}

impl Run {
    /// Whether everything that a saga had done was undone.
    pub fn is_compensated(&self) -> bool {
        self.saga.as_ref().is_some_and(|saga| {
            saga.has_unwound && saga.errors.is_empty() && saga.given_up.is_empty()
        }) && self.to_undo().next().is_none()
    }

    /// The steps of a saga that it is undoing or has yet to undo. After its end these are steps
    /// that succeeded too late.
    pub fn to_undo(&self) -> impl Iterator<Item = &str> {
        let purpose = match &self.waiting {
            Some(Waiting::Task { task, .. }) => task.purpose.as_ref(),
            Some(_) | None => None,
        };
        let undone_now = match purpose {
            Some(Purpose::Undo(step)) => Some(&**step),
            Some(Purpose::Action(_) | Purpose::OnComplete | Purpose::OnFailure) | None => None,
        };
        let saga = self.saga.iter().filter(|saga| saga.has_unwound);
        let next = saga.flat_map(|saga| saga.completed.iter().rev());
        undone_now.into_iter().chain(next.map(|step| &**step))
    }
}
