//! Payloads between the server and its compute members (`grpc.md` §9).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use super::{
    AsText, Object, RawJson, RequiredText, json,
    search::CommittedMeta,
    tasks::{Offered, check_tags},
};
use crate::dispatch::{Callee, Target, TransitionContext};
use crate::entity::Image;
use crate::error::Failure;
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
    /// The namespace whose tasks it takes; if absent, `default`.
    #[serde(default)]
    namespace: Option<Arc<str>>,
    /// The actions that it does; `*` stands for all of them.
    #[serde(default)]
    actions: Option<Vec<String>>,
    /// How many tasks it takes at a time.
    #[serde(default)]
    max_concurrency: Option<u32>,
    /// What tasks may require of it.
    #[serde(default)]
    labels: Option<BTreeMap<Box<str>, Box<str>>>,
}

impl Join {
    /// What it says of tasks. Its tags are checked, too.
    pub fn offered(&mut self) -> Result<Offered, Failure> {
        check_tags(self.tags.as_deref().unwrap_or_default())?;
        let offered = Offered {
            namespace: self.namespace.take(),
            actions: self.actions.take().unwrap_or_default(),
            max_concurrency: self.max_concurrency,
            labels: self.labels.take().unwrap_or_default(),
        };
        offered.check()
    }
}

/// What a member says it has done.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer<'a> {
    pub request_id: String,
    /// That of the request; it is not checked.
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
    /// Of a task that is sent as a call of a processor.
    #[serde(default)]
    pub code: Option<String>,
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

/// Greets a member that has joined.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MemberGreeting")]
pub struct Greeting<'a> {
    id: AsText<MemberId>,
    success: bool,
    member_id: AsText<MemberId>,
    /// The tenant.
    joined_legal_entity_id: &'a str,
}

pub fn greet(member: MemberId, tenant: &Tenant) -> String {
    json(&Greeting {
        id: AsText(member),
        success: true,
        member_id: AsText(member),
        joined_legal_entity_id: tenant.as_str(),
    })
}

/// Asks whether a member is still there; a member answers with an event of the same type.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MemberKeepAlive")]
pub struct KeepAlive<'a> {
    /// Its own.
    id: &'a str,
    success: bool,
    member_id: AsText<MemberId>,
}

pub fn keep_alive(id: &str, member: MemberId) -> String {
    json(&KeepAlive {
        id,
        success: true,
        member_id: AsText(member),
    })
}

/// A call of a member (`grpc.md` §9.6).
pub struct Dispatch<'a> {
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

/// A request of the server to a member.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalculationRequest<'a, C> {
    id: AsText<CallId>,
    success: bool,
    /// The answer names it in its `requestId`.
    request_id: AsText<CallId>,
    entity_id: AsText<EntityId>,
    workflow: Named<'a>,
    /// The transaction of the entity; empty, if the call is outside of one.
    #[schemars(with = "String")]
    transaction_id: TransactionOrNothing,
    #[serde(flatten)]
    callee: C,
    /// The transition that is being taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<TransitionTaken<'a>>,
    /// The `context` of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a str>,
    /// The entity, if the definition says that it is attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<AttachedEntity>,
}

/// The members that name a processor.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalledProcessor<'a> {
    processor_id: &'a str,
    /// As the definition names it.
    processor_name: &'a str,
}

/// The members that name a criterion.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalledCriterion<'a> {
    criteria_id: &'a str,
    /// As the definition names it.
    criteria_name: &'a str,
    target: CriterionTarget,
}

/// What a criterion is about.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum CriterionTarget {
    Workflow,
    Transition,
}

/// The members that name a function.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CalledFunction<'a> {
    function_id: &'a str,
    /// As the definition names it.
    function_name: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Named<'a> {
    id: &'a str,
    name: &'a str,
}

impl<'a> Named<'a> {
    const fn new(name: &'a str) -> Self {
        Self { id: name, name }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct TransitionTaken<'a> {
    id: &'a str,
    name: &'a str,
    state_from: &'a str,
    state_to: &'a str,
}

/// The id of a transaction, or an empty text.
struct TransactionOrNothing(Option<TransactionId>);

impl Serialize for TransactionOrNothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(id) => serializer.collect_str(&id),
            None => serializer.serialize_str(""),
        }
    }
}

