//! Converts between calls of members and their payloads.

use serde_json::{Value, value::RawValue};
use tokio::time::Instant;

use crate::compute::{MEMBER_STOPPING, Rejection, Request, Response, Work};
use crate::dispatch::{CriterionResult, Reply};
use crate::entity::Document;
use crate::error::Failure;
use crate::event::{
    AttributeValue, Event, EventType, TOKEN_ATTRIBUTE,
    payload::{self, compute},
};
use crate::id::{CallId, EntityId};
use crate::text;

/// The principal that caused a call (`grpc.md` §9.6).
pub(super) const AUTH_TYPE: &str = "authtype";
pub(super) const AUTH_ID: &str = "authid";
pub(super) const AUTH_CLAIMS: &str = "authclaims";

/// The same for every attempt of one call.
pub(super) const DISPATCH_KEY: &str = "dispatchkey";

/// How many milliseconds are left of the attempt when it is sent.
pub(super) const TIME_LIMIT: &str = "timeoutms";

/// A call as an event.
pub(super) fn call(request: &Request) -> Event {
    let work: &Work = &request.work;
    let json = compute::dispatch(&compute::Dispatch {
        call: request.call,
        entity: work.entity,
        transaction: work.transaction,
        callee: &work.callee,
        workflow: &work.workflow,
        transition_context: work.transition_context.as_ref(),
        context: work.context.as_deref(),
        attached: work.attached.as_ref(),
    });
    let text = |text: &str| AttributeValue::String(text.into());
    let mut event = Event::ours(compute::call_type(&work.callee), json)
        .with(AUTH_TYPE, text(work.principal.actor.kind.as_str()))
        .with(AUTH_ID, text(&work.principal.actor.name))
        .with(DISPATCH_KEY, text(&request.dispatch.to_string()));
    if !work.principal.roles.is_empty() {
        event = event.with(AUTH_CLAIMS, text(&work.principal.roles.join(",")));
    }
    if let Some(trace) = &work.principal.trace {
        event = event.within(trace);
    }
    if let Some(left) = request.deadline.and_then(milliseconds_until) {
        event = event.with(TIME_LIMIT, text(&left.to_string()));
    }
    match &request.token {
        Some(token) => event.with(TOKEN_ATTRIBUTE, text(token)),
        None => event,
    }
}

/// None if that is more than timers of all languages can wait for: 24 days.
fn milliseconds_until(deadline: Instant) -> Option<i32> {
    let left = deadline.saturating_duration_since(Instant::now());
    i32::try_from(left.as_millis()).ok()
}

/// A member's response.
pub(super) struct Answered {
    /// None if it names no call.
    pub(super) call: Option<CallId>,
    /// The entity that it names; none if absent.
    about: Option<Value>,
    /// Whether the member has not begun the call, because it is about to leave.
    pub(super) is_declined: bool,
    pub(super) response: Response,
}

impl Answered {
    /// Whether it names another entity than the call. Only `requestId` says which call it is for
    /// (`grpc.md` §9.4); members that share their code may send any `entityId`, or none.
    pub(super) fn is_about_another(&self, entity: EntityId) -> bool {
        let about = self.about.as_ref().filter(|about| **about != "");
        about.is_some_and(|about| {
            let about = about.as_str().and_then(|about| about.parse().ok());
            about != Some(entity) && about != Some(EntityId::NIL)
        })
    }
}

/// The call of a response that could not be read, and how the call fails: waiting for another
/// response would only end with the time limit. None if the response does not name a call.
pub(super) fn unreadable(event: &Event, failure: &Failure) -> Option<(CallId, Response)> {
    let call = payload::tasks::request_of(event.bytes())?;
    let message = format!("the answer could not be read: {}", failure.message());
    Some((call, failed(message)))
}

/// The call that is answered as if it were a task, and how it fails.
pub(super) fn mistaken(event: &Event) -> Option<(CallId, Response)> {
    let call = payload::tasks::request_of(event.bytes())?;
    let message = "a call was answered with a TaskCalculationResponse".to_owned();
    Some((call, failed(message)))
}

fn failed(message: String) -> Response {
    Response {
        outcome: Err(Rejection {
            message,
            retryable: Some(false),
        }),
        warnings: Vec::new(),
    }
}

/// Parses a response.
pub(super) fn answer(event: &Event) -> Result<Answered, Failure> {
    let answer: compute::Answer<'_> = payload::decode(event.text()?)?;
    let call = answer.request_id.parse().ok();
    let failed = answer
        .error
        .as_ref()
        .filter(|_| answer.success == Some(false));
    let code = failed.and_then(|error| error.code.as_deref());
    let is_declined = code == Some(MEMBER_STOPPING);
    let outcome = if answer.success == Some(false) {
        let error = answer.error.unwrap_or(compute::AnswerError {
            code: None,
            message: None,
            retryable: None,
        });
        Err(Rejection {
            message: error
                .message
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| format!("{} returned failure", asked(event.kind))),
            retryable: error.retryable,
        })
    } else {
        reply(event.kind, &answer)
    };
    Ok(Answered {
        call,
        about: answer.entity_id,
        is_declined,
        response: Response {
            outcome,
            warnings: answer.warnings.unwrap_or_default(),
        },
    })
}

/// The kind of call of a response.
fn asked(kind: EventType) -> &'static str {
    if kind == EventType::EntityCriteriaCalculationResponse {
        "criteria"
    } else if kind == EventType::EntityFunctionCalculationResponse {
        "function"
    } else {
        "processor"
    }
}

/// The maximum length of a reason, in bytes (`grpc.md` §9.7).
const REASON_MAX: usize = 2_048;

/// The content of a response, by type.
fn reply(kind: EventType, answer: &compute::Answer<'_>) -> Result<Reply, Rejection> {
    if kind == EventType::EntityCriteriaCalculationResponse {
        let reason = answer.reason.as_deref();
        let reason = reason.map(|reason| text::start(reason, REASON_MAX).into());
        return Ok(Reply::Evaluated(CriterionResult {
            matches: answer.matches == Some(true),
            reason,
        }));
    }
    if kind == EventType::EntityFunctionCalculationResponse {
        return Ok(Reply::Computed {
            kind: answer.result_kind.clone().unwrap_or_default(),
            result: answer
                .result
                .and_then(|result| Document::from_raw(result).ok()),
        });
    }
    let data = answer.payload.as_ref().and_then(|payload| payload.data);
    document(data).map(Reply::Processed)
}

/// The returned document: an object, or none (`grpc.md` §9.7).
fn document(data: Option<&RawValue>) -> Result<Option<Document>, Rejection> {
    let Some(data) = data.filter(|data| data.get() != "null") else {
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
