//! The database in tests: `SQLite`, or the same in memory; either as slow and as unreliable as the
//! test wants it.
#![cfg(test)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{
    ActorRow, Definitions, Durability, EntityRow, Error, Identity, IdentityChange, IdentityKind,
    Index, IndexSettings, Indexable, Job, JobRow, Leaving, Listed, Message, Migrate, ModelRow,
    Ordered, Place, Probe, Recorded, Settings, Storage, Stretch, Task, TaskKey, TaskKind, TaskLine,
    TaskPage, TenantRow, Version,
    claims::Claim,
    feed::Range,
    job::StoredJob,
    judge::Effect,
    outcome::{Remembered, Stored},
    sheet::{Reached, Sheet, Sheeting},
    sqlite::{self, Batch, CommitRow, ModelCommit, Newest, Syncing},
    sqlite::{MessageRow, NewDecision, NewEntity, NewVersion, OutcomeRow, TaskRow},
};
use crate::clock::{Clock, Timestamp};
use crate::engine::Record;
use crate::entity::{Actor, Change, ChangeKind, Changed, Image, Json, Position, Sequence};
use crate::id::{EdgeMessageId, EntityId, JobId, ModelKey, StateName, Tenant, TransactionId};
use crate::model::{ChangeLevel, Lock, Model, Schema, UniqueKeys};
use crate::workflow::{Workflow, WorkflowSet};

/// When a writer may be disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    BeforeWrite,
    AfterWrite,
    Syncing,
    Reopening,
}

/// What happens at a moment: it may take its time, never end, or answer that the disk failed.
#[derive(Clone)]
pub(crate) struct Disturbance(Arc<dyn Fn(Moment) -> BoxFuture<'static, bool> + Send + Sync>);

impl Disturbance {
    pub(crate) fn new(
        at: impl Fn(Moment) -> BoxFuture<'static, bool> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(at))
    }
}

impl std::fmt::Debug for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disturbance")
    }
}

impl Storage {
    /// Opens what a double holds, as after a restart.
    pub(crate) async fn open_double(
        double: &Arc<Double>,
        disturbance: Disturbance,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let newest = double.state().newest();
        let database = Database {
            kind: Kind::Double(Arc::clone(double)),
            disturbance: Some(disturbance),
        };
        Self::start_disturbed(database, newest, clock, tasks).await
    }

    /// Opens a database of which only the writer is disturbed. Paused time stands still while it
    /// works.
    pub(crate) async fn open_disturbed(
        settings: &Settings,
        disturbance: Disturbance,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let _still = still();
        let (sqlite, newest) = sqlite::Sqlite::open(settings).await?;
        let database = Database {
            kind: Kind::Sqlite(Box::new(sqlite)),
            disturbance: Some(disturbance),
        };
        Self::start_disturbed(database, newest, clock, tasks).await
    }

