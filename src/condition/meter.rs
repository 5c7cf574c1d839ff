//! Counts the work of evaluating one entity, limits it, and stops it when nobody waits for it any
//! more.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::error::{Code, Coded};

/// The most work of one evaluation: about as many bytes read, which takes some seconds.
pub const WORK_MAX: u64 = 8_000_000_000;

/// Counts work, in bytes read or what takes as long.
#[derive(Debug)]
pub struct Meter<'a> {
    limit: u64,
    used: Cell<u64>,
    stop: &'a AtomicBool,
}

/// Why an evaluation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    #[error("the request was cancelled")]
    Stopped,
    #[error(
        "evaluating one entity would take more than {limit} units of work (bytes looked at times \
         leaves); test fewer or shorter fields"
    )]
    Limit { limit: u64 },
}

impl Coded for Halt {
    fn code(&self) -> Code {
        match self {
            Self::Stopped => Code::Cancelled,
            Self::Limit { .. } => Code::EvaluationLimit,
        }
    }
}

impl<'a> Meter<'a> {
    /// A meter that stops when the flag is set.
    pub const fn new(stop: &'a AtomicBool) -> Self {
        Self::with_limit(stop, WORK_MAX)
    }

    pub const fn with_limit(stop: &'a AtomicBool, limit: u64) -> Self {
        Self {
            limit,
            used: Cell::new(0),
            stop,
        }
    }

    /// Counts work that is about to be done.
    pub fn spend(&self, units: usize) -> Result<(), Halt> {
        let used = self.used.get().saturating_add(units as u64);
        self.used.set(used);
        if used > self.limit {
            return Err(Halt::Limit { limit: self.limit });
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(Halt::Stopped);
        }
        Ok(())
    }
}
