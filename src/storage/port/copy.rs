//! Copies of a database in a file, and why one was not made or not put back.

use std::{io, path::PathBuf};

use super::{Failure, OpenError};
use crate::clock::Timestamp;
use crate::entity::Sequence;

/// A copy of the database.
#[derive(Debug, Clone, Copy)]
pub struct Copied {
    /// The size of its file.
    pub bytes: u64,
    /// The newest commit in it; 0 without any.
    pub sequence: Sequence,
    /// When that was.
    pub at: Timestamp,
}

/// A copy that was put in the place of the database.
#[derive(Debug, Clone)]
pub struct Restored {
    pub copied: Copied,
    /// What was there before.
    pub kept: Option<PathBuf>,
    /// Whether it has variables of bundles, which are encrypted.
    pub has_variables: bool,
}

/// Gets the bytes that are copied, and how many there will be, about.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// What a copy into a database of another kind has brought over.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// How many rows there are.
    pub rows: u64,
    /// How many of them were there already, from a copy that was interrupted.
    pub resumed: u64,
}

/// How far such a copy has got.
#[derive(Debug, Clone, Copy)]
pub struct CopyStep {
    /// Whether both sides are being compared.
    pub is_check: bool,
    /// The table.
    pub table: &'static str,
    /// How many rows of all tables are done.
    pub done: u64,
    pub total: u64,
}

/// Is called now and then with how far a copy has got.
pub type CopyProgress<'a> = &'a (dyn Fn(&CopyStep) + Sync);

/// Why there is no copy, or why it is not in the place of the database.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the database is in memory, so there is no file; set CYODA_STORAGE_BACKEND=sqlite")]
    InMemory,
    #[error(
        "the database is on a PostgreSQL server; copy it with pg_dump, and put it back with pg_restore"
    )]
    OnServer,
    #[error("there is no file {}", .0.display())]
    Absent(PathBuf),
    #[error("{} exists already; name another file, or remove it", .0.display())]
    Exists(PathBuf),
    #[error("{} is being written by another process; wait for its end", .0.display())]
    Written(PathBuf),
    #[error("{} is the database itself; name the file of a backup", .0.display())]
    Same(PathBuf),
    #[error("{} is the name of a file that SQLite has beside the database; name another file", .0.display())]
    Beside(PathBuf),
    #[error("the database {} exists; --replace keeps it under another name", .0.display())]
    Replaces(PathBuf),
    #[error("the database {} is in use; stop the service first", .0.display())]
    InUse(PathBuf),
    #[error("{} is not a database of Interlock", .0.display())]
    Foreign(PathBuf),
    #[error("{} has damaged pages; use an older backup", .0.display())]
    Damaged(PathBuf),
    #[error("{} was written by a newer version; use that version", .path.display())]
    NotOfThisVersion {
        path: PathBuf,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("both are SQLite databases; use `interlock backup` and `interlock restore`")]
    BothFiles,
    #[error("both are PostgreSQL databases; use pg_dump and pg_restore")]
    BothServers,
    #[error("the PostgreSQL database is used by {0}; stop every service that uses it first")]
    Live(String),
    #[error("the source needs a migration; run `interlock migrate` with its settings first")]
    Old,
    #[error("the source is itself an unfinished copy; finish it first")]
    Unfinished,
    #[error("the target is not empty: it has rows in `{table}`; name an empty database")]
    NotEmpty { table: &'static str },
    #[error(
        "the target holds an interrupted copy of another database, or of this one before it changed; empty it and copy again"
    )]
    OfAnother,
    #[error("another `interlock copy` writes to the target; wait for its end")]
    Twice,
    #[error(
        "a value in `{table}` has a NUL character, which PostgreSQL cannot store; remove what has it"
    )]
    NulCharacter { table: &'static str },
    #[error("`{table}` cannot be read as it was written; empty the target and copy again")]
    Unreadable { table: &'static str },
    #[error(
        "`{table}` is not the same on both sides, so the copy cannot be used; empty the target and copy again"
    )]
    Differs { table: &'static str },
    #[error("{} cannot be used", .path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error("a file could not be used")]
    Io(#[from] io::Error),
    #[error("the database failed")]
    Database(#[source] Failure),
    #[error("the database could not be opened")]
    Open(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<OpenError> for CopyError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse(path) => Self::InUse(path),
            OpenError::Unusable { path, source } => Self::Unusable { path, source },
            OpenError::Io(error) => Self::Io(error),
            other @ (OpenError::NotMigrated
            | OpenError::Incomplete
            | OpenError::Newer
            | OpenError::Migration(_)
            | OpenError::Server(_)
            | OpenError::Read(_)) => Self::Open(other.into()),
        }
    }
}
