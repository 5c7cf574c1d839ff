//! The one task that commits (STORAGE.md §3).
//!
//! It takes everything that waits, judges it in arrival order, writes the survivors in one
//! database transaction, and answers them when that is durable. There is no delay: the batch is
//! what arrived while the last one was written. While that is on its way to the disk the next one
//! is judged and written, if they do not concern each other.

mod flight;
mod recovery;
mod upkeep;
mod waiting;

use std::{collections::BTreeMap, sync::Arc};

use foldhash::HashMap;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{
    ActorRow, Definitions, EntityRow, Error, ModelChange, Storage, TenantRow, Writer,
    agenda::Noted,
    draft::{Attribution, Committed, Draft, Write},
    judge::{self, ModelView, View},
    log::Growth,
    message,
    outcome::{self, Sweeper},
    sqlite::{
        Batch, CommitRow, EntityMove, Freed, ModelCommit, NewDecision, NewEntity, NewVersion,
        Removals, Syncing, TaskDone, TaskRow,
    },
    submission::Submission,
    task::{TaskChange, TaskKey},
};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{EntityId, Tenant, TransactionId};

use flight::{Flight, Judged};
use recovery::Watch;
use waiting::Waiting;

pub(super) use upkeep::Chore;

/// Where an answer is waited for.
type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The state of the task.
pub(super) struct Committer {
    storage: Storage,
    writer: Option<Writer>,
    inbox: mpsc::Receiver<Submission>,
    chores: mpsc::Receiver<Chore>,
    publish: watch::Sender<Sequence>,
    /// The next position.
    next: i64,
    /// The newest row of `entity`; known once the database has been asked.
    newest_entity: Option<EntityRow>,
    /// The newest row of `task`, likewise.
    newest_task: Option<i64>,
    /// How the database failed while a batch was judged.
    failure: Option<sqlx::Error>,
    /// What was taken out of the inbox.
    waiting: Waiting,
    /// The last batch, until it is durable and answered.
    flight: Option<Flight>,
    /// Of the log, since it was last to be copied back.
    growth: Growth,
    sweeper: Sweeper,
    stop: CancellationToken,
}

/// A unit that survived its judgement, before it is durable.
struct Survivor {
    submission: Submission,
    tenant: TenantRow,
    committed: Committed,
    first: Position,
}

impl Committer {
    pub(super) fn new(
        storage: Storage,
        inbox: mpsc::Receiver<Submission>,
        chores: mpsc::Receiver<Chore>,
        publish: watch::Sender<Sequence>,
        newest: Sequence,
    ) -> Self {
        let writer = storage.0.database.writer();
        Self {
            storage,
            writer,
            inbox,
            chores,
            publish,
            next: newest.0 + 1,
            newest_entity: None,
            newest_task: None,
            failure: None,
            waiting: Waiting::default(),
            flight: None,
            growth: Growth::default(),
            sweeper: Sweeper::default(),
            stop: CancellationToken::new(),
        }
    }

