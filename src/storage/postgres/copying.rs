//! One end of a copy to or from a database of another kind.
//!
//! The texts of statements are made from the list of tables.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
use sqlx_postgres::{PgArguments, PgConnection, PgExecutor, PgRow};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{NEEDED_BY_ONE, bring_up_to_date, failure::Trouble, server::Servers};
use crate::storage::port::{
    CopyError, CopyMark, Kind, Migrate, OpenError, Row, Server, Table, Value,
};
use crate::storage::rows::copying::{names, select};

const CREATE: &str = include_str!("sql/copying/create.sql");
const DROP: &str = include_str!("sql/copying/drop.sql");
const DURABLE: &str = include_str!("sql/copying/durable.sql");
const EXISTS: &str = include_str!("sql/copying/exists.sql");
const FINISH: &str = include_str!("sql/copying/finish.sql");
const GET: &str = include_str!("sql/copying/get.sql");
const NODES: &str = include_str!("sql/copying/nodes.sql");
const LIVE: &str = include_str!("sql/copying/live.sql");
const MOVE: &str = include_str!("sql/copying/move.sql");
const NEWEST: &str = include_str!("sql/copying/newest.sql");
const PUT: &str = include_str!("sql/copying/put.sql");
const SESSION: &str = include_str!("sql/copying/session.sql");
const SOURCE: &str = include_str!("sql/copying/source.sql");

/// How long a process that has ended may still be seen.
const LEAVING: Duration = Duration::from_secs(6);

/// How long to wait before that is looked at again.
const PAUSE: Duration = Duration::from_millis(100);

/// The commit that the first batch follows; every database has it.
const FIRST: &[Value] = &[Value::Integer(0)];

/// A database that is open for a copy.
pub(in crate::storage) struct CopyEnd(PgConnection);

/// Whether a copy into this database has not been finished.
pub(super) async fn is_unfinished(connection: impl PgExecutor<'_>) -> Result<bool, sqlx::Error> {
    exists("copying", connection).await
}

/// Whether there is a table of that name.
async fn exists(table: &str, connection: impl PgExecutor<'_>) -> Result<bool, sqlx::Error> {
    let query = sqlx::query_scalar(EXISTS).bind(table);
    query.fetch_one(connection).await
}

impl CopyEnd {
    /// A database that is only read. Until the end, nobody commits.
    pub(in crate::storage) async fn source(server: &Server) -> Result<Self, CopyError> {
        let mut source = Self::open(server).await?;
        source.bring_up_to_date(Migrate::No).await?;
        if source.mark().await?.is_some() {
            return Err(CopyError::Unfinished);
        }
        source.0.execute(SOURCE).await?;
        Ok(source)
    }

    /// A database that will be written.
    pub(in crate::storage) async fn target(server: &Server) -> Result<Self, CopyError> {
        Self::open(server).await
    }

    /// A database that no service uses.
    async fn open(server: &Server) -> Result<Self, CopyError> {
        let servers = Servers::parse(&server.url).map_err(cannot_be_used)?;
        let reached = servers.connect_among(NEEDED_BY_ONE).await;
        let mut connection = reached.map_err(cannot_be_used)?.connection;
        connection.execute(SESSION).await?;
        wait_until_unused(&mut connection, LIVE).await?;
        let mut end = Self(connection);
        end.wait_for_nodes().await?;
        Ok(end)
    }

    /// Fails if a service has entered the list of nodes and beats: a pooler may hide it from the
    /// list of connections.
    async fn wait_for_nodes(&mut self) -> Result<(), CopyError> {
        if exists("node", &mut self.0).await? {
            wait_until_unused(&mut self.0, NODES).await?;
        }
        Ok(())
    }

    async fn bring_up_to_date(&mut self, migrate: Migrate) -> Result<(), CopyError> {
        let migrated = bring_up_to_date(&mut self.0, migrate).await;
        migrated.map_err(cannot_be_used)?;
        Ok(())
    }

