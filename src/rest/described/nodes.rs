//! The processes that use the database.

use super::{Description, Tag, of};
use crate::event::payload::nodes::Nodes;

pub(in crate::rest) const LIST: Description = Description::new(
    Tag::Account,
    "listServiceNodes",
    "List the processes that use the database; needs the role `ROLE_ADMIN`",
    of::<Nodes>,
);
