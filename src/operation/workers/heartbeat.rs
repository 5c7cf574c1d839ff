//! Notes that a worker lives.

use std::sync::Arc;

use super::{refused, standing};
use crate::auth::{Permission, ROLE_M2M};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, workers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct BeatWorker {
    namespace: Arc<str>,
    worker: String,
    load: Option<f64>,
}

impl Operation for BeatWorker {
    type Payload = workers::Heartbeat;
    type Answer = workers::Standing;

    const REQUEST: EventType = EventType::WorkerHeartbeatRequest;
    const RESPONSE: EventType = EventType::WorkerHeartbeatResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::Heartbeat = payload::decode(payload)?;
        if request
            .load
            .is_some_and(|load| !(0.0..=1.0).contains(&load))
        {
            let message = "load is not within 0 and 1";
            return Err(Failure::bad_parameter("load", message));
        }
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            worker: request.worker_id,
            load: request.load,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, worker) = (&cx.caller().tenant, &*self.worker);
        let facts = cx
            .channels()
            .heartbeat(tenant, &self.namespace, worker, self.load);
        let facts = facts.map_err(|why| refused(why, Some(worker), ""))?;
        cx.remembered(standing(facts)).await
    }
}
