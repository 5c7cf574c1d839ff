//! One end of a copy to or from a database of another kind.
//!
//! The texts of statements are made from the list of tables.

use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, migrate::Migrate as _};
use sqlx_sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx_sqlite::{SqliteJournalMode, SqliteSynchronous};
use uuid::Uuid;

use super::{
    CHECKPOINT_PAGES, MIGRATIONS, backup, is_foreign,
    lock::{Lock, lock, lock_or_make},
};
use crate::storage::port::{CopyError, CopyMark, DatabaseLocation, Kind, Row, Table, Value};
use crate::storage::rows::copying::{names, select};

const CREATE: &str = include_str!("sql/copying/create.sql");
const PUT: &str = include_str!("sql/copying/put.sql");
const GET: &str = include_str!("sql/copying/get.sql");
const MOVE: &str = include_str!("sql/copying/move.sql");
const DROP: &str = include_str!("sql/copying/drop.sql");
const EXISTS: &str = include_str!("sql/copying/exists.sql");
const NEWEST: &str = include_str!("sql/copying/newest.sql");

/// How many rows a statement writes: one costs more to hand over than to write.
const TOGETHER: usize = 100;

/// A database that is open for a copy, and locked.
pub(in crate::storage) struct CopyEnd {
    path: PathBuf,
    connection: SqliteConnection,
    _lock: Option<Lock>,
}

/// Whether a copy into this database has not been finished.
pub(super) async fn is_unfinished(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    exists("copying", connection).await
}

/// Whether there is a table of that name.
async fn exists(
    table: &'static str,
    connection: &mut SqliteConnection,
) -> Result<bool, sqlx::Error> {
    let query = sqlx::query_scalar(EXISTS).bind(table);
    query.fetch_one(connection).await
}

impl CopyEnd {
    /// A database that is only read.
    pub(in crate::storage) async fn source(path: &Path) -> Result<Self, CopyError> {
        if !path.is_file() {
            return Err(CopyError::Absent(path.to_owned()));
        }
        let place = DatabaseLocation::File(path.to_owned());
        let lock = lock(&place)?;
        let mut connection = backup::read_only(path).connect().await?;
        backup::check_is_ours(path, &mut connection).await?;
        check_version(path, &mut connection).await?;
        let mut source = Self {
            path: path.to_owned(),
            connection,
            _lock: lock,
        };
        if source.mark().await?.is_some() {
            return Err(CopyError::Unfinished);
        }
        Ok(source)
    }

