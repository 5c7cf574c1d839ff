//! The history of a run: what happened, in order (`orchestration.md` 1.14).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// One event of a run's history, stored once and never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEvent {
    /// 1, 2, 3… of the run, without gaps.
    pub sequence: u64,
    pub kind: EventKind,
    pub detail: Arc<str>,
    pub micros: i64,
    /// A value that the event keeps for the run: an input, an output or a signal's payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<str>>,
    /// The number of the task, of a call that a member does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
    /// Of the end of a task: which delivery it ended with, from 1, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

impl HistoryEvent {
    /// Whether it is the end of what a step asked for.
    pub const fn is_end_of_task(&self) -> bool {
        matches!(
            self.kind,
            EventKind::ActionCompleted | EventKind::ActionLost
        )
    }

    pub const fn at(&self) -> Timestamp {
        Timestamp::from_micros(self.micros)
    }

    /// The value that [`super::Payload::At`] this event stands for.
    pub fn payload(&self) -> &str {
        self.data.as_deref().unwrap_or(&self.detail)
    }

    /// What it takes of the room that a history has.
    pub fn bytes(&self) -> u64 {
        (self.detail.len() + self.data.as_ref().map_or(0, |data| data.len()) + 64) as u64
    }
}

macro_rules! event_kinds {
    ($($kind:ident = $name:literal,)*) => {
        /// What an event of a history says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum EventKind {
            $(#[serde(rename = $name)] $kind,)*
        }

        impl EventKind {
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

event_kinds! {
    WorkflowStarted = "workflow_started",
    ScheduleStarted = "schedule_started",
    TriggerStarted = "trigger_started",
    ChildStarted = "child_started",
    StepStarted = "step_started",
    StepCompleted = "step_completed",
    RetryScheduled = "retry_scheduled",
    StepRetry = "step_retry",
    WaitingForSignal = "waiting_for_signal",
    SignalReceived = "signal_received",
    SignalMatched = "signal_matched",
    SignalTimeout = "signal_timeout",
    PollScheduled = "poll_scheduled",
    PollExhausted = "poll_exhausted",
    PlanNotFound = "plan_not_found",
    PlanExecutorStart = "plan_executor_start",
    PlanExecutorSuccess = "plan_executor_success",
    PlanExecutorRetry = "plan_executor_retry",
    PlanExecutorExhausted = "plan_executor_exhausted",
    PlanBreakerSkip = "plan_breaker_skip",
    PlanRateLimited = "plan_rate_limited",
    PlanCacheHit = "plan_cache_hit",
    PlanFallbackUsed = "plan_fallback_used",
    ActionNotFound = "action_not_found",
    ActionDisabled = "action_disabled",
    AwaitingAction = "awaiting_action",
    ActionCompleted = "action_completed",
    ActionLost = "action_lost",
    LateAnswer = "late_answer",
    AwaitingChild = "awaiting_child",
    ChildCompleted = "child_completed",
    ChildNotFound = "child_not_found",
    StepSkipped = "step_skipped",
    DelayStarted = "delay_started",
    DelayExpired = "delay_expired",
    CompensationStarted = "compensation_started",
    CompensationCompleted = "compensation_completed",
    CompensationFailed = "compensation_failed",
    CallbackCompleted = "callback_completed",
    CallbackFailed = "callback_failed",
    WorkflowCompleted = "workflow_completed",
    WorkflowFailed = "workflow_failed",
    WorkflowCancelled = "workflow_cancelled",
    WorkflowTimedOut = "workflow_timed_out",
}
