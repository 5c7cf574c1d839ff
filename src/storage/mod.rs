//! Durable state: what was committed, and the units of work that add to it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::compat`],
//! [`crate::telemetry`], [`crate::entity`], [`crate::model`], [`crate::workflow`],
//! [`crate::engine`].
//! Must not: be open towards a database while someone else's code runs (DESIGN decision 3). A
//! [`UnitOfWork`] reads as of one sequence, keeps its writes in memory and hands them to the
//! committer, which judges everything that waits, writes the survivors in one database
//! transaction, and answers when that is durable. STORAGE.md tells why.
//!
//! A unit is opened for one tenant, and nothing below takes a tenant from anywhere else.

mod adaptive;
mod agenda;
mod cache;
mod catalog;
mod claims;
mod committer;
mod definitions;
mod draft;
mod due;
mod feed;
mod fill;
mod growth;
mod health;
mod identity;
mod index;
mod instant;
mod job;
mod judge;
mod log;
mod message;
mod names;
mod outcome;
mod past;
mod room;
mod sheet;
mod snapshot;
mod sqlite;
mod steps;
mod submission;
mod task;
mod unit;
mod usage;

#[cfg(test)]
pub(crate) mod double;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, PointInTime, Timestamp};
use crate::entity::{Image, Position, Sequence};
use crate::error::{Code, Coded, Properties};
use crate::id::{EntityId, ModelKey, Tenant};
use crate::model::{InvalidKeys, InvalidValue, Lock};
use crate::workflow::Workflow;

pub use adaptive::{IndexSettings, Sought, UsedIndexes, Wish};
pub use agenda::{NextTask, TaskPage};
pub use definitions::Definitions;
pub use draft::{Attribution, Committed, ModelChange};
pub use due::{Due, Seen};
pub use feed::{Feed, Wanted};
pub use identity::{Identity, IdentityChange, IdentityKind};
pub use index::{Index, IndexRow, IndexState, Keyed, Ordered, Probe};
use index::{Indexable, Leaving, OfModel, Stretch, Use};
pub use job::{Finished, Job, JobEnd, JobPlan, JobRow, JobState, JobTenant, NewJob};
pub use message::Message;
pub use outcome::{Once, Outcome, Print, Remembered};
pub use sheet::{Sheet, SheetLifecycle, SheetRow, Sweep};
pub use snapshot::{History, Listed, ModelCount, Recorded, Scan, Snapshot};
pub use sqlite::Sorter;
pub use task::{NewTask, Task, TaskKey, TaskKind, TaskLine, TaskRef};
pub use unit::{Mark, UnitOfWork};

/// The database; in tests one of two, and open to disturbances.
#[cfg(test)]
use double::{Database, Writer};
#[cfg(not(test))]
use sqlite::{Sqlite as Database, Writer};

/// Where the database is and how it is used.
#[derive(Debug, Clone)]
pub struct Settings {
    pub place: Place,
    pub durability: Durability,
    /// How long a lock of another process is waited for.
    pub busy_timeout: Duration,
    /// Page cache of all connections together, in KiB.
    pub cache_kib: u32,
    /// How many entities a search may have judged by what no database can say; 0 for any number.
    pub scan_max: usize,
    /// Whether `IS_NULL` holds below a list that is not there (`corrections.md` §11).
    pub absent_lists_are_null: bool,
    /// How many bytes of large units may wait to be committed.
    pub queue_bytes: usize,
    /// For how long damaged pages are looked for at the start.
    pub start_check: Duration,
    pub migrate: Migrate,
    pub indexes: IndexSettings,
}

/// Where a database is.
#[derive(Debug, Clone)]
pub enum Place {
    File(PathBuf),
    /// Gone when the process ends.
    Memory,
}

/// What an acknowledgement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is on the disk.
    Full,
    /// A crash of the machine may lose the last moments.
    Relaxed,
}

/// Whether an older database is brought up to date when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrate {
    Yes,
    /// An older database is refused.
    No,
}

/// One version of an entity, and where it stands.
#[derive(Debug, Clone)]
pub struct Version {
    /// The row of the entity.
    row: EntityRow,
    /// The row of the tenant it belongs to.
    tenant: TenantRow,
    pub position: Position,
    /// Whether the entity exists after this version; a deletion is a version too.
    pub live: bool,
    pub image: Image,
}

