//! Sagas as they are compiled: steps in an order, and how each is undone (`orchestration.md` 2).

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::form::{FORM, Kind, Name, Program, Step};
use crate::expr::Template;

/// What makes a program a saga.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saga {
    /// The digest of the bundle whose connectors it calls.
    pub bundle: Box<str>,
    /// Its steps in their order.
    pub order: Vec<Name>,
    /// From the creation of a run until its compensation begins; none: without limit.
    pub timeout: Option<Duration>,
    pub on_complete: Option<Call>,
    pub on_failure: Option<Call>,
}

/// A step of a saga. It waits first, if it does, and then calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SagaStep {
    pub pause: Option<Pause>,
    /// None: nothing is called, and the result is null, or what was signalled.
    pub call: Option<Call>,
    /// What undoes the step once it has completed.
    pub undo: Option<Call>,
    /// Whether the saga continues if the step fails.
    pub skips_failure: bool,
    /// Of the call; none: that of its connector.
    pub timeout: Option<Duration>,
}

/// What a step waits for before it calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pause {
    Delay(Duration),
    Signal {
        event: Box<str>,
        /// None: without limit.
        timeout: Option<Duration>,
    },
}

/// What is asked of a connector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub connector: Name,
    /// An object with `operation` and what belongs to it.
    pub request: Template,
}

/// What a call of a saga is for; part of its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    Action(Name),
    Undo(Name),
    OnComplete,
    OnFailure,
}

impl Purpose {
    /// The step that it belongs to.
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Action(step) | Self::Undo(step) => Some(step),
            Self::OnComplete | Self::OnFailure => None,
        }
    }
}

/// Step and phase, as they stand in the idempotency key (`runs.md` §7).
impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(step) => write!(f, "{step}:action"),
            Self::Undo(step) => write!(f, "{step}:compensate"),
            Self::OnComplete => f.write_str("on_complete"),
            Self::OnFailure => f.write_str("on_failure"),
        }
    }
}

impl Program {
    /// A saga of these steps, each with its name, in their order.
    pub fn of_saga(
        name: &str,
        version: &str,
        saga: Saga,
        steps: impl IntoIterator<Item = SagaStep>,
    ) -> Self {
        let steps = saga.order.iter().zip(steps).map(|(name, step)| {
            let kind = Kind::Saga(Box::new(step));
            let transitions = Vec::new();
            (name.clone(), Step { kind, transitions })
        });
        Self {
            form: FORM,
            name: name.into(),
            version: version.into(),
            entry: None,
            steps: steps.collect(),
            terminals: BTreeMap::new(),
            plans: BTreeMap::new(),
            search_attributes: Vec::new(),
            output: None,
            saga: Some(saga),
        }
    }

    /// Whether a run of it parks at nothing: no step waits (`orchestration.md` 2.4, *simple saga*).
    pub fn is_simple_saga(&self) -> bool {
        let waits = |step: &Step| match &step.kind {
            Kind::Saga(step) => step.pause.is_some(),
            Kind::Run { .. } | Kind::Wait(_) => true,
        };
        self.saga.is_some() && !self.steps.values().any(waits)
    }
}
