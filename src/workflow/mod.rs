//! The definition of a state machine: parsed and checked once, at import.
//!
//! May use: [`crate::id`], [`crate::error`], [`crate::compat`], [`crate::json`], [`crate::entity`],
//! [`crate::dispatch`], [`crate::model`], [`crate::condition`], [`crate::expr`].
//! After the import nothing is left to check: every target state exists, every criterion parses,
//! every name is valid (`workflow-engine.md` §1 and §4).

mod build;
mod check;
mod diagram;
mod json;
mod on_runs;
mod place;
mod review;
mod set;

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use crate::condition::Condition;
use crate::dispatch::CallSettings;
use crate::entity::Json;
use crate::error::{Code, Coded};
use crate::id::{FunctionName, ProcessorName, StateName, TransitionName, WorkflowName};

pub use check::{CyclePolicy, Location, Problem, check_cycles};
pub use diagram::{Language, draw};
pub use json::{DefinitionError, Parsed, WorkflowJson};
pub use on_runs::{OnRuns, SignalsRuns, StartsRun};
pub use set::{Entry, ImportMode, UnknownMode, WorkflowSet};

use std::sync::Arc;

/// A state machine.
#[derive(Debug, Clone)]
pub struct Workflow {
    pub name: WorkflowName,
    pub initial: StateName,
    /// The entities it is selected for; none for all.
    pub criterion: Option<Condition>,
    pub states: BTreeMap<StateName, State>,
    /// The state machine of a bundle that it is made from: its guards and actions are the service's
    /// own.
    pub machine: Option<MachineName>,
    pub definition: Definition,
    /// How many times, at most, the bytes of a document are read in one state.
    pub weight: u64,
}

/// The name of a state machine of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineName {
    pub name: Arc<str>,
    pub namespace: Arc<str>,
}

impl MachineName {
    /// The name of the criteria that are guards of the machine: expressions in CEL.
    pub const GUARD: &str = "cel";
}

/// A workflow as it is stored and exported.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The documented form, without `active`, which belongs to the list of workflows.
    pub body: Json,
    /// SHA-256 of the body: identifies the definition in decision records.
    pub hash: Hash,
}

/// A SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |four: u8| char::from(DIGITS[usize::from(four)]);
        // One text: each new entity writes one of these.
        let text: String = self
            .0
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)])
            .collect();
        f.write_str(&text)
    }
}

#[derive(Debug, Clone, Default)]
pub struct State {
    /// In the order in which a cascade tries them.
    pub transitions: Vec<Transition>,
}

/// A transition out of a state.
#[derive(Debug, Clone)]
pub struct Transition {
    pub name: TransitionName,
    pub next: StateName,
    pub trigger: Trigger,
    pub criterion: Option<Condition>,
    /// Run one after the other while the entity is still in the source state.
    pub processors: Vec<Processor>,
}

/// What makes a transition fire.
#[derive(Debug, Clone)]
pub enum Trigger {
    /// The cascade, or a request by name.
    Automated,
    /// A request by name only.
    Manual,
    /// A time.
    Scheduled(Box<Schedule>),
    /// Nothing: it is disabled.
    Disabled,
}

/// When a scheduled transition fires (`workflow-engine.md` §9.1).
#[derive(Debug, Clone)]
pub struct Schedule {
    pub timing: Timing,
    /// How late it may fire; none for any time.
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone)]
pub enum Timing {
    /// That long after the write that settled in the state.
    After(Duration),
    /// When a member's function says.
    Asked {
        function: FunctionName,
        call: CallSettings,
    },
}

/// A step that a transition runs before the entity moves.
#[derive(Debug, Clone)]
pub struct Processor {
    pub name: ProcessorName,
    pub task: Task,
}

#[derive(Debug, Clone)]
pub enum Task {
    /// A call to a compute member.
    Call { mode: Mode, call: CallSettings },
    /// Code inside this service, which does not exist: a run that reaches it fails
    /// (`workflow-engine.md` §4.5).
    Internalized,
    /// Takes a transition out of the target state later (`workflow-engine.md` §9.6).
    Timer {
        transition: TransitionName,
        delay: Duration,
        timeout: Option<Duration>,
    },
    /// Starts a run of a step workflow, or sends a signal to runs (`runs.md` §6).
    OnRuns(Arc<OnRuns>),
}

