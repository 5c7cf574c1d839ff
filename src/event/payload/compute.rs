//! Payloads between the server and its compute members (`grpc.md` §9).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Object, RequiredText, success};
use crate::callout::{Callee, Target, TransitionContext};
use crate::entity::{Image, Json};
use crate::event::EventType;
use crate::id::{CallId, EntityId, MemberId, Tenant, TransactionId, WorkflowName};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Join {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub joined_legal_entity_id: Option<String>,
}

/// What a member says it has done.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    pub request_id: String,
    /// That of the request, or absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub entity_id: Option<Value>,
    /// Absent means true.
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(default)]
    pub error: Option<AnswerError>,
    #[serde(default)]
    pub warnings: Option<Vec<String>>,
    #[serde(default, borrow)]
    pub payload: Option<AnswerPayload<'a>>,
    /// Of a criterion.
    #[serde(default)]
    pub matches: Option<bool>,
    #[serde(default)]
    pub reason: Option<String>,
    /// Of a function.
    #[serde(default)]
    pub result_kind: Option<String>,
    #[serde(default, borrow)]
    pub result: Option<&'a RawValue>,
}

#[derive(Deserialize, JsonSchema)]
pub struct AnswerError {
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub retryable: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
pub struct AnswerPayload<'a> {
    #[serde(default, borrow)]
    pub data: Option<&'a RawValue>,
}

pub fn greet(member: MemberId, tenant: &Tenant) -> String {
    let member = member.to_string();
    success(&member, &[])
        .text("memberId", &member)
        .text("joinedLegalEntityId", tenant.as_str())
        .finish()
}

/// A probe; its id is its own.
pub fn keep_alive(id: &str, member: MemberId) -> String {
    success(id, &[])
        .text("memberId", &member.to_string())
        .finish()
}

/// A call of a member.
pub struct Call<'a> {
    pub call: CallId,
    pub entity: EntityId,
    pub transaction: Option<TransactionId>,
    pub callee: &'a Callee,
    pub workflow: &'a WorkflowName,
    pub transition_context: Option<&'a TransitionContext>,
    pub context: Option<&'a str>,
    pub attached: Option<&'a Image>,
}

/// The type of the event that makes a call.
pub const fn call_type(callee: &Callee) -> EventType {
    match callee {
        Callee::Processor(_) => EventType::EntityProcessorCalculationRequest,
        Callee::Criterion { .. } => EventType::EntityCriteriaCalculationRequest,
        Callee::Schedule(_) => EventType::EntityFunctionCalculationRequest,
    }
}

/// `grpc.md` §9.6.
pub fn call(call: &Call<'_>) -> String {
    let id = call.call.to_string();
    let named = |name: &str| Object::new().text("id", name).text("name", name);
    let transaction = call.transaction.map(|id| id.to_string());
    let mut object = success(&id, &[])
        .text("requestId", &id)
        .text("entityId", &call.entity.to_string())
        .raw("workflow", &named(call.workflow.as_str()).finish())
        .text("transactionId", &transaction.unwrap_or_default());
    object = match call.callee {
        Callee::Processor(name) => object
            .text("processorId", name.as_str())
            .text("processorName", name.as_str()),
        Callee::Criterion { name, target } => {
            let target = match target {
                Target::Workflow => "WORKFLOW",
                Target::Transition => "TRANSITION",
            };
            object
                .text("criteriaId", name.as_str())
                .text("criteriaName", name.as_str())
                .text("target", target)
        }
        Callee::Schedule(name) => object
            .text("functionId", name.as_str())
            .text("functionName", name.as_str()),
    };
    if let Some(transition_context) = call.transition_context {
        let transition = named(transition_context.transition.as_str())
            .text("stateFrom", transition_context.from.as_str())
            .text("stateTo", transition_context.to.as_str());
        object = object.raw("transition", &transition.finish());
    }
    if let Some(context) = call.context {
        object = object.text("parameters", context);
    }
    if let Some(image) = call.attached {
        object = object.raw("payload", &data_payload(&image.document, image));
    }
    object.finish()
}

fn data_payload(document: &Json, image: &Image) -> String {
    let meta = super::search::committed_meta(Object::new(), image).finish();
    Object::new()
        .text("type", "JSON")
        .raw("data", document.as_str())
        .raw("meta", &meta)
        .finish()
}