    /// A database that will be written; its file is made if there is none.
    pub(in crate::storage) async fn target(path: &Path) -> Result<Self, CopyError> {
        let place = DatabaseLocation::File(path.to_owned());
        if is_foreign(path).await {
            return Err(CopyError::Foreign(path.to_owned()));
        }
        let lock = lock_or_make(&place)?;
        let connection = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string())
            .disable_statement_logging()
            .connect()
            .await
            .map_err(|error| backup::unreadable(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            _lock: lock,
        })
    }

    /// Migrates a database that is marked.
    pub(in crate::storage) async fn prepare(&mut self) -> Result<(), CopyError> {
        let migrated = MIGRATIONS.run(&mut self.connection).await;
        migrated.map_err(|error| backup::not_migrated(&self.path, error))
    }

    pub(in crate::storage) async fn newest(&mut self) -> Result<String, CopyError> {
        let newest: Option<(i64, Uuid)> = sqlx::query_as(NEWEST)
            .fetch_optional(&mut self.connection)
            .await?;
        let (seq, id) = newest.unwrap_or_default();
        Ok(format!("{seq}:{}", id.simple()))
    }

    pub(in crate::storage) async fn count(&mut self, table: &Table) -> Result<u64, CopyError> {
        if !exists(table.name, &mut self.connection).await? {
            return Ok(0);
        }
        let text = format!("select count(*) from \"{}\"", table.name);
        let count: i64 = sqlx::query_scalar(AssertSqlSafe(text))
            .fetch_one(&mut self.connection)
            .await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    pub(in crate::storage) fn rows<'a>(
        &'a mut self,
        table: &'static Table,
        after: Option<&[Value]>,
    ) -> BoxStream<'a, Result<Row, CopyError>> {
        let text = select(table, after.is_some(), |_| "?".to_owned());
        let mut query = sqlx::query(AssertSqlSafe(text));
        for value in after.unwrap_or_default() {
            query = bound(query, value);
        }
        query
            .fetch(&mut self.connection)
            .map_err(CopyError::from)
            .map(|row| Ok(decoded(table, &row?)?))
            .boxed()
    }

    pub(in crate::storage) async fn mark(&mut self) -> Result<Option<CopyMark>, CopyError> {
        if !is_unfinished(&mut self.connection).await? {
            return Ok(None);
        }
        let found: Option<(String, String, String, i64)> = sqlx::query_as(GET)
            .fetch_optional(&mut self.connection)
            .await?;
        let mark = found.map(|(source, part, place, written)| CopyMark {
            source,
            part,
            place,
            written,
        });
        mark.map(Some)
            .ok_or(CopyError::Unreadable { table: "copying" })
    }

    pub(in crate::storage) async fn begin(&mut self, mark: &CopyMark) -> Result<(), CopyError> {
        let mut transaction = self.connection.begin().await?;
        sqlx::query(CREATE).execute(&mut *transaction).await?;
        sqlx::query(PUT)
            .bind(&mark.source)
            .bind(&mark.part)
            .bind(&mark.place)
            .bind(mark.written)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Removes the mark.
    pub(in crate::storage) async fn drop_mark(&mut self) -> Result<(), CopyError> {
        sqlx::query(DROP).execute(&mut self.connection).await?;
        Ok(())
    }

    pub(in crate::storage) async fn write(
        &mut self,
        table: &Table,
        rows: &[Row],
        mark: &CopyMark,
    ) -> Result<bool, CopyError> {
        let written = self.write_page(table, rows, mark).await;
        written.map_err(|error| backup::naming(&self.path, error))
    }

    async fn write_page(
        &mut self,
        table: &Table,
        rows: &[Row],
        mark: &CopyMark,
    ) -> Result<bool, CopyError> {
        let before = mark.written - i64::try_from(rows.len()).unwrap_or_default();
        let mut transaction = self.connection.begin().await?;
        let moved = sqlx::query(MOVE)
            .bind(&mark.source)
            .bind(&mark.part)
            .bind(&mark.place)
            .bind(mark.written)
            .bind(before)
            .execute(&mut *transaction)
            .await?;
        if moved.rows_affected() == 0 {
            return Ok(false);
        }
        let (together, rest) = rows.as_chunks::<TOGETHER>();
        for rows in together {
            insert(&mut transaction, table, rows).await?;
        }
        for row in rest {
            insert(&mut transaction, table, std::slice::from_ref(row)).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// The file alone is the database afterwards.
    pub(in crate::storage) async fn finish(mut self) -> Result<(), CopyError> {
        self.drop_mark().await?;
        self.connection.close().await?;
        Ok(())
    }
}

/// Neither older nor newer than this program.
async fn check_version(path: &Path, connection: &mut SqliteConnection) -> Result<(), CopyError> {
    let applied = connection
        .list_applied_migrations(&MIGRATIONS.table_name)
        .await
        .map_err(|error| CopyError::Open(error.into()))?;
    let is_known = |version| MIGRATIONS.iter().any(|known| known.version == version);
    if let Some(later) = applied.iter().find(|done| !is_known(done.version)) {
        let missing = sqlx::migrate::MigrateError::VersionMissing(later.version);
        return Err(backup::not_migrated(path, missing));
    }
    if applied.len() < MIGRATIONS.iter().count() {
        return Err(CopyError::Old);
    }
    Ok(())
}

async fn insert(
    connection: &mut SqliteConnection,
    table: &Table,
    rows: &[Row],
) -> Result<(), sqlx::Error> {
    let row = format!("({})", vec!["?"; table.columns.len()].join(", "));
    let text = format!(
        "insert into \"{}\"({}) values {}",
        table.name,
        names(table.columns),
        vec![&row[..]; rows.len()].join(", ")
    );
    let mut query = sqlx::query(AssertSqlSafe(text));
    for value in rows.iter().flatten() {
        query = bound(query, value);
    }
    query.execute(connection).await?;
    Ok(())
}

type Query<'q> = sqlx::query::Query<'q, sqlx_sqlite::Sqlite, SqliteArguments>;

fn bound<'q>(query: Query<'q>, value: &Value) -> Query<'q> {
    match value {
        Value::Null => query.bind(None::<i64>),
        Value::Integer(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.clone()),
        Value::Bytes(bytes) => query.bind(bytes.clone()),
    }
}

fn decoded(table: &Table, row: &SqliteRow) -> Result<Row, sqlx::Error> {
    let columns = table.columns.iter().enumerate();
    let values = columns.map(|(index, (_, kind))| {
        let value = match kind {
            Kind::Integer | Kind::Small | Kind::Flag => {
                row.try_get::<Option<i64>, _>(index)?.map(Value::Integer)
            }
            Kind::Text => row.try_get::<Option<String>, _>(index)?.map(Value::Text),
            Kind::Bytes | Kind::Uuid => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
        };
        Ok(value.unwrap_or(Value::Null))
    });
    values.collect()
}
