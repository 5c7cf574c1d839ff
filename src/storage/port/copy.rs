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

/// Gets the bytes that are copied, and how many there will be, about.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

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
    #[error("{} is the database itself; name the file of a backup", .0.display())]
    Same(PathBuf),
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
            OpenError::Io(error) => Self::Io(error),
            other @ (OpenError::NotMigrated
            | OpenError::Migration(_)
            | OpenError::Server(_)
            | OpenError::Read(_)) => Self::Open(other.into()),
        }
    }
}