    /// Migrates a database that is marked. A service looks for the mark after it has entered the
    /// list of nodes: either it sees the mark, or it is seen here.
    pub(in crate::storage) async fn prepare(&mut self) -> Result<(), CopyError> {
        self.wait_for_nodes().await?;
        self.bring_up_to_date(Migrate::Yes).await
    }

    pub(in crate::storage) async fn newest(&mut self) -> Result<String, CopyError> {
        let newest: Option<(i64, Uuid)> =
            sqlx::query_as(NEWEST).fetch_optional(&mut self.0).await?;
        let (seq, id) = newest.unwrap_or_default();
        Ok(format!("{seq}:{}", id.simple()))
    }

    pub(in crate::storage) async fn count(&mut self, table: &Table) -> Result<u64, CopyError> {
        if !exists(table.name, &mut self.0).await? {
            return Ok(0);
        }
        let is_chain = is_chain(table);
        let first = if is_chain { " where seq > 0" } else { "" };
        let text = format!("select count(*) from \"{}\"{first}", table.name);
        let count: i64 = sqlx::query_scalar(AssertSqlSafe(text))
            .fetch_one(&mut self.0)
            .await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    pub(in crate::storage) fn rows<'a>(
        &'a mut self,
        table: &'static Table,
        after: Option<&[Value]>,
    ) -> BoxStream<'a, Result<Row, CopyError>> {
        let after = after.or_else(|| is_chain(table).then_some(FIRST));
        let text = select(table, after.is_some(), |number| format!("${number}"));
        let mut query = sqlx::query(AssertSqlSafe(text));
        for value in after.unwrap_or_default() {
            query = bound(query, value);
        }
        query
            .fetch(&mut self.0)
            .map_err(CopyError::from)
            .map(|row| Ok(decoded(table, &row?)?))
            .boxed()
    }

    pub(in crate::storage) async fn mark(&mut self) -> Result<Option<CopyMark>, CopyError> {
        if !is_unfinished(&mut self.0).await? {
            return Ok(None);
        }
        let found: Option<(String, String, String, i64)> =
            sqlx::query_as(GET).fetch_optional(&mut self.0).await?;
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
        let mut transaction = self.0.begin().await?;
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
        self.0.execute(DROP).await?;
        Ok(())
    }

    pub(in crate::storage) async fn write(
        &mut self,
        table: &Table,
        after: Option<&[Value]>,
        rows: &[Row],
        mark: &CopyMark,
    ) -> Result<bool, CopyError> {
        let before = mark.written - i64::try_from(rows.len()).unwrap_or_default();
        let mut lines = Vec::new();
        let mut follows = after.unwrap_or(FIRST);
        for row in rows {
            line(table, row, &mut lines)?;
            if is_chain(table) {
                lines.push(b'\t');
                field(
                    follows.first().unwrap_or(&Value::Null),
                    Kind::Integer,
                    &mut lines,
                );
                lines.extend_from_slice(b"\t0");
                follows = table.key_of(row);
            }
            lines.push(b'\n');
        }
        let mut transaction = self.0.begin().await?;
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
        // Each commit is a link of its own.
        let chain = if is_chain(table) { ", prev, rev" } else { "" };
        let text = format!(
            "copy \"{}\"({}{chain}) from stdin",
            table.name,
            names(table.columns)
        );
        let mut copying = transaction.copy_in_raw(&text).await?;
        copying.send(lines).await?;
        copying.finish().await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// What was written so far is on the disk with this, too.
    pub(in crate::storage) async fn finish(mut self) -> Result<(), CopyError> {
        let mut transaction = self.0.begin().await?;
        transaction.execute(DURABLE).await?;
        transaction.execute(FINISH).await?;
        transaction.execute(DROP).await?;
        transaction.commit().await?;
        let _ = self.0.close().await;
        Ok(())
    }
}

