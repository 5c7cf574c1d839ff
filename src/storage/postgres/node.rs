//! The processes that use the database, and the members that are connected to them.

use std::{sync::Arc, time::Duration};

use sqlx::{Connection as _, Executor as _};
use sqlx_postgres::PgConnection;
use tokio::{sync::Mutex, time::timeout};
use uuid::Uuid;

use super::{
    PATIENCE, Postgres, server,
    text::text,
    timeline::{Timeline, is_unsupported},
};
use crate::id::{MemberId, Tenant};
use crate::storage::port::{
    Cause, Error, Failure, MemberChange, Node, NodeEntry, NodeMember, NodeRow,
};

const DATABASE_ID: &str = include_str!("sql/database_id.sql");
const MEMBER_DROP: &str = include_str!("sql/member_drop.sql");
const MEMBER_LIST: &str = include_str!("sql/member_list.sql");
const MEMBER_PUT: &str = include_str!("sql/member_put.sql");
const MEMBER_SWEEP: &str = include_str!("sql/member_sweep.sql");
const NODE_AGAIN: &str = include_str!("sql/node_again.sql");
const NODE_BEAT: &str = include_str!("sql/node_beat.sql");
const NODE_ENTER: &str = include_str!("sql/node_enter.sql");
const NODE_LEAVE: &str = include_str!("sql/node_leave.sql");
const NODE_LIST: &str = include_str!("sql/node_list.sql");
const NODE_SWEEP: &str = include_str!("sql/node_sweep.sql");
const OFFER_DROP: &str = include_str!("sql/offer_drop.sql");
const OFFER_LIST: &str = include_str!("sql/offer_list.sql");
const OFFER_PUT: &str = include_str!("sql/offer_put.sql");
const OFFER_SWEEP: &str = include_str!("sql/offer_sweep.sql");
const SESSION_PULSE: &str = include_str!("sql/session_pulse.sql");

/// The connection by which a process says that it is live. It is its own: whatever holds up the
/// connections that read, the process does not count as gone. It is opened when it is first needed,
/// and again after a failure.
#[derive(Debug, Default)]
pub(super) struct Heart(Mutex<Option<(PgConnection, Option<Timeline>)>>);

impl Heart {
    pub(super) async fn close(&self) {
        if let Some((connection, _)) = self.0.lock().await.take() {
            let _ = connection.close().await;
        }
    }
}

/// An age as statements take it.
pub(super) fn micros(age: Duration) -> i64 {
    i64::try_from(age.as_micros()).unwrap_or(i64::MAX)
}

/// A row of `node` as it is read: the number, three texts, the age of the beat.
type Row = (i64, String, String, String, i64);

fn node((row, name, address, version, age): Row) -> Node {
    Node {
        row: NodeRow(row),
        name: name.into(),
        address: address.into(),
        version: version.into(),
        beat_age: Duration::from_micros(age.unsigned_abs()),
    }
}

impl Postgres {
    /// What identifies this database; empty if the server does not report it.
    pub(in crate::storage) async fn id(&self) -> Result<String, Error> {
        match sqlx::query_scalar(DATABASE_ID).fetch_one(&self.reads).await {
            Err(error) if is_unsupported(&error) => Ok(String::new()),
            id => Ok(id?),
        }
    }

    /// Gives this process a number. A name that is in use is taken over.
    pub(in crate::storage) async fn enter(&self, entry: &NodeEntry) -> Result<NodeRow, Error> {
        let row = sqlx::query_scalar(NODE_ENTER)
            .bind(&*entry.name)
            .bind(&*entry.address)
            .bind(&*entry.version)
            .fetch_one(&self.reads)
            .await?;
        Ok(NodeRow(row))
    }

    /// Says that a node is live; all nodes there are. None if the node is not in the table any
    /// more.
    pub(in crate::storage) async fn beat(&self, own: NodeRow) -> Result<Option<Vec<Node>>, Error> {
        let beating = async {
            let mut heart = self.heart.0.lock().await;
            // It is put back if it has answered.
            let (mut connection, timeline) = match heart.take() {
                Some((connection, timeline)) if !self.servers.has_newer(timeline) => {
                    (connection, timeline)
                }
                _ => self.heart().await?,
            };
            let beat = sqlx::query_as(NODE_BEAT).bind(own.0);
            let rows = beat.fetch_all(&mut connection).await?;
            *heart = Some((connection, timeline));
            Ok::<_, Failure>(rows)
        };
        let late = |_| {
            Err(Failure::new(
                Cause::Away,
                "the server did not answer in time",
            ))
        };
        let rows: Vec<(i64, String, String, String, i64, bool)> =
            timeout(PATIENCE, beating).await.unwrap_or_else(late)?;
        let is_kept = rows.first().is_some_and(|row| row.5);
        let nodes = rows
            .into_iter()
            .map(|(row, name, address, version, age, _)| node((row, name, address, version, age)));
        Ok(is_kept.then(|| nodes.collect()))
    }

