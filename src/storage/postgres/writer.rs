//! The connection that writes.
//!
//! A batch is durable when the statement that writes it has answered. Of one whose connection broke
//! nothing is known, and it may still be on its way: an empty link that fits is behind it, so that
//! what is not there then will never be.

use futures_util::{FutureExt as _, future};
use sqlx::{Connection as _, Executor as _, pool::PoolConnection};
use sqlx_postgres::{PgConnection, PgPool};
use uuid::Uuid;

use super::{
    batch::{self, Texts},
    failure::without_answer,
    model,
    server::{self, Servers},
    silence::Silence,
    upkeep,
};
use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::{Tenant, TransactionId};
use crate::storage::port::{
    ActorRow, Batch, Cause, CommitRow, Durability, Error, Failure, KeptUp, Link, ModelCommit,
    RunName, RunNameRow, TenantRow, Upkeep, Written,
};

const ACTOR_PUT: &str = include_str!("sql/actor_put.sql");
const COMMIT_KNOWN: &str = include_str!("sql/commit_known.sql");
const LINK_EMPTY: &str = include_str!("sql/link_empty.sql");
const OUTCOME_SWEEP: &str = include_str!("sql/outcome_sweep.sql");
const RUN_NAME_PUT: &str = include_str!("sql/run_name_put.sql");
const SESSION_TURN: &str = include_str!("sql/session_turn.sql");
const SESSION_TURN_END: &str = include_str!("sql/session_turn_end.sql");
const SESSION_TURN_LEAVE: &str = include_str!("sql/session_turn_leave.sql");
const SESSION_WRITER: &str = include_str!("sql/session_writer.sql");
pub(super) const TENANT_PUT: &str = include_str!("sql/tenant_put.sql");

/// Puts an empty link behind whatever is on its way. What is there then is there to stay, and what
/// is not never will be.
pub(super) async fn append_empty_link(connection: &mut PgConnection) -> Result<(), Failure> {
    loop {
        let put = sqlx::query(LINK_EMPTY)
            .bind(TransactionId::fresh().uuid())
            .bind(true);
        if put.execute(&mut *connection).await?.rows_affected() > 0 {
            return Ok(());
        }
    }
}

/// Puts a link there if none was written since the server was started. A conflict shows that there
/// is one.
async fn link_server(connection: &mut PgConnection) -> Result<(), Failure> {
    let put = sqlx::query(LINK_EMPTY)
        .bind(TransactionId::fresh().uuid())
        .bind(false);
    put.execute(connection).await?;
    Ok(())
}

/// The one connection of this process that writes. It is opened when it is first needed, and again
/// after a failure.
#[derive(Debug)]
pub(in crate::storage) struct Writer {
    servers: Servers,
    durability: Durability,
    connection: Option<PgConnection>,
    turn: Turn,
    /// The connections that read, which go to the same server.
    reads: PgPool,
    silence: Silence,
    texts: Texts,
}

/// Whether it is this process that may write while others take turns. It makes waiting fair, and
/// decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It has not asked, and lets those go first that have.
    No,
    /// It has the turn: the connection is in a transaction.
    Has,
    /// It has waited for long enough.
    Without,
}

/// What writes the row of a name.
enum Named<'a> {
    Writer(&'a mut PgConnection),
    Beside(PoolConnection<sqlx_postgres::Postgres>),
}

impl Named<'_> {
    fn connection(&mut self) -> &mut PgConnection {
        match self {
            Self::Writer(connection) => connection,
            Self::Beside(connection) => connection,
        }
    }
}

impl Writer {
    pub(super) fn new(
        servers: Servers,
        durability: Durability,
        reads: PgPool,
        silence: Silence,
    ) -> Self {
        Self {
            servers,
            durability,
            connection: None,
            turn: Turn::No,
            reads,
            silence,
            texts: Texts::default(),
        }
    }

    /// Whether the server answers, for those who wait for what this does.
    pub(in crate::storage) fn silence(&self) -> Silence {
        self.silence.clone()
    }

    async fn connection(&mut self) -> Result<&mut PgConnection, Failure> {
        if self.connection.is_none() {
            let connected = self.servers.connect().await;
            let (options, mut connection) =
                connected.map_err(|trouble| Failure::new(Cause::Away, trouble))?;
            server::prepare(&mut connection, self.durability).await?;
            connection.execute(SESSION_WRITER).await?;
            self.turn = Turn::No;
            link_server(&mut connection).await?;
            self.reads.set_connect_options(options);
            self.connection = Some(connection);
        }
        let none = || Failure::new(Cause::Away, "there is no connection that writes");
        self.connection.as_mut().ok_or_else(none)
    }

