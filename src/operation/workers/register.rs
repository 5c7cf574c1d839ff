//! Registers a worker that pulls tasks, or changes its registration.

use serde_json::value::RawValue;

use super::{refused, worker_id};
use crate::auth::{Permission, ROLE_M2M};
use crate::compute::tasks::Announced;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        tasks::{NAME_MAX, Offered},
        workers,
    },
};
use crate::operation::{Access, Context, Family, Operation, Output};

/// How often a heartbeat is expected.
const HEARTBEAT_MS: u32 = 30_000;

/// How many bytes `metadata` may have.
const METADATA_MAX: usize = 16 << 10;

pub(in crate::operation) struct RegisterWorker {
    worker: String,
    announced: Announced,
}

impl Operation for RegisterWorker {
    type Payload = workers::Register<'static>;
    type Answer = workers::Registered;

    const REQUEST: EventType = EventType::WorkerRegisterRequest;
    const RESPONSE: EventType = EventType::WorkerRegisterResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::Register<'_> = payload::decode(payload)?;
        let metadata = request.metadata.map(RawValue::get);
        if metadata
            .is_some_and(|metadata| !metadata.starts_with('{') || metadata.len() > METADATA_MAX)
        {
            let message = format!("metadata must be an object of at most {METADATA_MAX} bytes");
            return Err(Failure::bad_parameter("metadata", message));
        }
        if request
            .machine_id
            .as_ref()
            .is_some_and(|id| id.len() > NAME_MAX)
        {
            let message = format!("machineId has more than {NAME_MAX} bytes");
            return Err(Failure::bad_parameter("machineId", message));
        }
        let offered = Offered {
            namespace: request.namespace,
            actions: request.actions,
            max_concurrency: request.max_concurrency,
            labels: request.labels.unwrap_or_default(),
        };
        let offered = offered.check()?;
        Ok(Self {
            worker: worker_id(request.worker_id)?,
            announced: Announced {
                namespace: offered.namespace,
                actions: offered.actions,
                labels: offered.labels,
                max_concurrency: offered.max_concurrency,
                machine_id: request.machine_id,
                metadata: metadata.map(Into::into),
                ..Announced::default()
            },
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let tenant = &cx.caller().tenant;
        let worker = &*self.worker;
        let registered = cx.channels().register(tenant, worker, self.announced);
        registered.map_err(|why| refused(why, Some(worker), ""))?;
        cx.remembered(workers::Registered {
            worker_id: worker.into(),
            heartbeat_ms: HEARTBEAT_MS,
        })
        .await
    }
}