    async fn heart(&self) -> Result<(PgConnection, Option<Timeline>), Failure> {
        let reached = self.servers.connect().await;
        let mut reached = reached.map_err(|trouble| Failure::new(Cause::Away, trouble))?;
        server::prepare(&mut reached.connection, self.durability).await?;
        reached.connection.execute(SESSION_PULSE).await?;
        Ok((reached.connection, reached.timeline))
    }

    /// Puts a node back that was removed because it did not beat for long. False if its name is in
    /// use.
    pub(in crate::storage) async fn enter_again(
        &self,
        own: NodeRow,
        entry: &NodeEntry,
    ) -> Result<bool, Error> {
        let put = sqlx::query(NODE_AGAIN)
            .bind(own.0)
            .bind(&*entry.name)
            .bind(&*entry.address)
            .bind(&*entry.version)
            .execute(&self.reads)
            .await?;
        Ok(put.rows_affected() > 0)
    }

    /// All nodes there are.
    pub(in crate::storage) async fn nodes(&self) -> Result<Vec<Node>, Error> {
        let rows: Vec<Row> = sqlx::query_as(NODE_LIST).fetch_all(&self.reads).await?;
        Ok(rows.into_iter().map(node).collect())
    }

    /// Removes a node and its members.
    pub(in crate::storage) async fn leave(&self, own: NodeRow) -> Result<(), Error> {
        sqlx::query(NODE_LEAVE)
            .bind(own.0)
            .execute(&self.reads)
            .await?;
        for sweep in [MEMBER_SWEEP, OFFER_SWEEP] {
            sqlx::query(sweep).execute(&self.reads).await?;
        }
        Ok(())
    }

    /// Removes nodes whose last beat is older than that, and the members of nodes that are gone.
    pub(in crate::storage) async fn sweep_nodes(&self, age: Duration) -> Result<(), Error> {
        sqlx::query(NODE_SWEEP)
            .bind(micros(age))
            .execute(&self.reads)
            .await?;
        for sweep in [MEMBER_SWEEP, OFFER_SWEEP] {
            sqlx::query(sweep).execute(&self.reads).await?;
        }
        Ok(())
    }

    /// Writes what the members and workers of a node offer, by tenant.
    pub(in crate::storage) async fn offer(
        &self,
        own: NodeRow,
        tenant: &Tenant,
        offers: Option<&str>,
    ) -> Result<(), Error> {
        let query = match offers {
            Some(offers) => sqlx::query(OFFER_PUT)
                .bind(own.0)
                .bind(tenant.as_str())
                .bind(offers.to_owned()),
            None => sqlx::query(OFFER_DROP).bind(own.0).bind(tenant.as_str()),
        };
        query.execute(&self.reads).await?;
        Ok(())
    }

    /// What is offered at other nodes whose last beat is so recent.
    pub(in crate::storage) async fn offers(
        &self,
        own: NodeRow,
        age: Duration,
    ) -> Result<Vec<(NodeRow, Tenant, Arc<str>)>, Error> {
        let rows: Vec<(i64, String, String)> = sqlx::query_as(OFFER_LIST)
            .bind(own.0)
            .bind(micros(age))
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter();
        let offer = |(i, tenant, offers): (i64, String, String)| {
            (NodeRow(i), Tenant::from(tenant), Arc::from(offers))
        };
        Ok(rows.map(offer).collect())
    }

    /// Makes changes of the members of a node, in their order.
    pub(in crate::storage) async fn change_member(
        &self,
        own: NodeRow,
        change: &MemberChange,
    ) -> Result<(), Error> {
        let query = match change {
            MemberChange::Put { id, tenant, tags } => sqlx::query(MEMBER_PUT)
                .bind(own.0)
                .bind(id.uuid())
                .bind(tenant.as_str())
                .bind(&**tags),
            MemberChange::Drop(id) => sqlx::query(MEMBER_DROP).bind(own.0).bind(id.uuid()),
        };
        query.execute(&self.reads).await?;
        Ok(())
    }

    /// The members of a tenant at all nodes.
    pub(in crate::storage) async fn members(
        &self,
        tenant: &Tenant,
    ) -> Result<Vec<NodeMember>, Error> {
        let rows: Vec<(i64, Uuid, String)> = sqlx::query_as(MEMBER_LIST)
            .bind(text(tenant.as_str()))
            .fetch_all(&self.reads)
            .await?;
        let member = |(node, id, tags): (i64, Uuid, String)| NodeMember {
            node: NodeRow(node),
            id: MemberId::from_uuid(id),
            tags: tags.into(),
        };
        Ok(rows.into_iter().map(member).collect())
    }
}