    async fn start_disturbed(
        database: Database,
        newest: Newest,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, Error> {
        let settings = Settings {
            place: Place::Memory,
            durability: Durability::Full,
            busy_timeout: Duration::ZERO,
            cache_kib: 0,
            scan_max: 0,
            absent_lists_are_null: false,
            queue_bytes: 64 << 20,
            start_check: Duration::ZERO,
            migrate: Migrate::Yes,
            indexes: IndexSettings::default(),
        };
        let stop = CancellationToken::new();
        let (storage, committer) = Self::start(database, newest, &settings, clock, stop).await?;
        tasks.spawn(committer);
        Ok(storage)
    }
}

/// What storage reads.
#[derive(Debug)]
pub(super) struct Database {
    kind: Kind,
    disturbance: Option<Disturbance>,
}

#[derive(Debug)]
enum Kind {
    Sqlite(Box<sqlite::Sqlite>),
    Double(Arc<Double>),
}

/// Keeps the time of a paused runtime from going on by itself.
struct Still(#[expect(dead_code, reason = "dropping it is what counts")] mpsc::Sender<()>);

fn still() -> Still {
    let (end, ended) = mpsc::channel();
    // A runtime does not advance its time while it waits for one of these.
    tokio::task::spawn_blocking(move || ended.recv());
    Still(end)
}

impl Database {
    pub(super) async fn open(settings: &Settings) -> Result<(Self, Newest), Error> {
        let (sqlite, newest) = sqlite::Sqlite::open(settings).await?;
        let database = Self {
            kind: Kind::Sqlite(Box::new(sqlite)),
            disturbance: None,
        };
        Ok((database, newest))
    }

    pub(super) fn writer(&self) -> Option<Writer> {
        let kind = match &self.kind {
            Kind::Sqlite(database) => WriterKind::Sqlite(database.writer()?),
            Kind::Double(double) => WriterKind::Double(Arc::clone(double)),
        };
        Some(Writer {
            kind,
            disturbance: self.disturbance.clone(),
        })
    }

    pub(super) fn checkpointer(&self) -> Option<sqlite::Checkpointer> {
        match &self.kind {
            Kind::Sqlite(database) => database.checkpointer(),
            Kind::Double(_) => None,
        }
    }

    pub(super) const fn is_damaged(&self) -> bool {
        match &self.kind {
            Kind::Sqlite(database) => database.is_damaged(),
            Kind::Double(_) => false,
        }
    }

    pub(super) async fn name_damage(&self, within: Duration) -> Result<(), Error> {
        match &self.kind {
            Kind::Sqlite(database) => database.name_damage(within).await,
            Kind::Double(_) => Ok(()),
        }
    }

    pub(super) async fn close(&self, writer: Writer) {
        if let (Kind::Sqlite(database), WriterKind::Sqlite(writer)) = (&self.kind, writer.kind) {
            database.close(writer).await;
        }
    }
}

macro_rules! reads {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl Database {$(
            pub(super) async fn $name(&self, $($argument: $type),*) -> Result<$answer, Error> {
                match &self.kind {
                    Kind::Sqlite(database) => {
                        let _still = self.disturbance.as_ref().map(|_| still());
                        database.$name($($argument),*).await
                    }
                    Kind::Double(double) => Ok(double.state().$name($($argument),*)),
                }
            }
        )*}
    };
}

reads! {
    newest_entity() -> EntityRow;
    newest_task() -> i64;
    task_lines() -> Vec<TaskLine>;
    tasks_due(page: TaskPage) -> Vec<(i64, i64)>;
    tasks(keys: &[TaskKey]) -> Vec<Task>;
    tasks_of(entity: EntityRow) -> Vec<Task>;
    message(tenant: TenantRow, id: EdgeMessageId) -> Option<Message>;
    sequence_at(until: Timestamp) -> Sequence;
    tenant(tenant: &Tenant) -> Option<TenantRow>;
    current(tenant: TenantRow, id: EntityId) -> Option<Version>;
    as_of(tenant: TenantRow, id: EntityId, at: Sequence) -> Option<Version>;
    version_at(tenant: TenantRow, id: EntityId, at: Timestamp) -> Option<(Version, Option<Timestamp>)>;
    by_transaction(tenant: TenantRow, id: EntityId, transaction: TransactionId, at: Sequence) -> Option<Version>;
    versions(tenant: TenantRow, positions: &[Position]) -> (Vec<Version>, usize);
    scan(tenant: TenantRow, model: ModelRow, after: Option<EntityId>, at: Sequence, limit: i64) -> (Vec<Version>, Option<EntityId>);
    sheet(asked: Sheeting) -> Reached;
    page(model: ModelRow, limit: i64, offset: i64) -> Vec<(EntityId, Position)>;
    page_as_of(model: ModelRow, after: Option<EntityId>, at: Sequence, limit: i64, offset: i64) -> Vec<(EntityId, Position)>;
    positions(ids: &[EntityId]) -> Vec<(EntityId, Position)>;
    holders(claims: &[Claim]) -> Vec<(Claim, EntityId)>;
    outcomes(tenant: TenantRow, key: &str, now: Timestamp) -> Vec<Remembered>;
    prints(names: &[(TenantRow, Arc<str>)], now: Timestamp) -> Vec<Stored>;
    next_expiry() -> Option<i64>;
    has_entities(model: ModelRow) -> bool;
    count(model: ModelRow) -> i64;
    counts_by_state(model: ModelRow) -> Vec<(StateName, i64)>;
    history(tenant: TenantRow, id: EntityId, at: Sequence, limit: i64) -> Vec<Change>;
    workflow(hash: &str) -> Option<Workflow>;
    trail(tenant: TenantRow, id: EntityId, until: Position, limit: i64) -> Vec<Recorded>;
    models(tenant: TenantRow) -> Vec<Listed>;
    definitions(tenant: TenantRow, model: &ModelKey) -> Option<Definitions>;
    model_row(tenant: TenantRow, model: &ModelKey) -> Option<ModelRow>;
    changes(range: &Range) -> (Vec<Changed>, Position);
    identities() -> Vec<Identity>;
}

/// What is asked of `SQLite` alone.
macro_rules! reads_of_sqlite {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl Database {$(
            pub(super) async fn $name(&self, $($argument: $type),*) -> Result<$answer, Error> {
                match &self.kind {
                    Kind::Sqlite(database) => {
                        let _still = self.disturbance.as_ref().map(|_| still());
                        database.$name($($argument),*).await
                    }
                    // The double has no indexes: whoever searches reads everything.
                    Kind::Double(_) => Ok(<$answer>::default()),
                }
            }
        )*}
    };
}

reads_of_sqlite! {
    usage(from: i64, to: i64) -> Vec<(Tenant, i64)>;
    usage_of_messages(until: Sequence) -> Vec<(Tenant, i64)>;
    indexes() -> Vec<Index>;
    to_index(model: ModelRow, after: Option<EntityId>, limit: i64) -> Vec<Indexable>;
    ends(model: ModelRow) -> Option<(EntityId, EntityId)>;
    leaving(entities: &[EntityRow]) -> Vec<Leaving>;
    replaced(positions: &[Position]) -> HashMap<Position, Position>;
    models_of(entities: &[EntityRow]) -> Vec<ModelRow>;
    count_found(model: ModelRow, groups: &[&[Probe]], limit: i64) -> Vec<i64>;
    look_up(tenant: TenantRow, model: ModelRow, probes: &[Probe], limit: i64) -> Option<Vec<Version>>;
    in_order(tenant: TenantRow, stretch: Stretch) -> Ordered;
    found(model: ModelRow, probes: &[Probe], limit: i64) -> Vec<(EntityId, Position)>;
    found_as_of(model: ModelRow, probes: &[Probe], at: Sequence, limit: i64) -> Vec<(EntityId, Position)>;
    job(tenant: TenantRow, id: JobId) -> Option<Job>;
    jobs_to_run(after: JobRow, limit: i64) -> Vec<(JobRow, TenantRow)>;
    job_plan(job: JobRow) -> Option<StoredJob>;
    expired_jobs(now: Timestamp, limit: i64) -> Vec<JobRow>;
    hits(job: JobRow, first: i64, limit: i64) -> Vec<Position>;
}

