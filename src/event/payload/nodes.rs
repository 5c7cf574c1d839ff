//! Payloads about the processes that use the database.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, RequiredText};

#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
}

/// The processes that use the database.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ServiceNodes")]
pub struct Nodes {
    /// In the order in which they started.
    pub nodes: Vec<Node>,
}

impl Answer for Nodes {
    fn placeholder() -> Option<Self> {
        Some(Self { nodes: Vec::new() })
    }
}

/// A process that uses the database.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ServiceNode")]
pub struct Node {
    pub name: Arc<str>,
    /// Where other nodes reach it by gRPC.
    pub address: Arc<str>,
    pub version: Arc<str>,
    /// Whether its last heartbeat is recent.
    pub live: bool,
    /// How many compute members of the caller's tenant are connected to it.
    pub members: usize,
    /// How long ago its last heartbeat was, in milliseconds.
    pub beat_age_ms: u64,
}
