//! Records that a task failed.

use super::refused;
use crate::auth::{Permission, ROLE_M2M};
use crate::compute::tasks::Answered;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, workers},
};
use crate::operation::{Access, Context, Family, Flight, Operation, Output};

pub(in crate::operation) struct FailTask {
    task: String,
    worker: Option<String>,
    error: workers::Fault,
    retry: bool,
    output: Option<String>,
}

impl Operation for FailTask {
    type Payload = workers::Fail<'static>;
    type Answer = workers::Failed;

    const REQUEST: EventType = EventType::TaskFailRequest;
    const RESPONSE: EventType = EventType::TaskFailResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    /// It ends what was admitted: refused, the task would be executed again.
    const STORES: bool = false;
    const FLIGHT: Flight = Flight::Ending;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::Fail<'_> = payload::decode(payload)?;
        Ok(Self {
            task: request.task_id,
            worker: request.worker_id,
            error: request.error,
            retry: request.retry.unwrap_or(false),
            output: request.output.map(|output| output.get().to_owned()),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, worker) = (&cx.caller().tenant, self.worker.as_deref());
        let answered = Answered {
            failed: true,
            output: self.output.as_deref(),
            code: self.error.code.as_deref(),
            message: Some(&self.error.message),
            retryable: self.retry,
            ..Answered::default()
        };
        let _arriving = cx.runtime().arriving(tenant)?;
        let ended = cx.channels().end(tenant, &self.task, worker, &answered);
        let ended = ended
            .await
            .map_err(|why| refused(why, worker, &self.task))?;
        cx.remembered(workers::Failed {
            applied: ended.applied,
            will_retry: ended.will_retry,
            task_id: self.task,
        })
        .await
    }
}
