//! Shows a task.

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, invocations},
};
use crate::operation::{Access, Context, Family, Operation, Output};

pub(in crate::operation) struct GetTask {
    task: String,
}

impl Operation for GetTask {
    type Payload = invocations::GetTask;
    type Answer = invocations::Got;

    const REQUEST: EventType = EventType::TaskGetRequest;
    const RESPONSE: EventType = EventType::TaskGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: invocations::GetTask = payload::decode(payload)?;
        Ok(Self {
            task: request.task_id,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let shown = cx.runtime().shown_task(&cx.caller().tenant, &self.task);
        let task = shown.await?.into();
        Ok(Output::one(invocations::Got { task }))
    }
}
