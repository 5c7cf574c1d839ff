//! Workers, and the tasks that they pull (`runs.md` §5).

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    Body, Description, Tag,
    definitions::{CURSOR, LIMIT, NAMESPACE},
    of,
};
use crate::error::Code;
use crate::event::payload::workers::{
    Await, Complete, Completed, Fail, Failed, Heartbeat, Page, Register, Registered, Standing,
    Taken, Touch, Touched, Worker,
};

const NO_WORKER: &[Code] = &[Code::WorkerNotFound];
const NO_TASK: &[Code] = &[Code::TaskNotFound, Code::TaskLeaseLost];

/// The members of a request that do not stand in its path.
fn body<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    let in_path = ["id", "workerId", "taskId"];
    if let Some(object) = schema.as_object_mut() {
        if let Some(members) = object
            .get_mut("properties")
            .and_then(|all| all.as_object_mut())
        {
            members.retain(|name, _| !in_path.contains(&name.as_str()));
        }
        if let Some(required) = object
            .get_mut("required")
            .and_then(|all| all.as_array_mut())
        {
            required.retain(|name| !in_path.iter().any(|known| name == known));
        }
    }
    schema
}

/// The members of a request whose path names nothing.
fn whole<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    if let Some(object) = schema.as_object_mut() {
        if let Some(members) = object
            .get_mut("properties")
            .and_then(|all| all.as_object_mut())
        {
            members.remove("id");
        }
        if let Some(required) = object
            .get_mut("required")
            .and_then(|all| all.as_array_mut())
        {
            required.retain(|name| name != "id");
        }
    }
    schema
}

pub(in crate::rest) const REGISTER: Description = Description {
    text: "A worker pulls tasks with `POST /tasks/await`. Registering again changes the \
           registration and ends draining. The registration is lost when the service restarts.",
    parameters: &[NAMESPACE],
    body: Body::Json(body::<Register<'_>>),
    codes: &[&[Code::TooManyRequests]],
    ..Description::new(
        Tag::Runs,
        "registerWorker",
        "Register a worker",
        of::<Registered>,
    )
};

pub(in crate::rest) const HEARTBEAT: Description = Description {
    text: "A worker that was silent for 90 seconds counts as unhealthy.",
    parameters: &[NAMESPACE],
    body: Body::OptionalJson(body::<Heartbeat>),
    codes: &[NO_WORKER],
    ..Description::new(
        Tag::Runs,
        "heartbeatWorker",
        "Report that a worker lives",
        of::<Standing>,
    )
};

pub(in crate::rest) const DRAIN: Description = Description {
    text: "The worker or member gets no more tasks, and finishes those that it has.",
    parameters: &[NAMESPACE],
    codes: &[NO_WORKER],
    ..Description::new(Tag::Runs, "drainWorker", "Drain a worker", of::<Standing>)
};

pub(in crate::rest) const DEREGISTER: Description = Description {
    text: "Its tasks are delivered to others at once.",
    parameters: &[NAMESPACE],
    codes: &[NO_WORKER],
    ..Description::new(
        Tag::Runs,
        "deregisterWorker",
        "Deregister a worker",
        of::<Standing>,
    )
};

pub(in crate::rest) const LIST: Description = Description {
    text: "Lists members on a stream, too.",
    parameters: &[NAMESPACE, LIMIT, CURSOR],
    ..Description::new(Tag::Runs, "listWorkers", "List workers", of::<Page>)
};

pub(in crate::rest) const GET: Description = Description {
    parameters: &[NAMESPACE],
    codes: &[NO_WORKER],
    ..Description::new(Tag::Runs, "getWorker", "Get a worker", of::<Worker>)
};

pub(in crate::rest) const AWAIT: Description = Description {
    text: "Answers as soon as there is a task, or with none when the time is over. The worker has \
           each task until its lease ends; `POST /tasks/{taskId}/touch` extends it.",
    parameters: &[NAMESPACE],
    body: Body::Json(whole::<Await>),
    codes: &[NO_WORKER],
    ..Description::new(Tag::Runs, "awaitTasks", "Take tasks", of::<Taken>)
};

pub(in crate::rest) const COMPLETE: Description = Description {
    text: "Also ends a task that answered `pending`, regardless of which worker accepted it.",
    body: Body::OptionalJson(body::<Complete<'_>>),
    codes: &[NO_TASK],
    ..Description::new(
        Tag::Runs,
        "completeTask",
        "Report the outcome of a task",
        of::<Completed>,
    )
};

pub(in crate::rest) const FAIL: Description = Description {
    text: "With `retry` the task is delivered again after a pause, as often as its action permits.",
    body: Body::Json(body::<Fail<'_>>),
    codes: &[NO_TASK],
    ..Description::new(
        Tag::Runs,
        "failTask",
        "Report that a task failed",
        of::<Failed>,
    )
};

pub(in crate::rest) const TOUCH: Description = Description {
    text: "`RUN_FINISHED` says that nothing waits for the task any more.",
    body: Body::OptionalJson(body::<Touch<'_>>),
    codes: &[NO_TASK, &[Code::RunFinished]],
    ..Description::new(
        Tag::Runs,
        "touchTask",
        "Extend the time for a task",
        of::<Touched>,
    )
};
