//! Payloads of explanations (`stream.md` §3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{Answer, AsText, ModelName, ModelSpec, RawJson, RequestId, RequiredText};
use crate::engine::StartKind;
use crate::explain::{Guard, Node, RunExplanation, StepExplanation, Way};
use crate::id::EntityId;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explain<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub entity_id: Option<String>,
    #[serde(default)]
    pub transaction_id: Option<String>,
    #[serde(default)]
    pub model: Option<ModelSpec>,
    #[serde(default, borrow)]
    pub data: Option<&'a RawValue>,
    #[serde(default)]
    pub state: Option<String>,
    #[serde(default)]
    pub transition: Option<String>,
}

/// Why an entity moves, moved or would move as it does.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkflowExplanation")]
pub struct Explanation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<AsText<EntityId>>,
    pub model: ModelName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The ways out of the state.
    pub transitions: Vec<WayOut>,
    /// What transactions did, or what one would do.
    pub runs: Vec<ExplainedRun>,
}

impl Answer for Explanation {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// A way out of a state.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Way")]
pub struct WayOut {
    name: String,
    next: String,
    /// What would take it.
    #[schemars(extend("enum" = ["automated", "manual", "scheduled", "disabled"]))]
    trigger: &'static str,
    /// Null where a member would have to say.
    open: Option<bool>,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    criterion: Option<ExplainedCriterion>,
}

/// What was decided about a workflow or a transition.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Guard")]
pub struct ExplainedGuard {
    name: String,
    /// Null where a member would have to say.
    held: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    criterion: Option<ExplainedCriterion>,
}

/// A part of a criterion, and its result: true, false, or null where it was not evaluated.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ExplainedCriterion")]
pub enum ExplainedCriterion {
    Leaf {
        path: String,
        operator: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Value>")]
        operand: Option<RawJson>,
        held: Option<bool>,
        /// The value, as JSON in a text; cut if it is long.
        #[serde(skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    Function {
        function: String,
        held: Option<bool>,
        /// What the member gave as its reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        criterion: Option<Box<Self>>,
    },
    Group {
        group: &'static str,
        held: Option<bool>,
        conditions: Vec<Self>,
    },
}

/// What happened in one transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRun {
    start: Start,
    /// The transition that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<ChosenWorkflow>,
    /// Workflows that are not for the entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped_workflows: Vec<ExplainedGuard>,
    steps: Vec<ExplainedStep>,
    /// The state in which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<String>,
    /// Why it went no further.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
}

/// What began a run.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Start {
    Create,
    Update,
    Transition,
    Timer,
    Continued,
}

impl From<StartKind> for Start {
    fn from(kind: StartKind) -> Self {
        match kind {
            StartKind::Create => Self::Create,
            StartKind::Update => Self::Update,
            StartKind::Transition => Self::Transition,
            StartKind::Timer => Self::Timer,
            StartKind::Continued | StartKind::TimerContinued => Self::Continued,
        }
    }
}

/// The workflow that governs an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct ChosenWorkflow {
    name: String,
    why: &'static str,
}

/// What happened in one state.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct ExplainedStep {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    considered: Vec<ExplainedGuard>,
    /// Calls of members, and their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<String>,
    /// The transition that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<String>,
    /// The state it led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl From<Way> for WayOut {
    fn from(way: Way) -> Self {
        Self {
            name: way.guard.name,
            next: way.next,
            trigger: way.trigger,
            open: way.open,
            why: way.why,
            criterion: way.guard.criterion.map(Into::into),
        }
    }
}

impl From<Guard> for ExplainedGuard {
    fn from(guard: Guard) -> Self {
        Self {
            name: guard.name,
            held: guard.held,
            because: guard.because,
            criterion: guard.criterion.map(Into::into),
        }
    }
}

impl From<Node> for ExplainedCriterion {
    fn from(node: Node) -> Self {
        match node {
            Node::Leaf {
                subject,
                operator,
                operand,
                held,
                seen,
            } => Self::Leaf {
                path: subject,
                operator,
                operand: operand.map(RawJson::trusted),
                held,
                seen,
            },
            Node::Function {
                name,
                held,
                reason,
                quick_exit,
            } => Self::Function {
                function: name,
                held,
                reason,
                criterion: quick_exit.map(|node| Box::new((*node).into())),
            },
            Node::Group {
                connective,
                held,
                children,
            } => Self::Group {
                group: connective,
                held,
                conditions: children.into_iter().map(Into::into).collect(),
            },
        }
    }
}

impl From<RunExplanation> for ExplainedRun {
    fn from(run: RunExplanation) -> Self {
        Self {
            start: run.start.into(),
            transition: run.asked,
            workflow: run.workflow.map(|(name, why)| ChosenWorkflow { name, why }),
            skipped_workflows: run.skipped.into_iter().map(Into::into).collect(),
            steps: run.steps.into_iter().map(Into::into).collect(),
            settled: run.settled,
            stopped: run.stopped,
        }
    }
}

impl From<StepExplanation> for ExplainedStep {
    fn from(step: StepExplanation) -> Self {
        let (took, next) = step.took.unzip();
        Self {
            state: step.state,
            considered: step.considered.into_iter().map(Into::into).collect(),
            calls: step.calls,
            took,
            next,
        }
    }
}
