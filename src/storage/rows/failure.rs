//! What the errors of the driver and of files mean to storage, whichever database they are of.

use std::io;

use sqlx::{error::ErrorKind, migrate::MigrateError};
use sqlx_postgres::PgDatabaseError;

use crate::storage::port::{Cause, CopyError, Error, Failure, Misplaced, OpenError};

/// How the names of the driver's libraries begin. Storage reports what fails in them.
pub const DRIVER: &str = "sqlx";

/// The primary result codes of `SQLite`.
const FULL: i32 = 13;
const CORRUPT: i32 = 11;
const NOT_A_DATABASE: i32 = 26;

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::new(cause_of(&error), error)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<sqlx::Error> for CopyError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let cause = if is_misplaced(&error) {
            Cause::Misplaced
        } else {
            Cause::Other
        };
        Self::new(cause, error)
    }
}

impl From<MigrateError> for OpenError {
    fn from(error: MigrateError) -> Self {
        if matches!(error, MigrateError::VersionMissing(_)) {
            return Self::Newer;
        }
        Self::Migration(error.into())
    }
}

/// Whether a page was found to be damaged.
pub(in crate::storage) fn is_damage(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(CORRUPT | NOT_A_DATABASE))
}

/// Whether a file is none of `SQLite`.
pub(in crate::storage) fn is_foreign(error: &sqlx::Error) -> bool {
    primary_code(error) == Some(NOT_A_DATABASE)
}

fn cause_of(error: &sqlx::Error) -> Cause {
    if let sqlx::Error::Io(error) = error {
        return if is_misplaced(error) {
            Cause::Misplaced
        } else {
            Cause::Other
        };
    }
    let database = error.as_database_error();
    if let Some(error) = database.and_then(|error| error.try_downcast_ref::<PgDatabaseError>()) {
        return of_server(error.code());
    }
    let kind = error
        .as_database_error()
        .map(sqlx::error::DatabaseError::kind);
    if kind.is_some_and(|kind| !matches!(kind, ErrorKind::Other)) {
        return Cause::Rejected;
    }
    match primary_code(error) {
        // The frame of a commit that did not fit is incomplete, so that no recovery takes it for
        // one: the transaction was rolled back.
        Some(FULL) => Cause::Full,
        Some(CORRUPT | NOT_A_DATABASE) => Cause::Damaged,
        Some(_) | None => Cause::Other,
    }
}

/// What a code of `PostgreSQL` means.
fn of_server(code: &str) -> Cause {
    // Its user lost a right, or a table is gone: that is not the fault of a request.
    if ["42501", "42P01"].contains(&code) {
        return Cause::Away;
    }
    match code.get(..2) {
        // Values, constraints, statements that do not fit the tables, and what is too long for an
        // index.
        Some("22" | "23" | "42" | "54") => Cause::Rejected,
        Some("53") => Cause::Full,
        Some(_) | None => Cause::Away,
    }
}

fn is_misplaced(error: &io::Error) -> bool {
    let reason = error.get_ref();
    reason.is_some_and(<dyn std::error::Error + Send + Sync>::is::<Misplaced>)
}

fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|code| code & 0xff)
}
