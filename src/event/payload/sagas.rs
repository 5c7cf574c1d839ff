//! Answers of the endpoints of sagas (`orchestration.md` 2.4 and 2.5).

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AsText, RawJson};
use crate::clock::Timestamp;

/// A simple saga that has ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SagaEnded")]
pub struct Ended {
    pub saga_name: String,
    pub instance_id: String,
    /// `completed`, `compensated` or `failed`.
    pub status: &'static str,
    /// The result of each step that has completed.
    #[schemars(with = "std::collections::BTreeMap<String, RawJson>")]
    pub steps: IndexMap<String, Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compensation_errors: Vec<CompensationError>,
}

/// A compensation that failed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SagaCompensationError")]
pub struct CompensationError {
    pub step: String,
    pub message: String,
}

/// A saga that continues by itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SagaRunning")]
pub struct Running {
    pub workflow_id: String,
    /// `running`; of a start that is repeated also `completed`, `failed`, `timeout` or `cancelled`.
    pub status: String,
    pub started_at: AsText<Timestamp>,
    pub saga: String,
}

/// A run of a saga.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SagaInstance")]
pub struct Instance {
    pub id: String,
    pub saga_name: String,
    /// `running`, `paused`, `completed`, `failed`, `timeout` or `cancelled`.
    pub status: &'static str,
    /// Whether everything that had been done was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensated: Option<bool>,
    /// The place of the step that is next, or at which it ended.
    pub current_step: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_step_name: Option<String>,
    pub input: RawJson,
    #[schemars(with = "std::collections::BTreeMap<String, RawJson>")]
    pub step_results: IndexMap<String, RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_data: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<AsText<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub await_event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<AsText<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_expires_at: Option<AsText<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compensation_errors: Vec<CompensationError>,
    pub created_at: AsText<Timestamp>,
    pub updated_at: AsText<Timestamp>,
}

/// A signal that was taken.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SagaSignalled")]
pub struct Signalled {
    /// `signaled`.
    pub status: &'static str,
    pub id: String,
    pub event: String,
}

/// A saga that was cancelled.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SagaCancelled")]
pub struct Cancelled {
    /// `cancelled`; `running` of one that was being undone before, which ends as what made it fail.
    pub status: String,
    pub id: String,
}

/// A row or an entity that an event of a state machine has moved, as routes show it.
#[derive(Debug, Serialize)]
pub struct Fired {
    pub entity_id: String,
    pub machine: String,
    pub previous_state: String,
    pub current_state: String,
    pub event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_result: Option<Box<RawValue>>,
}

/// What a run of a saga has that other runs do not.
#[derive(Debug)]
pub struct Details {
    /// As [`Instance`] has it.
    pub status: &'static str,
    /// The place of its step in the order, and its name.
    pub at: usize,
    pub step: Option<String>,
    pub deadline: Option<Timestamp>,
    pub signal: Option<RawJson>,
    pub updated: Timestamp,
    /// The results of the steps that have completed, in their order.
    pub results: IndexMap<String, RawJson>,
}