/// An entity in a call.
#[derive(Serialize, JsonSchema)]
struct AttachedEntity {
    #[schemars(extend("const" = "JSON"))]
    r#type: &'static str,
    /// The document.
    data: RawJson,
    meta: CommittedMeta,
}

/// The text of a call; written by hand, as answers that are sent this often are.
pub fn dispatch(call: &Dispatch<'_>) -> String {
    let id = call.call;
    let named = |object: Object, name: &str| object.text("id", name).text("name", name);
    let document = call.attached.map(|image| image.document.as_str().len());
    let object = Object::with_room(USUAL_BYTES + document.unwrap_or_default())
        .plain("id", id)
        .truth("success", true)
        .plain("requestId", id)
        .plain("entityId", call.entity)
        .object("workflow", |workflow| {
            named(workflow, call.workflow.as_str())
        });
    let object = match call.transaction {
        Some(transaction) => object.plain("transactionId", transaction),
        None => object.text("transactionId", ""),
    };
    let object = match call.callee {
        Callee::Processor(name) => object
            .text("processorId", name.as_str())
            .text("processorName", name.as_str()),
        Callee::Criterion { name, target } => object
            .text("criteriaId", name.as_str())
            .text("criteriaName", name.as_str())
            .text("target", CriterionTarget::from(*target).as_str()),
        Callee::Schedule(name) => object
            .text("functionId", name.as_str())
            .text("functionName", name.as_str()),
    };
    let object = match call.transition_context {
        Some(context) => object.object("transition", |transition| {
            named(transition, context.transition.as_str())
                .text("stateFrom", context.from.as_str())
                .text("stateTo", context.to.as_str())
        }),
        None => object,
    };
    let object = match call.context {
        Some(context) => object.text("parameters", context),
        None => object,
    };
    let object = match call.attached {
        Some(image) => object.object("payload", |payload| {
            payload
                .text("type", "JSON")
                .raw("data", image.document.as_str())
                .object("meta", |meta| CommittedMeta::from(image).write(meta))
        }),
        None => object,
    };
    let text = object.finish();
    debug_assert_eq!(text, typed(call));
    text
}

/// The text of a call by its type.
fn typed(call: &Dispatch<'_>) -> String {
    match call.callee {
        Callee::Processor(name) => json(&calculation(
            call,
            CalledProcessor {
                processor_id: name.as_str(),
                processor_name: name.as_str(),
            },
        )),
        Callee::Criterion { name, target } => json(&calculation(
            call,
            CalledCriterion {
                criteria_id: name.as_str(),
                criteria_name: name.as_str(),
                target: (*target).into(),
            },
        )),
        Callee::Schedule(name) => json(&calculation(
            call,
            CalledFunction {
                function_id: name.as_str(),
                function_name: name.as_str(),
            },
        )),
    }
}

impl CriterionTarget {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Workflow => "WORKFLOW",
            Self::Transition => "TRANSITION",
        }
    }
}

impl From<Target> for CriterionTarget {
    fn from(target: Target) -> Self {
        match target {
            Target::Workflow => Self::Workflow,
            Target::Transition => Self::Transition,
        }
    }
}

fn calculation<'a, C>(call: &Dispatch<'a>, callee: C) -> CalculationRequest<'a, C> {
    CalculationRequest {
        id: AsText(call.call),
        success: true,
        request_id: AsText(call.call),
        entity_id: AsText(call.entity),
        workflow: Named::new(call.workflow.as_str()),
        transaction_id: TransactionOrNothing(call.transaction),
        callee,
        transition: call.transition_context.map(|context| TransitionTaken {
            id: context.transition.as_str(),
            name: context.transition.as_str(),
            state_from: context.from.as_str(),
            state_to: context.to.as_str(),
        }),
        parameters: call.context,
        payload: call.attached.map(|image| AttachedEntity {
            r#type: "JSON",
            data: RawJson(image.document.clone()),
            meta: image.into(),
        }),
    }
}

/// A call takes about this many bytes without the entity's document.
const USUAL_BYTES: usize = 1_024;
