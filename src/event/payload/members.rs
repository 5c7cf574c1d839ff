//! Payloads about connected compute members (`stream.md` §3).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, AsText, RequiredText};
use crate::clock::Timestamp;
use crate::id::MemberId;

/// What a process says it is called that is the only one (`config-and-cli.md` §11).
pub const NODE: &str = "standalone";

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

/// The connected compute members of the tenant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComputeMembers")]
pub struct ComputeMembers {
    /// In the order in which they joined.
    pub members: Vec<Member>,
}

impl Answer for ComputeMembers {
    fn placeholder() -> Option<Self> {
        Some(Self {
            members: Vec::new(),
        })
    }
}

/// A connected compute member.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ComputeMember")]
pub struct Member {
    pub member_id: AsText<MemberId>,
    pub tags: Vec<String>,
    /// The process it is connected to.
    pub node: Arc<str>,
    pub joined_at: AsText<Timestamp>,
    /// How many calls are out.
    pub in_flight: usize,
    /// How many calls it has answered with success.
    pub served: u64,
    /// How many calls it has rejected, or not answered in time.
    pub failed: u64,
    /// When something last came from it.
    pub last_seen: AsText<Timestamp>,
    /// The namespace whose tasks it takes, as it announced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// The actions that it announced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Arc<str>>,
    /// How many tasks it takes at a time, as it announced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<Box<str>, Box<str>>,
}