/// How a call relates to the transaction (`workflow-engine.md` §6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Sync,
    /// Means what `SYNC` means.
    AsyncSameTx,
    /// Behind a savepoint: its result and its failure change nothing.
    AsyncNewTx,
    /// The work so far is committed first.
    CommitBeforeDispatch {
        /// Whether the member may join a transaction that begins after the commit.
        joins: bool,
    },
    /// As `SYNC` for that long, then as `COMMIT_BEFORE_DISPATCH` (`workflow-engine.md` §6.6).
    Crossover {
        after: Duration,
    },
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sync | Self::Crossover { .. } => "SYNC",
            Self::AsyncSameTx => "ASYNC_SAME_TX",
            Self::AsyncNewTx => "ASYNC_NEW_TX",
            Self::CommitBeforeDispatch { .. } => "COMMIT_BEFORE_DISPATCH",
        }
    }
}

impl Transition {
    /// Whether it is taken in a cascade.
    pub const fn is_automated(&self) -> bool {
        matches!(self.trigger, Trigger::Automated)
    }

    /// Whether it counts as absent.
    pub const fn is_disabled(&self) -> bool {
        matches!(self.trigger, Trigger::Disabled)
    }

    pub const fn schedule(&self) -> Option<&Schedule> {
        match &self.trigger {
            Trigger::Scheduled(schedule) => Some(schedule),
            Trigger::Automated | Trigger::Manual | Trigger::Disabled => None,
        }
    }
}

/// The most work of the criteria of one state (see [`Condition::weight`]).
fn weight(criterion: Option<&Condition>, states: &BTreeMap<StateName, State>) -> u64 {
    let of_state = |state: &State| {
        let criteria = state.transitions.iter().map(|one| one.criterion.as_ref());
        let weights = criteria.flatten().map(Condition::weight);
        weights.fold(0, u64::saturating_add)
    };
    let own = criterion.map_or(0, Condition::weight);
    states.values().map(of_state).fold(own, u64::max)
}

impl Workflow {
    /// The workflow of entities that no imported one governs (`workflow-engine.md` §7.2).
    pub fn built_in() -> Arc<Self> {
        static BUILT_IN: LazyLock<Arc<Workflow>> = LazyLock::new(|| {
            let parsed = Workflow::parse(
                r#"{"version":"1","name":"default","initialState":"NONE","states":{
                    "NONE":{"transitions":[{"name":"NEW","next":"CREATED","manual":false}]},
                    "CREATED":{"transitions":[{"name":"UPDATE","next":"CREATED","manual":true},
                                              {"name":"DELETE","next":"DELETED","manual":true}]},
                    "DELETED":{}}}"#,
            );
            Arc::new(parsed.expect("the built-in workflow is valid").workflow)
        });
        Arc::clone(&BUILT_IN)
    }

    pub fn state(&self, name: &StateName) -> Option<&State> {
        self.states.get(name)
    }

    /// Whether it has timers, so that those of its entities matter.
    pub fn has_timers(&self) -> bool {
        self.states.values().any(|state| {
            state.transitions.iter().any(|transition| {
                transition.schedule().is_some()
                    || transition
                        .processors
                        .iter()
                        .any(|processor| matches!(processor.task, Task::Timer { .. }))
            })
        })
    }
}

impl State {
    pub fn transition(&self, name: &TransitionName) -> Option<&Transition> {
        self.transitions
            .iter()
            .find(|transition| transition.name == *name)
    }
}

/// Why an import is rejected.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("invalid workflow definition: {0}")]
    Json(String),
    #[error(
        "{place}: `version` is `{given}`: {why}; this profile (INTERLOCK_COMPAT) supports {known}"
    )]
    Version {
        place: Box<Location>,
        given: String,
        why: String,
        known: String,
    },
    #[error("{}", check::list(.0))]
    Invalid(Vec<Problem>),
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::Json(_) => Code::BadRequest,
            Self::Version { .. } => Code::WorkflowSchemaVersionUnsupported,
            Self::Invalid(_) => Code::ValidationFailed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_workflow_is_the_documented_one() {
        let workflow = Workflow::built_in();
        assert_eq!(workflow.initial.as_str(), "NONE");
        let created = workflow.state(&"CREATED".into()).expect("a state");
        let names: Vec<_> = created
            .transitions
            .iter()
            .map(|transition| transition.name.as_str())
            .collect();
        assert_eq!(names, ["UPDATE", "DELETE"]);
        assert!(
            created
                .transitions
                .iter()
                .all(|transition| matches!(transition.trigger, Trigger::Manual))
        );
    }
}
