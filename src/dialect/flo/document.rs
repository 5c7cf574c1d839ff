//! The model of a step workflow: what its document says, with defaults filled in.

use std::time::Duration;

use super::Cron;
use crate::program::{Mapping, Name, Plan, SearchAttribute, Step, Terminal};

/// One version of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub name: Name,
    pub version: Box<str>,
    pub description: Box<str>,
    /// None: that of the caller.
    pub namespace: Option<Name>,
    pub idempotency: Idempotency,
    pub start: Step,
    /// In the order of the document.
    pub steps: Vec<(Name, Step)>,
    /// Custom end states, in the order of the document.
    pub terminals: Vec<(Name, Terminal)>,
    pub plans: Vec<(Name, Plan)>,
    pub schedule: Option<Schedule>,
    pub trigger: Option<Trigger>,
    pub search_attributes: Vec<SearchAttribute>,
    pub output: Option<Mapping>,
}

/// Whether a start takes an idempotency key (`orchestration.md` 1.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// A key is ignored.
    None,
    Optional,
    /// A start without a key is rejected.
    Required,
}

/// Starts by the clock (1.11).
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub every: Every,
    /// How many runs of this schedule may be live; 0: without limit.
    pub concurrent_max: u32,
    /// JSON.
    pub input: Box<str>,
    pub paused: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Every {
    Cron(Cron),
    Interval(Duration),
}

/// Starts by the events of a topic (1.11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    pub topic: Name,
    /// None: that of the workflow.
    pub namespace: Option<Name>,
    pub consumer_group: Name,
    pub mode: TriggerMode,
    /// Events in one run; of 1, the input is the event itself, else a list.
    pub batch_size: u32,
    /// How long a part of a batch may wait.
    pub batch_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerMode {
    Shared,
    Exclusive,
    KeyShared,
}
