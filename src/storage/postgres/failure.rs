//! Why a server cannot be used, and what to do about it.

use sqlx::migrate::MigrateError;

use crate::storage::port::{Cause, Error, Failure, OpenError};

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("CYODA_POSTGRES_URL is not a valid URL of a PostgreSQL database: {0}")]
    Url(String),
    #[error("the PostgreSQL server does not answer ({0}); start it, or correct CYODA_POSTGRES_URL")]
    Absent(String),
    #[error(
        "the PostgreSQL server takes no more connections ({0}); a service needs at least {needed}: \
         raise its limit, or that of its pooler, or end some",
        needed = super::NEEDED
    )]
    Crowded(String),
    #[error(
        "a pooler between this process and the PostgreSQL server does not keep sessions: set it to \
         session mode (PgBouncer: `pool_mode = session`), or name the server itself in \
         CYODA_POSTGRES_URL"
    )]
    Pooled,
    #[error(
        "no TLS connection to the PostgreSQL server ({0}); set it up there, or correct `sslmode` in \
         CYODA_POSTGRES_URL"
    )]
    Tls(String),
    #[error(
        "the PostgreSQL server rejected the user or the password ({0}); correct them in \
         CYODA_POSTGRES_URL"
    )]
    Password(String),
    #[error(
        "the PostgreSQL server has no such database ({0}); create it, or correct \
         CYODA_POSTGRES_URL"
    )]
    NoDatabase(String),
    #[error("the PostgreSQL server has version {0}; use version 14 or a later one")]
    TooOld(String),
    #[error(
        "the PostgreSQL server is read-only; name the one that takes writes in CYODA_POSTGRES_URL"
    )]
    ReadOnly,
    #[error(
        "the PostgreSQL server is an old primary, and the one that has taken over from it does not \
         answer; start that one"
    )]
    OldPrimary,
    #[error("the encoding of the PostgreSQL database is {0}; create one with the encoding UTF8")]
    Encoding(String),
    #[error(
        "the PostgreSQL database needs a migration; run `interlock migrate`, or set \
         CYODA_POSTGRES_AUTO_MIGRATE=true"
    )]
    NotMigrated,
    #[error(
        "the PostgreSQL database is an unfinished copy; finish it by the same `interlock copy`, or \
         use an empty database"
    )]
    Incomplete,
    #[error(
        "the PostgreSQL database was migrated by a newer release; run that release or a later one"
    )]
    Newer,
    #[error(
        "the user of CYODA_POSTGRES_URL has too few rights ({0}); grant it CREATE on the schema, \
         or run `interlock migrate` as the owner of the tables"
    )]
    Rights(String),
    #[error("the PostgreSQL database could not be migrated: {0}")]
    Migration(String),
    #[error("the PostgreSQL server failed: {0}")]
    Other(String),
}

impl From<MigrateError> for Trouble {
    fn from(error: MigrateError) -> Self {
        if let MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) = error {
            return error.into();
        }
        if matches!(error, MigrateError::VersionMissing(_)) {
            return Self::Newer;
        }
        Self::Migration(error.to_string())
    }
}

impl From<Trouble> for OpenError {
    fn from(trouble: Trouble) -> Self {
        Self::Server(trouble.into())
    }
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        let text = error.to_string();
        if matches!(error, sqlx::Error::Tls(_)) {
            return Self::Tls(text);
        }
        if matches!(error, sqlx::Error::PoolTimedOut) {
            return Self::Crowded("it has given none in time".to_owned());
        }
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        match code.as_deref() {
            Some("28000" | "28P01") => Self::Password(text),
            Some("3D000") => Self::NoDatabase(text),
            Some("42501") => Self::Rights(text),
            Some("25006") => Self::ReadOnly,
            Some("53300") => Self::Crowded(text),
            // Statements of another session are there, or those of this one are not.
            Some("42P05" | "26000") => Self::Pooled,
            Some("57P03") | None => Self::Absent(text),
            Some(_) => Self::Other(text),
        }
    }
}

/// The code of a statement that has waited too long for a lock.
const LOCKED: &str = "55P03";

/// An error of a read: without an answer the server is away.
pub(in crate::storage) fn understood(error: Error) -> Error {
    match error {
        Error::Failed(failure) => Error::Failed(without_answer(failure)),
        other @ Error::Inconsistent { .. } => other,
    }
}

/// A failure: without an answer the server is away, and so is a table that an operator has locked.
pub(super) fn without_answer(failure: Failure) -> Failure {
    failure.understood(|error: &sqlx::Error| {
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        let has_answer = matches!(
            error,
            sqlx::Error::Database(_) if code.as_deref() != Some(LOCKED)
        ) || matches!(
            error,
            sqlx::Error::Encode(_)
                | sqlx::Error::Decode(_)
                | sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::ColumnNotFound(_)
                | sqlx::Error::RowNotFound
        );
        (!has_answer).then_some(Cause::Away)
    })
}