fn cannot_be_used(trouble: Trouble) -> CopyError {
    OpenError::from(trouble).into()
}

/// Fails if a service uses the database; one that has just ended may still be seen for a moment.
async fn wait_until_unused(
    connection: &mut PgConnection,
    query: &'static str,
) -> Result<(), CopyError> {
    let until = Instant::now() + LEAVING;
    loop {
        let live: Option<String> = sqlx::query_scalar(query)
            .fetch_one(&mut *connection)
            .await?;
        let Some(live) = live else {
            return Ok(());
        };
        if Instant::now() >= until {
            return Err(CopyError::Live(live));
        }
        sleep(PAUSE).await;
    }
}

/// Whether it is the commits, of which each names the one that it follows.
fn is_chain(table: &Table) -> bool {
    table.name == "commit"
}

type Query<'q> = sqlx::query::Query<'q, sqlx_postgres::Postgres, PgArguments>;

/// Adds a part of a key; none of them is absent.
fn bound<'q>(query: Query<'q>, value: &Value) -> Query<'q> {
    match value {
        Value::Null => query.bind(None::<i64>),
        Value::Integer(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.clone()),
        Value::Bytes(bytes) => query.bind(bytes.clone()),
    }
}

fn decoded(table: &Table, row: &PgRow) -> Result<Row, sqlx::Error> {
    let columns = table.columns.iter().enumerate();
    let values = columns.map(|(index, (_, kind))| {
        let value = match kind {
            Kind::Integer => row.try_get::<Option<i64>, _>(index)?.map(Value::Integer),
            Kind::Small => {
                let value: Option<i32> = row.try_get(index)?;
                value.map(i64::from).map(Value::Integer)
            }
            Kind::Flag => {
                let value: Option<bool> = row.try_get(index)?;
                value.map(i64::from).map(Value::Integer)
            }
            Kind::Text => row.try_get::<Option<String>, _>(index)?.map(Value::Text),
            Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
            Kind::Uuid => {
                let value: Option<Uuid> = row.try_get(index)?;
                value.map(|id| Value::Bytes(id.as_bytes().to_vec()))
            }
        };
        Ok(value.unwrap_or(Value::Null))
    });
    values.collect()
}

/// A row as `copy` reads it, without its end.
fn line(table: &Table, row: &[Value], into: &mut Vec<u8>) -> Result<(), CopyError> {
    for (index, (value, (_, kind))) in row.iter().zip(table.columns).enumerate() {
        if index > 0 {
            into.push(b'\t');
        }
        if matches!(value, Value::Text(text) if text.as_bytes().contains(&0)) {
            return Err(CopyError::NulCharacter { table: table.name });
        }
        field(value, *kind, into);
    }
    Ok(())
}

fn field(value: &Value, kind: Kind, into: &mut Vec<u8>) {
    match (value, kind) {
        (Value::Null, _) => into.extend_from_slice(b"\\N"),
        (Value::Integer(number), Kind::Flag) => into.push(if *number == 0 { b'f' } else { b't' }),
        (Value::Integer(number), _) => into.extend_from_slice(number.to_string().as_bytes()),
        (Value::Text(text), _) => {
            for &byte in text.as_bytes() {
                match byte {
                    b'\\' => into.extend_from_slice(b"\\\\"),
                    b'\n' => into.extend_from_slice(b"\\n"),
                    b'\r' => into.extend_from_slice(b"\\r"),
                    b'\t' => into.extend_from_slice(b"\\t"),
                    _ => into.push(byte),
                }
            }
        }
        (Value::Bytes(bytes), Kind::Uuid) => into.extend_from_slice(hex::encode(bytes).as_bytes()),
        (Value::Bytes(bytes), _) => {
            into.extend_from_slice(b"\\\\x");
            into.extend_from_slice(hex::encode(bytes).as_bytes());
        }
    }
}
