//! What an action knows, and what it returns.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::{
    call::{Caller, Reason, Warnings, trace_of, transaction},
    failure::{Failure, HandlerResult},
};
use crate::{
    Client, Code, Entities, Error, Json, Request, Result,
    api::{
        TaskCalculationRequest, TaskCalculationRequestDefinition, TaskCalculationRequestKind,
        TaskTouchRequest, TaskTouchResponse,
    },
    generated::cloudevents::CloudEvent,
    stream::Stream,
};

/// What an action knows, and what it may do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Task {
    /// What is called.
    pub name: String,
    /// The input of the step.
    pub input: Json,
    /// The same for every delivery of the task.
    pub id: String,
    /// Counts from 1.
    pub attempt: i64,
    /// The namespace of the action.
    pub namespace: String,
    /// Nothing, if the action was invoked without a run.
    pub run_id: Option<String>,
    /// Nothing, if the action was invoked without a run.
    pub step: Option<String>,
    /// Nothing, if the action was invoked without a run.
    pub definition: Option<TaskCalculationRequestDefinition>,
    /// Until when it has to be answered.
    pub deadline: DateTime<Utc>,
    /// The same until one of the executions of the step is answered. What is done elsewhere, or
    /// outside the transaction, should carry a key that is made of it.
    pub idempotency_key: String,
    /// The `context` of the action, as it was registered.
    pub parameters: Option<String>,
    /// Who caused the task.
    pub caller: Caller,
    client: Client,
    outside: Client,
    cancelled: CancellationToken,
    pub(super) warnings: Warnings,
    pub(super) request_id: String,
    /// Whether a saga calls a connector: how that has ended matters also if it was cancelled.
    pub(super) is_connector_call: bool,
}

impl Task {
    /// Decodes the input. With the feature `exact-numbers` a [`serde_json::Value`] keeps all
    /// digits.
    pub fn input<T: DeserializeOwned>(&self) -> HandlerResult<T> {
        Ok(self.input.decode()?)
    }

    /// Sends requests **in the transaction** in which the outcome of the step is committed. A
    /// failure, a timeout and a lost connection discard what they wrote.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Sends requests outside the transaction.
    pub fn outside(&self) -> &Client {
        &self.outside
    }

    /// Creates, reads and changes entities in the transaction; see [`client`](Self::client).
    pub fn entities(&self) -> Entities<'_> {
        self.client.entities()
    }

    /// Moves the deadline and reports how far the work is. The id of the request is that of this
    /// task, whatever it was.
    pub fn touch(&self, mut request: TaskTouchRequest) -> Request<TaskTouchResponse> {
        request.task_id.clone_from(&self.id);
        self.outside.task_touch(&request)
    }

    /// Adds a warning to what the caller gets. Of one task 1,000 warnings are kept, and 4 KiB of
    /// each.
    pub fn warn(&self, text: impl Into<String>) {
        self.warnings.add(&text.into());
    }

    /// Is cancelled when the task is given up: the server cancelled it, the stream was lost, or
    /// draining took too long. The future of the handler is dropped then; this is for what the
    /// handler has started elsewhere.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }

    pub(super) fn read(on: &Arc<Stream>, event: &CloudEvent) -> Result<Self> {
        let read: TaskCalculationRequest = serde_json::from_str(event.text()?)
            .map_err(|source| Error::caused(Code::InvalidJson, "cannot read a task", source))?;
        Ok(Self {
            name: read.name,
            input: read.input,
            id: read.task_id,
            attempt: read.attempt,
            namespace: read.namespace,
            run_id: read.run_id,
            step: read.step,
            definition: read.definition,
            deadline: read.deadline,
            idempotency_key: read.idempotency_key,
            parameters: read.context,
            caller: Caller::of(event),
            client: transaction(on, event),
            outside: Client::on_stream(Arc::clone(on), on.lane.clone(), trace_of(event)),
            cancelled: on.ended().child_token(),
            warnings: Warnings::default(),
            request_id: read.request_id,
            is_connector_call: read.kind == TaskCalculationRequestKind::Connector,
        })
    }
}

/// The result of an action. Whatever has a form in JSON is the output of a success; null is `{}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    name: String,
    output: Json,
}

impl Outcome {
    /// An outcome with a name of its own, which the transitions of the step name. The error has
    /// the code `INVALID_JSON`.
    pub fn named(name: impl Into<String>, output: &(impl Serialize + ?Sized)) -> Result<Self> {
        let output = Json::encode(output)?;
        let is_absent = output.is_null();
        Ok(Self {
            name: name.into(),
            output: if is_absent {
                Json::empty_object()
            } else {
                output
            },
        })
    }

    /// The action has begun what ends later. The task stays open until its outcome is reported
    /// with `task_complete` or `task_fail`, from anywhere. What was written in its transaction is
    /// committed. The error has the code `INVALID_JSON`.
    pub fn pending(output: &(impl Serialize + ?Sized)) -> Result<Self> {
        Self::named("pending", output)
    }
}

/// What an action may return: an [`Outcome`], or an output, which is whatever has a form in JSON,
/// commonly an object.
pub trait IntoOutcome {
    /// Makes the outcome. The error has the code `INVALID_JSON`.
    fn into_outcome(self) -> Result<Outcome>;
}

impl<T: Serialize> IntoOutcome for T {
    fn into_outcome(self) -> Result<Outcome> {
        Outcome::named("success", &self)
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Result<Outcome> {
        Ok(self)
    }
}

/// The answer to a task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    request_id: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Reason<'a>>,
}

/// What remains of a task when its handler has taken it.
pub(super) struct Pending {
    request_id: String,
    warnings: Warnings,
}

impl Pending {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            request_id: task.request_id.clone(),
            warnings: task.warnings.clone(),
        }
    }

    /// Leaves the warnings out of what is answered.
    pub(super) fn forget_warnings(&self) {
        self.warnings.forget();
    }

    pub(super) fn response(&self, done: Result<Outcome, &Failure>) -> Result<Json> {
        let mut response = Response {
            request_id: &self.request_id,
            success: done.is_ok(),
            outcome: None,
            output: None,
            warnings: self.warnings.all(),
            error: None,
        };
        match done {
            Ok(outcome) => {
                response.outcome = Some(outcome.name);
                response.output = Some(outcome.output);
            }
            Err(failure) => {
                response.error = Some(Reason::new(failure.code.as_deref(), failure));
            }
        }
        Json::encode(&response)
    }
}
