//! What happened to entities, and why.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::{JsonSchema, json_schema};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Instant, NO_ENTITY, Parameter, Tag, Told,
    entity::{Executor, change_type},
    model::ModelKey,
    of,
    parameter::{instant, text, texts},
};
use crate::error::Code;

/// Some of what happened, the newest first.
#[derive(JsonSchema)]
struct AuditPage {
    items: Vec<AuditEvent>,
    pagination: Pagination,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", inline)]
struct Pagination {
    has_next: bool,
    /// The `cursor` of the next page.
    next_cursor: Option<String>,
}

/// Something that happened to an entity.
#[derive(JsonSchema)]
#[schemars(tag = "auditEventType")]
enum AuditEvent {
    /// A version was written.
    #[schemars(rename_all = "camelCase")]
    EntityChange {
        #[schemars(schema_with = "change_type")]
        change_type: String,
        severity: String,
        utc_time: Instant,
        micros_time: i64,
        system: bool,
        entity_id: Option<Uuid>,
        transaction_id: Option<Uuid>,
        actor: Actor,
        executed_by: Executor,
    },
    /// The workflow did something.
    #[schemars(rename_all = "camelCase")]
    StateMachine {
        /// `STATE_MACHINE_START`, `TRANSITION_MAKE` and so on.
        event_type: String,
        severity: String,
        utc_time: Instant,
        micros_time: i64,
        entity_id: Uuid,
        /// In words.
        details: String,
        /// The same, for programs.
        data: Value,
        transaction_id: Option<Uuid>,
        state: Option<String>,
    },
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", inline)]
struct Actor {
    id: String,
    name: String,
    legal_id: Option<String>,
}

/// Why an entity moves, moved or would move as it does.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Explanation {
    entity_id: Option<Uuid>,
    model: ModelKey,
    state: Option<String>,
    /// The ways out of the state.
    transitions: Vec<Way>,
    /// What transactions did, or what one would do.
    runs: Vec<Run>,
}

/// A way out of a state.
#[derive(JsonSchema)]
struct Way {
    name: String,
    next: String,
    /// What would take it.
    trigger: String,
    /// Null where a member would have to say.
    open: Option<bool>,
    why: String,
    criterion: Option<Criterion>,
}

/// What was decided about a workflow or a transition.
#[derive(JsonSchema)]
struct Guard {
    name: String,
    held: Option<bool>,
    because: Option<String>,
    criterion: Option<Criterion>,
}

/// A part of a criterion, and what it said: true, false, or null where it was not asked.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Criterion {
    Leaf {
        path: String,
        operator: String,
        operand: Option<Value>,
        held: Option<bool>,
        /// The value, as JSON in a text; cut if it is long.
        seen: Option<String>,
    },
    Function {
        function: String,
        held: Option<bool>,
        reason: Option<String>,
        criterion: Option<Box<Self>>,
    },
    Group {
        group: String,
        held: Option<bool>,
        conditions: Vec<Self>,
    },
}

/// What happened in one transaction.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Run {
    start: String,
    transition: Option<String>,
    workflow: Option<Chosen>,
    skipped_workflows: Option<Vec<Guard>>,
    steps: Vec<Step>,
    settled: Option<String>,
    stopped: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
struct Chosen {
    name: String,
    why: String,
}

/// What happened in one state.
#[derive(JsonSchema)]
struct Step {
    state: Option<String>,
    considered: Vec<Guard>,
    calls: Option<Vec<String>>,
    took: Option<String>,
    next: Option<String>,
}

pub(in crate::rest) const PAGE: Told = Told {
    text: "Newest first. The events of the workflow are derived from the decisions stored with \
           each version.",
    parameters: &[
        Parameter::query(
            "eventType",
            texts,
            "`StateMachine`, `EntityChange` or `System`; repeat the parameter for more than one.",
        ),
        Parameter::query(
            "severity",
            |_| json_schema!({"enum": ["ERROR", "INFO", "WARN", "DEBUG"]}),
            "Only these.",
        ),
        Parameter::query(
            "fromUtcTime",
            instant,
            "At or after this time; a date alone is its midnight in UTC.",
        ),
        Parameter::query("toUtcTime", instant, "Before."),
        Parameter::query("transactionId", text, "Only those of this transaction."),
        Parameter::query("cursor", text, "The `nextCursor` of the previous page."),
        Parameter::query(
            "limit",
            |_| json_schema!({"type": "integer", "minimum": 1, "default": 20}),
            "Items per page, at most 1000.",
        ),
    ],
    codes: &[NO_ENTITY],
    ..Told::new(
        Tag::Audit,
        "listAuditEvents",
        "The audit trail of an entity",
        of::<AuditPage>,
    )
};

pub(in crate::rest) const FINISHED: Told = Told {
    codes: &[NO_ENTITY],
    ..Told::new(
        Tag::Audit,
        "getFinishedEvent",
        "How the run of a transaction ended",
        of::<AuditEvent>,
    )
};

pub(in crate::rest) const EXPLAIN: Told = Told {
    text: "Without `transactionId`: each transition out of its state, and the part of its \
           criterion that does not hold. With it: what that transaction saw. Nothing is changed, \
           and no member is called.",
    parameters: &[
        Parameter::query("transition", text, "Only this transition."),
        Parameter::query(
            "transactionId",
            text,
            "Explain the decisions of this transaction.",
        ),
    ],
    codes: &[NO_ENTITY, &[Code::TransitionNotFound]],
    ..Told::new(
        Tag::Audit,
        "explainEntity",
        "Explain why an entity did or did not move",
        of::<Explanation>,
    )
};
