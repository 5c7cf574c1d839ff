//! The connection that writes.
//!
//! `SQLite` itself syncs the log before it copies it back, and no sooner: that a commit is on the
//! disk is seen to here, so that the next batch can be written meanwhile. Of the log only a prefix
//! can be on the disk, so what is durable is never without what it was built on.

use std::{
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
};

use futures_util::{FutureExt as _, future};
use sqlx::{ConnectOptions as _, Connection as _, pool::PoolConnection};
use sqlx_sqlite::{Sqlite as Database, SqliteConnectOptions, SqliteConnection, SqlitePool};

use super::{
    checkpoint, model,
    place::{OpenLog, Placement},
    read::json_list,
    script::{BEGIN, COMMIT, Texts},
};
use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::Tenant;
use crate::storage::port::{
    ActorRow, Batch, Cause, CommitRow, Durability, Error, Failure, ModelCommit, RunName,
    RunNameRow, Syncing, TenantRow, Upkeep, Written,
};

pub(super) const ACTOR_PUT: &str = include_str!("sql/actor_put.sql");
const CHECKPOINT_TRUNCATE: &str = include_str!("sql/checkpoint_truncate.sql");
const COMMIT_KNOWN: &str = include_str!("sql/commit_known.sql");
const INDEX_SWEEP: &str = include_str!("sql/index_sweep.sql");
const OUTCOME_SWEEP: &str = include_str!("sql/outcome_sweep.sql");
const REMOVE_ENTITIES: &str = include_str!("sql/remove_entities.sql");
const REMOVE_VERSIONS: &str = include_str!("sql/remove_versions.sql");
const ROLLBACK: &str = include_str!("sql/rollback.sql");
const RUN_NAME_PUT: &str = include_str!("sql/run_name_put.sql");
pub(super) const TENANT_PUT: &str = include_str!("sql/tenant_put.sql");
const UNIQUE_KEY_FREE: &str = include_str!("sql/unique_key_free.sql");

/// The one connection that writes. It is opened when it is first needed, and again after a
/// failure.
#[derive(Debug)]
pub(in crate::storage) struct Writer {
    held: Held,
    texts: Texts,
}

#[derive(Debug)]
enum Held {
    Own {
        options: Box<SqliteConnectOptions>,
        connection: Option<SqliteConnection>,
        log: Log,
    },
    /// In memory there is one connection for everything.
    Shared(SqlitePool),
}

/// The log beside the database, where what is committed is first.
#[derive(Debug)]
pub(in crate::storage) struct Log {
    placement: Placement,
    durability: Durability,
    open: Option<OpenLog>,
}

/// How much room there must be before writes are taken again.
const ROOM_BYTES: usize = 1 << 20;

impl Log {
    pub(super) const fn of(placement: Placement, durability: Durability) -> Self {
        Self {
            placement,
            durability,
            open: None,
        }
    }

    /// The file, which is there after the first commit, and the same until the connection closes.
    fn open(&mut self) -> io::Result<OpenLog> {
        // That the log beside the database is the one that was written is known only while the
        // database is in its place.
        if self.open.is_none() {
            self.placement.check(None)?;
        }
        match &self.open {
            Some(open) => Ok(open.clone()),
            None => Ok(self.open.insert(self.placement.open_log()?).clone()),
        }
    }

    /// Begins at once, whether the answer is waited for or not. Where a machine that crashes may
    /// lose the last moments, a file that is not in its place may not.
    fn sync(&mut self) -> Syncing {
        let placement = self.placement.clone();
        let open = match self.open() {
            Ok(open) => open,
            Err(error) => return future::ready(Err(error.into())).boxed(),
        };
        if self.durability == Durability::Relaxed {
            let checked = placement.check(Some(&open));
            return future::ready(checked.map_err(Into::into)).boxed();
        }
        let syncing = tokio::task::spawn_blocking(move || {
            open.file.sync_data()?;
            placement.check(Some(&open))
        });
        async move {
            let synced = syncing.await.map_err(|_| thread_ended())?;
            Ok(synced?)
        }
        .boxed()
    }
}

/// The connection while it is used.
enum Borrowed<'a> {
    Own(&'a mut SqliteConnection),
    Shared(PoolConnection<Database>),
}

impl Borrowed<'_> {
    fn connection(&mut self) -> &mut SqliteConnection {
        match self {
            Self::Own(connection) => connection,
            Self::Shared(connection) => connection,
        }
    }
}

