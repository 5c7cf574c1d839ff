//! Payloads about invocations of actions and their tasks (`runs.md` §5).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, AsText, RawJson, RequestId, RequiredText, paging::Pagination, runs::Fault};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Invoke<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The name of an action.
    pub name: String,
    /// Any JSON, at most 1 MiB; `{}` if absent.
    #[serde(default, borrow)]
    pub input: Option<&'a RawValue>,
    /// How long to wait for the end of the task, 0 to 30000.
    #[serde(default)]
    pub wait_ms: Option<u64>,
    /// Higher ones are sent first, 0 to 255; 10 if absent.
    #[serde(default)]
    pub priority: Option<i64>,
    /// How long the task is held back.
    #[serde(default)]
    pub delay_ms: Option<i64>,
    /// What the worker must have among its labels.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// Belongs to the action and never expires: 1 to 255 characters.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetTask {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub task_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListTasks {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// Only tasks of the action of this name.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub status: Option<Vec<String>>,
    #[serde(default)]
    pub run_id: Option<String>,
    /// How many items, 1 to 1000; 100 if absent.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// One execution of an action.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TaskState")]
pub struct Task {
    pub task_id: String,
    pub kind: &'static str,
    pub name: String,
    pub namespace: String,
    /// `pending`, `running`, `completed`, `failed`, `cancelled` or `timed_out`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    pub input: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// The delivery that somebody has or had last, from 1; 0 before the first, and once the task has
    /// ended if that was not stored.
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who has it. A worker that has pulled it is shown by every node, a member that was sent it by
    /// the node that drives its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<AsText<Timestamp>>,
    pub created_at: AsText<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<AsText<Timestamp>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskGot")]
pub struct Got {
    pub task: Task,
}

impl Answer for Got {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// An invocation of an action.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ActionInvoked")]
pub struct Invoked {
    #[schemars(with = "Task")]
    pub task: Box<RawValue>,
}

impl Answer for Invoked {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// Tasks, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskPage")]
pub struct Page {
    pub items: Vec<Task>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}
