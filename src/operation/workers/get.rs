//! Returns a worker, or a member with what it announced.

use std::sync::Arc;

use super::{refused, seen, worker};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, workers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct GetWorker {
    namespace: Arc<str>,
    worker: String,
}

impl Operation for GetWorker {
    type Payload = workers::One;
    type Answer = workers::Worker;

    const REQUEST: EventType = EventType::WorkerGetRequest;
    const RESPONSE: EventType = EventType::WorkerGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::One = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            worker: request.worker_id,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let facts = cx.channels().worker(tenant, &self.namespace, &self.worker);
        let facts = facts.map_err(|why| refused(why, Some(&self.worker), ""))?;
        Ok(Output::one(worker(facts, &seen(&cx))))
    }
}
