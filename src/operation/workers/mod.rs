//! Workers, and the tasks that they pull (`runs.md` §5).

mod ask;
mod complete;
mod deregister;
mod drain;
mod fail;
mod get;
mod heartbeat;
mod list;
mod register;
mod touch;

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::compute::tasks::{Refused, WorkerFacts};
use crate::error::{Code, Failure};
use crate::event::payload::{
    AsText, Float, RawJson,
    workers::{Standing, Worker},
};
use crate::id::DEFAULT_NAMESPACE;
use crate::operation::Context;

pub(super) use ask::AwaitTasks;
pub(super) use complete::CompleteTask;
pub(super) use deregister::DeregisterWorker;
pub(super) use drain::DrainWorker;
pub(super) use fail::FailTask;
pub(super) use get::GetWorker;
pub(super) use heartbeat::BeatWorker;
pub(super) use list::ListWorkers;
pub(super) use register::RegisterWorker;
pub(super) use touch::TouchTask;

/// How long the id of a worker may be, in bytes.
const ID_MAX: usize = 128;

/// An id of a worker, if it can be one.
fn worker_id(id: String) -> Result<String, Failure> {
    if (1..=ID_MAX).contains(&id.len()) {
        return Ok(id);
    }
    let message = format!("a workerId must have 1 to {ID_MAX} bytes");
    Err(Failure::bad_parameter("workerId", message))
}

/// Why a worker or a task was refused.
fn refused(refused: Refused, worker: Option<&str>, task: &str) -> Failure {
    let worker = worker.unwrap_or_default();
    match refused {
        Refused::NoWorker => Failure::new(
            Code::WorkerNotFound,
            format!(
                "no worker \"{worker}\" is registered in this namespace; register it again, as after a restart of the service"
            ),
        ),
        Refused::IsMember => Failure::new(
            Code::BadRequest,
            format!(
                "\"{worker}\" is a member on a stream: it is sent its tasks, and leaves by closing its stream"
            ),
        ),
        Refused::TooMany { limit } => Failure::new(
            Code::TooManyRequests,
            format!("the tenant has {limit} workers; deregister those that are gone"),
        ),
        Refused::NoTask => Failure::new(
            Code::TaskNotFound,
            format!("there is no task {task}, or it ended long ago; take another"),
        ),
        Refused::LeaseLost => Failure::new(
            Code::TaskLeaseLost,
            format!(
                "worker \"{worker}\" does not have task {task} any more: its lease has ended; stop working on it"
            ),
        ),
        Refused::Finished(status) => Failure::new(
            Code::RunFinished,
            format!("nothing waits for task {task} any more; stop working on it"),
        )
        .with("status", status),
        Refused::Invalid(message) => Failure::new(Code::BadRequest, message),
        Refused::Failed(failure) => failure,
    }
}

fn standing(facts: WorkerFacts) -> Standing {
    Standing {
        worker_id: facts.id,
        draining: facts.draining,
        healthy: facts.healthy,
    }
}

/// When something last arrived from each member.
fn seen(cx: &Context) -> HashMap<String, Timestamp> {
    let connected = cx.members().connected(&cx.caller().tenant);
    let seen = connected.iter().map(|one| (one.id.to_string(), one.seen));
    seen.collect()
}

fn worker(facts: WorkerFacts, seen: &HashMap<String, Timestamp>) -> Worker {
    let last_seen = seen.get(&*facts.id).copied().unwrap_or(facts.seen);
    Worker {
        worker_id: facts.id,
        namespace: facts.namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.into()),
        actions: facts.actions,
        max_concurrency: facts.max_concurrency,
        labels: facts.labels,
        tags: facts.tags.iter().map(Into::into).collect(),
        machine_id: facts.machine_id,
        metadata: facts.metadata.map(RawJson::trusted),
        load: facts.load.map(Float),
        healthy: facts.healthy,
        draining: facts.draining,
        running: facts.running,
        last_seen: AsText(last_seen),
        stream: facts.is_member,
    }
}
