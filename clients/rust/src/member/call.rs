//! What a processor, a criterion and a schedule function know, and what they return.

use std::{
    borrow::Cow,
    str::FromStr as _,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    bounded::{FAILURE_BYTES_MAX, WARNING_BYTES_MAX, WARNINGS_MAX, bounded},
    failure::{Failure, HandlerResult, MEMBER_STOPPING, reject},
};
use crate::{
    Client, Code, Entities, Entity, Error, Json, Result,
    api::AttachedEntity,
    envelope::{DISPATCH_KEY, TIME_LIMIT, TRACE_PARENT, TRACE_STATE, TRANSACTION},
    generated::cloudevents::CloudEvent,
    stream::{Lane, Stream},
    sync::locked,
    trace::Trace,
};

/// How many requests of one call are sent before they are answered. The server works on those of
/// one transaction one after the other anyway.
const IN_FLIGHT: usize = 16;

/// Who caused a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// `user`, `service` or `system`.
    pub kind: String,
    /// The id.
    pub id: String,
    /// The roles.
    pub roles: Vec<String>,
}

impl Caller {
    pub(super) fn of(event: &CloudEvent) -> Self {
        let text = |name| event.attribute(name).unwrap_or_default();
        let roles = text("authclaims")
            .split(',')
            .filter(|role| !role.is_empty());
        Self {
            kind: text("authtype").to_owned(),
            id: text("authid").to_owned(),
            roles: roles.map(str::to_owned).collect(),
        }
    }
}

/// The transition that a call is a part of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Transition {
    /// Its name.
    pub name: String,
    /// The state before it.
    #[serde(rename = "stateFrom")]
    pub from: String,
    /// The state after it.
    #[serde(rename = "stateTo")]
    pub to: String,
}

/// Warnings that are added to an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings(Arc<Mutex<Warned>>);

#[derive(Debug, Default)]
struct Warned {
    texts: Vec<String>,
    /// How many were too many.
    dropped: usize,
}

impl Warnings {
    fn warned(&self) -> MutexGuard<'_, Warned> {
        locked(&self.0)
    }

    pub(super) fn add(&self, text: &str) {
        let mut warned = self.warned();
        if warned.texts.len() < WARNINGS_MAX {
            warned
                .texts
                .push(bounded(text, WARNING_BYTES_MAX).into_owned());
        } else {
            warned.dropped += 1;
        }
    }

    pub(super) fn all(&self) -> Vec<String> {
        let warned = self.warned();
        let mut texts = warned.texts.clone();
        if warned.dropped > 0
            && let Some(last) = texts.last_mut()
        {
            *last = format!("{} more warnings were left out", warned.dropped + 1);
        }
        texts
    }

    pub(super) fn forget(&self) {
        *self.warned() = Warned::default();
    }
}

/// What a processor, a criterion or a schedule function knows, and what it may do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The entity in the state before the transition; a criterion is given it as it would be
    /// written. Nothing only in handlers that are [detached](crate::Member::detached), if the
    /// workflow says `"attachEntity": false`.
    pub entity: Option<Entity>,
    /// Its id, which is known also if it is not attached.
    pub entity_id: String,
    /// What is called, as the workflow names it.
    pub name: String,
    /// The `context` of what is called, as the workflow has it.
    pub parameters: Option<String>,
    /// The name of the workflow.
    pub workflow: String,
    /// Nothing for the criterion by which a workflow is chosen.
    pub transition: Option<Transition>,
    /// The transaction that the call is a part of, if it is part of one.
    pub transaction_id: Option<String>,
    /// The same for every attempt of one call. What was done elsewhere under it need not be done
    /// again.
    pub dispatch_key: Option<String>,
    /// Who caused the call.
    pub caller: Caller,
    /// When the server gives the call up, and the future of the handler is dropped; nothing if the
    /// server did not say.
    pub deadline: Option<SystemTime>,
    pub(super) until: Option<Instant>,
    client: Client,
    cancelled: CancellationToken,
    pub(super) warnings: Warnings,
    pub(super) request_id: String,
}