    /// Commits until `stop` is cancelled and everything that was submitted before is answered.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        self.stop = stop.clone();
        self.sweeper.plan(&self.storage).await;
        self.refuse_if_damaged().await;
        let mut watch = Watch::of(self.writer.as_ref());
        loop {
            tokio::select! {
                biased;
                () = self.sweeper.is_due() => {
                    self.land().await;
                    self.sweeper.sweep(&self.storage, self.writer.as_mut()).await;
                }
                () = watch.is_due() => self.look_for_files().await,
                some = some_wait(&mut self.waiting, &mut self.inbox) => {
                    if !some { break; }
                    self.batch().await;
                    // However busy it is, upkeep has its turn.
                    if let Ok(chore) = self.chores.try_recv() { self.keep_up(chore).await; }
                },
                synced = flight::synced(&mut self.flight) => self.landed(synced).await,
                Some(chore) = self.chores.recv() => self.keep_up(chore).await,
                () = stop.cancelled() => {
                    // Nobody can submit from here on; what waits is still answered.
                    self.inbox.close();
                }
            }
            if stop.is_cancelled() && self.waiting.is_empty() && self.inbox.is_empty() {
                break;
            }
        }
        self.land().await;
        if let Some(writer) = self.writer.take() {
            self.storage.0.database.close(writer).await;
        }
        info!("the committer has stopped");
    }

    async fn batch(&mut self) {
        // One batch is less work than two halves of it.
        let wait = self.waiting.len() + self.inbox.len();
        let flight = self.flight.as_ref();
        if flight.is_some_and(|flight| wait <= flight.judged.survivors.len() / 2) {
            self.land().await;
        }
        while self.waiting.has_room()
            && let Ok(next) = self.inbox.try_recv()
        {
            self.waiting.push(next);
        }
        let mut batch = self.waiting.batch();
        if batch.iter().any(|unit| unit.draft.model.is_some()) {
            self.land().await;
            for change in batch {
                self.change_model(change).await;
            }
            return;
        }
        batch.retain(|submission| submission.claim.take());
        self.commit(batch).await;
    }

    async fn commit(&mut self, batch: Vec<Submission>) {
        let flight = self.flight.as_ref();
        if flight.is_some_and(|flight| flight.decides(&batch)) {
            self.land().await;
        }
        let view = match self.view(&batch).await {
            Ok(view) => view,
            Err(error) => return refuse_all(batch, &error),
        };
        let judged = self.judge(view, batch).await;
        if let Some(error) = self.failure.take() {
            // What is in flight has its own outcome; what was judged is not written at all.
            self.land().await;
            if let Some(judged) = judged {
                self.storage.0.instants.finish(judged.stamped);
                let units = judged.survivors.into_iter();
                refuse_all(units.map(|unit| unit.submission), &Error::Unavailable);
            }
            let _ = self.recover(&[], &error, &mut |_| {}).await;
            return;
        }
        let Some(judged) = judged else { return };
        let (written, synced) = self.write(&judged.rows).await;
        match (written, synced) {
            (Ok(syncing), Ok(())) => {
                self.growth
                    .add(&judged.rows, judged.bytes, &self.storage.0.long_log);
                self.flight = Some(Flight::new(judged, syncing));
            }
            (written, synced) => {
                if synced.is_err() {
                    self.landed(synced).await;
                }
                // Where the last batch could not be made durable, nothing is known of what was
                // written after it.
                let error = written.err().unwrap_or(sqlx::Error::WorkerCrashed);
                self.settle(judged, error).await;
            }
        }
    }

    /// Writes rows; meanwhile the batch before is answered as soon as it is durable.
    async fn write(
        &mut self,
        rows: &Batch,
    ) -> (Result<Syncing, sqlx::Error>, Result<(), sqlx::Error>) {
        let Some(writer) = &mut self.writer else {
            return (Err(sqlx::Error::PoolClosed), Ok(()));
        };
        let landing = async {
            if self.flight.is_some() {
                flight::synced(&mut self.flight).await?;
            }
            if let Some(flight) = self.flight.take() {
                flight::announce(
                    flight.judged,
                    &self.storage,
                    &self.publish,
                    &mut self.sweeper,
                );
            }
            Ok(())
        };
        tokio::join!(writer.write(rows), landing)
    }

    /// Waits until the batch that was written last is durable, and answers it.
    async fn land(&mut self) {
        if self.flight.is_some() {
            let synced = flight::synced(&mut self.flight).await;
            self.landed(synced).await;
        }
    }

    async fn landed(&mut self, synced: Result<(), sqlx::Error>) {
        let Some(Flight { judged, .. }) = self.flight.take() else {
            return;
        };
        match synced {
            Ok(()) => self.announce(judged),
            Err(error) => self.settle(judged, error).await,
        }
    }

    fn announce(&mut self, judged: Judged) {
        flight::announce(judged, &self.storage, &self.publish, &mut self.sweeper);
    }

    /// What the batch is judged against: what the cache does not know is asked for in one trip.
    async fn view(&mut self, batch: &[Submission]) -> Result<View, Error> {
        if self.newest_entity.is_none() {
            self.newest_entity = Some(self.storage.0.database.newest_entity().await?);
        }
        if self.newest_task.is_none() {
            self.newest_task = Some(self.storage.0.database.newest_task().await?);
        }
        let drafts = || batch.iter().map(|submission| &*submission.draft);
        let mut view = View {
            taken: self.storage.taken(drafts()).await?,
            ..View::default()
        };
        let mut unknown = Vec::new();
        for draft in drafts() {
            let replaced = draft
                .bases()
                .filter(|(_, base)| base.is_some())
                .map(|(id, _)| id);
            for id in replaced.chain(draft.reads.keys().copied()) {
                if let std::collections::hash_map::Entry::Vacant(e) = view.current.entry(id) {
                    let known = self.storage.0.cache.get(id).map(|version| version.position);
                    if known.is_none() {
                        unknown.push(id);
                    }
                    e.insert(known);
                }
            }
            let guarded = draft.guards.iter().map(|guard| &guard.model);
            let widened = draft.widenings.iter().map(|widening| &widening.model);
            for model in guarded.chain(widened) {
                let key = (draft.tenant.clone(), model.clone());
                if let std::collections::hash_map::Entry::Vacant(e) = view.models.entry(key) {
                    let model = self.storage.definitions(&draft.tenant, model).await?;
                    e.insert(model.as_deref().map(ModelView::from));
                }
            }
        }
        if !unknown.is_empty() {
            let found = self.storage.0.database.positions(&unknown).await?;
            view.current
                .extend(found.into_iter().map(|(id, position)| (id, Some(position))));
        }
        view.holders = self.storage.holders(drafts()).await?;
        Ok(view)
    }

    /// Judges and stamps a batch. Those that fail are answered; none if all do.
    async fn judge(&mut self, mut view: View, batch: Vec<Submission>) -> Option<Judged> {
        let mut rows = Batch::with_room(batch.len());
        let mut survivors = Vec::with_capacity(batch.len());
        let count = i64::try_from(batch.len()).unwrap_or(i64::MAX);
        let stamped = self.storage.0.instants.stamp(self.storage.now(), count);
        let mut at = stamped.micros();
        for submission in batch {
            let first = Position(self.next);
            let written = match judge::judge(&mut view, &submission.draft, first) {
                Ok(sequence) => {
                    let committed = Committed {
                        sequence,
                        at: Timestamp::from_micros(at),
                    };
                    match self
                        .rows(&submission.draft, first, committed, &mut rows)
                        .await
                    {
                        // No later than this, since what comes after relies on it.
                        Ok(tenant) => view.widen(&submission.draft).map(|deltas| {
                            rows.add_deltas(deltas, committed.sequence);
                            (tenant, committed)
                        }),
                        Err(error) => Err(error),
                    }
                }
                Err(error) => Err(error),
            };
            match written {
                Ok((tenant, committed)) => {
                    self.next = committed.sequence.0 + 1;
                    at += 1;
                    survivors.push(Survivor {
                        submission,
                        tenant,
                        committed,
                        first,
                    });
                }
                Err(Error::Database(error)) => {
                    self.failure = Some(error);
                    answer(submission, Err(Error::Unavailable));
                }
                Err(error) => answer(submission, Err(error)),
            }
        }
        if survivors.is_empty() {
            self.storage.0.instants.finish(stamped);
            return None;
        }
        let bytes = survivors.iter().map(|survivor| survivor.submission.bytes);
        Some(Judged {
            bytes: bytes.sum(),
            rows,
            survivors,
            stamped,
            until: Sequence(self.next - 1),
        })
    }

    /// Adds the rows of one unit to the batch.
    async fn rows(
        &mut self,
        draft: &Draft,
        first: Position,
        committed: Committed,
        rows: &mut Batch,
    ) -> Result<TenantRow, Error> {
        let tenant = self.tenant_row(&draft.tenant).await?;
        let (author, executor) = self.attribution(tenant, &draft.attribution).await?;
        let mut versions = Vec::with_capacity(draft.writes.len());
        for (write, n) in draft.writes.iter().zip(first.0..) {
            let attribution = match &write.attribution {
                Some(attribution) => Some(self.attribution(tenant, attribution).await?),
                None => None,
            };
            versions.push((write, n, attribution));
        }
        let mut removals = self.removals(tenant, draft, committed).await?;
        let indexes = self.storage.0.indexes.current();
        indexes
            .take_out(&draft.removals, &self.storage, rows)
            .await?;
        rows.commits.push(CommitRow {
            seq: committed.sequence.0,
            id: draft.id.uuid(),
            entry: draft.entry.map(TransactionId::uuid),
            tenant: tenant.0,
            at: committed.at.micros(),
            author: author.0,
            executor: executor.map(|executor| executor.0),
        });
        let decided = committed.sequence.0 - i64::try_from(draft.decisions.len()).unwrap_or(0);
        for (decision, n) in draft.decisions.iter().zip(decided..) {
            rows.decisions.push(NewDecision {
                n,
                e: decision.entity.0,
                record: Arc::clone(&decision.record),
            });
        }
        let mut written = HashMap::default();
        for (write, n, attribution) in versions {
            let e = self.entity_row(write);
            if !draft.tasks.is_empty() {
                written.insert(write.image.id, e);
            }
            if let Some(claims) = &write.claims {
                claims.write(write, e, rows);
            }
            indexes.write(write, e, rows);
            let state = write.image.state.shared();
            let kind = write.kind();
            match write.base {
                None => rows.created.push(NewEntity {
                    e: e.0,
                    id: write.image.id.uuid(),
                    m: write.model.0,
                    n,
                    state: Arc::clone(&state),
                    created: write.image.created.micros(),
                    workflow: write
                        .image
                        .workflow
                        .as_ref()
                        .map(super::super::id::WorkflowName::shared),
                }),
                Some(_) => rows.moved.push(EntityMove {
                    e: e.0,
                    n,
                    state: Arc::clone(&state),
                }),
            }
            rows.versions.push(NewVersion {
                n,
                e: e.0,
                m: write.model.0,
                seq: committed.sequence.0,
                kind,
                state,
                transition: write
                    .image
                    .transition
                    .as_ref()
                    .map(super::super::id::TransitionName::shared),
                author: attribution.map(|(author, _)| author.0),
                executor: attribution
                    .and_then(|(_, executor)| executor)
                    .map(|executor| executor.0),
                data: Some(write.image.document.shared()),
                record: write.record.clone(),
            });
        }
        rows.removals.append(&mut removals);
        rows.outcomes.extend(outcome::rows(draft, tenant));
        let freed = draft.removals.iter().filter(|removal| removal.keyed);
        rows.freed
            .extend(freed.map(|removal| Freed(removal.base.row.0)));
        self.tasks(tenant, draft, &written, rows);
        message::add_rows(draft, tenant, committed, rows);
        Ok(tenant)
    }

    /// Adds the changes of tasks; of several of one name the last counts.
    fn tasks(
        &mut self,
        tenant: TenantRow,
        draft: &Draft,
        written: &HashMap<EntityId, EntityRow>,
        rows: &mut Batch,
    ) {
        let mut puts = BTreeMap::new();
        for change in &draft.tasks {
            match change {
                TaskChange::Put(task) => {
                    puts.insert((task.entity, task.kind, &task.name), task);
                }
                TaskChange::Drop(task) => {
                    puts.remove(&(task.entity, task.kind, &task.name));
                    if task.key != TaskKey(0) {
                        rows.tasks_done.push(TaskDone(task.key.0));
                    }
                }
            }
        }
        for task in puts.into_values() {
            let Some(entity) = written.get(&task.entity) else {
                continue;
            };
            let newest = self.newest_task.get_or_insert(0);
            *newest += 1;
            rows.tasks.push(TaskRow {
                k: *newest,
                due: task.due.micros(),
                t: tenant.0,
                e: entity.0,
                kind: task.kind.code(),
                name: Arc::clone(&task.name),
                body: Arc::clone(&task.body),
            });
            rows.agenda.extend(Noted::of(tenant, task, *newest));
        }
    }

    /// The removals of one unit, one group for each run of the same attribution.
    async fn removals(
        &mut self,
        tenant: TenantRow,
        draft: &Draft,
        committed: Committed,
    ) -> Result<Vec<Removals>, Error> {
        let mut groups = Vec::new();
        let after = draft.removals.len() + draft.decisions.len();
        let mut first = committed.sequence.0 - i64::try_from(after).unwrap_or(0);
        for group in draft.removals.chunk_by(|one, next| one.by == next.by) {
            let by = match group.first().and_then(|removal| removal.by.as_deref()) {
                Some(by) => Some(self.attribution(tenant, by).await?),
                None => None,
            };
            let entities: Vec<_> = group.iter().map(|removal| removal.base.row.0).collect();
            let next = first + i64::try_from(entities.len()).unwrap_or(0);
            groups.push(Removals {
                first: std::mem::replace(&mut first, next),
                seq: committed.sequence.0,
                author: by.map(|(author, _)| author.0),
                executor: by
                    .and_then(|(_, executor)| executor)
                    .map(|executor| executor.0),
                entities,
            });
        }
        Ok(groups)
    }

    fn entity_row(&mut self, write: &Write) -> EntityRow {
        if let Some(base) = write.base {
            return base.row;
        }
        let newest = self.newest_entity.get_or_insert(EntityRow(0));
        newest.0 += 1;
        *newest
    }

    async fn tenant_row(&mut self, tenant: &Tenant) -> Result<TenantRow, Error> {
        if let Some(row) = self.storage.0.names.tenant(tenant) {
            return Ok(row);
        }
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        let row = writer.tenant(tenant).await?;
        self.storage.0.names.know_tenant(tenant, row);
        Ok(row)
    }

    async fn attribution(
        &mut self,
        tenant: TenantRow,
        attribution: &Attribution,
    ) -> Result<(ActorRow, Option<ActorRow>), Error> {
        let author = self.actor(tenant, &attribution.author).await?;
        let executor = match &attribution.executor {
            Some(executor) => Some(self.actor(tenant, executor).await?),
            None => None,
        };
        Ok((author, executor))
    }

    async fn actor(
        &mut self,
        tenant: TenantRow,
        actor: &crate::entity::Actor,
    ) -> Result<ActorRow, Error> {
        if let Some(row) = self.storage.0.names.actor(tenant, actor) {
            return Ok(row);
        }
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        let row = writer.actor(tenant, actor).await?;
        self.storage.0.names.know_actor(tenant, actor, row);
        Ok(row)
    }

    /// A change of a model is a batch of its own.
    async fn change_model(&mut self, mut submission: Submission) {
        if !submission.claim.take() {
            return;
        }
        let at = self.storage.0.instants.stamp(self.storage.now(), 1);
        let outcome = self.try_change_model(&mut submission, at).await;
        self.storage.0.instants.finish(at);
        if outcome.is_ok() {
            self.publish.send_replace(Sequence(self.next - 1));
        }
        answer(submission, outcome);
    }

    async fn try_change_model(
        &mut self,
        submission: &mut Submission,
        at: Timestamp,
    ) -> Result<Committed, Error> {
        let Submission { draft, reply, .. } = submission;
        let Some((key, change)) = &draft.model else {
            return Err(Error::Stopped);
        };
        let taken = self.storage.taken(std::iter::once(&**draft)).await?;
        if !taken.leaves_room_for(draft) {
            return Err(Error::Repeated);
        }
        let tenant = self.tenant_row(&draft.tenant).await?;
        let (author, executor) = self.attribution(tenant, &draft.attribution).await?;
        let current = self.storage.definitions_of(tenant, key).await?;
        let has_entities = match &current {
            Some(current) => self.storage.0.database.has_entities(current.row).await?,
            None => false,
        };
        let effect = judge::judge_model(key, current.as_deref(), has_entities, change)?;
        let sequence = Sequence(self.next);
        let commit = ModelCommit {
            tenant,
            key,
            row: current.as_deref().map(|current| current.row),
            commit: CommitRow {
                seq: sequence.0,
                id: draft.id.uuid(),
                entry: None,
                tenant: tenant.0,
                at: at.micros(),
                author: author.0,
                executor: executor.map(|executor| executor.0),
            },
            outcomes: outcome::rows(draft, tenant).collect(),
        };
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        if let Err(error) = writer.change_model(&commit, &effect).await {
            let Error::Database(error) = error else {
                return Err(error);
            };
            let mut tell = |error| answer_early(reply, error);
            self.recover(&[sequence.0], &error, &mut tell).await?;
        }
        self.next += 1;
        self.sweeper.note(&commit.outcomes, self.storage.now());
        self.storage.0.catalog.forget(tenant, key);
        if matches!(change, ModelChange::Delete)
            && let Err(error) = self.storage.reload_indexes().await
        {
            // Nobody can search the model, and the next change of any index reads them again.
            warn!(%error, "the indexes of a deleted model are not taken out of use yet");
        }
        Ok(Committed { sequence, at })
    }
}

