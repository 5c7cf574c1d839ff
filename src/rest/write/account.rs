//! The caller.

use super::super::parts::Parts;
use super::Written;
use crate::event::payload::{account::Account, json};
use crate::operation::Success;

pub(in crate::rest) fn account(_: &Parts, answer: Success) -> Written {
    Ok(json(&answer.take::<Account>()?))
}
