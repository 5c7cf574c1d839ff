//! Why storage did not do what was asked.

use std::{path::PathBuf, sync::Arc};

use super::{
    damage,
    port::{self, Cause, OpenError},
};
use crate::entity::{Position, Sequence};
use crate::error::{Code, Coded, Properties};
use crate::id::{EdgeMessageId, EntityId, ModelKey, RunId};
use crate::model::{Excess, InvalidKeys, InvalidValue, Lock, Oversized};

/// Why storage did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("transaction conflict — retry")]
    Conflict,
    #[error(
        "a request with the same idempotency key was committed meanwhile; repeat it to receive its outcome"
    )]
    Repeated,
    #[error("run {0} has the key already")]
    RunExists(RunId),
    #[error("model {0} not found")]
    ModelNotFound(ModelKey),
    #[error("message not found")]
    MessageNotFound(EdgeMessageId),
    #[error("model {0} is not locked; lock it before creating entities")]
    ModelNotLocked(ModelKey),
    #[error("model {0} is already locked; to change it, unlock it or use another version")]
    ModelAlreadyLocked(ModelKey),
    #[error("model {0} is already unlocked")]
    ModelAlreadyUnlocked(ModelKey),
    #[error("model {model} has {count} entities; delete them first")]
    ModelHasEntities { model: ModelKey, count: i64 },
    #[error(
        "unique key `{key}` of model {model}: entity {other} has {values}, too; change one of them"
    )]
    UniqueViolation {
        model: ModelKey,
        key: Arc<str>,
        values: String,
        /// Who has them; it may be of the same transaction.
        other: EntityId,
    },
    #[error(transparent)]
    InvalidUniqueKeys(#[from] InvalidKeys),
    #[error(transparent)]
    InvalidUniqueValue(#[from] InvalidValue),
    #[error(transparent)]
    OversizedModel(#[from] Oversized),
    /// Another unit has meanwhile made another kind of value of a place of the model.
    #[error(transparent)]
    PolymorphicSlot(Excess),
    #[error("the transaction holds more than {what}; split it")]
    TooLarge { what: &'static str },
    #[error(
        "the tenant has {bytes} bytes waiting to be committed, which is its half of INTERLOCK_COMMIT_QUEUE_BYTES; try again later"
    )]
    NoRoom { bytes: usize },
    #[error("a name or a key has a NUL character, which PostgreSQL cannot store; remove it")]
    NulCharacter,
    #[error("the request was cancelled")]
    Cancelled,
    #[error("position {} has not been reached; the newest is {}", .after.0, .latest.0)]
    NotYet { after: Position, latest: Sequence },
    #[error("the storage cannot be used for now; try again later")]
    Unavailable,
    #[error("column {column} of row {row} in {table} is not what it should be")]
    Inconsistent {
        table: &'static str,
        column: &'static str,
        row: i64,
    },
    #[error(
        "the database is in use by another process: {0}; stop that process, or use another database file (CYODA_SQLITE_PATH)"
    )]
    InUse(PathBuf),
    #[error(
        "the database needs a migration; run `interlock migrate`, or set CYODA_SQLITE_AUTO_MIGRATE=true"
    )]
    NotMigrated,
    #[error(
        "the database is an unfinished copy; finish it by the same `interlock copy`, or use an empty database"
    )]
    Incomplete,
    #[error(
        "the database was migrated by a newer release; run that release or a later one, or restore the backup made before the upgrade"
    )]
    Newer,
    #[error("the database could not be migrated")]
    Migration(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Server(Box<dyn std::error::Error + Send + Sync>),
    #[error("{}", failed(.0))]
    Database(#[source] port::Failure),
    #[error(
        "the database is damaged, or is not an SQLite database; the log of the service has details"
    )]
    Damaged,
    #[error(
        "the storage failed during the commit, so it is not known whether that happened; read before you repeat it"
    )]
    OutcomeUnknown,
    #[error("{} cannot be used", .path.display())]
    Unusable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("a file of the database could not be used")]
    Io(#[source] std::io::Error),
    #[error("the transaction was not committed")]
    NotCommitted,
    #[error("the storage has stopped")]
    Stopped,
}

fn failed(failure: &port::Failure) -> &'static str {
    if failure.cause() == Cause::Away {
        "the database cannot be reached; try again later"
    } else {
        "the database failed"
    }
}

impl From<port::Failure> for Error {
    fn from(failure: port::Failure) -> Self {
        if failure.cause() == Cause::Damaged {
            damage::note();
            Self::Damaged
        } else {
            Self::Database(failure)
        }
    }
}

