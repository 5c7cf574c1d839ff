//! Extends the time that a worker or member has for a task.

use std::{sync::Arc, time::Duration};

use super::refused;
use serde_json::value::RawValue;

use crate::auth::{Permission, ROLE_M2M};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, workers},
};
use crate::operation::{Access, Context, Family, Flight, Operation, Output, bounds::maybe_within};

/// How many bytes `progress` may have.
const PROGRESS_MAX: usize = 4 << 10;

pub(in crate::operation) struct TouchTask {
    task: String,
    worker: Option<String>,
    extend: Option<Duration>,
    progress: Option<Arc<str>>,
}

impl Operation for TouchTask {
    type Payload = workers::Touch<'static>;
    type Answer = workers::Touched;

    const REQUEST: EventType = EventType::TaskTouchRequest;
    const RESPONSE: EventType = EventType::TaskTouchResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const FLIGHT: Flight = Flight::Ending;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::Touch<'_> = payload::decode(payload)?;
        let extend = maybe_within("extendMs", request.extend_ms, 1..=300_000)?;
        let progress = request.progress.map(RawValue::get);
        if let Some(bytes) = progress.map(str::len).filter(|bytes| *bytes > PROGRESS_MAX) {
            let message = format!("progress has {bytes} bytes; at most {PROGRESS_MAX} are allowed");
            return Err(Failure::bad_parameter("progress", message));
        }
        Ok(Self {
            task: request.task_id,
            worker: request.worker_id,
            extend: extend.map(Duration::from_millis),
            progress: progress.map(Into::into),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, worker) = (&cx.caller().tenant, self.worker.as_deref());
        let channels = cx.channels();
        let touched = channels.touch(tenant, &self.task, worker, self.extend, self.progress);
        let until = touched
            .await
            .map_err(|why| refused(why, worker, &self.task))?;
        cx.remembered(workers::Touched {
            until: AsText(until),
        })
        .await
    }
}
