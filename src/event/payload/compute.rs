//! Payloads between the server and its compute members (`grpc.md` §9).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Object, RequiredText, success};
use crate::entity::{Image, Json};
use crate::id::{
    CallId, EntityId, MemberId, ProcessorName, StateName, Tenant, TransactionId, TransitionName,
    WorkflowName,
};

#[derive(Deserialize)]
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
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    pub request_id: String,
    /// Absent means true.
    #[serde(default)]
    pub success: Option<bool>,
    #[serde(default)]
    pub error: Option<AnswerError>,
    #[serde(default)]
    pub warnings: Option<Vec<String>>,
    #[serde(default, borrow)]
    pub payload: Option<AnswerPayload<'a>>,
}

#[derive(Deserialize)]
pub struct AnswerError {
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub retryable: Option<bool>,
}

#[derive(Deserialize)]
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

/// A call of a processor.
pub struct ProcessorCall<'a> {
    pub call: CallId,
    pub entity: EntityId,
    pub transaction: TransactionId,
    pub processor: &'a ProcessorName,
    pub workflow: &'a WorkflowName,
    pub transition: &'a TransitionName,
    pub from: &'a StateName,
    pub to: &'a StateName,
    pub context: Option<&'a str>,
    pub attached: Option<&'a Image>,
}

pub fn processor_call(call: &ProcessorCall<'_>) -> String {
    let id = call.call.to_string();
    let named = |name: &str| Object::new().text("id", name).text("name", name);
    let transition = named(call.transition.as_str())
        .text("stateFrom", call.from.as_str())
        .text("stateTo", call.to.as_str())
        .finish();
    let mut object = success(&id, &[])
        .text("requestId", &id)
        .text("entityId", &call.entity.to_string())
        .text("processorId", call.processor.as_str())
        .text("processorName", call.processor.as_str())
        .raw("workflow", &named(call.workflow.as_str()).finish())
        .raw("transition", &transition)
        .text("transactionId", &call.transaction.to_string());
    if let Some(context) = call.context {
        object = object.text("parameters", context);
    }
    if let Some(image) = call.attached {
        object = object.raw("payload", &data_payload(&image.document, image));
    }
    object.finish()
}

fn data_payload(document: &Json, image: &Image) -> String {
    let meta = super::search::committed_meta(image).finish();
    Object::new()
        .text("type", "JSON")
        .raw("data", document.as_str())
        .raw("meta", &meta)
        .finish()
}