impl Call {
    /// Decodes the document of the entity. With the feature `exact-numbers` a
    /// [`serde_json::Value`] keeps all digits.
    pub fn document<T: DeserializeOwned>(&self) -> HandlerResult<T> {
        Ok(self.attached()?.document()?)
    }

    /// The entity; the failure says that the workflow does not attach it.
    pub fn attached(&self) -> HandlerResult<&Entity> {
        self.entity.as_ref().ok_or_else(|| self.without_entity())
    }

    pub(super) fn without_entity(&self) -> Failure {
        let name = &self.name;
        reject(format!(
            "the workflow does not attach the entity to `{name}`, which needs it"
        ))
    }

    /// Sends requests **in the transaction** that the call is a part of: they see what the
    /// transaction has written so far, and what they write is committed or rolled back together
    /// with that. Outside a transaction it works outside one, too.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Creates, reads and changes entities in the transaction; see [`client`](Self::client).
    pub fn entities(&self) -> Entities<'_> {
        self.client.entities()
    }

    /// Adds a warning to what the caller gets, whether the call succeeds or not. Of one call 1,000
    /// warnings are kept, and 4 KiB of each.
    pub fn warn(&self, text: impl Into<String>) {
        self.warnings.add(&text.into());
    }

    /// Is cancelled when the call is given up: the stream was lost, and with it the transaction, its
    /// time was up, or draining took too long. The future of the handler is dropped then; this is for what the
    /// handler has started elsewhere.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Reads a call of the server, and what it calls.
    pub(super) fn read(on: &Arc<Stream>, event: &CloudEvent) -> Result<(super::Kind, Self)> {
        let kind = super::Kind::of(&event.r#type)
            .ok_or_else(|| Error::new(Code::InvalidJson, "this client does not know the type"))?;
        let read: Calculation = serde_json::from_str(event.text()?)
            .map_err(|source| Error::caused(Code::InvalidJson, "cannot read a call", source))?;
        let limit = event
            .attribute(TIME_LIMIT)
            .and_then(|text| Some(Duration::from_millis(u32::from_str(text).ok()?.into())));
        let names = [read.processor_name, read.criteria_name, read.function_name];
        let call = Self {
            entity: read.payload.map(Entity::attached),
            entity_id: read.entity_id.unwrap_or_default(),
            name: names.into_iter().flatten().next().unwrap_or_default(),
            parameters: read.parameters.filter(|text| !text.is_empty()),
            workflow: read.workflow.unwrap_or_default().name,
            transition: read.transition,
            transaction_id: read.transaction_id.filter(|id| !id.is_empty()),
            dispatch_key: event.owned_attribute(DISPATCH_KEY),
            caller: Caller::of(event),
            deadline: limit.map(|limit| SystemTime::now() + limit),
            until: limit.map(|limit| Instant::now() + limit),
            client: transaction(on, event),
            cancelled: on.ended().child_token(),
            warnings: Warnings::default(),
            request_id: read.request_id,
        };
        Ok((kind, call))
    }
}

/// A client that sends requests in the transaction of a call of the server.
pub(super) fn transaction(on: &Arc<Stream>, event: &CloudEvent) -> Client {
    let lane = match event.attribute(TRANSACTION) {
        Some(token) if !token.is_empty() => Lane::new(IN_FLIGHT, Some(token.into())),
        _ => on.lane.clone(),
    };
    Client::on_stream(Arc::clone(on), lane, trace_of(event))
}

pub(super) fn trace_of(event: &CloudEvent) -> Arc<Trace> {
    Arc::new(Trace {
        parent: event.owned_attribute(TRACE_PARENT),
        state: event.owned_attribute(TRACE_STATE),
    })
}

/// What the requests for processors, criteria and schedules have in common.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Calculation {
    request_id: String,
    entity_id: Option<String>,
    processor_name: Option<String>,
    criteria_name: Option<String>,
    function_name: Option<String>,
    parameters: Option<String>,
    transaction_id: Option<String>,
    workflow: Option<Named>,
    transition: Option<Transition>,
    payload: Option<AttachedEntity>,
}

#[derive(Default, Deserialize)]
struct Named {
    name: String,
}

/// The result of a criterion. `true` and `false` become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub(super) holds: bool,
    pub(super) reason: Option<String>,
}

