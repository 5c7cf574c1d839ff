//! Which process drives a run, where several use one database.
//!
//! It is the one that has sent the work of the run that is out, and its number is written by the
//! commits of the run. That only spares work: any process may advance any run, by comparison of its
//! position, and one answer counts. Of a process that is gone others take the runs over.

use super::{
    Error, Storage,
    port::{Node, NodeRow, StoredRun},
};
use crate::id::{RunId, Tenant};

impl Storage {
    /// The process that drives a run which this one advances.
    pub(super) fn driver(&self, is_out: bool) -> Option<NodeRow> {
        (is_out && self.is_shared()).then(|| self.node())
    }

    /// Whether the work of a run that is out is for this process to send.
    pub fn drives(&self, run: &StoredRun) -> bool {
        run.is_out && (!self.is_shared() || run.owner == Some(self.node()))
    }

    /// Whether another process drives a run, as far as it is known here: which nodes there are is as
    /// of the last beat, and one that has begun since has a greater number than all others.
    pub fn is_driven_elsewhere(&self, run: &StoredRun) -> bool {
        let Some(owner) = run.owner.filter(|owner| *owner != self.node()) else {
            return false;
        };
        let live = self.live();
        live.contains(&owner) || live.iter().max().is_none_or(|newest| owner > *newest)
    }

    /// This process does not drive a run any more; whether it did.
    pub fn leave_run(&self, run: RunId) -> bool {
        self.0.runs.leave(run)
    }

    /// The next runs, of all tenants, of which work was out when they were stored and that no live
    /// process drives.
    pub async fn orphaned_runs(
        &self,
        after: RunId,
        limit: i64,
    ) -> Result<Vec<(Tenant, RunId)>, Error> {
        let database = &self.0.database;
        database.orphaned_runs(after, limit, Node::LIVE).await
    }
}