/// What the committer writes with.
#[derive(Debug)]
pub(super) struct Writer {
    kind: WriterKind,
    disturbance: Option<Disturbance>,
}

#[derive(Debug)]
enum WriterKind {
    Sqlite(sqlite::Writer),
    Double(Arc<Double>),
}

impl Writer {
    async fn pass(&self, moment: Moment) -> Result<(), sqlx::Error> {
        pass(self.disturbance.clone(), moment).await
    }

    fn still(&self) -> Option<Still> {
        match (&self.kind, &self.disturbance) {
            (WriterKind::Sqlite(_), Some(_)) => Some(still()),
            _ => None,
        }
    }

    pub(super) async fn write(&mut self, batch: &Batch) -> Result<Syncing, sqlx::Error> {
        self.pass(Moment::BeforeWrite).await?;
        let still = self.still();
        let syncing = match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.write(batch).await?,
            WriterKind::Double(double) => {
                double.state().write(batch);
                future::ready(Ok(())).boxed()
            }
        };
        drop(still);
        self.pass(Moment::AfterWrite).await?;
        let passed = pass(self.disturbance.clone(), Moment::Syncing);
        Ok(async move {
            syncing.await?;
            passed.await
        }
        .boxed())
    }

    pub(super) async fn keep_up(&mut self, upkeep: &sqlite::Upkeep) -> Result<u64, sqlx::Error> {
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.keep_up(upkeep).await,
            WriterKind::Double(double) => Ok(double.state().keep_up(upkeep)),
        }
    }

    pub(super) async fn copy_back(&mut self) -> Result<(), sqlx::Error> {
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.copy_back().await,
            WriterKind::Double(_) => Ok(()),
        }
    }

    pub(super) async fn reopen(&mut self) -> Result<(), sqlx::Error> {
        self.pass(Moment::Reopening).await?;
        let _still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.reopen().await,
            WriterKind::Double(_) => Ok(()),
        }
    }

    /// A writer that is disturbed has no files to be looked for: paused time would run on.
    pub(super) fn in_place(&self) -> Option<Result<(), sqlx::Error>> {
        match (&self.kind, &self.disturbance) {
            (WriterKind::Sqlite(writer), None) => writer.in_place(),
            (WriterKind::Sqlite(_) | WriterKind::Double(_), _) => None,
        }
    }

    pub(super) async fn knows(&mut self, sequences: &[i64]) -> Result<bool, sqlx::Error> {
        let still = self.still();
        let known = match &mut self.kind {
            WriterKind::Sqlite(writer) => writer.knows(sequences).await?,
            WriterKind::Double(double) => {
                let state = double.state();
                sequences.iter().any(|seq| state.commits.contains_key(seq))
            }
        };
        drop(still);
        Ok(known)
    }

    pub(super) async fn tenant(&mut self, tenant: &Tenant) -> Result<TenantRow, Error> {
        let still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => {
                let row = writer.tenant(tenant).await;
                drop(still);
                row
            }
            WriterKind::Double(double) => {
                let mut state = double.state();
                if state.tenant(tenant).is_none() {
                    state.tenants.push(tenant.clone());
                }
                state.tenant(tenant).ok_or(Error::Stopped)
            }
        }
    }

    pub(super) async fn actor(
        &mut self,
        tenant: TenantRow,
        actor: &Actor,
    ) -> Result<ActorRow, Error> {
        let still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => {
                let row = writer.actor(tenant, actor).await;
                drop(still);
                row
            }
            WriterKind::Double(double) => Ok(double.state().actor(tenant, actor)),
        }
    }

    pub(super) async fn sweep(&mut self, now: Timestamp, limit: i64) -> Result<(), Error> {
        let still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => {
                let swept = writer.sweep(now, limit).await;
                drop(still);
                swept
            }
            WriterKind::Double(double) => {
                double.state().sweep(now, limit);
                Ok(())
            }
        }
    }

    pub(super) async fn change_model(
        &mut self,
        commit: &ModelCommit<'_>,
        effect: &Effect<'_>,
    ) -> Result<(), Error> {
        let still = self.still();
        match &mut self.kind {
            WriterKind::Sqlite(writer) => {
                let changed = writer.change_model(commit, effect).await;
                drop(still);
                changed
            }
            WriterKind::Double(double) => double.state().change_model(commit, effect),
        }
    }
}

async fn pass(disturbance: Option<Disturbance>, moment: Moment) -> Result<(), sqlx::Error> {
    match disturbance {
        Some(Disturbance(at)) if !at(moment).await => Err(sqlx::Error::WorkerCrashed),
        Some(_) | None => Ok(()),
    }
}

