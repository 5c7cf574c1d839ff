//! The model of a step workflow: what its document says, with defaults filled in.

use std::{collections::HashSet, time::Duration};

use super::{Cron, fields::join};
use crate::program::{Kind, Mapping, Name, Plan, SearchAttribute, Step, Target, Terminal};

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

impl Document {
    /// The actions that its steps and plans name, each with the first place that names it.
    pub fn actions(&self) -> Vec<(String, &str)> {
        let steps = self.steps.iter().map(|(name, step)| {
            let path = join("steps", name);
            (path, step)
        });
        let start = std::iter::once(("start".to_owned(), &self.start));
        let of_steps = start
            .chain(steps)
            .filter_map(|(path, step)| match &step.kind {
                Kind::Run {
                    target: Target::Action(action),
                    ..
                } => Some((join(&path, "run"), &**action)),
                Kind::Run { .. } | Kind::Wait(_) | Kind::Saga(_) => None,
            });
        let of_plans = self.plans.iter().flat_map(|(name, plan)| {
            let path = join("plans", name);
            let executors = plan.executors.iter().enumerate();
            executors.map(move |(at, executor)| {
                let path = format!("{path}.executors[{at}].action");
                (path, &*executor.action)
            })
        });
        let mut seen = HashSet::new();
        let named = of_steps.chain(of_plans);
        named.filter(|(_, action)| seen.insert(*action)).collect()
    }
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