impl Held {
    async fn borrow(&mut self) -> Result<Borrowed<'_>, Failure> {
        Ok(match self {
            Self::Own {
                options,
                connection,
                log,
            } => {
                let connection = if let Some(connection) = connection {
                    connection
                } else {
                    log.placement.check(None)?;
                    connection.insert(options.connect().await?)
                };
                Borrowed::Own(connection)
            }
            Self::Shared(pool) => Borrowed::Shared(pool.acquire().await?),
        })
    }

    /// Makes everything durable that is committed.
    fn sync(&mut self) -> Syncing {
        match self {
            Self::Own { log, .. } => log.sync(),
            Self::Shared(_) => future::ready(Ok(())).boxed(),
        }
    }
}

impl Writer {
    pub(super) fn own(options: SqliteConnectOptions, log: Log) -> Self {
        Self {
            held: Held::Own {
                options: Box::new(options),
                connection: None,
                log,
            },
            texts: Texts::default(),
        }
    }

    pub(super) fn shared(pool: SqlitePool) -> Self {
        Self {
            held: Held::Shared(pool),
            texts: Texts::default(),
        }
    }

    /// Writes a batch, and begins to make it durable. After an error, also of that, the outcome is
    /// unknown until [`Self::reopen`] has settled it.
    pub(in crate::storage) async fn write(&mut self, batch: &Batch) -> Result<Written, Failure> {
        let mut borrowed = self.held.borrow().await?;
        let connection = borrowed.connection();
        let written = match batch.script(&mut self.texts)? {
            Some(script) => script.execute(&mut *connection).await.map(|_| ()),
            None => write_in_parts(connection, batch).await,
        };
        if let Err(error) = written {
            // It may have stopped in its middle, with the transaction open.
            let _ = sqlx::query(ROLLBACK).execute(connection).await;
            return Err(error.into());
        }
        Ok(Written::Syncing(self.held.sync()))
    }

    /// Writes what is not a commit; how many rows that took.
    pub(in crate::storage) async fn keep_up(&mut self, upkeep: &Upkeep) -> Result<u64, Failure> {
        let rows = upkeep.write(self.held.borrow().await?.connection()).await?;
        self.held.sync().await?;
        Ok(rows)
    }

    /// Copies back what the log holds.
    pub(in crate::storage) async fn copy_back(&mut self) -> Result<(), Failure> {
        checkpoint::copy_back(self.held.borrow().await?.connection()).await?;
        Ok(())
    }

    /// Whether the files are in their places. Where there are none, nothing has to be looked for.
    pub(in crate::storage) fn in_place(&self) -> Option<Result<(), Failure>> {
        match &self.held {
            Held::Own { log, .. } => {
                Some(log.placement.check(log.open.as_ref()).map_err(Into::into))
            }
            Held::Shared(_) => None,
        }
    }

    /// Throws the connection away and makes what is in the log durable again, by copying it back:
    /// after a failed sync nothing else proves that it is (`help/design/storage.md` §3). After a
    /// rollback nothing has failed to be synced, so a reader that keeps the log in use holds up no
    /// writes. It fails while the files are not in their places, and while there is no room.
    pub(in crate::storage) async fn reopen(&mut self, cause: Cause) -> Result<(), Failure> {
        let path = if let Held::Own {
            connection, log, ..
        } = &mut self.held
        {
            // The last connection that closes removes the log at the path, even one of another database.
            log.placement.check(log.open.as_ref())?;
            if let Some(connection) = connection.take() {
                let _ = connection.close().await;
            }
            log.open = None;
            log.placement.path().to_owned()
        } else {
            return Ok(());
        };
        let mut borrowed = self.held.borrow().await?;
        let (busy, _, _): (i64, i64, i64) = sqlx::query_as(CHECKPOINT_TRUNCATE)
            .fetch_one(borrowed.connection())
            .await?;
        drop(borrowed);
        if busy != 0 {
            if !cause.is_rolled_back() {
                return Err(Failure::new(
                    Cause::Other,
                    "the log is in use, so it could not be copied back: a backup, a long search \
                     or another program still reads the database",
                ));
            }
            self.held.sync().await?;
        }
        let room = tokio::task::spawn_blocking(move || find_room(path));
        Ok(room.await.map_err(|_| thread_ended())??)
    }

    pub(super) async fn close(self) -> Result<(), Failure> {
        match self.held {
            Held::Own {
                connection: Some(connection),
                log,
                ..
            } => {
                if let Err(error) = log.placement.check(log.open.as_ref()) {
                    // Closing would take away the log of the database that is at the path now.
                    std::mem::forget(connection);
                    return Err(error.into());
                }
                Ok(connection.close().await?)
            }
            Held::Own { .. } | Held::Shared(_) => Ok(()),
        }
    }

