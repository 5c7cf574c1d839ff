//! Records the outcome of a task.

use super::refused;
use crate::auth::{Permission, ROLE_M2M};
use crate::compute::tasks::Answered;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, workers},
};
use crate::operation::{Access, Context, Family, Flight, Operation, Output};

pub(in crate::operation) struct CompleteTask {
    task: String,
    worker: Option<String>,
    outcome: Option<String>,
    output: Option<String>,
}

impl Operation for CompleteTask {
    type Payload = workers::Complete<'static>;
    type Answer = workers::Completed;

    const REQUEST: EventType = EventType::TaskCompleteRequest;
    const RESPONSE: EventType = EventType::TaskCompleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    /// It ends what was admitted: refused, the task would be executed again.
    const STORES: bool = false;
    const FLIGHT: Flight = Flight::Ending;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::Complete<'_> = payload::decode(payload)?;
        Ok(Self {
            task: request.task_id,
            worker: request.worker_id,
            outcome: request.outcome,
            output: request.output.map(|output| output.get().to_owned()),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, worker) = (&cx.caller().tenant, self.worker.as_deref());
        let answered = Answered {
            outcome: self.outcome.as_deref(),
            output: self.output.as_deref(),
            ..Answered::default()
        };
        let _arriving = cx.runtime().arriving(tenant)?;
        let ended = cx.channels().end(tenant, &self.task, worker, &answered);
        let ended = ended
            .await
            .map_err(|why| refused(why, worker, &self.task))?;
        cx.remembered(workers::Completed {
            applied: ended.applied,
            task_id: self.task,
        })
        .await
    }
}
