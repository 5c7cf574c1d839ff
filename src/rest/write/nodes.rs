//! The processes that use the database.

use super::super::parts::Parts;
use super::Written;
use crate::event::payload::{json, nodes::Nodes};
use crate::operation::Success;

pub(in crate::rest) fn nodes(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Nodes>()?))
}
