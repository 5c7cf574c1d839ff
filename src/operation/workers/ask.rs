//! Gives a worker tasks, and waits for some (`runs.md` §5).

use std::{sync::Arc, time::Duration};

use super::refused;
use crate::auth::{self, Permission, ROLE_M2M};
use crate::compute::tasks::Leased;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, RawJson, workers},
};
use crate::operation::{
    Access, Context, Family, Flight, Operation, Output, bounds::maybe_within, paging,
};

/// How many actions a request may name.
const ACTIONS_MAX: usize = 100;

/// Within which time a stream ends whose caller's credentials were revoked.
const STREAM_ENDS: Duration = Duration::from_secs(1);

pub(in crate::operation) struct AwaitTasks {
    namespace: Arc<str>,
    worker: String,
    actions: Vec<String>,
    patience: Duration,
    most: usize,
}

impl Operation for AwaitTasks {
    type Payload = workers::Await;
    type Answer = workers::Taken;

    const REQUEST: EventType = EventType::TaskAwaitRequest;
    const RESPONSE: EventType = EventType::TaskAwaitResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const FLIGHT: Flight = Flight::Waiting;
    const NEEDS: Permission = Permission::Role(ROLE_M2M);
    const ONCE: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::Await = payload::decode(payload)?;
        let count = request.actions.len();
        if !(1..=ACTIONS_MAX).contains(&count) {
            let message = format!("actions has {count} names; use 1 to {ACTIONS_MAX}");
            return Err(Failure::bad_parameter("actions", message));
        }
        let block = maybe_within("blockMs", request.block_ms, 0..=300_000)?;
        let most = maybe_within("max", request.max, 1..=100)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            worker: request.worker_id,
            actions: request.actions,
            patience: Duration::from_millis(block.unwrap_or(30_000)),
            most: most.unwrap_or(1),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        cx.refuse_token()?;
        let (tenant, worker) = (&cx.caller().tenant, &*self.worker);
        let channels = cx.channels();
        let asked = channels.ask(tenant, &self.namespace, worker, &self.actions, self.most);
        // Dropped, it gives back what was not received.
        let mut asked = asked.map_err(|why| refused(why, Some(worker), ""))?;
        let taking = async {
            let taken = asked.tasks(self.patience).await;
            cx.runtime().store_leases(tenant, taken).await;
        };
        tokio::select! {
            () = taking => {}
            _ = cx.given_up() => return Ok(Output::one(workers::Taken { tasks: Vec::new() })),
            () = cx.login().withdrawn() => {
                drop(asked);
                // A stream ends, and with it what waits on it; other requests are answered.
                let ended = cx.cancel().cancelled();
                let _ = tokio::time::timeout(STREAM_ENDS, ended).await;
                return Err(auth::withdrawn());
            }
        }
        let tasks = asked.received().into_iter().map(task).collect();
        Ok(Output::one(workers::Taken { tasks }))
    }
}

fn task(leased: Leased) -> workers::Task {
    let spec = &*leased.spec;
    let run = spec.run.as_ref();
    workers::Task {
        task_id: Arc::clone(&spec.id),
        kind: spec.kind.as_str(),
        name: Arc::clone(&spec.name),
        namespace: Arc::clone(&spec.namespace),
        status: "running",
        input: RawJson::trusted(Arc::clone(&spec.input)),
        attempt: leased.attempt,
        run_id: run.map(|run| Arc::clone(&run.run)),
        step: run.map(|run| run.step.clone()),
        taken_by: leased.taken_by,
        lease_until: AsText(leased.until),
        created_at: AsText(spec.created),
        idempotency_key: Arc::clone(&spec.idempotency_key),
        context: spec.context.clone(),
    }
}
