//! Connected compute members.

use super::super::parts::Parts;
use super::Written;
use crate::event::payload::{json, members::ComputeMembers};
use crate::operation::Success;

pub(in crate::rest) fn members(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<ComputeMembers>()?))
}
