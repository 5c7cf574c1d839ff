//! Connected compute members.
#![expect(
    dead_code,
    reason = "answers are written as text; these are their schemas"
)]

use schemars::JsonSchema;

use super::{
    Tag, Told, of,
    parameter::{instant, uuid},
};

#[derive(JsonSchema)]
struct ComputeMembers {
    /// In the order in which they joined.
    members: Vec<ComputeMember>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct ComputeMember {
    #[schemars(schema_with = "uuid")]
    member_id: String,
    tags: Vec<String>,
    /// The process it is connected to.
    node: String,
    #[schemars(schema_with = "instant")]
    joined_at: String,
    /// How many calls are out.
    in_flight: i64,
    /// How many calls it has done as it was asked.
    served: i64,
    /// How many calls it has refused, or not answered before they were given up.
    failed: i64,
    /// When something last came from it.
    #[schemars(schema_with = "instant")]
    last_seen: String,
}

pub(in crate::rest) const LIST: Told = Told::new(
    Tag::Account,
    "listComputeMembers",
    "List the connected compute members of the tenant",
    of::<ComputeMembers>,
);
