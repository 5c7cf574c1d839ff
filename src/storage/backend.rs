//! The database behind the port: the one place that knows which one it is.
//!
//! To add one, implement every read and write that is listed here, and add it to [`Kind`] and
//! [`WriterKind`]. Dispatch is by an enumeration: where there is one database it costs nothing.
//! In tests it may be simulated, and any of them may be as slow and as unreliable as the test wants
//! it; what storage is built on is the same type that is released.

mod checkpointer;
mod damage;
mod node;
mod task;
mod turn;

use std::{collections::HashMap, sync::Arc};

#[cfg(test)]
use super::simulated;
use super::{
    Error,
    port::{
        ActorRow, Batch, Cause, ChangeRange, Claim, CommitRow, DatabaseLocation, Definitions,
        EntityRow, Failure, Identity, Index, Indexable, Job, JobRow, KeptUp, Leaving, Link, Listed,
        ListedTopic, Message, ModelCommit, ModelRow, Newest, OldRun, OldRunsWanted, Ordered, Probe,
        Reached, Record, RecordHead, RecordHeadPage, RecordKey, RecordKind, RecordOrigin,
        RecordPage, RecordRow, Recorded, Remembered, RunEvents, RunKey, RunName, RunNameRow,
        RunsWanted, ScanRequest, Settings, Stored, StoredJob, StoredProducer, StoredRun, Stretch,
        Task, TaskKey, TaskLine, TaskPage, TenantRow, TopicEvent, TopicHead, TopicKey, TopicPage,
        TopicRow, Upkeep, Version, Written,
    },
    postgres::{self, Postgres},
    sqlite::{self, Sqlite},
};
use crate::clock::Timestamp;
use crate::entity::{Actor, Change, Changed, Position, Sequence};
use crate::id::{
    EdgeMessageId, EntityId, JobId, ModelKey, RunId, StateName, Tenant, TransactionId,
};
use crate::workflow::Workflow;

pub(super) use checkpointer::Checkpointer;

pub(super) use super::postgres::{Listener, Pulser};
#[cfg(test)]
pub(crate) use super::simulated::{Disturbance, Moment, Simulated};
pub(super) use super::sqlite::{Sorter, back_up, restore};

/// An open database: what storage reads.
#[derive(Debug)]
pub(super) struct Backend {
    kind: Kind,
    #[cfg(test)]
    disturbance: Option<Disturbance>,
}

#[derive(Debug)]
enum Kind {
    Sqlite(Box<Sqlite>),
    Postgres(Box<Postgres>),
    #[cfg(test)]
    Simulated(Arc<Simulated>),
}

impl Backend {
    pub(super) async fn open(settings: &Settings) -> Result<(Self, Newest), Error> {
        let (kind, newest) = match &settings.place {
            DatabaseLocation::Server(server) => {
                let (database, newest) = Postgres::open(settings, server).await?;
                (Kind::Postgres(Box::new(database)), newest)
            }
            DatabaseLocation::File(_) | DatabaseLocation::Memory => {
                let (database, newest) = Sqlite::open(settings).await?;
                (Kind::Sqlite(Box::new(database)), newest)
            }
        };
        let backend = Self {
            kind,
            #[cfg(test)]
            disturbance: None,
        };
        Ok((backend, newest))
    }

    /// Brings a database up to date without opening it for use; how many migrations that took.
    pub(super) async fn migrate(settings: &Settings) -> Result<usize, Error> {
        match &settings.place {
            DatabaseLocation::Server(server) => Ok(Postgres::migrate(server).await?),
            DatabaseLocation::File(_) | DatabaseLocation::Memory => {
                Ok(Sqlite::migrate(settings).await?)
            }
        }
    }

    /// Whether other processes may write to the database, too.
    pub(super) const fn is_shared(&self) -> bool {
        matches!(self.kind, Kind::Postgres(_))
    }

    /// What asks for the commits of other processes, and what waits for their notifications, where
    /// there are any.
    pub(super) fn pulser(&self) -> Option<(Pulser, Listener)> {
        let Kind::Postgres(database) = &self.kind else {
            return None;
        };
        Some(database.pulser())
    }

