//! What happened to entities, and why.

use schemars::json_schema;

use super::{
    Description, NO_ENTITY, Parameter, Tag, of,
    parameter::{instant, text, texts},
};
use crate::error::Code;
use crate::event::payload::{
    answer,
    audit::{Item, Page},
    explain::Explanation,
};

pub(in crate::rest) const PAGE: Description = Description {
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
    ..Description::new(
        Tag::Audit,
        "listAuditEvents",
        "The audit trail of an entity",
        of::<Page>,
    )
};

pub(in crate::rest) const FINISHED: Description = Description {
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Audit,
        "getFinishedEvent",
        "How the run of a transaction ended",
        of::<Item>,
    )
};

pub(in crate::rest) const EXPLAIN: Description = Description {
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
    ..Description::new(
        Tag::Audit,
        "explainEntity",
        "Explain why an entity did or did not move",
        answer::schema::<Explanation>,
    )
};
