//! Connections to `SQLite` files.
//!
//! A locked file is not waited for here: that would hold the thread of the connection. The fault
//! says so, and the statement is executed again after a pause.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::TryStreamExt as _;
use libsqlite3_sys::{SQLITE_LIMIT_LENGTH, sqlite3_limit};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Decode, Either, Executor as _, Row as _,
    TypeInfo as _, Value as _, ValueRef as _,
};
use sqlx_sqlite::{LockedSqliteHandle, Sqlite, SqliteConnectOptions, SqliteConnection, SqliteRow};

use super::{
    link::{Done, Fault, Rows},
    statement::{Kind, Statement},
    value::{Value, exact_double},
};
use crate::connector::RESULT_BYTES_MAX;
use crate::entity::Number;
use crate::expr::quoted;

/// How many instructions are executed between two looks at whether anybody still waits: well below
/// a millisecond.
const LOOK_EVERY: i32 = 10_000;

/// The largest value, row or statement, in bytes. Without a limit, an expression makes values of a
/// gigabyte.
const VALUE_BYTES_MAX: i32 = 16 << 20;

/// The result codes of a file that another connection has locked.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;

/// A connection. Dropping it interrupts what it executes.
#[derive(Debug)]
pub(super) struct Link {
    connection: SqliteConnection,
    path: PathBuf,
    /// Which file it was: its device and number.
    file: Option<(u64, u64)>,
    is_dropped: Arc<AtomicBool>,
}

impl Link {
    pub(super) async fn open(path: &Path) -> Result<Self, Fault> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .busy_timeout(Duration::ZERO)
            .thread_name(|_| "connector-sqlite".to_owned())
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(fault)?;
        let is_dropped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_dropped);
        let mut handle = connection.lock_handle().await.map_err(fault)?;
        handle.set_progress_handler(LOOK_EVERY, move || !seen.load(Ordering::Relaxed));
        limit_values(&mut handle);
        drop(handle);
        Ok(Self {
            connection,
            path: path.to_owned(),
            file: file_at(path),
            is_dropped,
        })
    }

    /// Whether its file is still the one at the path; one that was replaced, as by a restore, is
    /// written to without anybody seeing it.
    pub(super) fn is_current(&self) -> bool {
        self.file.is_some() && file_at(&self.path) == self.file
    }

    pub(super) async fn control(&mut self, text: &'static str) -> Result<(), Fault> {
        let done = sqlx::raw_sql(text).execute(&mut self.connection).await;
        done.map(|_| ()).map_err(fault)
    }

    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Done, Fault> {
        let mut query = sqlx::query(AssertSqlSafe(statement.text()));
        for value in &statement.values {
            query = match value {
                Value::Null => query.bind(None::<i64>),
                Value::Bool(truth) => query.bind(i64::from(*truth)),
                Value::Int(number) => query.bind(*number),
                Value::Decimal(digits) => match exact_double(digits) {
                    Some(double) => query.bind(double),
                    None => query.bind(digits.to_string()),
                },
                Value::Text(text) | Value::Json(text) => query.bind(text.to_string()),
            };
        }
        let mut rows = Rows::default();
        let (mut affected, mut id, mut rounded) = (0, None, None);
        let mut results = (&mut self.connection).fetch_many(query);
        while let Some(next) = results.try_next().await.map_err(fault)? {
            match next {
                Either::Left(done) => {
                    affected = done.rows_affected();
                    id = Some(done.last_insert_rowid());
                }
                // Of what it has written, the first row matters.
                Either::Right(row) if statement.kind == Kind::Written => {
                    if rounded.is_none() {
                        rounded = rounded_column(statement, &row).map_err(fault)?;
                    }
                    if rows.all.is_empty()
                        && let Some(row) = json(&row).map_err(fault)?
                    {
                        rows.push_written(row);
                    }
                }
                Either::Right(row) => match json(&row).map_err(fault)? {
                    Some(row) => rows.push(row)?,
                    None => return Err(Fault::TooLarge),
                },
            }
        }
        if let Some(column) = rounded {
            return Err(Fault::Refused(format!(
                "the column `{column}` would round the number; declare it TEXT to keep all digits"
            )));
        }
        Ok(Done { rows, affected, id })
    }
}

