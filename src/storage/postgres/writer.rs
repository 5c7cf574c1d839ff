//! The connection that writes.
//!
//! A batch is durable when the statement that writes it has answered. Of one whose connection broke
//! nothing is known, and it may still be on its way: an empty link that fits is behind it, so that
//! what is not there then will never be.

use futures_util::{FutureExt as _, future};
use sqlx::{Connection as _, Executor as _};
use sqlx_postgres::{PgConnection, PgPool};
use uuid::Uuid;

use super::{
    batch::{self, Texts},
    failure::without_answer,
    model,
    server::{self, Servers},
    upkeep,
};
use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::{Tenant, TransactionId};
use crate::storage::port::{
    ActorRow, Batch, Cause, CommitRow, Durability, Error, Failure, Link, ModelCommit, RunName,
    RunNameRow, TenantRow, Upkeep, Written,
};

const ACTOR_PUT: &str = include_str!("sql/actor_put.sql");
const COMMIT_KNOWN: &str = include_str!("sql/commit_known.sql");
const LINK_EMPTY: &str = include_str!("sql/link_empty.sql");
const OUTCOME_SWEEP: &str = include_str!("sql/outcome_sweep.sql");
const RUN_NAME_PUT: &str = include_str!("sql/run_name_put.sql");
const SESSION_WRITER: &str = include_str!("sql/session_writer.sql");
pub(super) const TENANT_PUT: &str = include_str!("sql/tenant_put.sql");

/// Puts an empty link behind whatever is on its way. What is there then is there to stay, and what
/// is not never will be.
pub(super) async fn append_empty_link(connection: &mut PgConnection) -> Result<(), Failure> {
    loop {
        let put = sqlx::query(LINK_EMPTY).bind(TransactionId::fresh().uuid());
        if put.execute(&mut *connection).await?.rows_affected() > 0 {
            return Ok(());
        }
    }
}

/// The one connection of this process that writes. It is opened when it is first needed, and again
/// after a failure.
#[derive(Debug)]
pub(in crate::storage) struct Writer {
    servers: Servers,
    durability: Durability,
    connection: Option<PgConnection>,
    /// The connections that read, which go to the same server.
    reads: PgPool,
    texts: Texts,
}

impl Writer {
    pub(super) fn new(servers: Servers, durability: Durability, reads: PgPool) -> Self {
        Self {
            servers,
            durability,
            connection: None,
            reads,
            texts: Texts::default(),
        }
    }

    async fn connection(&mut self) -> Result<&mut PgConnection, Failure> {
        if self.connection.is_none() {
            let connected = self.servers.connect().await;
            let (options, mut connection) =
                connected.map_err(|trouble| Failure::new(Cause::Away, trouble))?;
            server::prepare(&mut connection, self.durability).await?;
            connection.execute(SESSION_WRITER).await?;
            self.reads.set_connect_options(options);
            self.connection = Some(connection);
        }
        let none = || Failure::new(Cause::Away, "there is no connection that writes");
        self.connection.as_mut().ok_or_else(none)
    }

    /// Writes a batch, if it follows the newest commit. After an error the outcome is unknown until
    /// [`Self::reopen`] has settled it.
    pub(in crate::storage) async fn write(&mut self, batch: &Batch) -> Result<Written, Failure> {
        let script = batch::script(batch, &mut self.texts)?;
        let connection = self.connection().await?;
        let fits = script.fetch_one(connection).await;
        if fits.map_err(|error| without_answer(error.into()))? {
            Ok(Written::Syncing(future::ready(Ok(())).boxed()))
        } else {
            Ok(Written::Overtaken)
        }
    }

    /// Writes what is no commit of units; how many rows that took. None if it is to follow a commit
    /// that is not the newest one.
    pub(in crate::storage) async fn keep_up(
        &mut self,
        upkeep: &Upkeep,
        link: Option<&Link>,
    ) -> Result<Option<u64>, Failure> {
        let connection = self.connection().await?;
        let written = upkeep::write(upkeep, link, connection).await;
        written.map_err(|error| without_answer(error.into()))
    }

    /// Connects again, to the server that takes writes now, and puts an empty link behind whatever
    /// is on its way.
    pub(in crate::storage) async fn reopen(&mut self) -> Result<(), Failure> {
        // What it was asked may still be on its way, so nobody waits for it to say goodbye.
        self.connection = None;
        let connection = self.connection().await?;
        append_empty_link(connection).await
    }

    pub(super) async fn close(self) {
        if let Some(connection) = self.connection {
            let _ = connection.close().await;
        }
    }

    /// Whether all of these commits are there. A batch is one transaction, so all are or none is.
    pub(in crate::storage) async fn knows(
        &mut self,
        commits: &[CommitRow],
    ) -> Result<bool, Failure> {
        if commits.is_empty() {
            return Ok(false);
        }
        let ids: Vec<Uuid> = commits.iter().map(|commit| commit.id).collect();
        let known: i64 = sqlx::query_scalar(COMMIT_KNOWN)
            .bind(ids)
            .fetch_one(self.connection().await?)
            .await?;
        Ok(known > 0)
    }

    pub(in crate::storage) async fn tenant(&mut self, tenant: &Tenant) -> Result<TenantRow, Error> {
        let row = sqlx::query_scalar(TENANT_PUT)
            .bind(tenant.as_str())
            .fetch_one(self.connection().await?)
            .await?;
        Ok(TenantRow(row))
    }

    pub(in crate::storage) async fn actor(
        &mut self,
        tenant: TenantRow,
        actor: &Actor,
    ) -> Result<ActorRow, Error> {
        let row = sqlx::query_scalar(ACTOR_PUT)
            .bind(tenant.0)
            .bind(actor.kind.as_str())
            .bind(&*actor.name)
            .fetch_one(self.connection().await?)
            .await?;
        Ok(ActorRow(row))
    }

    pub(in crate::storage) async fn run_name(
        &mut self,
        tenant: TenantRow,
        name: &RunName,
    ) -> Result<RunNameRow, Error> {
        let row = sqlx::query_scalar(RUN_NAME_PUT)
            .bind(tenant.0)
            .bind(&*name.namespace)
            .bind(&*name.name)
            .fetch_one(self.connection().await?)
            .await?;
        Ok(RunNameRow(row))
    }

    /// Writes a change of a model in a transaction of its own; false if it does not follow the
    /// newest commit.
    pub(in crate::storage) async fn change_model(
        &mut self,
        commit: &ModelCommit<'_>,
    ) -> Result<bool, Error> {
        model::write(self.connection().await?, commit).await
    }

    /// Deletes outcomes that are past their time, that many at most.
    pub(in crate::storage) async fn sweep(
        &mut self,
        now: Timestamp,
        limit: i64,
    ) -> Result<(), Error> {
        sqlx::query(OUTCOME_SWEEP)
            .bind(now.micros())
            .bind(limit)
            .execute(self.connection().await?)
            .await?;
        Ok(())
    }
}