    /// Whether all of these commits are there. A batch is one transaction, so all are or none is.
    pub(in crate::storage) async fn knows(
        &mut self,
        commits: &[CommitRow],
    ) -> Result<bool, Failure> {
        let list = json_list(commits.iter().map(|commit| commit.seq));
        let mut borrowed = self.held.borrow().await?;
        let known: i64 = sqlx::query_scalar(COMMIT_KNOWN)
            .bind(list)
            .fetch_one(borrowed.connection())
            .await?;
        Ok(known > 0)
    }

    pub(in crate::storage) async fn tenant(&mut self, tenant: &Tenant) -> Result<TenantRow, Error> {
        let mut borrowed = self.held.borrow().await?;
        let row = sqlx::query_scalar(TENANT_PUT)
            .bind(tenant.as_str())
            .fetch_one(borrowed.connection())
            .await?;
        Ok(TenantRow(row))
    }

    pub(in crate::storage) async fn actor(
        &mut self,
        tenant: TenantRow,
        actor: &Actor,
    ) -> Result<ActorRow, Error> {
        let mut borrowed = self.held.borrow().await?;
        let row = sqlx::query_scalar(ACTOR_PUT)
            .bind(tenant.0)
            .bind(actor.kind.as_str())
            .bind(&*actor.name)
            .fetch_one(borrowed.connection())
            .await?;
        Ok(ActorRow(row))
    }

    pub(in crate::storage) async fn run_name(
        &mut self,
        tenant: TenantRow,
        name: &RunName,
    ) -> Result<RunNameRow, Error> {
        let mut borrowed = self.held.borrow().await?;
        let row = sqlx::query_scalar(RUN_NAME_PUT)
            .bind(tenant.0)
            .bind(&*name.namespace)
            .bind(&*name.name)
            .fetch_one(borrowed.connection())
            .await?;
        Ok(RunNameRow(row))
    }

    /// Writes a change of a model in a transaction of its own.
    pub(in crate::storage) async fn change_model(
        &mut self,
        commit: &ModelCommit<'_>,
    ) -> Result<(), Error> {
        let mut borrowed = self.held.borrow().await?;
        model::write(borrowed.connection(), commit).await?;
        self.held.sync().await?;
        Ok(())
    }

    /// Deletes outcomes that are past their time, that many at most.
    pub(in crate::storage) async fn sweep(
        &mut self,
        now: Timestamp,
        limit: i64,
    ) -> Result<u64, Error> {
        let mut borrowed = self.held.borrow().await?;
        let swept = sqlx::query(OUTCOME_SWEEP)
            .bind(now.micros())
            .bind(limit)
            .execute(borrowed.connection())
            .await?;
        Ok(swept.rows_affected())
    }
}

/// A thread that looks after files has panicked.
fn thread_ended() -> Failure {
    Failure::new(Cause::Other, "the thread that uses the files has ended")
}

/// Fails unless something can be written beside the database.
fn find_room(database: PathBuf) -> io::Result<()> {
    let mut probe = database.into_os_string();
    probe.push("-room");
    let probe = PathBuf::from(probe);
    let written = File::create(&probe).and_then(|mut file| {
        file.write_all(&vec![0; ROOM_BYTES])?;
        file.sync_all()
    });
    // What is left of it would take the room that is missing.
    let _ = std::fs::remove_file(&probe);
    written
}

/// Writes a batch that is too large for one text. No `Transaction` of sqlx: that would count on a
/// rollback of its own where a statement has rolled back already.
async fn write_in_parts(
    connection: &mut SqliteConnection,
    batch: &Batch,
) -> Result<(), sqlx::Error> {
    sqlx::query(BEGIN).execute(&mut *connection).await?;
    for entities in batch.freed() {
        sqlx::query(UNIQUE_KEY_FREE)
            .bind(entities)
            .execute(&mut *connection)
            .await?;
    }
    for script in batch.scripts() {
        script?.execute(&mut *connection).await?;
    }
    for removals in &batch.removals {
        for (first, entities) in removals.parts() {
            sqlx::query(REMOVE_VERSIONS)
                .bind(first)
                .bind(removals.seq)
                .bind(&entities)
                .bind(removals.author)
                .bind(removals.executor)
                .execute(&mut *connection)
                .await?;
            sqlx::query(REMOVE_ENTITIES)
                .bind(first)
                .bind(&entities)
                .execute(&mut *connection)
                .await?;
        }
    }
    for index in &batch.swept {
        sqlx::query(INDEX_SWEEP)
            .bind(index)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(COMMIT).execute(connection).await?;
    Ok(())
}
