//! Durable state: what was committed, and the units of work that add to it.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::compat`],
//! [`crate::telemetry`], [`crate::entity`], [`crate::model`], [`crate::workflow`],
//! [`crate::engine`].
//! Must not: be open towards a database while someone else's code runs (DESIGN decision 3). A
//! [`UnitOfWork`] reads as of one sequence, keeps its writes in memory and hands them to the
//! committer, which validates everything that waits, writes the survivors in one database
//! transaction, and answers when that is durable. STORAGE.md tells why.
//!
//! A unit is opened for one tenant, and nothing below takes a tenant from anywhere else.

mod adaptive;
mod agenda;
mod backend;
mod cache;
mod catalog;
mod claims;
mod committer;
mod damage;
mod draft;
mod due;
mod error;
mod feed;
mod fill;
mod growth;
mod health;
mod identity;
mod index;
mod instant;
mod job;
mod log;
mod message;
mod names;
mod outcome;
mod past;
mod port;
mod room;
mod snapshot;
mod sorter;
mod sqlite;
mod steps;
mod submission;
mod sweep;
mod task;
mod unit;
mod usage;
mod validate;

#[cfg(test)]
mod disturbed;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, PointInTime, Timestamp};
use crate::entity::Sequence;
use crate::id::{ModelKey, Tenant};
use crate::workflow::Workflow;

pub use adaptive::{Sought, Wish};
pub use agenda::NextTask;
use backend::Backend;
#[cfg(test)]
pub(crate) use backend::{Disturbance, Moment, Simulated};
pub use draft::{Attribution, Committed, ModelChange};
pub use due::{Due, Seen};
pub use error::Error;
pub use feed::{Feed, Wanted};
pub use job::{JobPlan, JobTenant, NewJob};
pub use outcome::{Once, Outcome};
pub use port::{
    Definitions, Durability, Finished, Identity, IdentityChange, IdentityKind, Index, IndexRow,
    IndexSettings, IndexState, Job, JobEnd, JobRow, JobState, Keyed, Listed, Message, Migrate,
    Ordered, Place, Print, Probe, Recorded, Remembered, ScanLifecycle, ScanPage, ScanRow, Settings,
    Task, TaskKey, TaskKind, TaskLine, TaskPage, TaskRef, UsedIndexes, Version,
};
use port::{Newest, TenantRow, Upkeep};
pub use snapshot::{History, ModelCount, Scan, Snapshot};
pub use sorter::Sorter;
pub use sweep::Sweep;
pub use task::NewTask;
pub use unit::{Mark, UnitOfWork};

/// A handle to the storage; cheap to clone.
#[derive(Debug, Clone)]
pub struct Storage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Backend,
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
    missed: adaptive::MissedIndexes,
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
        let (database, newest) = Backend::open(settings).await?;
        Self::start(database, newest, settings, clock, stop).await
    }

    /// Whether `IS_NULL` holds below a list that is not there.
    pub fn absent_lists_are_null(&self) -> bool {
        self.0.absent_lists_are_null
    }

    async fn start(
        database: Backend,
        newest: Newest,
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
            missed: adaptive::MissedIndexes::new(settings.indexes),
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
        Backend::migrate(settings).await
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
    async fn keep_up(&self, upkeep: Upkeep) -> Result<u64, Error> {
        let (reply, done) = oneshot::channel();
        self.0
            .chores
            .send(committer::Chore::Write { upkeep, reply })
            .await
            .map_err(|_| Error::Stopped)?;
        done.await.map_err(|_| Error::Stopped)?
    }
}