impl Version {
    /// Whether this is committed, not only in the unit that was asked.
    pub const fn is_committed(&self) -> bool {
        self.position.0 != UNCOMMITTED.0
    }
}

/// Where a version stands that is not committed: after all others.
const UNCOMMITTED: Position = Position(i64::MAX);

/// The key of a row of `entity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct EntityRow(i64);

/// The key of a row of `model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ModelRow(i64);

/// The key of a row of `tenant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct TenantRow(i64);

/// The key of a row of `actor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ActorRow(i64);

/// Why storage did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("transaction conflict — retry")]
    Conflict,
    #[error(
        "a request with the same idempotency key was committed meanwhile; repeat it to be told its outcome"
    )]
    Repeated,
    #[error("model {0} not found")]
    ModelNotFound(ModelKey),
    #[error("model {0} is not locked; lock it before making entities")]
    ModelNotLocked(ModelKey),
    #[error("model {0} is already locked")]
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
    #[error("the transaction holds more than {what}; split it")]
    TooLarge { what: &'static str },
    #[error(
        "the tenant has {bytes} bytes waiting to be committed, which is its half of INTERLOCK_COMMIT_QUEUE_BYTES; try again later"
    )]
    NoRoom { bytes: usize },
    #[error("the request was cancelled")]
    Cancelled,
    #[error("position {} is not there yet; the newest is {}", .after.0, .latest.0)]
    NotYet { after: Position, latest: Sequence },
    #[error("writes are refused until the storage is well again; try again later")]
    Unavailable,
    #[error("column {column} of row {row} in {table} is not what it should be")]
    Inconsistent {
        table: &'static str,
        column: &'static str,
        row: i64,
    },
    #[error("the database is in use by another process: {0}")]
    InUse(PathBuf),
    #[error(
        "the database needs a migration; run `interlock migrate`, or set CYODA_SQLITE_AUTO_MIGRATE=true"
    )]
    NotMigrated,
    #[error("the database could not be migrated")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    #[error("a page of the database is damaged; the log of the service names it")]
    Damaged,
    #[error(
        "the storage failed during the commit, so it is not known whether that happened; read before you repeat it"
    )]
    OutcomeUnknown,
    #[error("a file of the database could not be used")]
    Io(#[from] std::io::Error),
    #[error("the transaction was not committed")]
    NotCommitted,
    #[error("the storage has stopped")]
    Stopped,
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if sqlite::is_damage(&error) {
            health::note_damage();
            Self::Damaged
        } else {
            Self::Database(error)
        }
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::Conflict | Self::Repeated => Code::Conflict,
            Self::ModelNotFound(_) => Code::ModelNotFound,
            Self::ModelNotLocked(_) => Code::ModelNotLocked,
            Self::ModelAlreadyLocked(_) => Code::ModelAlreadyLocked,
            Self::ModelAlreadyUnlocked(_) => Code::ModelAlreadyUnlocked,
            Self::ModelHasEntities { .. } => Code::ModelHasEntities,
            Self::UniqueViolation { .. } => Code::UniqueViolation,
            Self::InvalidUniqueKeys(error) => error.code(),
            Self::InvalidUniqueValue(error) => error.code(),
            Self::TooLarge { .. } => Code::TransactionTooLarge,
            Self::NoRoom { .. } => Code::TenantLimitExceeded,
            Self::Cancelled => Code::Cancelled,
            Self::NotYet { .. } => Code::BadRequest,
            Self::Unavailable | Self::Stopped => Code::StorageUnavailable,
            Self::OutcomeUnknown => Code::OutcomeUnknown,
            Self::Damaged => Code::StorageDamaged,
            Self::Inconsistent { .. }
            | Self::NotCommitted
            | Self::InUse(_)
            | Self::NotMigrated
            | Self::Migration(_)
            | Self::Database(_)
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
            Self::NoRoom { bytes } => vec![
                ("limit", "INTERLOCK_COMMIT_QUEUE_BYTES".into()),
                ("allowed", (*bytes).into()),
                ("retryAfterMs", 1_000.into()),
            ],
            Self::NotYet { latest, .. } => vec![("newest", latest.0.into())],
            Self::Conflict
            | Self::Repeated
            | Self::ModelNotLocked(_)
            | Self::UniqueViolation { .. }
            | Self::TooLarge { .. }
            | Self::Cancelled
            | Self::Unavailable
            | Self::OutcomeUnknown
            | Self::Damaged
            | Self::Inconsistent { .. }
            | Self::InUse(_)
            | Self::NotMigrated
            | Self::Migration(_)
            | Self::Database(_)
            | Self::Io(_)
            | Self::NotCommitted
            | Self::Stopped => Properties::new(),
        }
    }
}

