//! A connection to a database, whichever it is.

use super::{mysql, postgres, sqlite, statement::Statement};
use crate::connector::RESULT_BYTES_MAX;

/// The most rows that one statement may return.
const ROWS_MAX: usize = 10_000;

/// A connection. Dropping it closes it, and rolls back what is open.
#[derive(Debug)]
pub(super) enum Link {
    Sqlite(Box<sqlite::Link>),
    Postgres(Box<postgres::Link>),
    Mysql(Box<mysql::Link>),
}

/// What a statement has done.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) rows: Rows,
    pub(super) affected: u64,
    /// The generated key, if there is one.
    pub(super) id: Option<i64>,
}

/// Rows as JSON objects, which have a bound together.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) all: Vec<String>,
    bytes: usize,
}

/// Why a statement has not been executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Another connection holds a lock; to be tried again.
    Busy,
    /// The database refuses it.
    Refused(String),
    /// The database refuses it, since another row has the key.
    Taken(String),
    /// The database refuses it, since a value is not of its column's type.
    Unfit(String),
    /// The result has too many rows or bytes. Some of it may still be on its way, so the connection
    /// is of no further use.
    TooLarge,
    /// The connection is lost, or could not be made. What was not committed is rolled back.
    Gone(String),
    /// The connection was lost during a commit, which may have succeeded.
    Unsettled(String),
}

impl Fault {
    /// Whether the connection can be used again.
    pub(super) const fn leaves_link(&self) -> bool {
        match self {
            Self::Busy | Self::Refused(_) | Self::Taken(_) | Self::Unfit(_) => true,
            Self::TooLarge | Self::Gone(_) | Self::Unsettled(_) => false,
        }
    }
}

impl Rows {
    /// Adds the first row that a statement has written. One that is too large is left out: what is
    /// written cannot be refused any more.
    pub(super) fn push_written(&mut self, row: String) {
        if self.all.is_empty() {
            let _ = self.push(row);
        }
    }

    pub(super) fn push(&mut self, row: String) -> Result<(), Fault> {
        self.bytes += row.len() + 1;
        if self.bytes > RESULT_BYTES_MAX || self.all.len() == ROWS_MAX {
            return Err(Fault::TooLarge);
        }
        self.all.push(row);
        Ok(())
    }
}

pub(super) fn too_large() -> String {
    format!("the result has more than {ROWS_MAX} rows or {RESULT_BYTES_MAX} bytes")
}

pub(super) fn unsettled(reason: &str) -> String {
    format!("the connection ended during the commit, which may have succeeded: {reason}")
}

impl Link {
    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Done, Fault> {
        match self {
            Self::Sqlite(link) => link.run(statement).await,
            Self::Postgres(link) => link.run(statement).await,
            Self::Mysql(link) => link.run(statement).await,
        }
    }

    /// Begins a transaction that writes.
    pub(super) async fn begin(&mut self) -> Result<(), Fault> {
        match self {
            // One that begins by reading could not write after another has.
            Self::Sqlite(link) => link.control("BEGIN IMMEDIATE").await,
            Self::Postgres(link) => link.control("BEGIN").await,
            Self::Mysql(link) => link.control("START TRANSACTION").await,
        }
    }

    /// Executes a query of an author within a transaction that writes. A server cannot keep one
    /// statement of it from writing; in `PostgreSQL` it is at least within a query of ours.
    pub(super) async fn read_within(&mut self, statement: &Statement) -> Result<Done, Fault> {
        match self {
            Self::Sqlite(_) => self.read(statement).await,
            Self::Postgres(_) | Self::Mysql(_) => self.run(statement).await,
        }
    }

    /// Executes a query of an author, which writes nothing. After a failure that leaves the
    /// connection, it can be used again.
    pub(super) async fn read(&mut self, statement: &Statement) -> Result<Done, Fault> {
        self.begin_reading().await?;
        let done = self.run(statement).await;
        if done.as_ref().err().is_none_or(Fault::leaves_link) {
            // One that still only reads is of no use.
            let ended = self.end_reading().await;
            ended.map_err(|_| Fault::Gone("the connection cannot write again".to_owned()))?;
        }
        done
    }

    /// Has what is executed write nothing, functions that it calls included.
    async fn begin_reading(&mut self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(link) => link.control("PRAGMA query_only = ON").await,
            Self::Postgres(link) => link.control("BEGIN READ ONLY").await,
            Self::Mysql(link) => link.control("START TRANSACTION READ ONLY").await,
        }
    }

    async fn end_reading(&mut self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(link) => link.control("PRAGMA query_only = OFF").await,
            Self::Postgres(link) => link.control("ROLLBACK").await,
            Self::Mysql(link) => link.control("ROLLBACK").await,
        }
    }

    pub(super) async fn commit(&mut self) -> Result<(), Fault> {
        self.control("COMMIT").await.map_err(|fault| match fault {
            Fault::Gone(reason) => Fault::Unsettled(reason),
            fault @ (Fault::Busy
            | Fault::Refused(_)
            | Fault::Taken(_)
            | Fault::Unfit(_)
            | Fault::TooLarge
            | Fault::Unsettled(_)) => fault,
        })
    }

    pub(super) async fn roll_back(&mut self) -> Result<(), Fault> {
        self.control("ROLLBACK").await
    }

    async fn control(&mut self, text: &'static str) -> Result<(), Fault> {
        match self {
            Self::Sqlite(link) => link.control(text).await,
            Self::Postgres(link) => link.control(text).await,
            Self::Mysql(link) => link.control(text).await,
        }
    }

    /// Whether it has had its time, although it works.
    pub(super) fn is_worn(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(link) => link.relay.is_worn(),
            Self::Mysql(link) => link.relay.is_worn(),
        }
    }

    /// Whether it still works.
    pub(super) async fn is_alive(&mut self) -> bool {
        match self {
            Self::Sqlite(link) => link.is_current(),
            Self::Postgres(link) => link.is_alive().await,
            Self::Mysql(link) => link.is_alive().await,
        }
    }
}
