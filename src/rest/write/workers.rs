//! Workers, and the tasks that they pull.

use super::super::parts::Parts;
use super::{Written, begin, in_namespace, listed, members, optional};
use crate::event::payload::{
    json,
    workers::{Completed, Failed, Page, Registered, Standing, Taken, Touched, Worker},
};
use crate::operation::Success;

/// The path names the worker, the query the namespace, the body has the rest.
pub(in crate::rest) fn of_worker(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("workerId", parts.path("workerId"));
    with_body(parts, object, vec!["id", "workerId"])
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("workerId", parts.path("workerId"));
    Ok(in_namespace(parts, object).finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["cursor", "namespace"])
}

pub(in crate::rest) fn ask(parts: &Parts, id: &str) -> Written {
    with_body(parts, begin(id), vec!["id"])
}

/// The path names the task, the body has the rest.
pub(in crate::rest) fn of_task(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("taskId", parts.path("taskId"));
    Ok(members(parts, object, &["id", "taskId"])?.finish())
}

fn with_body(
    parts: &Parts,
    object: crate::event::payload::Object,
    mut named: Vec<&str>,
) -> Written {
    let namespace = parts.query("namespace");
    if namespace.is_some() {
        named.push("namespace");
    }
    let object = optional(object, "namespace", namespace);
    Ok(members(parts, object, &named)?.finish())
}

pub(in crate::rest) fn registered(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Registered>()?.0))
}

pub(in crate::rest) fn standing(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Standing>()?.0))
}

pub(in crate::rest) fn worker(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Worker>()?))
}

pub(in crate::rest) fn page(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Page>()?))
}

pub(in crate::rest) fn taken(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Taken>()?))
}

pub(in crate::rest) fn completed(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Completed>()?.0))
}

pub(in crate::rest) fn failed(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Failed>()?.0))
}

pub(in crate::rest) fn touched(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Touched>()?.0))
}
