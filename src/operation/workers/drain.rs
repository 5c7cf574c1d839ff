//! Sends a worker or member no more tasks, and a member no more calls either; it finishes those that
//! it has.

use std::sync::Arc;

use super::{refused, standing};
use crate::auth::{Permission, ROLE_M2M};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, workers},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct DrainWorker {
    namespace: Arc<str>,
    worker: String,
}

impl Operation for DrainWorker {
    type Payload = workers::One;
    type Answer = workers::Standing;

    const REQUEST: EventType = EventType::WorkerDrainRequest;
    const RESPONSE: EventType = EventType::WorkerDrainResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::One = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            worker: request.worker_id,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, worker) = (&cx.caller().tenant, &*self.worker);
        let facts = cx.channels().drain(tenant, &self.namespace, worker);
        let facts = facts.map_err(|why| refused(why, Some(worker), ""))?;
        if let Ok(member) = worker.parse() {
            cx.members().drain(tenant, member);
        }
        cx.remembered(standing(facts)).await
    }
}
