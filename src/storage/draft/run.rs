//! What a unit does to runs.

use std::sync::Arc;

use super::Draft;
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId};
use crate::storage::port::{
    Batch, NewRun, NodeRow, RunEnd, RunEventRow, RunKey, RunKeyRow, RunMove, RunName, RunNameRow,
    StoredRun, TenantRow, TimerDone,
};

/// A run as a unit leaves it, and the events of its history that lead there.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RunWrite {
    pub(in crate::storage) id: RunId,
    /// Where it was read; none of a new run.
    pub(in crate::storage) base: Option<Position>,
    pub(in crate::storage) name: RunName,
    pub(in crate::storage) parent: Option<RunId>,
    pub(in crate::storage) entity: Option<EntityId>,
    pub(in crate::storage) keys: Vec<RunKey>,
    pub(in crate::storage) created: Timestamp,
    /// Whether it had a timer.
    pub(in crate::storage) had_timer: bool,
    /// The entity that it waited for.
    pub(in crate::storage) had_awaited: Option<EntityId>,
    pub(in crate::storage) status: u8,
    pub(in crate::storage) is_out: bool,
    /// The process that drives it from now on.
    pub(in crate::storage) owner: Option<NodeRow>,
    pub(in crate::storage) due: Option<Timestamp>,
    pub(in crate::storage) awaits: Option<EntityId>,
    pub(in crate::storage) ended: Option<Timestamp>,
    pub(in crate::storage) state: Arc<str>,
    /// JSON objects.
    pub(in crate::storage) events: Vec<Arc<str>>,
    /// The number of the last event.
    pub(in crate::storage) last: u64,
    /// As it was committed last; none of a new run.
    pub(in crate::storage) before: Option<RunBefore>,
    /// What started it, its kind and its status, as metrics name them.
    pub(in crate::storage) by: &'static str,
    pub(in crate::storage) kind: &'static str,
    pub(in crate::storage) status_name: &'static str,
    /// How many of its compensations have succeeded and failed.
    pub(in crate::storage) compensations: [u32; 2],
}

/// What a commit changes about a task of a run for those who hold it in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskNote {
    /// It was recorded: nobody has been sent it before.
    Issued { task: Arc<str> },
    /// Its outcome is not waited for any more.
    GivenUp { task: Arc<str>, reason: Box<str> },
}

/// What is counted of a run before a unit advances it.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct RunBefore {
    pub(in crate::storage) status: u8,
    pub(in crate::storage) is_live: bool,
    /// How large its state is.
    pub(in crate::storage) bytes: usize,
}

impl RunWrite {
    /// How many positions it takes: one for each event, and at least one.
    pub(in crate::storage) fn positions(&self) -> i64 {
        i64::try_from(self.events.len().max(1)).unwrap_or(i64::MAX)
    }

    /// How many bytes more are stored once it is committed.
    pub(in crate::storage) fn growth(&self) -> i64 {
        let before = self.before.map_or(0, |before| before.bytes);
        let events: usize = self.events.iter().map(|event| event.len()).sum();
        let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        bytes(self.state.len() + events).saturating_sub(bytes(before))
    }

    /// The events as a list.
    fn record(&self) -> Arc<str> {
        if self.events.is_empty() {
            return "[]".into();
        }
        let length = self.events.iter().map(|event| event.len() + 1);
        let mut record = String::with_capacity(length.sum::<usize>() + 1);
        for event in &self.events {
            record.push(if record.is_empty() { '[' } else { ',' });
            record.push_str(event);
        }
        record.push(']');
        record.into()
    }

    fn row(&self, n: i64) -> RunMove {
        RunMove {
            r: self.id.number(),
            n,
            status: i64::from(self.status),
            out: self.is_out,
            owner: self.owner.map(|owner| owner.0),
            timer: self.due.is_some(),
            awaits: self.awaits.map(EntityId::uuid),
            ended: self.ended.map(Timestamp::micros),
            state: Arc::clone(&self.state),
        }
    }
}

/// Adds the rows of the runs of one unit to a batch. Their positions follow those of the entities
/// that are written.
pub(in crate::storage) fn add_run_rows(
    draft: &Draft,
    tenant: TenantRow,
    names: &[RunNameRow],
    first: Position,
    batch: &mut Batch,
) {
    for ((write, name), position) in draft.runs.iter().zip(names).zip(draft.run_positions(first)) {
        let (r, n) = (write.id.number(), position.0);
        let row = write.row(n);
        match write.base {
            None => batch.runs.push(NewRun {
                r,
                t: tenant.0,
                q: name.0,
                up: write.parent.map(RunId::number),
                e: write.entity.map(EntityId::uuid),
                created: write.created.micros(),
                moved: row,
            }),
            Some(_) if write.ended.is_some() => batch.runs_ended.push(RunEnd(row)),
            Some(_) => batch.runs_moved.push(row),
        }
        if write.had_timer && write.due.is_none() {
            batch.timers_done.push(TimerDone(r));
        }
        // Other processes find out by these rows that a run was advanced.
        if !write.events.is_empty() || write.owner.is_some() {
            batch.run_events.push(RunEventRow {
                n,
                r,
                last: i64::try_from(write.last).unwrap_or(i64::MAX),
                record: write.record(),
            });
        }
        batch
            .run_keys
            .extend(write.keys.iter().map(|key| RunKeyRow {
                t: tenant.0,
                kind: key.kind.code(),
                scope: Arc::clone(&key.scope),
                key: Arc::clone(&key.key),
                r,
            }));
    }
}

impl Draft {
    /// The positions that its runs take in all.
    pub(in crate::storage) fn run_length(&self) -> i64 {
        self.runs.iter().map(RunWrite::positions).sum()
    }

    /// The position of each of its runs after this unit, whose first position is given.
    pub(in crate::storage) fn run_positions(
        &self,
        first: Position,
    ) -> impl Iterator<Item = Position> {
        let mut next = first.0 + i64::try_from(self.writes.len()).unwrap_or(i64::MAX);
        self.runs.iter().map(move |write| {
            next += write.positions();
            Position(next - 1)
        })
    }

    /// Its runs as they are stored when it is committed, each with the entity that it waited for
    /// before.
    pub(in crate::storage) fn stored_runs(
        &self,
        tenant: TenantRow,
        first: Position,
    ) -> impl Iterator<Item = (StoredRun, Option<EntityId>)> {
        let positions = self.run_positions(first);
        self.runs
            .iter()
            .zip(positions)
            .map(move |(write, position)| {
                let run = StoredRun {
                    id: write.id,
                    tenant,
                    name: write.name.clone(),
                    position,
                    status: write.status,
                    is_out: write.is_out,
                    owner: write.owner,
                    has_timer: write.due.is_some(),
                    parent: write.parent,
                    entity: write.entity,
                    awaits: write.awaits,
                    created: write.created,
                    ended: write.ended,
                    state: Arc::clone(&write.state),
                };
                (run, write.had_awaited)
            })
    }
}
