//! Invokes an action without a run of its own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::value::RawValue;

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self, AsText, RawJson, answer,
        invocations::{self, Task},
    },
};
use crate::id::RunId;
use crate::operation::runs::{check_size, json, wait_for_end};
use crate::operation::{Access, Context, Family, Operation, Output, bounds::within, paging};
use crate::runtime::again;
use crate::runtime::runs::{Invoke, InvokedTask, TaskStatus};

/// How long a caller may wait for the end of a task.
const WAIT_MAX: u64 = 30_000;

/// How long a task may be held back: 30 days.
const DELAY_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;

const PRIORITY: i64 = 10;

pub(in crate::operation) struct InvokeAction {
    invoke: Invoke,
    wait: Duration,
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
            let message = format!("waitMs is {wait}; use 0 to {WAIT_MAX}");
            return Err(Failure::bad_parameter("waitMs", message));
        }
        let priority = within("priority", request.priority.unwrap_or(PRIORITY), 0..=255)?;
        let delay = within("delayMs", request.delay_ms.unwrap_or(0), 0..=DELAY_MAX)?;
        let labels = request.labels.unwrap_or_default().into_iter();
        let labels = labels.map(|(name, value)| (name.into(), value.into()));
        Ok(Self {
            invoke: Invoke {
                namespace: paging::namespace(request.namespace)?,
                action: request.name.into(),
                input: json(request.input, "{}", "input")?.into(),
                key: request.idempotency_key.map(Into::into),
                priority,
                delay: Duration::from_millis(delay),
                labels: labels.collect::<BTreeMap<_, _>>(),
            },
            wait: Duration::from_millis(wait),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        check_size(&cx, &self.invoke.input, "input")?;
        let invoke = || async {
            let mut session = cx.session_for(0, |_, _| String::new()).await?;
            let by = cx.initiator();
            let invoked = cx.runtime().invoke(&mut session, &by, self.invoke.clone());
            let invoked = invoked.await?;
            // What a repeat of the request is answered.
            let accepted = given(&self.accepted(&invoked))?;
            Ok((cx.finish(session, accepted, Vec::new()).await?, invoked))
        };
        // Another with the same key may be committed first: it is found then.
        let (accepted, invoked) = again(invoke).await?;
        let InvokedTask {
            run, task, is_new, ..
        } = invoked;
        if !self.wait.is_zero() {
            return self.ended(&cx, run, &task).await;
        }
        if is_new {
            return Ok(accepted);
        }
        found(&cx, &task).await
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
