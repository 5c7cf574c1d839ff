//! What this process knows of those that use the same database.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::storage::port::{Node, NodeEntry, NodeRow};

/// This process among the nodes.
#[derive(Debug, Default)]
pub(in crate::storage) struct Nodes {
    own: OnceLock<(NodeRow, NodeEntry)>,
    /// How often this process has entered.
    entered: AtomicU64,
    /// All nodes at the last beat, and when that was. A mutex, not a task: it is held for a copy.
    known: Mutex<(Arc<[Node]>, Option<Instant>)>,
    /// The greatest number that any node has had.
    newest: AtomicI64,
}

impl Nodes {
    /// This process, once it has entered.
    pub(in crate::storage) fn own(&self) -> Option<&(NodeRow, NodeEntry)> {
        self.own.get()
    }

    /// This process has entered; the number it has. It enters once.
    pub(in crate::storage) fn enter(&self, row: NodeRow, entry: NodeEntry) -> NodeRow {
        self.has_been(row);
        self.own.get_or_init(|| (row, entry)).0
    }

    /// This process has entered again, after it was removed.
    pub(in crate::storage) fn enter_again(&self) {
        self.entered.fetch_add(1, Ordering::Relaxed);
    }

    /// How often this process has entered again.
    pub(in crate::storage) fn entered(&self) -> u64 {
        self.entered.load(Ordering::Relaxed)
    }

    /// All nodes as they are now.
    pub(in crate::storage) fn know(&self, nodes: Vec<Node>) {
        let newest = nodes.iter().map(|node| node.row.0).max();
        self.newest
            .fetch_max(newest.unwrap_or(0), Ordering::Relaxed);
        let mut known = self.known.lock();
        *known = (nodes.into(), Some(Instant::now()));
    }

    /// There was a node with that number.
    pub(in crate::storage) fn has_been(&self, row: NodeRow) {
        self.newest.fetch_max(row.0, Ordering::Relaxed);
    }

    /// The greatest number that any node has had so far.
    pub(in crate::storage) fn newest(&self) -> NodeRow {
        NodeRow(self.newest.load(Ordering::Relaxed))
    }

    /// All nodes at the last beat, and how long ago that was.
    pub(in crate::storage) fn known(&self) -> (Arc<[Node]>, Duration) {
        let known = self.known.lock();
        let (nodes, at) = &*known;
        (
            Arc::clone(nodes),
            at.map_or(Duration::ZERO, |at| at.elapsed()),
        )
    }
}