#[expect(unsafe_code, reason = "the driver has no function that sets a limit")]
fn limit_values(handle: &mut LockedSqliteHandle<'_>) {
    let connection = handle.as_raw_handle().as_ptr();
    // SAFETY: the connection is open, and no other thread uses it while its handle is locked.
    unsafe { sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX) };
}

/// The column, if there is one, that has rounded a number: `SQLite` converts an integer, and a
/// number that was bound as text, to what the declared type of the column prefers.
fn rounded_column(statement: &Statement, row: &SqliteRow) -> Result<Option<String>, sqlx::Error> {
    for (column, digits) in statement.inexact() {
        let is_it = |at: &usize| row.column(*at).name().eq_ignore_ascii_case(column);
        let Some(at) = (0..row.len()).find(is_it) else {
            continue;
        };
        let mut kept = String::new();
        append(&row.try_get_raw(at)?, &mut kept).map_err(sqlx::Error::Decode)?;
        let is_text = kept.starts_with('"');
        if !is_text && Number::parse(&kept) != Number::parse(&digits) {
            return Ok(Some(column.to_owned()));
        }
    }
    Ok(None)
}

fn file_at(path: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Drop for Link {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }
}

/// A row as a JSON object: numbers with their digits, bytes and text that is not UTF-8 in base64. None of one that is larger
/// than a result may be.
fn json(row: &SqliteRow) -> Result<Option<String>, sqlx::Error> {
    let mut text = String::from("{");
    for (at, column) in row.columns().iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&quoted(column.name()));
        text.push(':');
        let value = row.try_get_raw(at)?;
        // Before it is copied: one value may have a gigabyte.
        let bytes = <&[u8] as Decode<'_, Sqlite>>::decode(row.try_get_raw(at)?);
        if bytes.is_ok_and(|bytes| bytes.len() > RESULT_BYTES_MAX) {
            return Ok(None);
        }
        append(&value, &mut text).map_err(sqlx::Error::Decode)?;
    }
    text.push('}');
    Ok(Some(text))
}

fn append(
    value: &sqlx_sqlite::SqliteValueRef<'_>,
    to: &mut String,
) -> Result<(), sqlx::error::BoxDynError> {
    if value.is_null() {
        to.push_str("null");
        return Ok(());
    }
    let value = value.to_owned();
    let kind = value.type_info().name().to_owned();
    let value = value.as_ref();
    match &*kind {
        "INTEGER" => {
            let _ = write!(to, "{}", <i64 as Decode<'_, Sqlite>>::decode(value)?);
        }
        "REAL" => {
            let number = <f64 as Decode<'_, Sqlite>>::decode(value)?;
            // Null, if it is infinite.
            to.push_str(&serde_json::Value::from(number).to_string());
        }
        "BLOB" => {
            let bytes = <Vec<u8> as Decode<'_, Sqlite>>::decode(value)?;
            to.push_str(&quoted(&STANDARD.encode(bytes)));
        }
        _ => {
            let bytes = <Vec<u8> as Decode<'_, Sqlite>>::decode(value)?;
            // Other programs leave text in encodings of their own.
            let text =
                String::from_utf8(bytes).unwrap_or_else(|error| STANDARD.encode(error.as_bytes()));
            to.push_str(&quoted(&text));
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn fault(error: sqlx::Error) -> Fault {
    // It is of a value, and the connection still works.
    if matches!(
        error,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)
    ) {
        return Fault::Refused(error.to_string());
    }
    let Some(refused) = error.as_database_error() else {
        return Fault::Gone(error.to_string());
    };
    let code: Option<i32> = refused.code().and_then(|code| code.parse().ok());
    if code.is_some_and(|code| [BUSY, LOCKED].contains(&(code & 0xff))) {
        return Fault::Busy;
    }
    Fault::Refused(refused.message().to_owned())
}