/// A handle to the storage; cheap to clone.
#[derive(Debug, Clone)]
pub struct Storage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Database,
    cache: cache::Cache,
    past: past::Past,
    catalog: catalog::Catalog,
    names: names::Names,
    recent: feed::Recent,
    instants: instant::Instants,
    clock: Clock,
    submissions: mpsc::Sender<submission::Submission>,
    room: room::Room,
    published: watch::Receiver<Sequence>,
    health: health::Health,
    agenda: agenda::Agenda,
    indexes: index::Indexes,
    wishes: adaptive::Wishes,
    usage: usage::Usage,
    chores: mpsc::Sender<committer::Chore>,
    scan_max: usize,
    absent_lists_are_null: bool,
    /// Whether there is an index to fill or to drop.
    fill: tokio::sync::Notify,
    /// Whether the log is to be copied back.
    long_log: tokio::sync::Notify,
}

/// How long the database may take to answer a small question before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many finished units may wait for the committer.
const QUEUE_MAX: usize = 4_096;

/// How many pieces of upkeep may wait for the committer.
const CHORES_MAX: usize = 16;

impl Storage {
    /// Opens the database and brings it up to date. With it comes the committer, without which
    /// nothing is written; it ends once `stop` is cancelled and nobody can submit any more.
    ///
    /// All who write wait for the committer, so it should not wait for its turn among them: on a
    /// thread of its own a service under load is a tenth faster (measured).
    pub async fn open(
        settings: &Settings,
        clock: Clock,
        stop: CancellationToken,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), Error> {
        let (database, newest) = Database::open(settings).await?;
        Self::start(database, newest, settings, clock, stop).await
    }

    /// Whether `IS_NULL` holds below a list that is not there.
    pub fn absent_lists_are_null(&self) -> bool {
        self.0.absent_lists_are_null
    }

    async fn start(
        database: Database,
        newest: sqlite::Newest,
        settings: &Settings,
        clock: Clock,
        stop: CancellationToken,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), Error> {
        let (submissions, inbox) = mpsc::channel(QUEUE_MAX);
        let (chores, waiting) = mpsc::channel(CHORES_MAX);
        let (publish, published) = watch::channel(newest.sequence);
        // What is due is read later: a service with a long backlog starts as soon as another.
        let (lines, last) = (database.task_lines().await?, database.newest_task().await?);
        let agenda = agenda::Agenda::new(clock.read(), lines, last);
        let storage = Self(Arc::new(Inner {
            database,
            cache: cache::Cache::default(),
            past: past::Past::default(),
            catalog: catalog::Catalog::default(),
            names: names::Names::default(),
            recent: feed::Recent::new(newest.sequence),
            instants: instant::Instants::new(newest.at),
            clock,
            submissions,
            room: room::Room::new(settings.queue_bytes),
            published,
            health: health::Health::default(),
            agenda,
            indexes: index::Indexes::default(),
            wishes: adaptive::Wishes::new(settings.indexes),
            usage: usage::Usage::default(),
            chores,
            scan_max: settings.scan_max,
            absent_lists_are_null: settings.absent_lists_are_null,
            fill: tokio::sync::Notify::new(),
            long_log: tokio::sync::Notify::new(),
        }));
        storage.0.indexes.swap(storage.0.database.indexes().await?);
        let committer =
            committer::Committer::new(storage.clone(), inbox, waiting, publish, newest.sequence);
        Ok((storage, committer.run(stop)))
    }

    /// Brings a database up to date without opening it for use.
    pub async fn migrate(settings: &Settings) -> Result<(), Error> {
        sqlite::Sqlite::migrate(settings).await
    }

    /// What is to be done about tasks at this moment; of those that are due, `limit` at most, and
    /// none of the tenants that stand still.
    pub fn next_task(&self, limit: usize, standing: &HashSet<TaskLine>) -> NextTask {
        self.0.agenda.next(self.0.clock.read(), limit, standing)
    }

    /// Returns once there may be a task that was not there before.
    pub async fn tasks_changed(&self) {
        self.0.agenda.changed().await;
    }

