//! The rows of a batch, unit by unit.

use std::{collections::BTreeMap, ops::RangeFrom, sync::Arc};

use foldhash::HashMap;

use super::Committer;
use crate::entity::{Actor, Position, Sequence};
use crate::id::{EntityId, Tenant, TransactionId, TransitionName, WorkflowName};
use crate::storage::{
    Error,
    draft::{self, Attribution, Committed, Draft, Placed, Published, TakenOut, Write},
    memory::agenda::Noted,
    port::{
        ActorRow, Batch, CommitRow, DeltaRow, EntityMove, EntityRow, Folded, Freed, NewDecision,
        NewEntity, NewVersion, Removals, RunName, RunNameRow, RunTimer, Subject, TaskDone, TaskKey,
        TaskKind, TaskRow, TenantRow,
    },
    task::TaskChange,
    validate::NewDelta,
};

/// The keys of the tasks of a unit whose first position that is.
const fn task_keys(first: Position) -> RangeFrom<i64> {
    TaskKey::first_of(first).0..
}

/// What a batch writes, and what is made known of it beside the units.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) batch: Batch,
    /// The widened models.
    pub(super) grown: Vec<NewDelta>,
    /// When the new tasks are due.
    pub(super) noted: Vec<Noted>,
    /// Where the events of topics are.
    pub(super) placed: Vec<(Published, Placed)>,
}

impl Rows {
    /// With room for so many units, each of one version.
    pub(super) fn with_room(units: usize) -> Self {
        Self {
            batch: Batch::with_room(units),
            ..Self::default()
        }
    }

    /// Adds what the commit of that sequence adds to schemas.
    pub(super) fn add_deltas(&mut self, deltas: Vec<NewDelta>, sequence: Sequence) {
        for mut delta in deltas {
            let (m, n) = (delta.row.0, sequence.0);
            if delta.is_whole {
                self.batch.folded.push(Folded { m, n });
            }
            self.batch.deltas.push(DeltaRow {
                m,
                n,
                delta: std::mem::take(&mut delta.text),
            });
            self.grown.push(delta);
        }
    }
}

/// What was read for the rows of one unit.
pub(super) struct Prepared {
    tenant: TenantRow,
    by: (ActorRow, Option<ActorRow>),
    /// Of its writes that have one of their own.
    attributions: Vec<Option<(ActorRow, Option<ActorRow>)>>,
    removals: Vec<Removals>,
    taken_out: TakenOut,
    run_names: Vec<RunNameRow>,
}

impl Committer {
    /// Reads what the rows of one unit need. A unit that is refused leaves no rows in the batch, so
    /// all that can fail comes before the first of them.
    pub(super) async fn prepare(
        &mut self,
        draft: &Draft,
        committed: Committed,
    ) -> Result<Prepared, Error> {
        let tenant = self.tenant_row(&draft.tenant).await?;
        let by = self.attribution(tenant, &draft.attribution).await?;
        let mut attributions = Vec::with_capacity(draft.writes.len());
        for write in &draft.writes {
            attributions.push(match &write.attribution {
                Some(attribution) => Some(self.attribution(tenant, attribution).await?),
                None => None,
            });
        }
        let removals = self.removals(tenant, draft, committed).await?;
        let indexes = self.storage.0.indexes.current();
        let database = &self.storage.0.database;
        let taken_out = indexes.take_out(&draft.removals, database).await?;
        let mut run_names = Vec::with_capacity(draft.runs.len());
        for write in &draft.runs {
            run_names.push(self.run_name(tenant, &write.name).await?);
        }
        Ok(Prepared {
            tenant,
            by,
            attributions,
            removals,
            taken_out,
            run_names,
        })
    }

