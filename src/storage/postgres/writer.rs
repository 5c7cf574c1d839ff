//! The connection that writes.
//!
//! A batch is durable when the statement that writes it has answered. Of one whose connection broke
//! nothing is known, and it may still be on its way: an empty link that fits is behind it, so that
//! what is not there then will never be.

use std::time::Duration;

use futures_util::{FutureExt as _, future};
use sqlx::{Connection as _, Executor as _, Row as _};
use sqlx_postgres::{PgConnection, PgPool, PgRow};
use tokio::time::Instant;
use tracing::error;
use uuid::Uuid;

use super::{
    batch::{self, Texts},
    failure::{Trouble, without_answer},
    identity::TENANT_PUT,
    model,
    server::{self, Reached, Servers},
    silence::Silence,
    timeline::Timeline,
    upkeep,
};
use crate::clock::Timestamp;
use crate::entity::{Actor, Sequence};
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
const SESSION_WRITER: &str = include_str!("sql/session_writer.sql");

/// How long the connection may have been idle without being tried before it is used: the server may
/// have been restarted meanwhile.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// How often an empty link is tried while others are written at the same moment.
const LINKS_TRIED: u32 = 1_000;

/// Puts an empty link behind whatever is on its way, and after a position. What is there then is there
/// to stay, and what is not never will be.
pub(super) async fn append_empty_link(
    connection: &mut PgConnection,
    after: Sequence,
) -> Result<(), Failure> {
    for _ in 0..LINKS_TRIED {
        let put = sqlx::query(LINK_EMPTY)
            .bind(TransactionId::fresh().uuid())
            .bind(true)
            .bind(after.0);
        if put.execute(&mut *connection).await?.rows_affected() > 0 {
            return Ok(());
        }
    }
    let never = "other processes were always first, so it is not known which commits were stored";
    Err(Failure::new(Cause::Away, never))
}

/// Puts a link there if none was written since the server was started. A conflict shows that there
/// is one.
async fn link_server(connection: &mut PgConnection) -> Result<(), Failure> {
    let put = sqlx::query(LINK_EMPTY)
        .bind(TransactionId::fresh().uuid())
        .bind(false)
        .bind(0_i64);
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
    /// The timeline of its server.
    timeline: Option<Timeline>,
    /// When the connection was used last.
    used: Instant,
    turn: Turn,
    /// Whether the log names a pooler that does not keep sessions.
    has_said_pooled: bool,
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
    /// It has the turn since then.
    Has(Instant),
    /// It has waited for long enough.
    Without,
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
            timeline: None,
            used: Instant::now(),
            turn: Turn::No,
            has_said_pooled: false,
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
        if self.used.elapsed() > IDLE_MAX
            && let Some(idle) = &mut self.connection
            && idle.ping().await.is_err()
        {
            // Nothing was on its way, so nothing has to be settled.
            self.connection = None;
        }
        if self.servers.has_newer(self.timeline) {
            self.connection = None;
        }
        self.used = Instant::now();
        if self.connection.is_none() {
            let connected = self.servers.connect().await;
            let Reached {
                options,
                mut connection,
                timeline,
            } = connected.map_err(|trouble| Failure::new(Cause::Away, trouble))?;
            server::prepare(&mut connection, self.durability).await?;
            connection.execute(SESSION_WRITER).await?;
            self.turn = Turn::No;
            link_server(&mut connection).await?;
            self.reads.set_connect_options(options);
            self.timeline = timeline;
            self.connection = Some(connection);
        }
        self.connection.as_mut().ok_or_else(unconnected)
    }

    /// Writes a batch, if it follows the newest commit. After an error the outcome is unknown until
    /// [`Self::reopen`] has settled it.
    pub(in crate::storage) async fn write(&mut self, batch: &Batch) -> Result<Written, Failure> {
        self.connection().await?;
        let script = batch::script(batch, self.turn != Turn::No, &mut self.texts)?;
        let fits = script.fetch_one(self.connection().await?).await;
        let fits = fits.map_err(|error| without_answer(error.into()))?;
        if fits {
            Ok(Written::Syncing(future::ready(Ok(())).boxed()))
        } else {
            Ok(Written::Overtaken)
        }
    }

    /// Takes a turn, which lasts until it is ended. One that is not had in a second is not waited for
    /// any longer.
    pub(in crate::storage) async fn take_turn(&mut self) -> Result<(), Failure> {
        if self.turn == Turn::No {
            self.turn = match self.execute_of_turn(SESSION_TURN).await? {
                Some(_) => Turn::Has(Instant::now()),
                None => Turn::Without,
            };
        }
        Ok(())
    }

    /// For how long this process has had its turn, if it has one.
    pub(in crate::storage) fn turn_age(&self) -> Option<Duration> {
        let Turn::Has(since) = self.turn else {
            return None;
        };
        Some(since.elapsed())
    }

    /// Ends the turn, if there is one.
    pub(in crate::storage) async fn end_turn(&mut self) -> Result<(), Failure> {
        let turn = std::mem::replace(&mut self.turn, Turn::No);
        if !matches!(turn, Turn::Has(_)) || self.connection.is_none() {
            return Ok(());
        }
        let ended = self.execute_of_turn(SESSION_TURN_END).await?;
        let had_it = ended.map(|row| row.try_get(0)).transpose()?;
        if had_it != Some(true) {
            self.connection = None;
        }
        // The start refuses such a pooler, but one may have been set to another mode since.
        if had_it == Some(false) && !std::mem::replace(&mut self.has_said_pooled, true) {
            error!(
                "the turn to write could not be released, so other processes wait for it: {}",
                Trouble::Pooled
            );
        }
        Ok(())
    }

    /// Executes statements that take or end a turn; none if the server has refused them. Without an
    /// answer the connection is closed, so that it never has a turn that this process does not know
    /// of.
    async fn execute_of_turn(
        &mut self,
        statements: &'static str,
    ) -> Result<Option<PgRow>, Failure> {
        self.connection().await?;
        let connection = self.connection.take();
        let mut connection = connection.ok_or_else(unconnected)?;
        let row = match connection.fetch_one(statements).await {
            Ok(row) => Some(row),
            Err(error) if error.as_database_error().is_some() => None,
            Err(error) => return Err(without_answer(error.into())),
        };
        self.connection = Some(connection);
        Ok(row)
    }

    /// Writes what is not a commit of units.
    pub(in crate::storage) async fn keep_up(
        &mut self,
        upkeep: &Upkeep,
        link: Option<&Link>,
    ) -> Result<KeptUp, Failure> {
        let kept = upkeep::write(upkeep, link, self.connection().await?).await;
        kept.map_err(|error| without_answer(error.into()))
    }

    /// Connects again, to the server that takes writes now, and puts an empty link behind whatever
    /// is on its way.
    pub(in crate::storage) async fn reopen(&mut self) -> Result<(), Failure> {
        self.turn = Turn::No;
        // What it was asked may still be on its way, so nobody waits for it to say goodbye.
        self.connection = None;
        let connection = self.connection().await?;
        append_empty_link(connection, Sequence(0)).await
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
    ) -> Result<u64, Error> {
        let swept = sqlx::query(OUTCOME_SWEEP)
            .bind(now.micros())
            .bind(limit)
            .execute(self.connection().await?)
            .await?;
        Ok(swept.rows_affected())
    }
}

fn unconnected() -> Failure {
    Failure::new(Cause::Away, "there is no connection that writes")
}
