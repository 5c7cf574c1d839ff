//! Converts between tasks on a member's stream and their payloads (`runs.md` §5.2).

use std::sync::Arc;

use serde_json::value::RawValue;
use tracing::debug;

use super::member::{AUTH_CLAIMS, AUTH_ID, AUTH_TYPE, DISPATCH_KEY, TIME_LIMIT};
use crate::compute::tasks::{
    Answered, Delivery, Dispatch, Form, OfRun, Sent, TaskKind, TaskMembership, TaskSpec,
};
use crate::dispatch::{Callee, TransitionContext};
use crate::entity::{Image, Json};
use crate::error::Failure;
use crate::event::{
    AttributeValue, Event, EventType, TOKEN_ATTRIBUTE,
    payload::{
        self, AsText, RawJson, compute,
        tasks::{self, OfDefinition, TaskAnswer, TaskRequest},
    },
};
use crate::id::{CallId, EntityId, ModelKey, TransactionId};

/// What a member is sent, as an event.
pub(super) fn event(sent: &Sent, token: Option<Arc<str>>) -> Event {
    let delivery = match sent {
        Sent::Task(delivery) => delivery,
        Sent::Cancel { task, call, reason } => {
            return Event::ours(
                EventType::TaskCancelEvent,
                tasks::cancel(task, *call, reason),
            );
        }
    };
    let spec = &*delivery.spec;
    let text = |text: &str| AttributeValue::String(text.into());
    let event = match spec.dispatch {
        Dispatch::Task => Event::ours(EventType::TaskCalculationRequest, request(delivery)),
        Dispatch::Processor => Event::ours(
            EventType::EntityProcessorCalculationRequest,
            processor(delivery),
        ),
    };
    let event = event
        .with(AUTH_TYPE, text(spec.principal.actor.kind.as_str()))
        .with(AUTH_ID, text(&spec.principal.actor.name))
        .with(DISPATCH_KEY, text(&spec.id));
    let event = if spec.principal.roles.is_empty() {
        event
    } else {
        event.with(AUTH_CLAIMS, text(&spec.principal.roles.join(",")))
    };
    // A task is cancelled when its time is over; a call has to say when that is.
    let is_call = spec.dispatch == Dispatch::Processor && spec.kind == TaskKind::Action;
    let event = match i32::try_from(spec.timeout.as_millis()) {
        Ok(left) if is_call => event.with(TIME_LIMIT, text(&left.to_string())),
        Ok(_) | Err(_) => event,
    };
    let event = match &spec.principal.trace {
        Some(trace) => event.within(trace),
        None => event,
    };
    match token {
        Some(token) => event.with(TOKEN_ATTRIBUTE, text(&token)),
        None => event,
    }
}

fn request(delivery: &Delivery) -> String {
    let spec = &*delivery.spec;
    let run = spec.run.as_ref();
    payload::json(&TaskRequest {
        id: AsText(delivery.call),
        request_id: AsText(delivery.call),
        task_id: &spec.id,
        attempt: delivery.attempt,
        kind: spec.kind.as_str(),
        name: &spec.name,
        namespace: &spec.namespace,
        input: RawJson::trusted(Arc::clone(&spec.input)),
        run_id: run.map(|run| &*run.run),
        definition: run.map(|run| OfDefinition {
            name: &run.definition,
            version: &run.version,
        }),
        step: run.map(|run| &*run.step),
        deadline: AsText(delivery.deadline),
        idempotency_key: &spec.idempotency_key,
        context: spec.context.as_deref(),
        success: true,
    })
}

/// The same as a call of a processor, which every member understands.
fn processor(delivery: &Delivery) -> String {
    let spec: &TaskSpec = &delivery.spec;
    let workflow = spec.run.as_ref().map_or("", |run| &*run.definition);
    let transition = |run: &OfRun| TransitionContext {
        transition: (&*run.step).into(),
        from: "".into(),
        to: "".into(),
    };
    let input = Image {
        id: EntityId::NIL,
        model: ModelKey::new(&spec.name, 1),
        state: "".into(),
        document: Json::trusted(Arc::clone(&spec.input)),
        created: spec.created,
        updated: spec.created,
        transaction: TransactionId::NIL,
        transition: None,
        workflow: None,
    };
    compute::dispatch(&compute::Dispatch {
        call: delivery.call,
        entity: EntityId::NIL,
        transaction: None,
        callee: &Callee::Processor((&*spec.name).into()),
        workflow: &workflow.into(),
        transition_context: spec.run.as_ref().map(transition).as_ref(),
        context: spec.context.as_deref(),
        attached: Some(&input),
    })
}

/// Hands an answer to the task that it is for; false if there is none. An answer that cannot be read
/// ends its task, if it says which.
pub(super) fn answer(event: &Event, membership: &TaskMembership) -> Result<bool, Failure> {
    let answered = event.text().and_then(|text| {
        if event.kind == EventType::EntityProcessorCalculationResponse {
            processed(text, membership)
        } else {
            done(text, membership)
        }
    });
    answered.inspect_err(|failure| {
        if let Some(call) = tasks::request_of(event.bytes()) {
            let unreadable = Form::Unreadable(failure.message().to_owned());
            membership.answered(call, &unreadable);
        }
    })
}

/// An answer to a task that was sent as one.
fn done(text: &str, membership: &TaskMembership) -> Result<bool, Failure> {
    let answer: TaskAnswer<'_> = payload::decode(text)?;
    let Ok(call) = answer.request_id.parse::<CallId>() else {
        return Ok(false);
    };
    if let Some(warnings) = &answer.warnings {
        debug!(call.id = %call, ?warnings, "a member warns");
    }
    let error = answer.error.as_ref();
    let answered = Answered {
        failed: answer.success == Some(false),
        outcome: answer.outcome.as_deref(),
        output: answer.output.map(RawValue::get),
        code: error.and_then(|error| error.code.as_deref()),
        message: error.and_then(|error| error.message.as_deref()),
        retryable: error.and_then(|error| error.retryable) == Some(true),
    };
    Ok(membership.answered(call, &Form::Task(answered)))
}

/// An answer to a task that was sent as a call of a processor.
fn processed(text: &str, membership: &TaskMembership) -> Result<bool, Failure> {
    let answer: compute::Answer<'_> = payload::decode(text)?;
    let Ok(call) = answer.request_id.parse::<CallId>() else {
        return Ok(false);
    };
    let data = answer.payload.as_ref().and_then(|payload| payload.data);
    let error = answer.error.as_ref();
    let answered = Answered {
        failed: answer.success == Some(false),
        outcome: None,
        output: data.map(RawValue::get),
        code: error.and_then(|error| error.code.as_deref()),
        message: error.and_then(|error| error.message.as_deref()),
        retryable: error.and_then(|error| error.retryable) == Some(true),
    };
    Ok(membership.answered(call, &Form::Processor(answered)))
}
