//! Runs, their histories and plans.

use super::super::{answer::Sent, parts::Parts};
use super::{Written, bad_header, begin, in_namespace, limited, members, optional, with_body};
use crate::error::Failure;
use crate::event::payload::{
    Answer as _,
    answer::{json, write},
    runs::{Event, Got},
    text_list,
};
use crate::operation::Success;

/// Where a client that has lost its connection says what it has seen last.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The body has the members; the namespace may stand in the query.
pub(in crate::rest) fn start(parts: &Parts, id: &str) -> Written {
    with_body(parts, begin(id), &["id"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id).text("runId", parts.path("runId")).finish())
}

/// The path names the run, the body has the rest.
pub(in crate::rest) fn of_run(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("runId", parts.path("runId"));
    Ok(members(parts, object, &["id", "runId"])?.finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id);
    for name in [
        "definition",
        "version",
        "kind",
        "search",
        "entityId",
        "parentRunId",
        "cursor",
        "namespace",
    ] {
        object = optional(object, name, parts.query(name));
    }
    for (parameter, name) in [("status", "status"), ("attribute", "attributes")] {
        let mut given = parts.query_all(parameter).peekable();
        if given.peek().is_some() {
            object = object.raw(name, &text_list(given));
        }
    }
    Ok(limited(parts, object)?.finish())
}

pub(in crate::rest) fn history(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id).text("runId", parts.path("runId"));
    for name in ["fromSequence", "limit"] {
        if let Some(number) = parts.query_as::<i64>(name, "a 64-bit integer")? {
            object = object.number(name, number);
        }
    }
    Ok(object.finish())
}

pub(in crate::rest) fn follow_one(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id).text("runId", parts.path("runId"));
    if let Some(from) = seen(parts)? {
        object = object.number("fromSequence", from);
    }
    Ok(object.finish())
}

pub(in crate::rest) fn follow(parts: &Parts, id: &str) -> Written {
    let mut object = begin(id);
    for name in ["definition", "namespace"] {
        object = optional(object, name, parts.query(name));
    }
    if let Some(from) = seen(parts)? {
        object = object.number("fromSequence", from);
    }
    Ok(object.finish())
}

/// A client that connects again says the same as before, and how far it has come since.
fn seen(parts: &Parts) -> Result<Option<i64>, Failure> {
    let from = parts.query_as::<i64>("fromSequence", "a 64-bit integer")?;
    let seen = parts
        .single_header(LAST_EVENT_ID)?
        .filter(|seen| !seen.is_empty())
        .map(|seen| {
            seen.parse::<i64>()
                .map_err(|_| bad_header(LAST_EVENT_ID, seen, "a sequence"))
        })
        .transpose()?;
    Ok(seen.or(from))
}

pub(in crate::rest) fn plan(parts: &Parts, id: &str) -> Written {
    let object = begin(id)
        .text("definition", parts.path("definition"))
        .text("plan", parts.path("plan"));
    Ok(in_namespace(parts, object).finish())
}

pub(in crate::rest) fn run(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Got>()?.run))
}

/// An event of one run; its number is the id.
pub(in crate::rest) fn event(answer: Success) -> Result<Sent, Failure> {
    let event: Event = answer.take()?;
    Ok(Sent {
        id: i64::try_from(event.sequence).ok(),
        kind: None,
        body: write(&event, event.extra_bytes()),
    })
}

/// An event of many runs; its position is the id.
pub(in crate::rest) fn event_of_many(answer: Success) -> Result<Sent, Failure> {
    let event: Event = answer.take()?;
    Ok(Sent {
        id: Some(event.position),
        kind: None,
        body: write(&event, event.extra_bytes()),
    })
}