    /// Has a task looked at again, after a pause.
    pub fn postpone(&self, task: TaskRef, pause: Duration) {
        self.0.agenda.postpone(task, self.0.clock.read(), pause);
    }

    /// Takes the next page of a tenant's tasks from the table, as [`NextTask::Read`] asks.
    pub async fn read_tasks(&self, page: TaskPage) -> Result<(), Error> {
        let line = page.line;
        let limit = page.limit;
        match self.0.database.tasks_due(page).await {
            Ok(tasks) => {
                let full = tasks.len() == limit;
                self.0.agenda.has_read(line, tasks, full);
                Ok(())
            }
            Err(error) => {
                self.0.agenda.not_read(line, self.0.clock.read());
                Err(error)
            }
        }
    }

    /// The workflow that a decision record names by its hash; the built-in one is not stored.
    pub async fn workflow(&self, hash: &str) -> Result<Option<Arc<Workflow>>, Error> {
        let built_in = Workflow::built_in();
        if built_in.definition.hash.to_string() == hash {
            return Ok(Some(built_in));
        }
        Ok(self.0.database.workflow(hash).await?.map(Arc::new))
    }

    /// Whether writes are taken.
    fn takes_writes(&self) -> bool {
        self.0.health.takes_writes() && !self.0.submissions.is_closed()
    }

    /// Whether writes are taken and no damaged page was found.
    pub fn is_well(&self) -> bool {
        self.0.health.is_well() && !self.0.submissions.is_closed()
    }

    /// Whether writes are taken and the database answers.
    pub async fn is_ready(&self) -> bool {
        let answered = timeout(PATIENCE, self.0.database.newest_task()).await;
        self.is_well() && matches!(answered, Ok(Ok(_)))
    }

    /// The newest sequence; never below that of an answered commit.
    pub fn latest(&self) -> Sequence {
        *self.0.published.borrow()
    }

    /// The sequence that holds everything committed up to an instant, and nothing later. Once
    /// this has been answered for an instant, no commit will be stamped at or before it.
    pub async fn at(&self, instant: &PointInTime) -> Result<Sequence, Error> {
        self.0
            .instants
            .settle(instant.until, self.0.clock.now())
            .await;
        self.0.database.sequence_at(instant.until).await
    }

    /// The model of that name and its workflows, as they are now.
    pub async fn definitions(
        &self,
        tenant: &Tenant,
        model: &ModelKey,
    ) -> Result<Option<Arc<Definitions>>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        self.definitions_of(tenant, model).await
    }

    /// All models of a tenant, by name and version.
    pub async fn models(&self, tenant: &Tenant) -> Result<Vec<Listed>, Error> {
        match self.tenant_row(tenant).await? {
            Some(tenant) => self.0.database.models(tenant).await,
            None => Ok(Vec::new()),
        }
    }

    /// Reads of one tenant as of a sequence, for as long as the caller likes; it holds nothing.
    pub async fn snapshot(&self, tenant: &Tenant, at: Sequence) -> Result<Snapshot, Error> {
        let tenant = self.tenant_row(tenant).await?;
        Ok(Snapshot::new(self.clone(), tenant, at))
    }

    async fn definitions_of(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<Arc<Definitions>>, Error> {
        if let Some(known) = self.0.catalog.get(tenant, model) {
            return Ok(Some(known));
        }
        let generation = self.0.catalog.generation();
        let Some(definitions) = self.0.database.definitions(tenant, model).await? else {
            return Ok(None);
        };
        let definitions = Arc::new(definitions);
        self.0.catalog.fill(tenant, &definitions, generation);
        Ok(Some(definitions))
    }

    async fn tenant_row(&self, tenant: &Tenant) -> Result<Option<TenantRow>, Error> {
        if let Some(row) = self.0.names.tenant(tenant) {
            return Ok(Some(row));
        }
        let row = self.0.database.tenant(tenant).await?;
        if let Some(row) = row {
            self.0.names.know_tenant(tenant, row);
        }
        Ok(row)
    }

    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Has something written between two batches; how many rows that took.
    async fn keep_up(&self, upkeep: sqlite::Upkeep) -> Result<u64, Error> {
        let (reply, done) = oneshot::channel();
        self.0
            .chores
            .send(committer::Chore::Write { upkeep, reply })
            .await
            .map_err(|_| Error::Stopped)?;
        done.await.map_err(|_| Error::Stopped)?
    }
}
