//! The processes that use one database: a table where it is shared, and nothing where it is not.

use std::{sync::Arc, time::Duration};

use super::{Backend, Error, Kind};
use crate::id::{RunId, Tenant};
use crate::storage::{
    port::{MemberChange, Node, NodeEntry, NodeMember, NodeRow},
    postgres,
};

impl Backend {
    /// What identifies a shared database; empty if that is not known.
    pub(in crate::storage) async fn id(&self) -> Result<String, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(String::new());
        };
        Ok(database.id().await.map_err(postgres::understood)?)
    }

    /// Gives this process a number among those that use the database. Fails if a copy into the
    /// database has begun: either the copy is seen here, or this process by the copy.
    pub(in crate::storage) async fn enter(&self, entry: &NodeEntry) -> Result<NodeRow, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(NodeRow::ALONE);
        };
        let row = database.enter(entry).await.map_err(postgres::understood)?;
        let unfinished = database.is_unfinished().await;
        if unfinished.map_err(postgres::understood)? {
            database.leave(row).await.map_err(postgres::understood)?;
            return Err(Error::Incomplete);
        }
        Ok(row)
    }

    /// Puts a node back that was removed because it did not beat for long. False if its name is in
    /// use.
    pub(in crate::storage) async fn enter_again(
        &self,
        own: NodeRow,
        entry: &NodeEntry,
    ) -> Result<bool, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(true);
        };
        let put = database.enter_again(own, entry).await;
        Ok(put.map_err(postgres::understood)?)
    }

    /// Says that a node is live; all nodes there are. None if the node is not in the table.
    pub(in crate::storage) async fn beat(&self, own: NodeRow) -> Result<Option<Vec<Node>>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Some(Vec::new()));
        };
        Ok(database.beat(own).await.map_err(postgres::understood)?)
    }

    /// All nodes there are.
    pub(in crate::storage) async fn nodes(&self) -> Result<Vec<Node>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Vec::new());
        };
        Ok(database.nodes().await.map_err(postgres::understood)?)
    }

    /// Removes a node and its members.
    pub(in crate::storage) async fn leave(&self, own: NodeRow) -> Result<(), Error> {
        if let Kind::Postgres(database) = &self.kind {
            database.leave(own).await.map_err(postgres::understood)?;
        }
        Ok(())
    }

    /// Removes nodes whose last beat is older than that, and the members of nodes that are gone.
    pub(in crate::storage) async fn sweep_nodes(&self, age: Duration) -> Result<(), Error> {
        if let Kind::Postgres(database) = &self.kind {
            let swept = database.sweep_nodes(age).await;
            swept.map_err(postgres::understood)?;
        }
        Ok(())
    }

    /// The next runs of which work is out and that no node drives whose last beat is so recent, and
    /// which node did.
    pub(in crate::storage) async fn orphaned_runs(
        &self,
        after: RunId,
        limit: i64,
        age: Duration,
    ) -> Result<Vec<(Tenant, RunId, Option<NodeRow>)>, Error> {
        let undriven = |runs: Vec<(Tenant, RunId)>| {
            let runs = runs.into_iter();
            runs.map(|(tenant, run)| (tenant, run, None)).collect()
        };
        match &self.kind {
            Kind::Sqlite(database) => Ok(undriven(database.runs_that_are_out(after, limit).await?)),
            Kind::Postgres(database) => {
                let orphaned = database.orphaned_runs(after, limit, age).await;
                Ok(orphaned.map_err(postgres::understood)?)
            }
            #[cfg(test)]
            Kind::Simulated(database) => {
                Ok(undriven(database.state().runs_that_are_out(after, limit)))
            }
        }
    }

    /// The next runs of which work is out and that a node drives.
    pub(in crate::storage) async fn driven_runs(
        &self,
        own: NodeRow,
        after: RunId,
        limit: i64,
    ) -> Result<Vec<(Tenant, RunId)>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Vec::new());
        };
        let driven = database.driven_runs(own, after, limit).await;
        Ok(driven.map_err(postgres::understood)?)
    }

    /// Writes what the members and workers of a node offer, by tenant.
    pub(in crate::storage) async fn offer(
        &self,
        own: NodeRow,
        tenant: &Tenant,
        offers: Option<&str>,
    ) -> Result<(), Error> {
        if let Kind::Postgres(database) = &self.kind {
            let offered = database.offer(own, tenant, offers).await;
            offered.map_err(postgres::understood)?;
        }
        Ok(())
    }

    /// What is offered at other nodes whose last beat is so recent.
    pub(in crate::storage) async fn offers(
        &self,
        own: NodeRow,
        age: Duration,
    ) -> Result<Vec<(NodeRow, Tenant, Arc<str>)>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Vec::new());
        };
        let offers = database.offers(own, age).await;
        Ok(offers.map_err(postgres::understood)?)
    }

    /// Makes a change of the members of a node.
    pub(in crate::storage) async fn change_member(
        &self,
        own: NodeRow,
        change: &MemberChange,
    ) -> Result<(), Error> {
        if let Kind::Postgres(database) = &self.kind {
            let changed = database.change_member(own, change).await;
            changed.map_err(postgres::understood)?;
        }
        Ok(())
    }

    /// The members of a tenant at all nodes.
    pub(in crate::storage) async fn members(
        &self,
        tenant: &Tenant,
    ) -> Result<Vec<NodeMember>, Error> {
        let Kind::Postgres(database) = &self.kind else {
            return Ok(Vec::new());
        };
        let members = database.members(tenant).await;
        Ok(members.map_err(postgres::understood)?)
    }
}
