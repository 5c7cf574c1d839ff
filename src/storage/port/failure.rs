//! How a database fails, whichever it is.

use std::{error::Error as StdError, fmt, path::PathBuf};

use futures_util::future::BoxFuture;

/// An error of a driver, which nobody here looks into.
type Source = Box<dyn StdError + Send + Sync>;

/// Why a database failed, as far as it makes a difference to what is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Cause {
    /// A constraint rejected a row, so the transaction was rolled back. What was validated fits
    /// every constraint: this is a bug, or someone else writes to the database.
    Rejected,
    /// There is no room. The transaction was rolled back.
    Full,
    /// A file was deleted, moved or replaced.
    Misplaced,
    /// A page cannot be what it is.
    Damaged,
    /// A server does not answer; what became of the commit is not known.
    Away,
    /// Anything else; what became of the commit is not known.
    Other,
}

impl Cause {
    /// Whether nothing of the transaction that failed is left, and the database can be used again
    /// once the cause is removed.
    pub(in crate::storage) const fn is_rolled_back(self) -> bool {
        matches!(self, Self::Full | Self::Damaged)
    }

    /// What the operator does about it.
    pub(in crate::storage) const fn advice(self) -> &'static str {
        match self {
            Self::Full => "the disk is full; make room, then writes resume by themselves",
            Self::Misplaced => {
                "move the database and its log back, then writes resume by themselves; or restore \
                 a backup and restart the service, which uses what is at the path then. Until \
                 the process ends, its open files are in /proc/<pid>/fd"
            }
            Self::Away => {
                "look at the PostgreSQL server; writes resume by themselves once it answers"
            }
            Self::Damaged => "stop the service, restore a backup, and start it again",
            Self::Rejected | Self::Other => {
                "look at the disk; writes resume by themselves once it works"
            }
        }
    }
}

/// A file of the database is not at its path any more.
#[derive(Debug, thiserror::Error)]
#[error("{path} is not the file that is open: it was deleted, moved or replaced")]
pub(in crate::storage) struct Misplaced {
    pub(in crate::storage) path: PathBuf,
}

/// A failure of the database, with its cause. It reads as the error of the driver does.
#[derive(Debug)]
pub struct Failure {
    cause: Cause,
    source: Source,
}

impl Failure {
    pub(in crate::storage) fn new(cause: Cause, source: impl Into<Source>) -> Self {
        Self {
            cause,
            source: source.into(),
        }
    }

    pub(in crate::storage) const fn cause(&self) -> Cause {
        self.cause
    }

    /// Replaces the cause if the error of the driver shows another one.
    pub(in crate::storage) fn understood<E: StdError + 'static>(
        self,
        cause: impl FnOnce(&E) -> Option<Cause>,
    ) -> Self {
        let cause = self.source.downcast_ref().and_then(cause);
        Self {
            cause: cause.unwrap_or(self.cause),
            ..self
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.source()
    }
}

/// What is committed on its way to the disk; done when it is there.
pub(in crate::storage) type Syncing = BoxFuture<'static, Result<(), Failure>>;

/// Why a database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(in crate::storage) enum Error {
    /// A stored value cannot be read as what it has to be.
    #[error("column {column} of row {row} in {table} is not what it should be")]
    Inconsistent {
        table: &'static str,
        column: &'static str,
        row: i64,
    },
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub(in crate::storage) enum OpenError {
    #[error("the database is in use by another process: {0}")]
    InUse(PathBuf),
    #[error("the database needs a migration")]
    NotMigrated,
    /// An `interlock copy` into it has not been finished.
    #[error("the database is an unfinished copy")]
    Incomplete,
    #[error("the database was migrated by a newer release")]
    Newer,
    #[error("the database could not be migrated")]
    Migration(#[source] Source),
    /// A server cannot be used; the error says what to do about it.
    #[error(transparent)]
    Server(Source),
    #[error("{} cannot be used", .path.display())]
    Unusable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("a file of the database could not be used")]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Read(#[from] Error),
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Read(failure.into())
    }
}
