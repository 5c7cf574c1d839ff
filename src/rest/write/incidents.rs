//! Incidents.

use super::super::parts::Parts;
use super::{Written, begin, listed};
use crate::event::payload::{
    answer::json,
    incidents::{Closed, Page},
};
use crate::operation::Success;

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["kind", "cursor"])
}

#[expect(clippy::unnecessary_wraps, reason = "the table asks for it")]
pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .text("incidentId", parts.path("incidentId"))
        .finish())
}

pub(in crate::rest) fn page(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Page>()?))
}

pub(in crate::rest) fn closed(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take_outcome::<Closed>()?.0))
}
