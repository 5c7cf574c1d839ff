//! Searches that run on their own, as a database has them.

use std::time::Duration;

use super::{Definitions, JobRow};
use crate::clock::Timestamp;
use crate::entity::Sequence;

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Also while it waits for its turn.
    Running,
    Successful,
    Failed,
    Cancelled,
}

impl JobState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Successful => "SUCCESSFUL",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    pub(in crate::storage) const fn code(self) -> i64 {
        match self {
            Self::Running => 0,
            Self::Successful => 1,
            Self::Failed => 2,
            Self::Cancelled => 3,
        }
    }

    pub(in crate::storage) fn from_code(code: i64) -> Option<Self> {
        [
            Self::Running,
            Self::Successful,
            Self::Failed,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|state| state.code() == code)
    }
}

/// When a job ended, and until when it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    pub at: Timestamp,
    pub expires: Timestamp,
}

/// A job as its tenant sees it.
#[derive(Debug, Clone)]
pub struct Job {
    pub row: JobRow,
    pub state: JobState,
    pub created: Timestamp,
    /// None while it is running.
    pub finished: Option<Finished>,
    /// How many entities it has found; none until it has found all.
    pub count: i64,
    /// How long that took.
    pub took: Duration,
    /// What it sees.
    pub at: Sequence,
}

impl Job {
    /// One that has not begun.
    pub const fn new(created: Timestamp, at: Sequence) -> Self {
        Self {
            row: JobRow::FIRST,
            state: JobState::Running,
            created,
            finished: None,
            count: 0,
            took: Duration::ZERO,
            at,
        }
    }
}

/// How a job ends.
#[derive(Debug, Clone, Copy)]
pub struct JobEnd {
    pub state: JobState,
    pub finished: Finished,
    pub count: i64,
    pub took: Duration,
}

/// A job as it is stored, to be run.
#[derive(Debug)]
pub(in crate::storage) struct StoredJob {
    pub(in crate::storage) definitions: Definitions,
    pub(in crate::storage) at: Sequence,
    pub(in crate::storage) query: String,
    pub(in crate::storage) begun: bool,
}
