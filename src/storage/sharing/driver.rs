//! Which process drives a run, where several use one database.
//!
//! It is the one that has sent the work of the run that is out, and its number is written by the
//! commits of the run. That only spares work: any process may advance any run, by comparison of its
//! position, and one answer counts. Of a process that is gone others take the runs over.

use std::sync::Arc;

use crate::id::{RunId, Tenant};
use crate::storage::{
    Error, Storage,
    port::{Node, NodeRow, StoredRun},
};

impl Storage {
    /// The process that drives a run which this one advances.
    pub(in crate::storage) fn driver(&self, is_out: bool) -> Option<NodeRow> {
        (is_out && self.is_shared()).then(|| self.node())
    }

    /// Whether the work of a run that is out is for this process to send.
    pub fn drives(&self, run: &StoredRun) -> bool {
        run.is_out && (!self.is_shared() || run.owner == Some(self.node()))
    }

    /// Whether another process drives a run, as far as it is known here: which nodes there are is as
    /// of the last beat, and one that has begun since has a greater number than all others there were.
    pub fn is_driven_elsewhere(&self, run: &StoredRun) -> bool {
        let Some(owner) = run.owner.filter(|owner| *owner != self.node()) else {
            return false;
        };
        owner > self.0.nodes.newest() || self.live().contains(&owner)
    }

    /// Whether a process drives a run that is live, as far as it is known here.
    pub fn is_driven(&self, run: &StoredRun) -> bool {
        self.drives(run) || self.is_driven_elsewhere(run)
    }

    /// This process does not drive a run any more; whether it did.
    pub fn leave_run(&self, run: RunId) -> bool {
        self.0.runs.leave(run)
    }

    /// Has those runs looked at that were handed over to this process, and those that it does not
    /// drive any more, if that may have escaped it.
    pub async fn wake_driven(&self, limit: i64) -> Result<(), Error> {
        let Some(mut known) = self.0.runs.driven_once() else {
            return Ok(());
        };
        let mut after = RunId::new(0);
        loop {
            let own = self.node();
            let page = self.0.database.driven_runs(own, after, limit).await?;
            let Some((_, last)) = page.last() else { break };
            after = *last;
            for (tenant, run) in page {
                if known.remove(&run).is_none()
                    && let Some(row) = self.tenant_row(&tenant).await?
                {
                    self.0.runs.handed_over(&tenant, row, run);
                }
            }
        }
        self.0.runs.wake_all(known.into_values());
        Ok(())
    }

    /// Says what the members and workers of a tenant here offer to other processes; nothing: none.
    pub async fn offer(&self, tenant: &Tenant, offers: Option<&str>) -> Result<(), Error> {
        self.0.database.offer(self.node(), tenant, offers).await
    }

    /// The tenants of runs that other processes have handed over to this one since this was asked last.
    pub fn handed_over_lately(&self) -> impl Iterator<Item = Tenant> + use<> {
        self.0.runs.handed_over_lately().into_iter()
    }

    /// What is offered at the other nodes that are live.
    pub async fn offers(&self) -> Result<Vec<(NodeRow, Tenant, Arc<str>)>, Error> {
        self.0.database.offers(self.node(), Node::LIVE).await
    }

    /// The next runs, of all tenants, of which work was out when they were stored and that no live
    /// process drives.
    pub async fn orphaned_runs(
        &self,
        after: RunId,
        limit: i64,
    ) -> Result<Vec<(Tenant, RunId)>, Error> {
        let database = &self.0.database;
        let orphaned = database.orphaned_runs(after, limit, Node::LIVE).await?;
        // A node that came and went between two beats is known from here on, too.
        let drivers = orphaned.iter().filter_map(|(_, _, driver)| *driver);
        drivers.for_each(|driver| self.0.nodes.has_been(driver));
        let runs = orphaned.into_iter();
        Ok(runs.map(|(tenant, run, _)| (tenant, run)).collect())
    }
}
