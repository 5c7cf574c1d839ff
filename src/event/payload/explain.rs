//! Payloads of explanations (`stream.md` §3).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ModelSpec, Object, RequiredText, list, model::spec, success, text_list};
use crate::engine::StartKind;
use crate::explain::{ExplainedRun, ExplainedStep, Guard, Node, Way};
use crate::id::{EntityId, ModelKey};

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

/// An explanation.
pub struct Explanation<'a> {
    pub entity: Option<EntityId>,
    pub model: &'a ModelKey,
    pub state: Option<&'a str>,
    pub ways: &'a [Way],
    pub runs: &'a [ExplainedRun],
}

pub fn explained(request: &str, explanation: &Explanation<'_>) -> String {
    let mut object = success(request, &[]).text("requestId", request);
    if let Some(entity) = explanation.entity {
        object = object.text("entityId", &entity.to_string());
    }
    object = object.raw("model", &spec(explanation.model));
    object = optional(object, "state", explanation.state);
    object
        .raw("transitions", &list(explanation.ways.iter().map(way)))
        .raw("runs", &list(explanation.runs.iter().map(run)))
        .finish()
}

fn optional(object: Object, name: &str, value: Option<&str>) -> Object {
    match value {
        Some(value) => object.text(name, value),
        None => object,
    }
}

/// True, false, or null where a member would have to say.
fn truth(object: Object, name: &str, value: Option<bool>) -> Object {
    object.raw(
        name,
        match value {
            Some(true) => "true",
            Some(false) => "false",
            None => "null",
        },
    )
}

fn way(way: &Way) -> String {
    let object = Object::new()
        .text("name", &way.guard.name)
        .text("next", &way.next)
        .text("trigger", way.trigger);
    let object = truth(object, "open", way.open).text("why", &way.why);
    match &way.guard.criterion {
        Some(criterion) => object.raw("criterion", &node(criterion)),
        None => object,
    }
    .finish()
}

fn guard(guard: &Guard) -> String {
    let mut object = truth(Object::new().text("name", &guard.name), "held", guard.held);
    object = optional(object, "because", guard.because.as_deref());
    match &guard.criterion {
        Some(criterion) => object.raw("criterion", &node(criterion)),
        None => object,
    }
    .finish()
}

fn node(part: &Node) -> String {
    match part {
        Node::Leaf {
            subject,
            operator,
            operand,
            held,
            seen,
        } => {
            let mut object = Object::new()
                .text("path", subject)
                .text("operator", operator);
            if let Some(operand) = operand {
                object = object.raw("operand", operand);
            }
            // A long value was cut, so it is told as the text it is part of.
            optional(truth(object, "held", *held), "seen", seen.as_deref()).finish()
        }
        Node::Function {
            name,
            held,
            reason,
            quick_exit,
        } => {
            let object = truth(Object::new().text("function", name), "held", *held);
            let object = optional(object, "reason", reason.as_deref());
            match quick_exit {
                Some(criterion) => object.raw("criterion", &node(criterion)),
                None => object,
            }
            .finish()
        }
        Node::Group {
            connective,
            held,
            children,
        } => truth(Object::new().text("group", connective), "held", *held)
            .raw("conditions", &list(children.iter().map(node)))
            .finish(),
    }
}

fn run(run: &ExplainedRun) -> String {
    let mut object = Object::new().text(
        "start",
        match run.start {
            StartKind::Create => "create",
            StartKind::Update => "update",
            StartKind::Transition => "transition",
            StartKind::Timer => "timer",
            StartKind::Continued | StartKind::TimerContinued => "continued",
        },
    );
    object = optional(object, "transition", run.asked.as_deref());
    if let Some((name, why)) = &run.workflow {
        let workflow = Object::new().text("name", name).text("why", why).finish();
        object = object.raw("workflow", &workflow);
    }
    if !run.skipped.is_empty() {
        object = object.raw("skippedWorkflows", &list(run.skipped.iter().map(guard)));
    }
    object = object.raw("steps", &list(run.steps.iter().map(step)));
    object = optional(object, "settled", run.settled.as_deref());
    optional(object, "stopped", run.stopped.as_deref()).finish()
}

fn step(step: &ExplainedStep) -> String {
    let mut object = optional(Object::new(), "state", step.state.as_deref());
    object = object.raw("considered", &list(step.considered.iter().map(guard)));
    if !step.calls.is_empty() {
        object = object.raw("calls", &text_list(&step.calls));
    }
    if let Some((transition, next)) = &step.took {
        object = object.text("took", transition).text("next", next);
    }
    object.finish()
}
