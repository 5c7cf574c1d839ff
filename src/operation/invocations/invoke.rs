//! Invokes an action without a run of its own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::value::RawValue;

use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self, AsText, RawJson, answer,
        invocations::{self, Task},
    },
};
use crate::id::RunId;
use crate::operation::runs::{check_size, json, wait_for_end};
use crate::operation::{Access, Context, Family, Operation, Output, paging};
use crate::runtime::runs::{Invoke, InvokedTask, TaskStatus};

/// How long a caller may wait for the end of a task.
const WAIT_MAX: u64 = 30_000;

/// How long a task may be held back: 30 days.
const DELAY_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;

const PRIORITY: i64 = 10;

/// How often an invocation is tried again that met another with the same key.
const TRIES: usize = 5;

pub(in crate::operation) struct InvokeAction {
    invoke: Invoke,
    wait: Duration,
}

fn bad(parameter: &'static str, message: String) -> Failure {
    Failure::new(Code::BadRequest, message).with("parameter", parameter)
}

impl Operation for InvokeAction {
    type Payload = invocations::Invoke<'static>;
    type Answer = invocations::Invoked;

    const REQUEST: EventType = EventType::ActionInvokeRequest;
    const RESPONSE: EventType = EventType::ActionInvokeResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: invocations::Invoke<'_> = payload::decode(payload)?;
        let wait = request.wait_ms.unwrap_or(0);
        if wait > WAIT_MAX {
            let message = format!("waitMs is {wait}; 0 to {WAIT_MAX} are allowed");
            return Err(bad("waitMs", message));
        }
        let priority = request.priority.unwrap_or(PRIORITY);
        let priority = u8::try_from(priority).map_err(|_| {
            bad(
                "priority",
                format!("priority is {priority}; 0 to 255 are allowed"),
            )
        })?;
        let delay = request.delay_ms.unwrap_or(0);
        if !(0..=DELAY_MAX).contains(&delay) {
            let message = format!("delayMs is {delay}; 0 to {DELAY_MAX} are allowed");
            return Err(bad("delayMs", message));
        }
        let labels = request.labels.unwrap_or_default().into_iter();
        let labels = labels.map(|(name, value)| (name.into(), value.into()));
        Ok(Self {
            invoke: Invoke {
                namespace: paging::namespace(request.namespace)?,
                action: request.name.into(),
                input: json(request.input, "{}", "input")?.into(),
                key: request.idempotency_key.map(Into::into),
                priority,
                delay: Duration::from_millis(delay.unsigned_abs()),
                labels: labels.collect::<BTreeMap<_, _>>(),
            },
            wait: Duration::from_millis(wait),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        check_size(&cx, &self.invoke.input, "input")?;
        let mut tries = 0;
        loop {
            tries += 1;
            let mut session = cx.session_for(0, |_, _| String::new()).await?;
            let by = cx.initiator();
            let invoked = cx.runtime().invoke(&mut session, &by, self.invoke.clone());
            let invoked = invoked.await?;
            // What a repeat of the request is answered.
            let accepted = given(&self.accepted(&invoked))?;
            let InvokedTask {
                run, task, is_new, ..
            } = invoked;
            match cx.finish(session, accepted, Vec::new()).await {
                Ok(accepted) if self.wait.is_zero() && is_new => return Ok(accepted),
                Ok(_) if self.wait.is_zero() => return found(&cx, &task).await,
                Ok(_) => return self.ended(&cx, run, &task).await,
                // Another with the same key was committed first: it is found now.
                Err(failure) if failure.code() == Code::Conflict && tries < TRIES => {}
                Err(failure) => return Err(failure),
            }
        }
    }
}

/// The answer that has a task.
fn given(task: &Task) -> Result<invocations::Invoked, Failure> {
    let text = RawValue::from_string(answer::json(task));
    let task = text.map_err(|error| Failure::internal(error.to_string()))?;
    Ok(invocations::Invoked { task })
}

impl InvokeAction {
    /// The task as it is when it is committed.
    fn accepted(&self, invoked: &InvokedTask) -> Task {
        Task {
            task_id: invoked.task.to_string(),
            kind: "action",
            name: self.invoke.action.to_string(),
            namespace: self.invoke.namespace.to_string(),
            status: TaskStatus::Pending.as_str(),
            outcome: None,
            input: RawJson::trusted(Arc::clone(&self.invoke.input)),
            output: None,
            error: None,
            attempt: 0,
            run_id: None,
            step: None,
            taken_by: None,
            progress: None,
            lease_until: None,
            created_at: AsText(invoked.created),
            finished_at: None,
        }
    }

    /// The task, after its end if that comes in time.
    async fn ended(
        &self,
        cx: &Context,
        run: RunId,
        task: &str,
    ) -> Result<Output<invocations::Invoked>, Failure> {
        wait_for_end(cx, run, self.wait).await?;
        found(cx, task).await
    }
}

/// The task as it is now.
async fn found(cx: &Context, task: &str) -> Result<Output<invocations::Invoked>, Failure> {
    let shown = cx.runtime().shown_task(&cx.caller().tenant, task).await?;
    Ok(Output::one(given(&shown.into())?))
}
