//! Workers, and the tasks that they pull.

use super::super::parts::Parts;
use super::{Written, begin, in_namespace, listed, members, with_body};

/// The path names the worker, the query the namespace, the body has the rest.
pub(in crate::rest) fn of_worker(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("workerId", parts.path("workerId"));
    with_body(parts, object, &["id", "workerId"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("workerId", parts.path("workerId"));
    Ok(in_namespace(parts, object).finish())
}

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["cursor", "namespace"])
}

pub(in crate::rest) fn ask(parts: &Parts, id: &str) -> Written {
    with_body(parts, begin(id), &["id"])
}

/// The path names the task, the body has the rest.
pub(in crate::rest) fn of_task(parts: &Parts, id: &str) -> Written {
    let object = begin(id).text("taskId", parts.path("taskId"));
    Ok(members(parts, object, &["id", "taskId"])?.finish())
}