/// A database in memory that outlives those who open it.
#[derive(Debug, Default)]
pub(crate) struct Double(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    tenants: Vec<Tenant>,
    actors: Vec<(TenantRow, Actor)>,
    models: Vec<StoredModel>,
    /// By their hashes.
    workflows: HashMap<String, Arc<Workflow>>,
    commits: BTreeMap<i64, CommitRow>,
    sequences: HashMap<Uuid, i64>,
    entities: BTreeMap<i64, StoredEntity>,
    rows: BTreeMap<EntityId, i64>,
    versions: BTreeMap<i64, NewVersion>,
    decisions: BTreeMap<i64, NewDecision>,
    tasks: BTreeMap<i64, TaskRow>,
    messages: HashMap<(Uuid, i64), MessageRow>,
    /// Who holds what value of what key of what model.
    claims: BTreeMap<(i64, i64, Vec<u8>), i64>,
    /// By tenant, key and part.
    outcomes: BTreeMap<(i64, Arc<str>, i64), OutcomeRow>,
    /// By kind and name.
    identities: BTreeMap<(IdentityKind, Arc<str>), Identity>,
    /// What a database would have refused.
    violations: Vec<String>,
}

#[derive(Debug)]
struct StoredModel {
    tenant: TenantRow,
    key: ModelKey,
    /// None of one that was deleted.
    lock: Option<Lock>,
    change_level: Option<ChangeLevel>,
    schema: Schema,
    unique_keys: UniqueKeys,
    updated: i64,
    revision: i64,
    workflow_revision: i64,
    workflows: WorkflowSet,
}

#[derive(Debug)]
struct StoredEntity {
    made: NewEntity,
    n: i64,
    state: Arc<str>,
    live: bool,
    versions: Vec<i64>,
    decisions: Vec<i64>,
}

impl Double {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was written that no database would have taken.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }
}

fn row(index: usize) -> i64 {
    i64::try_from(index).expect("few rows") + 1
}

impl State {
    fn newest(&self) -> Newest {
        let newest = self.commits.last_key_value();
        Newest {
            sequence: Sequence(newest.map_or(0, |(seq, _)| *seq)),
            at: Timestamp::from_micros(newest.map_or(0, |(_, commit)| commit.at)),
        }
    }

