//! Payloads about workers, and the tasks that they pull (`runs.md` §5).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, AsText, Float, RawJson, RequestId, RequiredText, paging::Pagination};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Register<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[schemars(extend("minLength" = 1, "maxLength" = 128))]
    pub worker_id: String,
    #[serde(default)]
    pub namespace: Option<Arc<str>>,
    /// The actions that it does; `*` stands for all of them.
    pub actions: Vec<String>,
    /// How many tasks it takes at a time; 10, if absent.
    #[serde(default)]
    pub max_concurrency: Option<u32>,
    /// What tasks may require of it.
    #[serde(default)]
    pub labels: Option<BTreeMap<Box<str>, Box<str>>>,
    #[serde(default)]
    pub machine_id: Option<Arc<str>>,
    /// Anything that the worker says of itself.
    #[serde(default, borrow)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub metadata: Option<&'a RawValue>,
}

/// Names a worker.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct One {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub worker_id: String,
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub worker_id: String,
    #[serde(default)]
    pub namespace: Option<String>,
    /// How busy it is, from 0 to 1.
    #[serde(default)]
    pub load: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub namespace: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Await {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub worker_id: String,
    #[serde(default)]
    pub namespace: Option<String>,
    /// The actions whose tasks it takes, 1 to 100; `*` stands for all of them.
    pub actions: Vec<String>,
    /// How long it waits for a task, in milliseconds, at most 300000; 30000, if absent.
    #[serde(default)]
    pub block_ms: Option<i64>,
    /// How many tasks it takes, at most 100; 1, if absent.
    #[serde(default)]
    pub max: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Complete<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub task_id: String,
    /// The worker that has the task; if given, another one must not have it.
    #[serde(default)]
    pub worker_id: Option<String>,
    /// Absent means `success`.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Absent means `{}`.
    #[serde(default, borrow)]
    pub output: Option<&'a RawValue>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fail<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub task_id: String,
    /// The worker that has the task; if given, another one must not have it.
    #[serde(default)]
    pub worker_id: Option<String>,
    pub error: Fault,
    /// Whether another delivery may help.
    #[serde(default)]
    pub retry: Option<bool>,
    /// Absent means that the error is the output.
    #[serde(default, borrow)]
    pub output: Option<&'a RawValue>,
}

/// Why a task failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Fault {
    #[serde(default)]
    pub code: Option<String>,
    pub message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Touch<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub task_id: String,
    /// The worker that has the task; if given, another one must not have it.
    #[serde(default)]
    pub worker_id: Option<String>,
    /// From now, in milliseconds, at most 300000. If absent, 30000; a lease is then not extended
    /// beyond the time that the delivery may take.
    #[serde(default)]
    pub extend_ms: Option<i64>,
    /// How far the task is, at most 4 KiB.
    #[serde(default, borrow)]
    pub progress: Option<&'a RawValue>,
}

/// The answer to a registration.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkerRegistered")]
pub struct Registered {
    pub worker_id: Arc<str>,
    /// How often a heartbeat is expected.
    pub heartbeat_ms: u32,
}

impl Answer for Registered {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// How a worker stands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkerStanding")]
pub struct Standing {
    pub worker_id: Arc<str>,
    /// Whether it gets no more tasks.
    pub draining: bool,
    /// Whether something arrived from it lately.
    pub healthy: bool,
}

impl Answer for Standing {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A worker, or a member on its stream.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Of a member its `memberId`.
    pub worker_id: Arc<str>,
    pub namespace: Arc<str>,
    pub actions: Vec<Arc<str>>,
    pub max_concurrency: u32,
    pub labels: BTreeMap<Box<str>, Box<str>>,
    /// Of a member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// What it reported last, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Float>,
    pub healthy: bool,
    pub draining: bool,
    /// How many tasks it has.
    pub running: usize,
    /// When something last arrived from it.
    pub last_seen: AsText<Timestamp>,
    /// Whether it is a member, which is sent its tasks on a stream.
    pub stream: bool,
}

impl Answer for Worker {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// Workers and members, by id.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Workers")]
pub struct Page {
    pub items: Vec<Worker>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// The tasks that a worker has taken; none when the time is over.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TasksTaken")]
pub struct Taken {
    pub tasks: Vec<Task>,
}

impl Answer for Taken {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A task that a worker has taken.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskTaken")]
pub struct Task {
    /// The same for every delivery.
    pub task_id: Arc<str>,
    #[schemars(extend("enum" = ["action", "connector", "item"]))]
    pub kind: &'static str,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    #[schemars(extend("const" = "running"))]
    pub status: &'static str,
    pub input: RawJson,
    /// From 1.
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<str>>,
    pub taken_by: Arc<str>,
    /// When the task is given to another worker, unless it is extended.
    pub lease_until: AsText<Timestamp>,
    pub created_at: AsText<Timestamp>,
    /// The same until a task of the step has been answered: of it the keys of what the worker
    /// writes are made.
    pub idempotency_key: Arc<str>,
    /// The `context` of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
}

/// The answer to a completed task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskCompleted")]
pub struct Completed {
    pub task_id: String,
    /// Whether the outcome was waited for; if not, it is only recorded.
    pub applied: bool,
}

impl Answer for Completed {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// The answer to a failed task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskFailed")]
pub struct Failed {
    pub task_id: String,
    /// Whether the failure was waited for; if not, it is only recorded.
    pub applied: bool,
    /// Whether the task is delivered again.
    pub will_retry: bool,
}

impl Answer for Failed {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// The answer to an extension.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TaskTouched")]
pub struct Touched {
    pub until: AsText<Timestamp>,
}

impl Answer for Touched {
    const REQUEST_ID: RequestId = RequestId::Never;
}