    /// Makes everything up to this moment final, where other processes write, too.
    pub(super) async fn append_link(&self) -> Result<(), Error> {
        if let Kind::Postgres(database) = &self.kind {
            database.append_link().await?;
        }
        Ok(())
    }

    /// What writes; there is one.
    pub(super) fn writer(&self) -> Option<Writer> {
        let kind = match &self.kind {
            Kind::Sqlite(database) => WriterKind::Sqlite(Box::new(database.writer()?)),
            Kind::Postgres(database) => WriterKind::Postgres(Box::new(database.writer()?)),
            #[cfg(test)]
            Kind::Simulated(database) => WriterKind::Simulated(Arc::clone(database)),
        };
        Some(Writer {
            kind,
            #[cfg(test)]
            disturbance: self.disturbance.clone(),
        })
    }

    /// What copies the log back beside the writer, if there is a log.
    pub(super) fn checkpointer(&self) -> Option<Checkpointer> {
        let Kind::Sqlite(database) = &self.kind else {
            return None;
        };
        database.checkpointer().map(Checkpointer::new)
    }

    /// How many connections there are for reads.
    pub(super) fn readers(&self) -> u32 {
        match &self.kind {
            Kind::Sqlite(database) => database.readers(),
            Kind::Postgres(database) => database.readers(),
            #[cfg(test)]
            Kind::Simulated(_) => 1,
        }
    }

    /// Closes every connection, the writing one last.
    pub(super) async fn close(&self, writer: Writer) {
        match (&self.kind, writer.kind) {
            (Kind::Sqlite(database), WriterKind::Sqlite(writer)) => database.close(*writer).await,
            (Kind::Postgres(database), WriterKind::Postgres(writer)) => {
                database.close(*writer).await;
            }
            _ => {}
        }
    }
}

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl Backend {$(
            $(#[$doc])*
            pub(super) async fn $name(&self, $($argument: $type),*) -> Result<$answer, Error> {
                match &self.kind {
                    Kind::Sqlite(database) => {
                        #[cfg(test)]
                        let _still = self.disturbance.as_ref().map(|_| simulated::still());
                        Ok(database.$name($($argument),*).await?)
                    }
                    Kind::Postgres(database) => {
                        let read = database.$name($($argument),*).await;
                        Ok(read.map_err(postgres::understood)?)
                    }
                    #[cfg(test)]
                    Kind::Simulated(database) => Ok(database.state().$name($($argument),*)),
                }
            }
        )*}
    };
}