    /// Adds the rows of one unit to the batch.
    pub(super) fn add(
        &mut self,
        draft: &Draft,
        first: Position,
        committed: Committed,
        prepared: Prepared,
        rows: &mut Rows,
    ) -> TenantRow {
        let Prepared {
            tenant,
            by: (author, executor),
            attributions,
            mut removals,
            taken_out,
            run_names,
        } = prepared;
        let indexes = self.storage.0.indexes.current();
        let batch = &mut rows.batch;
        taken_out.add_to(batch);
        batch.commits.push(CommitRow {
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
            batch.decisions.push(NewDecision {
                n,
                e: decision.entity.0,
                record: Arc::clone(&decision.record),
            });
        }
        let mut written = HashMap::default();
        let writes = draft.writes.iter().zip(attributions);
        for ((write, attribution), n) in writes.zip(first.0..) {
            let e = self.entity_row(write);
            if !draft.tasks.is_empty() {
                written.insert(write.image.id, e);
            }
            if let Some(claims) = &write.claims {
                claims.write(write, e, batch);
            }
            indexes.write(write, e, batch);
            let state = write.image.state.shared();
            let kind = write.kind();
            match write.base {
                None => batch.created.push(NewEntity {
                    e: e.0,
                    id: write.image.id.uuid(),
                    m: write.model.0,
                    n,
                    state: Arc::clone(&state),
                    created: write.image.created.micros(),
                    workflow: write.image.workflow.as_ref().map(WorkflowName::shared),
                }),
                Some(_) => batch.moved.push(EntityMove {
                    e: e.0,
                    n,
                    state: Arc::clone(&state),
                }),
            }
            batch.versions.push(NewVersion {
                n,
                e: e.0,
                m: write.model.0,
                seq: committed.sequence.0,
                kind,
                state,
                transition: write.image.transition.as_ref().map(TransitionName::shared),
                author: attribution.map(|(author, _)| author.0),
                executor: attribution
                    .and_then(|(_, executor)| executor)
                    .map(|executor| executor.0),
                data: Some(write.image.document.shared()),
                record: write.record.clone(),
            });
        }
        batch.removals.append(&mut removals);
        batch.outcomes.extend(draft::outcome_rows(draft, tenant));
        let freed = draft.removals.iter().filter(|removal| removal.keyed);
        batch
            .freed
            .extend(freed.map(|removal| Freed(removal.base.row.0)));
        draft::add_message_rows(draft, tenant, committed, batch);
        draft::add_record_rows(&draft.records, tenant, committed, batch);
        let mut keys = task_keys(first);
        draft::add_run_rows(draft, tenant, &run_names, first, batch);
        add_timers(tenant, draft, &mut keys, rows);
        self.tasks(tenant, draft, &written, &mut keys, rows);
        tenant
    }

    async fn run_name(&mut self, tenant: TenantRow, name: &RunName) -> Result<RunNameRow, Error> {
        if let Some(row) = self.storage.0.names.run_name(tenant, name) {
            return Ok(row);
        }
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        let row = writer.run_name(tenant, name).await?;
        self.storage.0.names.know_run_name(tenant, name, row);
        Ok(row)
    }

    /// Adds the changes of tasks; of several of one name the last counts.
    fn tasks(
        &self,
        tenant: TenantRow,
        draft: &Draft,
        written: &HashMap<EntityId, EntityRow>,
        keys: &mut RangeFrom<i64>,
        rows: &mut Rows,
    ) {
        let mut puts = BTreeMap::new();
        for change in &draft.tasks {
            match change {
                TaskChange::Put(task, row) => {
                    let row = written.get(&task.entity).copied().or(*row);
                    let name = (Subject::Entity(task.entity), task.kind, &task.name);
                    puts.insert(name, (task, row));
                }
                TaskChange::Drop(task) => {
                    puts.remove(&(task.subject, task.kind, &task.name));
                    if task.key != TaskKey(0) {
                        rows.batch.tasks_done.push(TaskDone(task.key.0));
                    }
                }
            }
        }
        let puts = puts.into_values();
        let known = puts.filter_map(|(task, row)| Some((task, row?)));
        for ((task, entity), key) in known.zip(keys) {
            rows.batch.tasks.push(TaskRow {
                k: key,
                due: task.due.micros(),
                t: tenant.0,
                e: entity.0,
                kind: task.kind.code(),
                name: Arc::clone(&task.name),
                body: Arc::clone(&task.body),
                // Others would take it as soon as it is there.
                owner: (!task.kind.waits()).then_some(self.storage.node().0),
            });
            rows.noted.extend(Noted::of(tenant, task, key));
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

    pub(super) async fn tenant_row(&mut self, tenant: &Tenant) -> Result<TenantRow, Error> {
        if let Some(row) = self.storage.0.names.tenant(tenant) {
            return Ok(row);
        }
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        let row = writer.tenant(tenant).await?;
        self.storage.0.names.know_tenant(tenant, row);
        Ok(row)
    }

    pub(super) async fn attribution(
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

    async fn actor(&mut self, tenant: TenantRow, actor: &Actor) -> Result<ActorRow, Error> {
        if let Some(row) = self.storage.0.names.actor(tenant, actor) {
            return Ok(row);
        }
        let writer = self.writer.as_mut().ok_or(Error::Stopped)?;
        let row = writer.actor(tenant, actor).await?;
        self.storage.0.names.know_actor(tenant, actor, row);
        Ok(row)
    }
}

/// Adds the timers of the runs of one unit.
fn add_timers(tenant: TenantRow, draft: &Draft, keys: &mut RangeFrom<i64>, rows: &mut Rows) {
    for write in &draft.runs {
        let Some((due, key)) = write.due.zip(keys.next()) else {
            continue;
        };
        rows.batch.timers.push(RunTimer {
            k: key,
            due: due.micros(),
            t: tenant.0,
            r: write.id.number(),
            kind: TaskKind::Run.code(),
        });
        rows.noted.push(Noted::of_run(tenant, due, key));
    }
}