    fn insist(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    fn write(&mut self, batch: &Batch) {
        for commit in &batch.commits {
            let newest = self.newest();
            let follows = commit.seq > newest.sequence.0 && commit.at > newest.at.micros();
            self.insist(follows, || format!("{commit:?} after {newest:?}"));
            let before = self.sequences.insert(commit.id, commit.seq);
            self.insist(before.is_none(), || format!("{commit:?} a second time"));
            self.commits.insert(commit.seq, commit.clone());
        }
        for made in &batch.created {
            let entity = StoredEntity {
                made: made.clone(),
                n: made.n,
                state: Arc::clone(&made.state),
                live: true,
                versions: Vec::new(),
                decisions: Vec::new(),
            };
            let id = EntityId::from_uuid(made.id);
            let before = self.rows.insert(id, made.e);
            let other = self.entities.insert(made.e, entity);
            self.insist(before.is_none() && other.is_none(), || {
                format!("{made:?} a second time")
            });
        }
        for moved in &batch.moved {
            if let Some(entity) = self.entities.get_mut(&moved.e) {
                entity.n = moved.n;
                entity.state = Arc::clone(&moved.state);
            }
        }
        for version in &batch.versions {
            self.add_version(version.clone());
        }
        for decision in &batch.decisions {
            if let Some(entity) = self.entities.get_mut(&decision.e) {
                entity.decisions.push(decision.n);
            }
            let before = self.decisions.insert(decision.n, decision.clone());
            self.insist(before.is_none(), || format!("{decision:?} a second time"));
        }
        self.claims
            .retain(|_, e| batch.freed.iter().all(|freed| freed.0 != *e));
        for claim in &batch.claims {
            let key = (claim.m, claim.u, claim.key.clone());
            let before = self.claims.insert(key, claim.e);
            self.insist(before.is_none(), || format!("{claim:?} a second time"));
        }
        self.remember(&batch.outcomes);
        for done in &batch.tasks_done {
            self.tasks.remove(&done.0);
        }
        for task in &batch.tasks {
            self.tasks.retain(|_, other| {
                (other.e, other.kind, &other.name) != (task.e, task.kind, &task.name)
            });
            let before = self.tasks.insert(task.k, task.clone());
            self.insist(before.is_none(), || format!("{task:?} a second time"));
        }
        for message in &batch.messages {
            let key = (message.id, message.t);
            let before = self.messages.insert(key, message.clone());
            self.insist(before.is_none(), || format!("{message:?} a second time"));
        }
        for gone in &batch.messages_gone {
            self.messages.remove(&(gone.id, gone.t));
        }
        for delta in &batch.deltas {
            let model = &mut self.models[usize::try_from(delta.m - 1).expect("a row")];
            let added = Schema::decode(&delta.delta).expect("what was encoded");
            model.schema = std::mem::take(&mut model.schema).merge(added);
        }
        for group in &batch.removals {
            for (e, n) in group.entities.iter().zip(group.first..) {
                self.remove(*e, n, group);
            }
        }
    }

    fn remember(&mut self, outcomes: &[OutcomeRow]) {
        for row in outcomes {
            let name = (row.t, Arc::clone(&row.key), row.part);
            self.outcomes.insert(name, row.clone());
        }
    }

    fn sweep(&mut self, now: Timestamp, limit: i64) {
        let mut left = limit;
        self.outcomes.retain(|_, row| {
            let goes = left > 0 && row.expires <= now.micros();
            left -= i64::from(goes);
            !goes
        });
    }

    fn add_version(&mut self, version: NewVersion) {
        let n = version.n;
        match self.entities.get_mut(&version.e) {
            Some(entity) => entity.versions.push(n),
            None => self
                .violations
                .push(format!("{version:?} of no entity that there is")),
        }
        let has_commit = self.commits.contains_key(&version.seq);
        let before = self.versions.insert(n, version);
        self.insist(has_commit && before.is_none(), || {
            format!("version {n} a second time, or without a commit")
        });
    }

    fn remove(&mut self, e: i64, n: i64, group: &sqlite::Removals) {
        let Some(entity) = self.entities.get_mut(&e) else {
            self.violations
                .push(format!("{e} was removed, and never made"));
            return;
        };
        entity.live = false;
        entity.n = n;
        let version = NewVersion {
            n,
            e,
            m: entity.made.m,
            seq: group.seq,
            kind: ChangeKind::Delete,
            state: Arc::clone(&entity.state),
            transition: None,
            author: group.author,
            executor: group.executor,
            data: None,
            record: None,
        };
        self.add_version(version);
    }

    fn actor(&mut self, tenant: TenantRow, actor: &Actor) -> ActorRow {
        let known = |(of, known): &(TenantRow, Actor)| *of == tenant && known == actor;
        let index = self.actors.iter().position(known).unwrap_or_else(|| {
            self.actors.push((tenant, actor.clone()));
            self.actors.len() - 1
        });
        ActorRow(row(index))
    }

    fn change_model(&mut self, commit: &ModelCommit<'_>, effect: &Effect<'_>) -> Result<(), Error> {
        let (seq, at) = (commit.commit.seq, commit.commit.at);
        let index = match (effect, commit.row) {
            (Effect::Make(_), _) => {
                let same =
                    |model: &StoredModel| model.tenant == commit.tenant && model.key == *commit.key;
                self.models.iter().position(same).unwrap_or_else(|| {
                    self.models.push(StoredModel {
                        tenant: commit.tenant,
                        key: commit.key.clone(),
                        lock: None,
                        change_level: None,
                        schema: Schema::default(),
                        unique_keys: UniqueKeys::default(),
                        updated: at,
                        revision: seq,
                        workflow_revision: 0,
                        workflows: WorkflowSet::default(),
                    });
                    self.models.len() - 1
                })
            }
            (_, Some(ModelRow(m))) => usize::try_from(m - 1).expect("a row"),
            (_, None) => return Err(Error::ModelNotFound(commit.key.clone())),
        };
        let model = &mut self.models[index];
        match effect {
            Effect::Make(schema) => {
                model.lock = Some(Lock::Unlocked);
                model.change_level = None;
                model.schema = (*schema).clone();
                model.unique_keys = UniqueKeys::default();
                (model.updated, model.revision) = (at, seq);
            }
            Effect::Extend(schema) => {
                model.schema = std::mem::take(&mut model.schema).merge((*schema).clone());
                (model.updated, model.revision) = (at, seq);
            }
            Effect::Fold(schema) => {
                model.schema = schema.clone();
                (model.updated, model.revision) = (at, seq);
            }
            Effect::SetChangeLevel(level) => model.change_level = Some(*level),
            Effect::Touch => (model.updated, model.revision) = (at, seq),
            Effect::SetLock(lock) => (model.lock, model.revision) = (Some(*lock), seq),
            Effect::SetUniqueKeys(keys) => {
                (model.unique_keys, model.revision) = (keys.clone(), seq);
            }
            Effect::Delete => {
                (model.lock, model.revision) = (None, seq);
                model.schema = Schema::default();
                (model.workflow_revision, model.workflows) = (0, WorkflowSet::default());
            }
            Effect::SetWorkflows(workflows) => {
                model.workflow_revision = seq;
                model.workflows = (*workflows).clone();
                for entry in &workflows.entries {
                    let hash = entry.workflow.definition.hash.to_string();
                    self.workflows.insert(hash, Arc::clone(&entry.workflow));
                }
            }
        }
        self.remember(&commit.outcomes);
        self.sequences.insert(commit.commit.id, seq);
        self.commits.insert(seq, commit.commit.clone());
        Ok(())
    }
}

/// Upkeep, of which it knows only that of identities: it has neither indexes nor jobs.
impl State {
    fn keep_up(&mut self, upkeep: &sqlite::Upkeep) -> u64 {
        let sqlite::Upkeep::Identities(changes) = upkeep else {
            return 0;
        };
        for change in &**changes {
            let (kind, name, tenant) = match change {
                IdentityChange::Keep(identity) => (identity.kind, &identity.name, &identity.tenant),
                IdentityChange::Forget { kind, name, tenant } => (*kind, name, tenant),
            };
            let name = (kind, Arc::clone(name));
            let holder = self.identities.get(&name);
            if holder.is_some_and(|holder| holder.tenant != *tenant) {
                continue;
            }
            match change {
                IdentityChange::Keep(identity) => {
                    self.identities.insert(name, identity.clone());
                }
                IdentityChange::Forget { .. } => {
                    self.identities.remove(&name);
                }
            }
        }
        1
    }
}

/// Reads, as the statements in `sqlite/sql` do them.
impl State {
    fn identities(&self) -> Vec<Identity> {
        self.identities.values().cloned().collect()
    }

