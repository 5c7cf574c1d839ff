//! The processes that use one database (`help/design/storage.md` §13).
//!
//! Each enters the table of nodes when it starts, and beats once a second by the clock of the
//! server. That only spares work: whether a node counts as live is never a question of
//! correctness. A database that is not shared has one process, and no table.

use std::{sync::Arc, time::Duration};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use crate::id::Tenant;
use crate::storage::{
    Error, Storage,
    port::{MemberChange, Node, NodeEntry, NodeMember, NodeRow},
};

/// How often a node beats.
const BEAT: Duration = Duration::from_secs(1);

/// After how many beats nodes that are gone are removed.
const SWEEP_EVERY: u32 = 60;

/// How long a node that does not beat stays in the list.
const FORGOTTEN: Duration = Duration::from_hours(1);

/// Another process has taken the name of this node.
#[derive(Debug, thiserror::Error)]
#[error(
    "another process has started as node {0}, so this one stops; give each process a CYODA_NODE_ID \
     of its own"
)]
pub struct NameTaken(pub Arc<str>);

impl Storage {
    /// The number of this process; [`NodeRow::ALONE`] where the database is not shared.
    pub fn node(&self) -> NodeRow {
        let own = self.0.nodes.own();
        own.map_or(NodeRow::ALONE, |(row, _)| *row)
    }

    /// Whether other processes may use the database, too.
    pub fn is_shared(&self) -> bool {
        self.0.database.is_shared()
    }

    /// What identifies a shared database; empty if that is not known.
    pub async fn database_id(&self) -> Result<String, Error> {
        self.0.database.id().await
    }

    /// Enters this process into the list of nodes. A name that is in use is taken over: the process
    /// that had it stops.
    pub async fn enter(&self, entry: NodeEntry) -> Result<NodeRow, Error> {
        let row = self.0.database.enter(&entry).await?;
        let row = self.0.nodes.enter(row, entry);
        if let Some(nodes) = self.0.database.beat(row).await? {
            self.0.nodes.know(nodes);
        }
        Ok(row)
    }

    /// Says once a second that this node is live, and learns of the others. Ends with an error when
    /// another process has taken the name.
    pub async fn keep_node(self, stop: CancellationToken) -> Result<(), NameTaken> {
        if !self.is_shared() {
            stop.cancelled().await;
            return Ok(());
        }
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0_u32;
        while stop.run_until_cancelled(beats.tick()).await.is_some() {
            self.beat().await?;
            if count.is_multiple_of(SWEEP_EVERY)
                && let Err(error) = self.0.database.sweep_nodes(FORGOTTEN).await
            {
                debug!(%error, "nodes that are gone could not be removed from the list");
            }
            count = count.wrapping_add(1);
        }
        Ok(())
    }

    async fn beat(&self) -> Result<(), NameTaken> {
        let Some((own, entry)) = self.0.nodes.own() else {
            return Ok(());
        };
        match self.0.database.beat(*own).await {
            Ok(Some(nodes)) => self.0.nodes.know(nodes),
            Ok(None) => match self.0.database.enter_again(*own, entry).await {
                Ok(true) => {
                    self.0.nodes.enter_again();
                    warn!(
                        node = %entry.name,
                        "this node has not reached the database for so long that it was removed from the list of nodes; it is back"
                    );
                }
                Ok(false) => {
                    let taken = NameTaken(Arc::clone(&entry.name));
                    error!("{taken}");
                    return Err(taken);
                }
                Err(error) => debug!(%error, "the heartbeat of this node failed"),
            },
            Err(error) => debug!(%error, "the heartbeat of this node failed"),
        }
        Ok(())
    }

    /// How often this process was removed from the list of nodes, with its members, and is back.
    pub fn entered(&self) -> u64 {
        self.0.nodes.entered()
    }

    /// Removes this process from the list of nodes, with its members.
    pub async fn leave(&self) {
        if let Some((own, _)) = self.0.nodes.own()
            && let Err(error) = self.0.database.leave(*own).await
        {
            debug!(%error, "this node could not be removed from the list of nodes");
        }
    }

    /// The nodes that were live at the last beat of this one, this one included, by their numbers.
    /// Does not wait, and costs no read.
    pub fn live_nodes(&self) -> Vec<Node> {
        let (nodes, since) = self.0.nodes.known();
        let own = self.node();
        let mut live: Vec<Node> = nodes
            .iter()
            .map(|node| Node {
                beat_age: node.beat_age + since,
                ..node.clone()
            })
            .filter(|node| node.row == own || node.is_live())
            .collect();
        if live.is_empty()
            && let Some((row, entry)) = self.0.nodes.own()
        {
            live.push(alone(*row, entry));
        }
        live
    }

    /// A node as it was at the last beat of this one, live or not. Does not wait, and costs no read.
    pub fn known_node(&self, row: NodeRow) -> Option<Node> {
        let (nodes, _) = self.0.nodes.known();
        nodes.iter().find(|node| node.row == row).cloned()
    }

    /// All nodes there are, as the database has them now. Of a database that is
    /// not shared, this process.
    pub async fn nodes(&self) -> Result<Vec<Node>, Error> {
        if !self.is_shared() {
            let own = self.0.nodes.own();
            return Ok(own
                .map(|(row, entry)| alone(*row, entry))
                .into_iter()
                .collect());
        }
        self.0.database.nodes().await
    }

    /// Changes what the database says of the members of this node.
    pub async fn change_member(&self, change: &MemberChange) -> Result<(), Error> {
        self.0.database.change_member(self.node(), change).await
    }

    /// The members of a tenant at all nodes, also at those that are not live any more.
    pub async fn node_members(&self, tenant: &Tenant) -> Result<Vec<NodeMember>, Error> {
        self.0.database.members(tenant).await
    }
}

fn alone(row: NodeRow, entry: &NodeEntry) -> Node {
    Node {
        row,
        name: Arc::clone(&entry.name),
        address: Arc::clone(&entry.address),
        version: Arc::clone(&entry.version),
        beat_age: Duration::ZERO,
    }
}
