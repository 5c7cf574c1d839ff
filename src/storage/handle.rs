//! The handle to the storage, and what everything that extends it shares.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::timeout,
};

use super::{
    Error,
    backend::Backend,
    chore::Chore,
    index::Indexes,
    long_reads::LongReads,
    memory::{
        agenda::{Agenda, NextTask},
        applied::{Applied, Pulses},
        cache::Cache,
        catalog::Catalog,
        health::Health,
        instant::Instants,
        known_runs::Runs,
        lease::Leases,
        live_runs::LiveRuns,
        mirror::Mirrors,
        missed::MissedIndexes,
        names::Names,
        nodes::Nodes,
        past::Past,
        recent::Recent,
        record_cache::RecordCache,
        shares::Shares,
        topic_news::TopicNews,
        trouble::Troubles,
        usage::Usage,
        watched::{Watch, Watched},
    },
    port::{Definitions, Listed, TaskLine, TaskPage, TaskRef, TenantRow, Upkeep},
    room::Room,
    submission::Submission,
};
use crate::clock::{Clock, PointInTime, Timestamp};
use crate::entity::Sequence;
use crate::id::{ModelKey, Tenant};
use crate::workflow::Workflow;

/// A handle to the storage; cheap to clone.
#[derive(Debug, Clone)]
pub struct Storage(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) database: Backend,
    pub(super) cache: Cache,
    pub(super) past: Past,
    pub(super) catalog: Catalog,
    pub(super) names: Names,
    pub(super) nodes: Nodes,
    pub(super) recent: Recent,
    pub(super) runs: Runs,
    pub(super) live_runs: LiveRuns,
    pub(super) records: RecordCache,
    pub(super) watched: Arc<Watched>,
    pub(super) topic_news: TopicNews,
    pub(super) troubles: Troubles,
    pub(super) leases: Leases,
    pub(super) mirrors: Mirrors,
    pub(super) instants: Instants,
    pub(super) clock: Clock,
    pub(super) submissions: mpsc::Sender<Submission>,
    pub(super) room: Room,
    pub(super) long_reads: LongReads,
    pub(super) applied: Applied,
    pub(super) pulses: Pulses,
    /// How often other processes have changed clients, keys or providers.
    pub(super) identities: watch::Sender<u64>,
    pub(super) health: Health,
    pub(super) agenda: Agenda,
    pub(super) shares: Shares,
    pub(super) indexes: Indexes,
    pub(super) missed: MissedIndexes,
    pub(super) usage: Usage,
    pub(super) chores: mpsc::Sender<Chore>,
    pub(super) scan_max: usize,
    pub(super) absent_lists_are_null: bool,
    /// Whether there is an index to fill or to drop.
    pub(super) fill: Notify,
    /// Whether the log is to be copied back.
    pub(super) long_log: Notify,
}

/// How long the database may take to answer a small question before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(1);

impl Storage {
    /// A watch on nothing yet.
    pub fn watch(&self) -> Watch {
        self.0.watched.watch()
    }

    /// Whether `IS_NULL` holds below a list that is not there.
    pub fn absent_lists_are_null(&self) -> bool {
        self.0.absent_lists_are_null
    }

    /// What is to be done about tasks at this moment; of those that are due, `limit` at most, and
    /// none of the tenants that stand still.
    pub fn next_task(&self, limit: usize, paused: &HashSet<TaskLine>) -> NextTask {
        self.0.agenda.next(self.0.clock.read(), limit, paused)
    }

    /// Returns once there may be a task that was not there before.
    pub async fn tasks_changed(&self) {
        self.0.agenda.changed().await;
    }

    /// Has a task looked at again, after a pause.
    pub fn postpone(&self, task: TaskRef, pause: Duration) {
        self.keep_task(task.key);
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
    pub(super) fn takes_writes(&self) -> bool {
        self.0.health.takes_writes() && !self.0.submissions.is_closed()
    }

    /// Fails while writes are refused.
    pub fn check_takes_writes(&self) -> Result<(), Error> {
        if self.takes_writes() {
            Ok(())
        } else {
            Err(Error::Unavailable)
        }
    }

    /// Whether writes are taken, no damaged page was found, and reads are answered.
    pub fn is_well(&self) -> bool {
        self.0.health.is_well() && self.0.pulses.are_answered() && !self.0.submissions.is_closed()
    }

    /// Whether writes are taken and the database answers.
    pub async fn is_ready(&self) -> bool {
        let answered = timeout(PATIENCE, self.0.database.newest_task()).await;
        self.is_well() && matches!(answered, Ok(Ok(_)))
    }

    /// The newest sequence; never below that of a commit that this process has answered, nor, after
    /// [`Self::refresh`], of one that any process had answered before.
    pub fn latest(&self) -> Sequence {
        self.0.applied.sequence()
    }

    /// The sequence that holds everything committed up to an instant, and nothing later. Once
    /// this has been answered for an instant, no commit will be stamped at or before it.
    pub async fn at(&self, instant: &PointInTime) -> Result<Sequence, Error> {
        self.settle(instant.until).await?;
        let sequence = self.0.database.sequence_at(instant.until).await?;
        // What other processes commit at this moment is not in the caches yet, and not promised.
        Ok(if self.0.database.is_shared() {
            sequence.min(self.latest())
        } else {
            sequence
        })
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

    pub(super) async fn definitions_of(
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

    pub(super) async fn tenant_row(&self, tenant: &Tenant) -> Result<Option<TenantRow>, Error> {
        if let Some(row) = self.0.names.tenant(tenant) {
            return Ok(Some(row));
        }
        let row = self.0.database.tenant(tenant).await?;
        if let Some(row) = row {
            self.0.names.know_tenant(tenant, row);
        }
        Ok(row)
    }

    /// Which share of the threads for expensive work is a tenant's; see [`Definitions::party`].
    pub async fn party(&self, tenant: &Tenant) -> Result<u64, Error> {
        let row = self.tenant_row(tenant).await?;
        Ok(row.map_or(0, |row| row.0.cast_unsigned()))
    }

    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Has something written between two batches; how many rows that took.
    pub(super) async fn keep_up(&self, upkeep: Upkeep) -> Result<u64, Error> {
        let (reply, done) = oneshot::channel();
        self.0
            .chores
            .send(Chore::Write { upkeep, reply })
            .await
            .map_err(|_| Error::Stopped)?;
        done.await.map_err(|_| Error::Stopped)?
    }
}