    fn newest_entity(&self) -> EntityRow {
        EntityRow(self.entities.last_key_value().map_or(0, |(e, _)| *e))
    }

    fn newest_task(&self) -> i64 {
        self.tasks.last_key_value().map_or(0, |(k, _)| *k)
    }

    fn task_lines(&self) -> Vec<TaskLine> {
        let lines: BTreeSet<i64> = self.tasks.values().map(|task| task.t).collect();
        lines.into_iter().map(TaskLine).collect()
    }

    fn tasks_due(&self, page: TaskPage) -> Vec<(i64, i64)> {
        let continuation = TaskKind::Continuation.code();
        let is_on_it = |task: &&TaskRow| {
            task.t == page.line.0
                && (task.due, task.k) > page.after
                && (task.kind != continuation || task.k <= page.began_with)
        };
        let all = self.tasks.values().filter(is_on_it);
        let mut due: Vec<_> = all.map(|task| (task.due, task.k)).collect();
        due.sort_unstable();
        due.truncate(page.limit);
        due
    }

    fn tasks(&self, keys: &[TaskKey]) -> Vec<Task> {
        let known = keys.iter().filter_map(|key| self.tasks.get(&key.0));
        let entities: BTreeSet<i64> = known.map(|task| task.e).collect();
        let of_them = self
            .tasks
            .values()
            .filter(|task| entities.contains(&task.e));
        of_them.map(|row| self.task(row)).collect()
    }

    fn message(&self, tenant: TenantRow, id: EdgeMessageId) -> Option<Message> {
        let row = self.messages.get(&(id.uuid(), tenant.0))?;
        let part = |part: &Arc<str>| Json::trusted(Arc::clone(part));
        Some(Message {
            header: part(&row.header),
            metadata: part(&row.metadata),
            content: part(&row.content),
        })
    }

    fn tasks_of(&self, entity: EntityRow) -> Vec<Task> {
        let of_it = self.tasks.values().filter(|task| task.e == entity.0);
        of_it.map(|row| self.task(row)).collect()
    }

    fn task(&self, row: &TaskRow) -> Task {
        let kind = TaskKind::ALL
            .into_iter()
            .find(|kind| kind.code() == row.kind);
        Task {
            key: TaskKey(row.k),
            line: TaskLine(row.t),
            tenant: self.tenants[usize::try_from(row.t - 1).expect("a row")].clone(),
            entity: EntityId::from_uuid(self.entities[&row.e].made.id),
            kind: kind.expect("a kind"),
            name: Arc::clone(&row.name),
            due: Timestamp::from_micros(row.due),
            body: Arc::clone(&row.body),
        }
    }

    fn sequence_at(&self, until: Timestamp) -> Sequence {
        let mut newest_first = self.commits.values().rev();
        let found = newest_first.find(|commit| commit.at <= until.micros());
        Sequence(found.map_or(0, |commit| commit.seq))
    }

    fn tenant(&self, tenant: &Tenant) -> Option<TenantRow> {
        let index = self.tenants.iter().position(|known| known == tenant)?;
        Some(TenantRow(row(index)))
    }

    fn model(&self, m: i64) -> &StoredModel {
        &self.models[usize::try_from(m - 1).expect("a row")]
    }

    fn entity(&self, tenant: TenantRow, id: EntityId) -> Option<&StoredEntity> {
        let entity = self.entities.get(self.rows.get(&id)?)?;
        (self.model(entity.made.m).tenant == tenant).then_some(entity)
    }

    fn version(&self, n: i64) -> Version {
        let version = &self.versions[&n];
        let made = &self.entities[&version.e].made;
        let commit = &self.commits[&version.seq];
        let model = self.model(made.m);
        let document = version.data.clone().unwrap_or_else(|| "null".into());
        Version {
            row: EntityRow(version.e),
            tenant: model.tenant,
            position: Position(n),
            live: version.kind != ChangeKind::Delete,
            image: Image {
                id: EntityId::from_uuid(made.id),
                model: model.key.clone(),
                state: (&*version.state).into(),
                document: Json::trusted(document),
                created: Timestamp::from_micros(made.created),
                updated: Timestamp::from_micros(commit.at),
                transaction: TransactionId::from_uuid(commit.id),
                transition: version.transition.as_deref().map(Into::into),
                workflow: made.workflow.as_deref().map(Into::into),
            },
        }
    }

    fn current(&self, tenant: TenantRow, id: EntityId) -> Option<Version> {
        Some(self.version(self.entity(tenant, id)?.n))
    }

    fn as_of(&self, tenant: TenantRow, id: EntityId, at: Sequence) -> Option<Version> {
        let mut newest_first = self.entity(tenant, id)?.versions.iter().rev();
        let n = newest_first.find(|n| **n <= at.0)?;
        Some(self.version(*n))
    }

    fn version_at(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Timestamp,
    ) -> Option<(Version, Option<Timestamp>)> {
        let version = self.as_of(tenant, id, self.sequence_at(at))?;
        let mut later = self.entity(tenant, id)?.versions.iter();
        let next = later.find(|n| **n > version.position.0);
        let until = next.map(|n| self.version(*n).image.updated);
        Some((version, until))
    }