reads! {
    newest_entity() -> EntityRow;
    newest_task() -> i64;
    /// The sequence of the newest commit up to an instant.
    sequence_at(until: Timestamp) -> Sequence;
    tenant(tenant: &Tenant) -> Option<TenantRow>;

    /// The newest version of an entity.
    current(tenant: TenantRow, id: EntityId) -> Option<Version>;
    as_of(tenant: TenantRow, id: EntityId, at: Sequence) -> Option<Version>;
    /// The version of an entity that was current at an instant, and when it was replaced.
    version_at(tenant: TenantRow, id: EntityId, at: Timestamp) -> Option<(Version, Option<Timestamp>)>;
    by_transaction(tenant: TenantRow, id: EntityId, transaction: TransactionId, at: Sequence) -> Option<Version>;
    /// The versions at the first of these positions, in their order, and how many positions
    /// that were; those of other tenants are left out.
    versions(tenant: TenantRow, positions: &[Position]) -> (Vec<Version>, usize);
    /// Which versions those at these positions have replaced.
    replaced(positions: &[Position]) -> HashMap<Position, Position>;
    /// The current position of each of these entities that there is.
    positions(ids: &[EntityId]) -> Vec<(EntityId, Position)>;
    /// The newest changes of an entity, newest first.
    history(tenant: TenantRow, id: EntityId, at: Sequence, limit: i64) -> Vec<Change>;
    /// What is recorded of an entity up to a position, newest first.
    trail(tenant: TenantRow, id: EntityId, until: Position, limit: i64) -> Vec<Recorded>;
    /// A page of the feed, and how far it goes.
    changes(range: &ChangeRange) -> (Vec<Changed>, Position);
    next_version(after: Position) -> Option<Position>;

    /// The next entities of a model after `after`, and how far that went; none at the end.
    scan(tenant: TenantRow, model: ModelRow, after: Option<EntityId>, at: Sequence, limit: i64) -> (Vec<Version>, Option<EntityId>);
    /// The next entities of a model, of each only what is asked for, and how far that went.
    scan_page(asked: ScanRequest) -> Reached;
    /// A page of the entities of a model as they are now, in the order of their ids.
    page(model: ModelRow, limit: i64, offset: i64) -> Vec<(EntityId, Position)>;
    /// A page of the entities of a model that come after `after`, as they were at a sequence.
    page_as_of(model: ModelRow, after: Option<EntityId>, at: Sequence, limit: i64, offset: i64) -> Vec<(EntityId, Position)>;
    has_entities(model: ModelRow) -> bool;
    count(model: ModelRow) -> i64;
    counts_by_state(model: ModelRow) -> Vec<(StateName, i64)>;

    models(tenant: TenantRow) -> Vec<Listed>;
    definitions(tenant: TenantRow, model: &ModelKey) -> Option<Definitions>;
    /// The row of a model, also of one that was deleted.
    model_row(tenant: TenantRow, model: &ModelKey) -> Option<ModelRow>;
    /// The workflow that has that hash, in hexadecimal.
    workflow(hash: &str) -> Option<Workflow>;

    /// The tenants that have tasks.
    task_lines() -> Vec<TaskLine>;
    /// When tasks are due, and their keys: in this order, those after that place.
    tasks_due(page: TaskPage) -> Vec<(i64, i64)>;
    /// The tasks of those keys that are still there, and all others of the same entities.
    tasks(keys: &[TaskKey]) -> Vec<Task>;
    tasks_of(entity: EntityRow) -> Vec<Task>;

    newest_run() -> RunId;
    run(tenant: TenantRow, id: RunId) -> Option<StoredRun>;
    /// The current position of each of these runs that there is.
    run_positions(runs: &[RunId]) -> Vec<(RunId, Position)>;
    /// The keys that runs have, and which.
    run_keys(tenant: TenantRow, keys: &[RunKey]) -> Vec<(RunKey, RunId)>;
    /// A page of runs, the newest first.
    runs(tenant: TenantRow, wanted: &RunsWanted, limit: i64) -> Vec<StoredRun>;
    /// How many runs of each tenant have not ended, by status.
    live_runs() -> Vec<(Tenant, u8, u64)>;
    /// Of the runs that are to be removed, so many of those that ended first.
    runs_old(wanted: OldRunsWanted, limit: i64) -> Vec<OldRun>;
    /// Some of the events of runs: where each stands, of which run it is, and what it takes.
    old_run_events(runs: &[RunId], limit: i64) -> Vec<(Position, RunId, i64)>;
    /// All runs that wait for entities.
    runs_that_await() -> Vec<(EntityId, TenantRow, Tenant, RunId)>;
    /// The advances of a run that have events after that number.
    run_events(run: RunId, after: i64, limit: i64) -> Vec<RunEvents>;
    /// The advances of all runs of a tenant after a position and up to another.
    run_events_after(tenant: TenantRow, after: Position, until: Position, limit: i64) -> Vec<RunEvents>;

    message(tenant: TenantRow, id: EdgeMessageId) -> Option<Message>;
    /// Those of these messages that there are: whose each is, and how many bytes it has.
    message_sizes(ids: &[EdgeMessageId]) -> Vec<(EdgeMessageId, TenantRow, i64)>;
    record(tenant: TenantRow, key: &RecordKey) -> Option<Record>;
    /// Records of a kind in a namespace, by name.
    records(page: RecordPage<'_>) -> Vec<Record>;
    /// Records of a kind in a namespace whose names begin alike, without their bodies.
    record_heads(page: RecordHeadPage<'_>) -> Vec<RecordHead>;
    /// The namespaces of all tenants that have records of a kind whose names begin so.
    record_namespaces(kind: RecordKind, prefix: &str) -> Vec<(Tenant, Arc<str>)>;
    /// The commit of a sequence.
    record_origin(at: Sequence) -> Option<RecordOrigin>;
    /// Of those records that there are, the place in the list and the commit that wrote each last.
    record_positions(names: &[(TenantRow, RecordKey)]) -> Vec<(usize, Position)>;
    /// What starts runs by itself, of all tenants: those after a place.
    producers(after: RecordRow, limit: i64) -> Vec<StoredProducer>;
    /// What is known of work that failed, of all tenants.
    troubles() -> Vec<(Tenant, Record)>;
    /// The leases of tasks, of all tenants.
    leases() -> Vec<(Tenant, Record)>;
    /// The tables outside that are behind, of all tenants: the namespaces of the records of their
    /// runs.
    mirrors() -> Vec<(Tenant, Arc<str>)>;
    newest_topic() -> TopicRow;
    /// Of those topics that there are, the place in the list and how far each goes.
    topic_heads(names: &[(TenantRow, TopicKey)]) -> Vec<(usize, TopicHead)>;
    /// The sequences of those events of a topic that have one of these ids.
    topic_ids(topic: TopicRow, ids: &[Arc<str>]) -> Vec<(Arc<str>, i64)>;
    /// The sequence of the oldest event that is kept.
    topic_first(topic: TopicRow) -> Option<i64>;
    /// The events of a topic after a sequence, up to a number of them and of bytes.
    topic_events(topic: TopicRow, after: i64, limit: i64, bytes: i64) -> Vec<TopicEvent>;
    topics(page: TopicPage<'_>) -> Vec<ListedTopic>;
    identities() -> Vec<Identity>;
    /// The claims that are held, and by whom.
    holders(claims: &[Claim]) -> Vec<(Claim, EntityId)>;
    /// The outcomes that are stored for a key, unless they are past their time.
    outcomes(tenant: TenantRow, key: &str, now: Timestamp) -> Vec<Remembered>;
    /// What is stored for keys, without the answers.
    prints(names: &[(TenantRow, Arc<str>)], now: Timestamp) -> Vec<Stored>;
    /// When the first outcome is past its time, in microseconds; none if none is stored.
    next_expiry() -> Option<i64>;

    /// How many bytes tenants have in what is after a position and up to another.
    usage(from: i64, to: i64) -> Vec<(Tenant, i64)>;
    /// The next position after another one at which there is something of that.
    usage_next(after: i64) -> Option<i64>;
    /// How many bytes they have in everything else, and the newest commit that is in that.
    usage_now() -> (i64, Vec<(Tenant, i64)>);
    /// Of so many of the oldest events of topics, those before a time: by tenant the place of the
    /// newest, and how many bytes they take.
    topic_old(before: Timestamp, limit: i64) -> Vec<(Tenant, i64, i64)>;

    /// All indexes there are.
    indexes() -> Vec<Index>;
    /// The next entities of a model, to be put into an index; fewer if they are more than fits a
    /// part.
    to_index(model: ModelRow, after: Option<EntityId>, limit: i64) -> Vec<Indexable>;
    /// The first and the last entity of a model by their ids; none if it has none.
    ends(model: ModelRow) -> Option<(EntityId, EntityId)>;
    /// The documents of entities that are being deleted, in the order of their rows; fewer if they
    /// are more than fits a part.
    leaving(entities: &[EntityRow]) -> Vec<Leaving>;
    /// The models that entities belong to.
    models_of(entities: &[EntityRow]) -> Vec<ModelRow>;
    /// How many entities each group of probes finds, as far as is counted.
    count_found(model: ModelRow, groups: &[&[Probe]], limit: i64) -> Vec<i64>;
    /// The entities that any of the probes finds, as they are; none if there are more than
    /// `limit`, or if one is large.
    look_up(tenant: TenantRow, model: ModelRow, probes: &[Probe], limit: i64) -> Option<Vec<Version>>;
    /// The next entities of a stretch of an index; fewer if they are more than fits a part.
    in_order(tenant: TenantRow, stretch: Stretch) -> Ordered;
    /// The current versions of the entities that any of the probes finds, `limit` at most, in the
    /// order of their ids.
    found(model: ModelRow, probes: &[Probe], limit: i64) -> Vec<(EntityId, Position)>;
    /// The versions as of a sequence of the entities that any of the probes finds now or that have
    /// moved since, `limit` at most, in the order of their ids.
    found_as_of(model: ModelRow, probes: &[Probe], at: Sequence, limit: i64) -> Vec<(EntityId, Position)>;

    job(tenant: TenantRow, id: JobId) -> Option<Job>;
    /// The next jobs that are to be run, and whose they are.
    pending_jobs(tenant: TenantRow, at_most: i64) -> i64;
    jobs_to_run(after: JobRow, limit: i64) -> Vec<(JobRow, TenantRow)>;
    job_plan(job: JobRow) -> Option<StoredJob>;
    expired_jobs(now: Timestamp, limit: i64) -> Vec<JobRow>;
    hits(job: JobRow, first: i64, limit: i64) -> Vec<Position>;
}

/// What the committer writes with.
#[derive(Debug)]
pub(super) struct Writer {
    kind: WriterKind,
    #[cfg(test)]
    disturbance: Option<Disturbance>,
}

#[derive(Debug)]
enum WriterKind {
    Sqlite(Box<sqlite::Writer>),
    Postgres(Box<postgres::Writer>),
    #[cfg(test)]
    Simulated(Arc<Simulated>),
}

impl Writer {
    /// Writes a batch, and begins to make it durable. After a failure, also of that, the outcome is
    /// unknown until [`Self::reopen`] has settled it.
    pub(super) async fn write(&mut self, batch: &Batch) -> Result<Written, Failure> {
        #[cfg(test)]
        simulated::pass(self.disturbance.clone(), Moment::BeforeWrite).await?;
        let written = self.write_now(batch).await?;
        #[cfg(test)]
        let written = match written {
            Written::Syncing(syncing) => {
                Written::Syncing(simulated::disturb(self.disturbance.clone(), syncing).await?)
            }
            Written::Overtaken => Written::Overtaken,
        };
        Ok(written)
    }

    async fn write_now(&mut self, batch: &Batch) -> Result<Written, Failure> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.write(batch).await,
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                silence.unless(writer.write(batch)).await
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => Ok(Written::Syncing(database.write(batch))),
        }
    }

    /// Writes what is not a commit of units. Where others write too it may have to follow the newest
    /// commit.
    pub(super) async fn keep_up(
        &mut self,
        upkeep: &Upkeep,
        link: Option<&Link>,
    ) -> Result<KeptUp, Failure> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.keep_up(upkeep).await.map(KeptUp::Done),
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                silence.unless(writer.keep_up(upkeep, link)).await
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => Ok(KeptUp::Done(database.state().keep_up(upkeep))),
        }
    }

    /// Copies back what the log holds.
    pub(super) async fn copy_back(&mut self) -> Result<(), Failure> {
        #[cfg(test)]
        let _still = self.still();
        if let WriterKind::Sqlite(writer) = &mut self.kind {
            writer.copy_back().await?;
        }
        Ok(())
    }

    /// Makes the database usable again after a failure, and everything durable that it holds.
    pub(super) async fn reopen(&mut self, cause: Cause) -> Result<(), Failure> {
        #[cfg(test)]
        simulated::pass(self.disturbance.clone(), Moment::Reopening).await?;
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.reopen(cause).await,
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                silence.unless(writer.reopen()).await
            }
            #[cfg(test)]
            WriterKind::Simulated(_) => Ok(()),
        }
    }

    /// Whether the files are in their places. Where there are none, nothing has to be looked for.
    pub(super) fn in_place(&self) -> Option<Result<(), Failure>> {
        // Paused time would run on while someone looks for files.
        #[cfg(test)]
        if self.disturbance.is_some() {
            return None;
        }
        let WriterKind::Sqlite(writer) = &self.kind else {
            return None;
        };
        writer.in_place()
    }

    /// Whether all of these commits are there. A batch is one transaction, so all are or none is.
    pub(super) async fn knows(&mut self, commits: &[CommitRow]) -> Result<bool, Failure> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.knows(commits).await,
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                silence.unless(writer.knows(commits)).await
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => {
                let sequences: Vec<_> = commits.iter().map(|commit| commit.seq).collect();
                Ok(database.state().knows(&sequences))
            }
        }
    }

    /// The row of a tenant, which is made if there is none.
    pub(super) async fn tenant(&mut self, tenant: &Tenant) -> Result<TenantRow, Error> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => Ok(writer.tenant(tenant).await?),
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                let row = silence.unless(writer.tenant(tenant)).await;
                Ok(row.map_err(postgres::understood)?)
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => Ok(database.state().add_tenant(tenant)),
        }
    }

    /// The row of the name of a definition, which is made if there is none.
    pub(super) async fn run_name(
        &mut self,
        tenant: TenantRow,
        name: &RunName,
    ) -> Result<RunNameRow, Error> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => Ok(writer.run_name(tenant, name).await?),
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                let row = silence.unless(writer.run_name(tenant, name)).await;
                Ok(row.map_err(postgres::understood)?)
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => Ok(database.state().run_name(tenant, name)),
        }
    }

    /// The row of an actor, which is made if there is none.
    pub(super) async fn actor(
        &mut self,
        tenant: TenantRow,
        actor: &Actor,
    ) -> Result<ActorRow, Error> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => Ok(writer.actor(tenant, actor).await?),
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                let row = silence.unless(writer.actor(tenant, actor)).await;
                Ok(row.map_err(postgres::understood)?)
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => Ok(database.state().actor(tenant, actor)),
        }
    }

    /// Deletes outcomes that are past their time, that many at most.
    pub(super) async fn sweep(&mut self, now: Timestamp, limit: i64) -> Result<u64, Error> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => Ok(writer.sweep(now, limit).await?),
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                let swept = silence.unless(writer.sweep(now, limit)).await;
                Ok(swept.map_err(postgres::understood)?)
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => Ok(database.state().sweep(now, limit)),
        }
    }

    /// Writes a change of a model in a transaction of its own; it is durable when this returns. False
    /// if it does not follow the newest commit, and then nothing is written.
    pub(super) async fn change_model(&mut self, commit: &ModelCommit<'_>) -> Result<bool, Error> {
        #[cfg(test)]
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.change_model(commit).await?,
            WriterKind::Postgres(writer) => {
                let silence = writer.silence();
                let changed = silence.unless(writer.change_model(commit)).await;
                return Ok(changed.map_err(postgres::understood)?);
            }
            #[cfg(test)]
            WriterKind::Simulated(database) => database.state().change_model(commit),
        }
        Ok(true)
    }
}

#[cfg(test)]
impl Backend {
    /// What a simulated database holds, as after a restart.
    pub(super) fn simulated(database: &Arc<Simulated>, disturbance: Disturbance) -> (Self, Newest) {
        let newest = database.state().newest();
        let backend = Self {
            kind: Kind::Simulated(Arc::clone(database)),
            disturbance: Some(disturbance),
        };
        (backend, newest)
    }

    /// A database of which only the writer is disturbed. Paused time stands still while it works.
    pub(super) async fn disturbed(
        settings: &Settings,
        disturbance: Disturbance,
    ) -> Result<(Self, Newest), Error> {
        let _still = simulated::still();
        let (mut backend, newest) = Self::open(settings).await?;
        backend.disturbance = Some(disturbance);
        Ok((backend, newest))
    }
}

#[cfg(test)]
impl Writer {
    fn still(&self) -> Option<simulated::Still> {
        match (&self.kind, &self.disturbance) {
            (WriterKind::Sqlite(_), Some(_)) => Some(simulated::still()),
            _ => None,
        }
    }
}
