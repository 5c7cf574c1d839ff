//! What is wrong with the storage, by the error it answered.

use super::place::Misplaced;

/// Why writes are refused, as the operator has to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Trouble {
    /// There is no room. The transaction was rolled back: the frame of a commit that did not fit
    /// is incomplete, so that no recovery takes it for one.
    Full,
    /// A file was deleted, moved or replaced.
    Misplaced,
    /// A page cannot be what it is.
    Damaged,
    /// Anything else; what became of the commit is not known.
    Failed,
}

/// The primary result codes of `SQLite`.
const FULL: i32 = 13;
const CORRUPT: i32 = 11;
const NOT_A_DATABASE: i32 = 26;

impl Trouble {
    pub(in crate::storage) fn of(error: &sqlx::Error) -> Self {
        if is_misplaced(error) {
            return Self::Misplaced;
        }
        match primary_code(error) {
            Some(FULL) => Self::Full,
            Some(CORRUPT | NOT_A_DATABASE) => Self::Damaged,
            Some(_) | None => Self::Failed,
        }
    }

    /// Whether nothing of the transaction that failed is left.
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
            Self::Damaged => "stop the service, restore a backup, and start it again",
            Self::Failed => "look at the disk; writes resume by themselves once it works",
        }
    }
}

/// Whether a page was found to be damaged.
pub(in crate::storage) fn is_damage(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(CORRUPT | NOT_A_DATABASE))
}

fn is_misplaced(error: &sqlx::Error) -> bool {
    let sqlx::Error::Io(error) = error else {
        return false;
    };
    let reason = error.get_ref();
    reason.is_some_and(<dyn std::error::Error + Send + Sync>::is::<Misplaced>)
}

fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|code| code & 0xff)
}