    fn by_transaction(
        &self,
        tenant: TenantRow,
        id: EntityId,
        transaction: TransactionId,
        at: Sequence,
    ) -> Option<Version> {
        let seq = self.sequences.get(&transaction.uuid())?;
        let mut newest_first = self.entity(tenant, id)?.versions.iter().rev();
        let n = newest_first.find(|n| **n <= at.0 && self.versions[n].seq == *seq)?;
        Some(self.version(*n))
    }

    fn versions(&self, tenant: TenantRow, positions: &[Position]) -> (Vec<Version>, usize) {
        let known = positions
            .iter()
            .filter(|position| self.versions.contains_key(&position.0));
        let versions = known
            .map(|position| self.version(position.0))
            .filter(|version| version.tenant == tenant);
        (versions.collect(), positions.len())
    }

    fn sheet(&self, asked: Sheeting) -> Reached {
        let tenant = self.model(asked.model.0).tenant;
        let (versions, reached) = self.scan(tenant, asked.model, asked.after, asked.at, asked.rows);
        (Sheet::of(&versions), reached)
    }

    fn scan(
        &self,
        tenant: TenantRow,
        model: ModelRow,
        after: Option<EntityId>,
        at: Sequence,
        limit: i64,
    ) -> (Vec<Version>, Option<EntityId>) {
        let limit = usize::try_from(limit).expect("a number of rows");
        let of_model = |id: &EntityId| {
            let entity = self.entity(tenant, *id);
            after.is_none_or(|after| *id > after)
                && entity.is_some_and(|entity| entity.made.m == model.0)
        };
        let mut ids: Vec<_> = self.rows.keys().copied().filter(of_model).collect();
        ids.truncate(limit);
        let reached = ids.last().copied().filter(|_| ids.len() == limit);
        let versions = ids
            .into_iter()
            .filter_map(|id| self.as_of(tenant, id, at))
            .filter(|version| version.live)
            .collect();
        (versions, reached)
    }

    fn live(&self, model: ModelRow) -> impl Iterator<Item = &StoredEntity> {
        let all = self.rows.values().map(|e| &self.entities[e]);
        all.filter(move |entity| entity.live && entity.made.m == model.0)
    }

    fn page(&self, model: ModelRow, limit: i64, offset: i64) -> Vec<(EntityId, Position)> {
        let [limit, offset] =
            [limit, offset].map(|number| usize::try_from(number).expect("a number of rows"));
        let page = self.live(model).skip(offset).take(limit);
        page.map(|entity| (EntityId::from_uuid(entity.made.id), Position(entity.n)))
            .collect()
    }

    fn page_as_of(
        &self,
        model: ModelRow,
        after: Option<EntityId>,
        at: Sequence,
        limit: i64,
        offset: i64,
    ) -> Vec<(EntityId, Position)> {
        let [limit, offset] =
            [limit, offset].map(|number| usize::try_from(number).expect("a number of rows"));
        let of_model = self.rows.iter().filter_map(|(id, e)| {
            let entity = &self.entities[e];
            let is_ahead = after.is_none_or(|after| *id > after) && entity.made.m == model.0;
            let then = entity.versions.iter().rev().find(|n| **n <= at.0)?;
            let was_there = self.versions[then].kind != ChangeKind::Delete;
            (is_ahead && was_there).then_some((*id, Position(*then)))
        });
        of_model.skip(offset).take(limit).collect()
    }

    fn positions(&self, ids: &[EntityId]) -> Vec<(EntityId, Position)> {
        let position = |id: &EntityId| Some((*id, Position(self.entities[self.rows.get(id)?].n)));
        ids.iter().filter_map(position).collect()
    }

    fn outcomes(&self, tenant: TenantRow, key: &str, now: Timestamp) -> Vec<Remembered> {
        let of_key =
            |row: &&OutcomeRow| (row.t, &*row.key) == (tenant.0, key) && row.expires > now.micros();
        let stored = self.outcomes.values().filter(of_key);
        stored
            .map(|row| Remembered {
                part: u32::try_from(row.part).expect("a part"),
                print: row.hash.clone().try_into().expect("a print"),
                answer: Arc::clone(&row.answer),
            })
            .collect()
    }

    fn prints(&self, names: &[(TenantRow, Arc<str>)], now: Timestamp) -> Vec<Stored> {
        let stored = names.iter().flat_map(|(tenant, key)| {
            let stored = self.outcomes(*tenant, key, now).into_iter();
            stored.map(|stored| Stored {
                tenant: *tenant,
                key: key.to_string(),
                part: stored.part,
                print: stored.print,
            })
        });
        stored.collect()
    }

    fn next_expiry(&self) -> Option<i64> {
        self.outcomes.values().map(|row| row.expires).min()
    }

    fn holders(&self, claims: &[Claim]) -> Vec<(Claim, EntityId)> {
        let holder = |claim: &Claim| {
            let (m, u) = (claim.model.0, i64::from(claim.value.key));
            let e = self.claims.get(&(m, u, claim.value.bytes.to_vec()))?;
            let id = EntityId::from_uuid(self.entities[e].made.id);
            Some((claim.clone(), id))
        };
        claims.iter().filter_map(holder).collect()
    }

    fn has_entities(&self, model: ModelRow) -> bool {
        self.live(model).next().is_some()
    }

    fn count(&self, model: ModelRow) -> i64 {
        row(self.live(model).count()) - 1
    }