impl Verdict {
    /// The criterion holds.
    pub fn holds() -> Self {
        true.into()
    }

    /// The criterion does not hold. The reason is stored with the decision and returned to the
    /// caller; at most 2048 bytes of it are kept.
    pub fn fails(reason: impl Into<String>) -> Self {
        Self {
            holds: false,
            reason: Some(reason.into()),
        }
    }
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        Self {
            holds,
            reason: None,
        }
    }
}

/// The result of a schedule function: when a transition is due. Times are rounded up to
/// milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    #[serde(skip_serializing_if = "Option::is_none")]
    fire_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fire_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_after_ms: Option<u64>,
}

impl Schedule {
    /// The transition is taken at this time; at once, if it has passed.
    pub fn at(time: impl Into<SystemTime>) -> Self {
        Self {
            fire_at: Some(milliseconds(since_1970(time.into()))),
            fire_after_ms: None,
            expire_at: None,
            expire_after_ms: None,
        }
    }

    /// The transition is taken so long from now.
    pub fn after(delay: Duration) -> Self {
        Self {
            fire_at: None,
            fire_after_ms: Some(milliseconds(delay)),
            expire_at: None,
            expire_after_ms: None,
        }
    }

    /// From this time on it is no longer taken.
    #[must_use]
    pub fn expire_at(mut self, time: impl Into<SystemTime>) -> Self {
        self.expire_at = Some(milliseconds(since_1970(time.into())));
        self.expire_after_ms = None;
        self
    }

    /// So long after it was due it is no longer taken.
    #[must_use]
    pub fn expire_after(mut self, delay: Duration) -> Self {
        self.expire_after_ms = Some(milliseconds(delay));
        self.expire_at = None;
        self
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// What came out of the handler of a call.
pub(super) enum Done {
    /// The whole new document; null leaves it as it is.
    Document(Json),
    Verdict(Verdict),
    Schedule(Schedule),
}

/// The answer to a call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    request_id: &'a str,
    entity_id: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Payload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Schedule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Reason<'a>>,
}

#[derive(Serialize)]
struct Payload {
    r#type: &'static str,
    data: Json,
}

#[derive(Serialize)]
pub(super) struct Reason<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    message: Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    retryable: bool,
}

impl<'a> Reason<'a> {
    pub(super) fn new(code: Option<&'a str>, failure: &'a Failure) -> Self {
        Self {
            code: code.map(|code| bounded(code, FAILURE_BYTES_MAX)),
            message: bounded(failure.message(), FAILURE_BYTES_MAX),
            retryable: failure.is_retryable,
        }
    }
}

/// What remains of a call when its handler has taken it.
pub(super) struct Pending {
    request_id: String,
    entity_id: String,
    warnings: Warnings,
}

impl Pending {
    pub(super) fn of(call: &Call) -> Self {
        Self {
            request_id: call.request_id.clone(),
            entity_id: call.entity_id.clone(),
            warnings: call.warnings.clone(),
        }
    }

    /// Leaves the warnings out of what is answered.
    pub(super) fn forget_warnings(&self) {
        self.warnings.forget();
    }

    pub(super) fn response(&self, done: Result<Done, &Failure>) -> Result<Json> {
        let mut response = Response {
            request_id: &self.request_id,
            entity_id: &self.entity_id,
            success: done.is_ok(),
            payload: None,
            matches: None,
            reason: None,
            result_kind: None,
            result: None,
            warnings: self.warnings.all(),
            error: None,
        };
        match done {
            Ok(Done::Document(document)) if document.is_null() => {}
            Ok(Done::Document(data)) => {
                response.payload = Some(Payload {
                    r#type: "JSON",
                    data,
                });
            }
            Ok(Done::Verdict(verdict)) => {
                response.matches = Some(verdict.holds);
                response.reason = verdict.reason;
            }
            Ok(Done::Schedule(schedule)) => {
                response.result_kind = Some("Schedule");
                response.result = Some(schedule);
            }
            Err(failure) => {
                let code = if failure.is_stopping() {
                    MEMBER_STOPPING
                } else {
                    "CLIENT_ERROR"
                };
                response.error = Some(Reason::new(Some(code), failure));
            }
        }
        Json::encode(&response)
    }
}
