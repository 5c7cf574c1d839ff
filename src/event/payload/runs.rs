//! Payloads about runs (`runs.md` §3 and §4).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, AsText, RawJson, RequestId, RequiredText, paging::Pagination};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Start<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The name of a definition.
    pub definition: String,
    /// The latest if absent.
    #[serde(default)]
    pub version: Option<String>,
    /// `flo`, `saga` or `manager`: a definition of another kind is not started. Any kind if absent.
    #[serde(default)]
    pub kind: Option<String>,
    /// Any JSON, at most 1 MiB; `{}` if absent.
    #[serde(default, borrow)]
    pub input: Option<&'a RawValue>,
    /// Belongs to the definition and never expires: 1 to 255 characters.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// The identifier of the run, if the caller chooses it.
    #[serde(default)]
    pub run_id: Option<String>,
    /// How long to wait for the end of the run, 0 to 30000.
    #[serde(default)]
    pub wait_ms: Option<u64>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub run_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub definition: Option<String>,
    #[serde(default)]
    pub version: Option<String>,
    /// `flo`, `saga` or `manager`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Statuses of which one must be that of the run.
    #[serde(default)]
    pub status: Option<Vec<String>>,
    /// A part of an id, name, step, input or search attribute, whatever its case.
    #[serde(default)]
    pub search: Option<String>,
    /// Filters by search attributes, such as `customer=c1`, `amount<5` or `amount>5`.
    #[serde(default)]
    pub attributes: Option<Vec<String>>,
    #[serde(default)]
    pub entity_id: Option<String>,
    #[serde(default)]
    pub parent_run_id: Option<String>,
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

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deliver<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub run_id: String,
    /// Compared exactly with what steps wait for.
    #[serde(rename = "type")]
    pub kind: String,
    /// Any JSON, at most 1 MiB; null if absent.
    #[serde(default, borrow)]
    pub payload: Option<&'a RawValue>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub run_id: String,
    /// `cancelled by user` if absent.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetHistory {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub run_id: String,
    /// The number of the last event that is known; 0 if absent.
    #[serde(default)]
    pub from_sequence: Option<i64>,
    /// How many items, 1 to 1000; 100 if absent.
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscribe {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// One run; its answer ends with the run.
    #[serde(default)]
    pub run_id: Option<String>,
    /// The runs of one definition; without either, all runs of the namespace.
    #[serde(default)]
    pub definition: Option<String>,
    /// With `runId` the last `sequence` received, else the last `position`; absent for new events
    /// only.
    #[serde(default)]
    pub from_sequence: Option<i64>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// The definition that a run follows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunDefinitionName")]
pub struct DefinitionName {
    pub name: String,
    pub version: String,
    /// SHA-256 of the compiled form, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Why a run ended other than by a terminal.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunError")]
pub struct Fault {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub message: String,
}

impl Fault {
    /// What the output of a failed action says went wrong, if it does.
    pub fn of(output: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Failed {
            error: String,
            error_code: Option<String>,
        }
        let failed: Failed = serde_json::from_str(output).ok()?;
        Some(Self {
            code: failed.error_code,
            message: failed.error,
        })
    }
}

/// How a step ended; of several executions the latest.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunStep")]
pub struct StepResult {
    pub outcome: String,
    pub output: RawJson,
    pub executions: u32,
}

/// A signal that was delivered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunSignal")]
pub struct Signal {
    #[serde(rename = "type")]
    pub kind: String,
    pub payload: RawJson,
    pub received_at: AsText<Timestamp>,
    /// Whether a step has taken it.
    pub consumed: bool,
}

/// What a run waits for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunWaiting")]
pub struct Waiting {
    /// `signal`, `task`, `child`, `timer` or `entity`.
    #[serde(rename = "for")]
    pub what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<AsText<Timestamp>>,
}

/// A run. Lists leave out `input`, `output`, `steps` and `signals`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Run")]
pub struct Run {
    pub run_id: String,
    pub kind: &'static str,
    pub namespace: String,
    pub definition: DefinitionName,
    /// `pending`, `running`, `waiting`, `completed`, `failed`, `cancelled` or `timed_out`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<BTreeMap<String, StepResult>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals: Option<Vec<Signal>>,
    /// How many newer signals `signals` leaves out, which has at most 1,000 and about 4 MiB; absent if
    /// it has all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals_omitted: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    #[schemars(with = "BTreeMap<String, RawJson>")]
    pub search_attributes: IndexMap<String, RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// `caller`, `schedule`, `trigger`, `parent`, `transition` or `route`.
    pub started_by: &'static str,
    pub created_at: AsText<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<AsText<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<AsText<Timestamp>>,
    /// The number of its newest event.
    pub last_sequence: u64,
    /// Of a saga that was undone: whether every compensation succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensated: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compensation_errors: Vec<CompensationFault>,
    /// What the endpoints of sagas say beside that.
    #[serde(skip)]
    pub saga: Option<super::sagas::Details>,
}

/// A compensation that failed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompensationFault {
    pub step: String,
    pub message: String,
}

/// A run that was started, or that was there already.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunStarted")]
pub struct Started {
    pub run_id: String,
    pub kind: String,
    pub definition: DefinitionName,
    pub status: String,
    /// False if a run has the idempotency key already.
    pub created: bool,
    /// The run, if it ended while it was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Run>")]
    pub run: Option<Box<RawValue>>,
}

impl Answer for Started {
    const REQUEST_ID: RequestId = RequestId::Never;
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunGot")]
pub struct Got {
    pub run: Run,
}

impl Answer for Got {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// Runs, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunPage")]
pub struct Page {
    pub items: Vec<Run>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// What became of a signal.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunSignalled")]
pub struct Signalled {
    pub run_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether a step took it at once; else it is kept for one.
    pub matched: bool,
    pub status: String,
}

impl Answer for Signalled {
    const REQUEST_ID: RequestId = RequestId::Never;
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunCancelled")]
pub struct Cancelled {
    pub run_id: String,
    pub status: String,
}

impl Answer for Cancelled {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// An event of a history.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HistoryEvent")]
pub struct Event {
    pub run_id: String,
    /// 1, 2, 3… of the run, without gaps.
    pub sequence: u64,
    /// Rises over all runs of the tenant.
    pub position: i64,
    pub event_type: &'static str,
    pub detail: String,
    pub time: AsText<Timestamp>,
    /// The input, output or payload that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl Answer for Event {
    fn extra_bytes(&self) -> usize {
        self.detail.len() + self.data.as_ref().map_or(0, |data| data.as_str().len())
    }
}

/// Events of a history, the oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HistoryPage")]
pub struct History {
    pub items: Vec<Event>,
    pub pagination: Pagination,
}

impl Answer for History {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A plan of a definition.
#[derive(Deserialize, JsonSchema)]
pub struct GetPlan {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub definition: String,
    pub plan: String,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// An executor of a plan, as it is known since the start of the service.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlanExecutor")]
pub struct Executor {
    pub name: String,
    pub score: f64,
    pub api_rate: f64,
    pub business_rate: f64,
    pub samples: usize,
    /// `closed`, `open` or `half_open`.
    pub breaker: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_until: Option<AsText<Timestamp>>,
    pub half_open_calls: u32,
    /// Attempts in the last second, minute and hour.
    pub last_second: u32,
    pub last_minute: u32,
    pub last_hour: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub executors: Vec<Executor>,
    pub cache_entries: usize,
}

impl Answer for Plan {
    const REQUEST_ID: RequestId = RequestId::Never;
}
