//! Incidents.

use super::super::parts::Parts;
use super::{Written, begin, listed};

pub(in crate::rest) fn list(parts: &Parts, id: &str) -> Written {
    listed(parts, id, &["kind", "cursor"])
}

pub(in crate::rest) fn one(parts: &Parts, id: &str) -> Written {
    Ok(begin(id)
        .text("incidentId", parts.path("incidentId"))
        .finish())
}