    /// Writes a batch, if it follows the newest commit. After an error the outcome is unknown until
    /// [`Self::reopen`] has settled it.
    pub(in crate::storage) async fn write(&mut self, batch: &Batch) -> Result<Written, Failure> {
        self.connection().await?;
        let script = batch::script(batch, self.turn != Turn::No, &mut self.texts)?;
        let fits = script.fetch_one(self.connection().await?).await;
        let fits = fits.map_err(|error| without_answer(error.into()))?;
        if fits {
            self.end_turn().await?;
            Ok(Written::Syncing(future::ready(Ok(())).boxed()))
        } else {
            Ok(Written::Overtaken)
        }
    }

    /// Takes a turn, which lasts until something was written. One that is not had in a second is not
    /// waited for any longer.
    pub(in crate::storage) async fn take_turn(&mut self) -> Result<(), Failure> {
        if self.turn != Turn::No {
            return Ok(());
        }
        let connection = self.connection().await?;
        match connection.execute(SESSION_TURN).await {
            Ok(_) => self.turn = Turn::Has,
            Err(error) if error.as_database_error().is_some() => {
                let ended = connection.execute(SESSION_TURN_LEAVE).await;
                ended.map_err(|error| without_answer(error.into()))?;
                self.turn = Turn::Without;
            }
            Err(error) => {
                self.connection = None;
                return Err(without_answer(error.into()));
            }
        }
        Ok(())
    }

    /// Ends the turn, if there is one; what was written in it is durable then.
    pub(in crate::storage) async fn end_turn(&mut self) -> Result<(), Failure> {
        self.close_turn(SESSION_TURN_END).await
    }

    /// Ends the turn, if there is one; nothing of what was written in it is there.
    async fn leave_turn(&mut self) -> Result<(), Failure> {
        self.close_turn(SESSION_TURN_LEAVE).await
    }

    async fn close_turn(&mut self, how: &'static str) -> Result<(), Failure> {
        if std::mem::replace(&mut self.turn, Turn::No) == Turn::Has
            && let Some(connection) = &mut self.connection
        {
            let ended = connection.execute(how).await;
            ended.map_err(|error| without_answer(error.into()))?;
        }
        Ok(())
    }

    /// The row of a name is there whatever becomes of the batch that needs it.
    async fn beside_turn(&mut self) -> Result<Named<'_>, Failure> {
        if self.turn == Turn::Has {
            return Ok(Named::Beside(self.reads.acquire().await?));
        }
        Ok(Named::Writer(self.connection().await?))
    }

    /// Writes what is no commit of units.
    pub(in crate::storage) async fn keep_up(
        &mut self,
        upkeep: &Upkeep,
        link: Option<&Link>,
    ) -> Result<KeptUp, Failure> {
        self.connection().await?;
        let kept = if self.turn == Turn::Has {
            let connection = self.connection().await?;
            let kept = upkeep::write(upkeep, link, connection).await;
            match kept {
                Ok(KeptUp::Done(_)) => self.end_turn().await?,
                // Nothing was written, and it is still this one's turn.
                Ok(KeptUp::Overtaken) => {}
                Ok(KeptUp::Gone) | Err(_) => self.leave_turn().await?,
            }
            kept
        } else {
            upkeep::write_alone(upkeep, link, self.connection().await?).await
        };
        kept.map_err(|error| without_answer(error.into()))
    }

    /// Connects again, to the server that takes writes now, and puts an empty link behind whatever
    /// is on its way.
    pub(in crate::storage) async fn reopen(&mut self) -> Result<(), Failure> {
        self.turn = Turn::No;
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
            .fetch_one(self.beside_turn().await?.connection())
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
            .fetch_one(self.beside_turn().await?.connection())
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
            .fetch_one(self.beside_turn().await?.connection())
            .await?;
        Ok(RunNameRow(row))
    }

    /// Writes a change of a model in a transaction of its own; false if it does not follow the
    /// newest commit.
    pub(in crate::storage) async fn change_model(
        &mut self,
        commit: &ModelCommit<'_>,
    ) -> Result<bool, Error> {
        if self.turn != Turn::Has {
            return model::write_alone(self.connection().await?, commit).await;
        }
        let written = model::write(self.connection().await?, commit).await;
        match written {
            Ok(true) => self.end_turn().await?,
            Ok(false) => {}
            Err(_) => self.leave_turn().await?,
        }
        written
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