    fn counts_by_state(&self, model: ModelRow) -> Vec<(StateName, i64)> {
        let mut counts = BTreeMap::new();
        for entity in self.live(model) {
            *counts.entry(StateName::from(&*entity.state)).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    fn change(&self, version: &NewVersion) -> Change {
        let commit = &self.commits[&version.seq];
        let (author, executor) = match version.author {
            Some(author) => (author, version.executor),
            None => (commit.author, commit.executor),
        };
        let actor = |a: i64| {
            self.actors[usize::try_from(a - 1).expect("a row")]
                .1
                .clone()
        };
        Change {
            position: Position(version.n),
            kind: version.kind,
            at: Timestamp::from_micros(commit.at),
            transaction: TransactionId::from_uuid(commit.id),
            author: actor(author),
            executor: executor.map(actor),
        }
    }

    fn history(&self, tenant: TenantRow, id: EntityId, at: Sequence, limit: i64) -> Vec<Change> {
        let Some(entity) = self.entity(tenant, id) else {
            return Vec::new();
        };
        let seen = entity.versions.iter().rev().filter(|n| **n <= at.0);
        seen.take(usize::try_from(limit).expect("a number of rows"))
            .map(|n| self.change(&self.versions[n]))
            .collect()
    }

    fn workflow(&self, hash: &str) -> Option<Workflow> {
        self.workflows
            .get(hash)
            .map(|workflow| Workflow::clone(workflow))
    }

    fn model_row(&self, tenant: TenantRow, key: &ModelKey) -> Option<ModelRow> {
        let of_it = |model: &StoredModel| model.tenant == tenant && model.key == *key;
        self.models
            .iter()
            .position(of_it)
            .map(|index| ModelRow(row(index)))
    }

    fn changes(&self, range: &Range) -> (Vec<Changed>, Position) {
        let mut changes = Vec::new();
        let mut bytes = 0;
        for (n, version) in self.versions.range(range.after.0 + 1..=range.until.0) {
            let image = self.version(*n);
            let is_wanted = image.tenant == range.tenant
                && range.model.is_none_or(|model| model.0 == version.m)
                && range
                    .states
                    .as_ref()
                    .is_none_or(|states| states.contains(&image.image.state));
            if !is_wanted {
                continue;
            }
            let document = version.data.clone().filter(|_| range.documents);
            bytes += document.as_ref().map_or(0, |text| text.len());
            let is_full = changes.len() == range.limit || bytes > range.bytes;
            if is_full && let Some(Changed { position, .. }) = changes.last() {
                let reached = *position;
                return (changes, reached);
            }
            changes.push(Changed {
                position: Position(*n),
                entity: image.image.id,
                model: image.image.model,
                state: image.image.state,
                kind: version.kind,
                transaction: image.image.transaction,
                at: image.image.updated,
                document: document.map(Json::trusted),
            });
        }
        (changes, range.until)
    }

    fn trail(&self, tenant: TenantRow, id: EntityId, until: Position, limit: i64) -> Vec<Recorded> {
        let Some(entity) = self.entity(tenant, id) else {
            return Vec::new();
        };
        let mut all: Vec<_> = entity.versions.iter().chain(&entity.decisions).collect();
        all.retain(|n| **n <= until.0);
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(usize::try_from(limit).expect("a number of rows"));
        all.into_iter().map(|n| self.recorded(*n)).collect()
    }

    fn recorded(&self, n: i64) -> Recorded {
        let version = self.versions.get(&n);
        let (seq, record) = match version {
            Some(version) => (version.seq, version.record.as_deref()),
            // A decision belongs to the first commit after it.
            None => (
                self.commits.range(n..).next().map_or(0, |(seq, _)| *seq),
                Some(&*self.decisions[&n].record),
            ),
        };
        let commit = &self.commits[&seq];
        Recorded {
            position: Position(n),
            at: Timestamp::from_micros(commit.at),
            transaction: TransactionId::from_uuid(commit.id),
            entry: TransactionId::from_uuid(commit.entry.unwrap_or(commit.id)),
            change: version.map(|version| self.change(version)),
            record: record.map_or_else(Record::default, |text| {
                Record::decode(text).expect("what was encoded")
            }),
        }
    }

    fn models(&self, tenant: TenantRow) -> Vec<Listed> {
        let of_tenant = self
            .models
            .iter()
            .zip(1..)
            .filter(|(model, _)| model.tenant == tenant);
        let mut listed: Vec<_> = of_tenant
            .filter_map(|(model, m)| {
                Some(Listed {
                    row: ModelRow(m),
                    key: model.key.clone(),
                    lock: model.lock?,
                    updated: Timestamp::from_micros(model.updated),
                })
            })
            .collect();
        listed.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        listed
    }

    fn definitions(&self, tenant: TenantRow, key: &ModelKey) -> Option<Definitions> {
        let same = |model: &StoredModel| model.tenant == tenant && model.key == *key;
        let index = self.models.iter().position(same)?;
        let model = &self.models[index];
        Some(Definitions {
            tenant,
            row: ModelRow(row(index)),
            revision: model.revision,
            deltas: 1,
            workflow_revision: model.workflow_revision,
            model: Model {
                key: key.clone(),
                lock: model.lock?,
                change_level: model.change_level,
                schema: Arc::new(model.schema.clone()),
                updated: Timestamp::from_micros(model.updated),
                unique_keys: model.unique_keys.clone(),
            },
            workflows: model.workflows.clone(),
        })
    }
}