impl From<&Definitions> for ModelView {
    fn from(definitions: &Definitions) -> Self {
        Self {
            tenant: definitions.tenant,
            row: definitions.row,
            lock: definitions.model.lock,
            revision: definitions.revision,
            change_level: definitions.model.change_level,
            schema: Arc::clone(&definitions.model.schema),
            deltas: definitions.deltas,
        }
    }
}

/// Returns once something waits to be committed; false if nothing will any more.
async fn some_wait(waiting: &mut Waiting, inbox: &mut mpsc::Receiver<Submission>) -> bool {
    if waiting.is_empty() {
        let Some(first) = inbox.recv().await else {
            return false;
        };
        waiting.push(first);
    }
    true
}

/// Answers before it is known what becomes of a unit.
fn answer_early<T>(reply: &mut Reply<T>, outcome: Error) {
    let (closed, _) = oneshot::channel();
    let _ = std::mem::replace(reply, closed).send(Err(outcome));
}

/// Who asked may have gone; that changes nothing.
fn answer(submission: Submission, outcome: Result<Committed, Error>) {
    let _ = submission.reply.send(outcome);
}

/// Answers every unit of a batch that could not be written.
fn refuse_all(batch: impl IntoIterator<Item = Submission>, error: &Error) {
    let unavailable = matches!(error, Error::Unavailable | Error::Stopped);
    if !unavailable {
        error!(
            error = error as &dyn std::error::Error,
            "a batch was not committed"
        );
    }
    for submission in batch {
        let error = if unavailable {
            Error::Unavailable
        } else {
            Error::NotCommitted
        };
        answer(submission, Err(error));
    }
}
