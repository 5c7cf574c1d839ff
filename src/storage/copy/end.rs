//! Where rows are read or written: one of the two databases.

use futures_util::stream::BoxStream;

use crate::storage::{
    port::{CopyError, CopyMark, DatabaseLocation, Row, Table, Value},
    postgres, sqlite,
};

/// One of the two databases, open for a copy.
pub(super) enum End {
    Sqlite(Box<sqlite::CopyEnd>),
    Postgres(Box<postgres::CopyEnd>),
}

impl End {
    /// A database that is only read, and that nobody else has open.
    pub(super) async fn source(place: &DatabaseLocation) -> Result<Self, CopyError> {
        Ok(match place {
            DatabaseLocation::File(path) => {
                Self::Sqlite(Box::new(sqlite::CopyEnd::source(path).await?))
            }
            DatabaseLocation::Server(server) => {
                Self::Postgres(Box::new(postgres::CopyEnd::source(server).await?))
            }
            DatabaseLocation::Memory => return Err(CopyError::InMemory),
        })
    }

    /// A database that will be written, and that nobody else has open. A file is made if there is
    /// none.
    pub(super) async fn target(place: &DatabaseLocation) -> Result<Self, CopyError> {
        Ok(match place {
            DatabaseLocation::File(path) => {
                Self::Sqlite(Box::new(sqlite::CopyEnd::target(path).await?))
            }
            DatabaseLocation::Server(server) => {
                Self::Postgres(Box::new(postgres::CopyEnd::target(server).await?))
            }
            DatabaseLocation::Memory => return Err(CopyError::InMemory),
        })
    }

    /// The newest commit, as text.
    pub(super) async fn newest(&mut self) -> Result<String, CopyError> {
        match self {
            Self::Sqlite(end) => end.newest().await,
            Self::Postgres(end) => end.newest().await,
        }
    }

    /// How many rows a table has; 0 if there is no such table.
    pub(super) async fn count(&mut self, table: &Table) -> Result<u64, CopyError> {
        match self {
            Self::Sqlite(end) => end.count(table).await,
            Self::Postgres(end) => end.count(table).await,
        }
    }

    /// The rows of a table in the order of its key: all, or those after a key.
    pub(super) fn rows<'a>(
        &'a mut self,
        table: &'static Table,
        after: Option<&[Value]>,
    ) -> BoxStream<'a, Result<Row, CopyError>> {
        match self {
            Self::Sqlite(end) => end.rows(table, after),
            Self::Postgres(end) => end.rows(table, after),
        }
    }

    /// How far a copy into this database has got, if there is an unfinished one.
    pub(super) async fn mark(&mut self) -> Result<Option<CopyMark>, CopyError> {
        match self {
            Self::Sqlite(end) => end.mark().await,
            Self::Postgres(end) => end.mark().await,
        }
    }

    /// Marks this database as an unfinished copy: from here on, no service starts over it.
    pub(super) async fn begin(&mut self, mark: &CopyMark) -> Result<(), CopyError> {
        match self {
            Self::Sqlite(end) => end.begin(mark).await,
            Self::Postgres(end) => end.begin(mark).await,
        }
    }

    /// Takes the mark away from a database into which nothing was copied.
    pub(super) async fn drop_mark(&mut self) -> Result<(), CopyError> {
        match self {
            Self::Sqlite(end) => end.drop_mark().await,
            Self::Postgres(end) => end.drop_mark().await,
        }
    }

    /// Migrates this database, which is marked. Fails if a service started over it just before it
    /// was marked.
    pub(super) async fn prepare(&mut self) -> Result<(), CopyError> {
        match self {
            Self::Sqlite(end) => end.prepare().await,
            Self::Postgres(end) => end.prepare().await,
        }
    }

    /// Writes rows that follow a key, and how far that gets, in one transaction. False if the mark
    /// is not where it was left.
    pub(super) async fn write(
        &mut self,
        table: &Table,
        after: Option<&[Value]>,
        rows: &[Row],
        mark: &CopyMark,
    ) -> Result<bool, CopyError> {
        match self {
            Self::Sqlite(end) => end.write(table, rows, mark).await,
            Self::Postgres(end) => end.write(table, after, rows, mark).await,
        }
    }

    /// Ends a copy into this database, which can be used from then on.
    pub(super) async fn finish(self) -> Result<(), CopyError> {
        match self {
            Self::Sqlite(end) => end.finish().await,
            Self::Postgres(end) => end.finish().await,
        }
    }
}
