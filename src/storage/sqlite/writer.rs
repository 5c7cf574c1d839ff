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

use futures_util::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use sqlx::{ConnectOptions as _, Connection as _, pool::PoolConnection};
use sqlx_sqlite::{Sqlite as Database, SqliteConnectOptions, SqliteConnection, SqlitePool};

use super::{
    Batch, OutcomeRow, Upkeep,
    batch::Texts,
    checkpoint,
    place::{OpenLog, Placement},
    read::ListedWorkflow,
};
use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::{ModelKey, Tenant};
use crate::model::{Lock, Schema};
use crate::storage::{ActorRow, Durability, Error, ModelRow, TenantRow, judge::Effect};
use crate::workflow::WorkflowSet;

const ACTOR_PUT: &str = include_str!("sql/actor_put.sql");
const COMMIT_KNOWN: &str = include_str!("sql/commit_known.sql");
const COMMIT_PUT: &str = include_str!("sql/commit_put.sql");
const DEFINITION_PUT: &str = include_str!("sql/definition_put.sql");
const INDEX_SWEEP: &str = include_str!("sql/index_sweep.sql");
const MODEL_CLEAR_DELTAS: &str = include_str!("sql/model_clear_deltas.sql");
const MODEL_DROP_INDEXES: &str = include_str!("sql/model_drop_indexes.sql");
const MODEL_CLEAR_WORKFLOWS: &str = include_str!("sql/model_clear_workflows.sql");
const MODEL_DELTA_ADD: &str = include_str!("sql/model_delta_add.sql");
const MODEL_PUT: &str = include_str!("sql/model_put.sql");
const MODEL_SET_CHANGE_LEVEL: &str = include_str!("sql/model_set_change_level.sql");
const MODEL_SET_STATE: &str = include_str!("sql/model_set_state.sql");
const MODEL_TOUCH: &str = include_str!("sql/model_touch.sql");
const OUTCOME_PUT: &str = include_str!("sql/outcome_put.sql");
const OUTCOME_SWEEP: &str = include_str!("sql/outcome_sweep.sql");
const REMOVE_ENTITIES: &str = include_str!("sql/remove_entities.sql");
const REMOVE_VERSIONS: &str = include_str!("sql/remove_versions.sql");
const MODEL_SET_UNIQUE_KEYS: &str = include_str!("sql/model_set_unique_keys.sql");
pub(super) const TENANT_PUT: &str = include_str!("sql/tenant_put.sql");
const UNIQUE_KEY_FREE: &str = include_str!("sql/unique_key_free.sql");
const WORKFLOW_SET_PUT: &str = include_str!("sql/workflow_set_put.sql");

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

/// What is committed on its way to the disk; done when it is there.
pub(in crate::storage) type Syncing = BoxFuture<'static, Result<(), sqlx::Error>>;

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
            let synced = syncing.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
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

/// What is remembered beside a change of a model.
#[derive(Debug)]
pub(in crate::storage) struct ModelCommit<'a> {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) key: &'a ModelKey,
    /// None if the model is made by this.
    pub(in crate::storage) row: Option<ModelRow>,
    pub(in crate::storage) commit: super::CommitRow,
    pub(in crate::storage) outcomes: Vec<OutcomeRow>,
}

