//! The processes that use one database, and the compute members that are connected to them.

use std::{sync::Arc, time::Duration};

use crate::id::{MemberId, Tenant};

/// The number of a process that uses the database: new with each start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeRow(pub i64);

impl NodeRow {
    /// The only process of a database that is not shared.
    pub const ALONE: Self = Self(0);
}

/// What a process says of itself when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEntry {
    pub name: Arc<str>,
    /// Where other nodes reach it by gRPC.
    pub address: Arc<str>,
    /// The version of the program.
    pub version: Arc<str>,
}

/// A process as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub row: NodeRow,
    pub name: Arc<str>,
    pub address: Arc<str>,
    pub version: Arc<str>,
    /// How long ago its last beat was, by the clock of the server.
    pub beat_age: Duration,
}

impl Node {
    /// How old the last beat of a live node is at most.
    pub const LIVE: Duration = Duration::from_secs(5);

    /// Whether it was live when it was listed.
    pub fn is_live(&self) -> bool {
        self.beat_age < Self::LIVE
    }
}

/// A compute member that is connected to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeMember {
    pub node: NodeRow,
    pub id: MemberId,
    /// Separated by commas.
    pub tags: Arc<str>,
}

/// A change of the members of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange {
    Put {
        id: MemberId,
        tenant: Tenant,
        tags: Arc<str>,
    },
    Drop(MemberId),
}
