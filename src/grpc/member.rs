//! Between members and their payloads.

use crate::compute::{Rejection, Request, Response, Work};
use crate::entity::Document;
use crate::error::Failure;
use crate::event::{
    AttributeValue, Event, EventType, TOKEN_ATTRIBUTE,
    payload::{self, compute},
};
use crate::id::CallId;

/// Who caused a call (`grpc.md` §9.6).
const AUTH_TYPE: &str = "authtype";
const AUTH_ID: &str = "authid";
const AUTH_CLAIMS: &str = "authclaims";

/// The same for every attempt of one call.
const DISPATCH_KEY: &str = "dispatchkey";

/// A call, as the member is sent it.
pub(super) fn call(request: &Request) -> Event {
    let work: &Work = &request.work;
    let json = compute::processor_call(&compute::ProcessorCall {
        call: request.call,
        entity: work.entity,
        transaction: work.transaction,
        processor: &work.processor,
        workflow: &work.workflow,
        transition: &work.transition,
        from: &work.from,
        to: &work.to,
        context: work.context.as_deref(),
        attached: work.attached.as_ref(),
    });
    let text = |text: &str| AttributeValue::String(text.into());
    let mut event = Event::ours(EventType::EntityProcessorCalculationRequest, json)
        .with(AUTH_TYPE, text(work.principal.actor.kind.as_str()))
        .with(AUTH_ID, text(&work.principal.actor.name))
        .with(DISPATCH_KEY, text(&request.dispatch.to_string()));
    if !work.principal.roles.is_empty() {
        event = event.with(AUTH_CLAIMS, text(&work.principal.roles.join(",")));
    }
    match &work.token {
        Some(token) => event.with(TOKEN_ATTRIBUTE, text(token)),
        None => event,
    }
}

/// An answer, and the call it is to; none if that names no call of ours.
pub(super) fn answer(event: &Event) -> Result<(Option<CallId>, Response), Failure> {
    let answer: compute::Answer<'_> = payload::decode(event.text()?)?;
    let call = answer.request_id.parse().ok();
    let outcome = if answer.success == Some(false) {
        let error = answer.error.unwrap_or(compute::AnswerError {
            message: None,
            retryable: None,
        });
        Err(Rejection {
            message: error
                .message
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| "processor returned failure".to_owned()),
            retryable: error.retryable,
        })
    } else {
        document(answer.payload)
    };
    Ok((
        call,
        Response {
            outcome,
            warnings: answer.warnings.unwrap_or_default(),
        },
    ))
}

/// What the member made of the entity: an object, or nothing (`grpc.md` §9.7).
fn document(payload: Option<compute::AnswerPayload<'_>>) -> Result<Option<Document>, Rejection> {
    let Some(data) = payload
        .and_then(|payload| payload.data)
        .filter(|data| data.get() != "null")
    else {
        return Ok(None);
    };
    let refuse = |message: String| Rejection {
        message,
        retryable: Some(false),
    };
    let document = Document::from_raw(data)
        .map_err(|error| refuse(format!("the returned data is not a document: {error}")))?;
    if !document.root().is_object() {
        return Err(refuse("the returned data is not an object".to_owned()));
    }
    Ok(Some(document))
}