impl Held {
    async fn borrow(&mut self) -> Result<Borrowed<'_>, sqlx::Error> {
        Ok(match self {
            Self::Own {
                options,
                connection,
                log,
            } => {
                if connection.is_none() {
                    log.placement.check(None)?;
                    *connection = Some(options.connect().await?);
                }
                Borrowed::Own(connection.as_mut().ok_or(sqlx::Error::WorkerCrashed)?)
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
    pub(in crate::storage) async fn write(
        &mut self,
        batch: &Batch,
    ) -> Result<Syncing, sqlx::Error> {
        let mut borrowed = self.held.borrow().await?;
        let connection = borrowed.connection();
        let written = match batch.script(&mut self.texts)? {
            Some(script) => script.execute(&mut *connection).await.map(|_| ()),
            None => write_in_parts(connection, batch).await,
        };
        if let Err(error) = written {
            // It may have stopped in its middle, with the transaction open.
            let _ = sqlx::query("rollback").execute(connection).await;
            return Err(error);
        }
        Ok(self.held.sync())
    }

    /// Writes what is no commit; how many rows that took.
    pub(in crate::storage) async fn keep_up(
        &mut self,
        upkeep: &Upkeep,
    ) -> Result<u64, sqlx::Error> {
        let rows = upkeep.write(self.held.borrow().await?.connection()).await?;
        self.held.sync().await?;
        Ok(rows)
    }

    /// Copies back what the log holds.
    pub(in crate::storage) async fn copy_back(&mut self) -> Result<(), sqlx::Error> {
        checkpoint::copy_back(self.held.borrow().await?.connection()).await?;
        Ok(())
    }

    /// Whether the files are in their places. Where there are none, nothing has to be looked for.
    pub(in crate::storage) fn in_place(&self) -> Option<Result<(), sqlx::Error>> {
        match &self.held {
            Held::Own { log, .. } => {
                Some(log.placement.check(log.open.as_ref()).map_err(Into::into))
            }
            Held::Shared(_) => None,
        }
    }

    /// Throws the connection away and makes what is in the log durable again: after a failed sync
    /// nothing else proves that it is (STORAGE.md §3). It fails while the files are not in their
    /// places, and while there is no room.
    pub(in crate::storage) async fn reopen(&mut self) -> Result<(), sqlx::Error> {
        let path = if let Held::Own {
            connection, log, ..
        } = &mut self.held
        {
            // The last connection that closes takes away the log at the path, whoever's that is.
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
        let (busy, _, _): (i64, i64, i64) = sqlx::query_as("pragma wal_checkpoint(truncate)")
            .fetch_one(borrowed.connection())
            .await?;
        if busy != 0 {
            return Err(sqlx::Error::WorkerCrashed);
        }
        let room = tokio::task::spawn_blocking(move || find_room(path));
        Ok(room.await.map_err(|_| sqlx::Error::WorkerCrashed)??)
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
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
                connection.close().await
            }
            Held::Own { .. } | Held::Shared(_) => Ok(()),
        }
    }

    /// Whether all of these commits are there. A batch is one transaction, so all are or none is.
    pub(in crate::storage) async fn knows(
        &mut self,
        sequences: &[i64],
    ) -> Result<bool, sqlx::Error> {
        let list = serde_json::to_string(sequences).unwrap_or_default();
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

    /// Writes a change of a model in a transaction of its own.
    pub(in crate::storage) async fn change_model(
        &mut self,
        commit: &ModelCommit<'_>,
        effect: &Effect<'_>,
    ) -> Result<(), Error> {
        let mut borrowed = self.held.borrow().await?;
        let mut transaction = borrowed.connection().begin_with("begin immediate").await?;
        let seq = commit.commit.seq;
        let at = commit.commit.at;
        match (effect, commit.row) {
            (Effect::Make(schema), _) => {
                let row: i64 = sqlx::query_scalar(MODEL_PUT)
                    .bind(commit.tenant.0)
                    .bind(&*commit.key.name)
                    .bind(commit.key.version)
                    .bind(Lock::Unlocked.as_str())
                    .bind(at)
                    .bind(seq)
                    .fetch_one(&mut *transaction)
                    .await?;
                add_delta(&mut transaction, ModelRow(row), seq, schema).await?;
            }
            (_, None) => return Err(Error::ModelNotFound(commit.key.clone())),
            (Effect::Extend(schema), Some(row)) => {
                add_delta(&mut transaction, row, seq, schema).await?;
                touch(&mut transaction, row, at, seq).await?;
            }
            (Effect::Fold(schema), Some(row)) => {
                sqlx::query(MODEL_CLEAR_DELTAS)
                    .bind(row.0)
                    .execute(&mut *transaction)
                    .await?;
                add_delta(&mut transaction, row, seq, schema).await?;
                touch(&mut transaction, row, at, seq).await?;
            }
            (Effect::SetChangeLevel(level), Some(row)) => {
                sqlx::query(MODEL_SET_CHANGE_LEVEL)
                    .bind(row.0)
                    .bind(level.as_str())
                    .execute(&mut *transaction)
                    .await?;
            }
            (Effect::Touch, Some(row)) => touch(&mut transaction, row, at, seq).await?,
            (Effect::SetLock(lock), Some(row)) => {
                set_state(&mut transaction, row, lock.as_str(), seq).await?;
            }
            (Effect::Delete, Some(row)) => {
                set_state(&mut transaction, row, "absent", seq).await?;
                for sql in [
                    MODEL_CLEAR_DELTAS,
                    MODEL_CLEAR_WORKFLOWS,
                    MODEL_DROP_INDEXES,
                ] {
                    sqlx::query(sql)
                        .bind(row.0)
                        .execute(&mut *transaction)
                        .await?;
                }
            }
            (Effect::SetUniqueKeys(keys), Some(row)) => {
                sqlx::query(MODEL_SET_UNIQUE_KEYS)
                    .bind(row.0)
                    .bind((!keys.is_empty()).then(|| keys.encode()))
                    .bind(seq)
                    .execute(&mut *transaction)
                    .await?;
            }
            (Effect::SetWorkflows(workflows), Some(row)) => {
                set_workflows(&mut transaction, row, seq, workflows).await?;
            }
        }
        let row = &commit.commit;
        sqlx::query(COMMIT_PUT)
            .bind(seq)
            .bind(row.id)
            .bind(row.tenant)
            .bind(at)
            .bind(row.author)
            .bind(row.executor)
            .execute(&mut *transaction)
            .await?;
        for row in &commit.outcomes {
            sqlx::query(OUTCOME_PUT)
                .bind(row.t)
                .bind(&*row.key)
                .bind(row.part)
                .bind(row.hash.as_slice())
                .bind(&*row.answer)
                .bind(row.expires)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        self.held.sync().await?;
        Ok(())
    }

    /// Deletes outcomes that are past their time, that many at most.
    pub(in crate::storage) async fn sweep(
        &mut self,
        now: Timestamp,
        limit: i64,
    ) -> Result<(), Error> {
        let mut borrowed = self.held.borrow().await?;
        sqlx::query(OUTCOME_SWEEP)
            .bind(now.micros())
            .bind(limit)
            .execute(borrowed.connection())
            .await?;
        Ok(())
    }
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
    sqlx::query("begin immediate")
        .execute(&mut *connection)
        .await?;
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
    sqlx::query("commit").execute(connection).await?;
    Ok(())
}

async fn add_delta(
    connection: &mut SqliteConnection,
    row: ModelRow,
    seq: i64,
    schema: &Schema,
) -> Result<(), Error> {
    let delta = schema.encode().map_err(|_| Error::Inconsistent {
        table: "model_delta",
        column: "delta",
        row: row.0,
    })?;
    sqlx::query(MODEL_DELTA_ADD)
        .bind(row.0)
        .bind(seq)
        .bind(delta)
        .execute(connection)
        .await?;
    Ok(())
}

async fn touch(
    connection: &mut SqliteConnection,
    row: ModelRow,
    at: i64,
    seq: i64,
) -> Result<(), Error> {
    sqlx::query(MODEL_TOUCH)
        .bind(row.0)
        .bind(at)
        .bind(seq)
        .execute(connection)
        .await?;
    Ok(())
}

async fn set_state(
    connection: &mut SqliteConnection,
    row: ModelRow,
    state: &str,
    seq: i64,
) -> Result<(), Error> {
    sqlx::query(MODEL_SET_STATE)
        .bind(row.0)
        .bind(state)
        .bind(seq)
        .execute(connection)
        .await?;
    Ok(())
}

async fn set_workflows(
    connection: &mut SqliteConnection,
    row: ModelRow,
    seq: i64,
    workflows: &WorkflowSet,
) -> Result<(), Error> {
    let mut list = Vec::with_capacity(workflows.entries.len());
    for entry in &workflows.entries {
        let definition = &entry.workflow.definition;
        let key: i64 = sqlx::query_scalar(DEFINITION_PUT)
            .bind(definition.hash.0.as_slice())
            .bind(definition.body.as_str())
            .fetch_one(&mut *connection)
            .await?;
        list.push(ListedWorkflow(key, entry.active));
    }
    let list = serde_json::to_string(&list).unwrap_or_default();
    sqlx::query(WORKFLOW_SET_PUT)
        .bind(row.0)
        .bind(seq)
        .bind(list)
        .execute(connection)
        .await?;
    Ok(())
}
