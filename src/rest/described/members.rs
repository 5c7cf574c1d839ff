//! Connected compute members.

use super::{Description, Tag, of};
use crate::event::payload::members::ComputeMembers;

pub(in crate::rest) const LIST: Description = Description::new(
    Tag::Account,
    "listComputeMembers",
    "List the connected compute members of the tenant",
    of::<ComputeMembers>,
);
