//! What happened to entities, and why.

use schemars::json_schema;

use super::{
    Description, NO_ENTITY, Parameter, Tag, of,
    parameter::{instant, text, texts},
};
use crate::error::Code;
use crate::event::payload::{
    audit::{Item, Page},
    explain::Explanation,
};

pub(in crate::rest) const PAGE: Description = Description {
    text: "The newest first. What the workflow did is read out of the decisions that were stored \
           with each version.",
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
            "Not before; a date alone is its midnight in UTC.",
        ),
        Parameter::query("toUtcTime", instant, "Before."),
        Parameter::query("transactionId", text, "Only of that transaction."),
        Parameter::query("cursor", text, "The `nextCursor` of the page before."),
        Parameter::query(
            "limit",
            |_| json_schema!({"type": "integer", "minimum": 1, "default": 20}),
            "How many make a page, 1000 at most.",
        ),
    ],
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Audit,
        "listAuditEvents",
        "What happened to an entity",
        of::<Page>,
    )
};

pub(in crate::rest) const FINISHED: Description = Description {
    codes: &[NO_ENTITY],
    ..Description::new(
        Tag::Audit,
        "getFinishedEvent",
        "How a transaction left the workflow of an entity",
        of::<Item>,
    )
};

pub(in crate::rest) const EXPLAIN: Description = Description {
    text: "Now: every way out of its state, and the part of each criterion that closes it. With \
           `transactionId`: what that transaction saw. Nothing is changed, and no member is asked.",
    parameters: &[
        Parameter::query("transition", text, "Only this one."),
        Parameter::query("transactionId", text, "What that transaction decided."),
    ],
    codes: &[NO_ENTITY, &[Code::TransitionNotFound]],
    ..Description::new(
        Tag::Audit,
        "explainEntity",
        "Why an entity did or did not move",
        of::<Explanation>,
    )
};