impl From<port::Error> for Error {
    fn from(error: port::Error) -> Self {
        match error {
            port::Error::Inconsistent { table, column, row } => {
                Self::Inconsistent { table, column, row }
            }
            port::Error::Failed(failure) => failure.into(),
        }
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse(path) => Self::InUse(path),
            OpenError::NotMigrated => Self::NotMigrated,
            OpenError::Incomplete => Self::Incomplete,
            OpenError::Newer => Self::Newer,
            OpenError::Migration(source) => Self::Migration(source),
            OpenError::Server(source) => Self::Server(source),
            OpenError::Unusable { path, source } => Self::Unusable { path, source },
            OpenError::Io(error) => Self::Io(error),
            OpenError::Read(error) => error.into(),
        }
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::Conflict | Self::Repeated | Self::RunExists(_) => Code::Conflict,
            Self::ModelNotFound(_) => Code::ModelNotFound,
            Self::MessageNotFound(_) => Code::EntityNotFound,
            Self::ModelNotLocked(_) => Code::ModelNotLocked,
            Self::ModelAlreadyLocked(_) => Code::ModelAlreadyLocked,
            Self::ModelAlreadyUnlocked(_) => Code::ModelAlreadyUnlocked,
            Self::ModelHasEntities { .. } => Code::ModelHasEntities,
            Self::UniqueViolation { .. } => Code::UniqueViolation,
            Self::InvalidUniqueKeys(error) => error.code(),
            Self::InvalidUniqueValue(error) => error.code(),
            Self::OversizedModel(error) => error.code(),
            Self::PolymorphicSlot(error) => error.code(),
            Self::TooLarge { .. } => Code::TransactionTooLarge,
            Self::NoRoom { .. } => Code::TenantLimitExceeded,
            Self::Cancelled => Code::Cancelled,
            Self::NotYet { .. } | Self::NulCharacter => Code::BadRequest,
            Self::Unavailable | Self::Stopped => Code::StorageUnavailable,
            Self::Database(failure) if failure.cause() == Cause::Away => Code::StorageUnavailable,
            Self::OutcomeUnknown => Code::OutcomeUnknown,
            Self::Damaged => Code::StorageDamaged,
            Self::Inconsistent { .. }
            | Self::NotCommitted
            | Self::InUse(_)
            | Self::NotMigrated
            | Self::Incomplete
            | Self::Newer
            | Self::Migration(_)
            | Self::Server(_)
            | Self::Database(_)
            | Self::Unusable { .. }
            | Self::Io(_) => Code::ServerError,
        }
    }

    fn properties(&self) -> Properties {
        let named = |model: &ModelKey| {
            vec![
                ("entityName", (*model.name).into()),
                ("entityVersion", model.version.into()),
            ]
        };
        match self {
            Self::ModelNotFound(model) => named(model),
            Self::MessageNotFound(id) => vec![("messageId", id.to_string().into())],
            Self::ModelAlreadyLocked(model) => {
                let states = [
                    ("expectedState", Lock::Unlocked),
                    ("actualState", Lock::Locked),
                ];
                named(model)
                    .into_iter()
                    .chain(states.map(|(name, lock)| (name, lock.as_str().into())))
                    .collect()
            }
            Self::ModelAlreadyUnlocked(model) => {
                let states = [
                    ("expectedState", Lock::Locked),
                    ("actualState", Lock::Unlocked),
                ];
                named(model)
                    .into_iter()
                    .chain(states.map(|(name, lock)| (name, lock.as_str().into())))
                    .collect()
            }
            Self::ModelHasEntities { model, count } => {
                let mut properties = named(model);
                properties.push(("entityCount", (*count).into()));
                properties
            }
            Self::InvalidUniqueKeys(error) => error.properties(),
            Self::InvalidUniqueValue(error) => error.properties(),
            Self::OversizedModel(error) => error.properties(),
            Self::PolymorphicSlot(error) => error.properties(),
            Self::NoRoom { bytes } => vec![
                ("limit", "INTERLOCK_COMMIT_QUEUE_BYTES".into()),
                ("allowed", (*bytes).into()),
                ("retryAfterMs", 1_000.into()),
            ],
            Self::NotYet { latest, .. } => vec![("newest", latest.0.into())],
            Self::RunExists(run) => vec![("runId", run.to_string().into())],
            Self::Conflict
            | Self::Repeated
            | Self::ModelNotLocked(_)
            | Self::UniqueViolation { .. }
            | Self::TooLarge { .. }
            | Self::NulCharacter
            | Self::Cancelled
            | Self::Unavailable
            | Self::OutcomeUnknown
            | Self::Damaged
            | Self::Inconsistent { .. }
            | Self::InUse(_)
            | Self::NotMigrated
            | Self::Incomplete
            | Self::Newer
            | Self::Migration(_)
            | Self::Server(_)
            | Self::Database(_)
            | Self::Io(_)
            | Self::NotCommitted
            | Self::Unusable { .. }
            | Self::Stopped => Properties::new(),
        }
    }
}
