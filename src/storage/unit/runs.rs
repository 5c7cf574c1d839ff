//! What a unit does to runs.

use std::sync::Arc;

use foldhash::HashMap;

use super::{UnitOfWork, WRITE_BYTES};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId};
use crate::storage::{
    Error, Work,
    draft::{RunBefore, RunWrite, TaskNote},
    port::{NodeRow, RunKey, RunName, StoredRun},
};

/// A run that is to be created.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub id: RunId,
    pub name: RunName,
    pub parent: Option<RunId>,
    /// The entity that it is started for.
    pub entity: Option<EntityId>,
    /// What no other run of the tenant may have.
    pub keys: Vec<RunKey>,
    pub created: Timestamp,
    /// What started it, as metrics name it.
    pub by: &'static str,
}

/// What a run becomes.
#[derive(Debug, Clone)]
pub struct RunAdvance {
    /// As `program::Status` is numbered.
    pub status: u8,
    /// Whether work of it is to be sent, and to be sent again after a restart.
    pub is_out: bool,
    /// Whether another process drives it and keeps doing so: all work that is out is there.
    pub stays: bool,
    /// When it is to be looked at.
    pub due: Option<Timestamp>,
    /// The entity that it waits for.
    pub awaits: Option<EntityId>,
    pub ended: Option<Timestamp>,
    /// JSON.
    pub state: Arc<str>,
    /// The new events of its history, each a JSON object.
    pub events: Vec<Arc<str>>,
    /// The number of its last event.
    pub last: u64,
    /// Its kind and its status, as metrics name them.
    pub kind: &'static str,
    pub status_name: &'static str,
    /// How many compensations of a saga have succeeded and failed.
    pub compensations: [u32; 2],
}

/// The runs of a unit.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// In the order of their first change.
    order: Vec<RunId>,
    writes: HashMap<RunId, RunWrite>,
    /// Where runs were that this unit has read and left as they are, because of how they are.
    seen: Vec<(RunId, Position)>,
    /// What a rollback puts back, oldest first; kept while there is a mark.
    undo: Vec<(RunId, Option<RunWrite>)>,
    /// Signals that are delivered after the turn of the run that is being advanced; none if no run
    /// is.
    signals: Option<Vec<RunSignal>>,
    /// In the order in which they were made; only a rollback takes any back.
    notes: Vec<TaskNote>,
}

/// A signal to a run.
#[derive(Debug, Clone)]
pub struct RunSignal {
    pub run: RunId,
    pub kind: Arc<str>,
    /// JSON.
    pub payload: Arc<str>,
}

impl Runs {
    fn put(&mut self, write: RunWrite, is_marked: bool) {
        let id = write.id;
        let before = self.writes.insert(id, write);
        if before.is_none() {
            self.order.push(id);
        }
        if is_marked {
            self.undo.push((id, before));
        }
    }

    pub(super) fn signals_count(&self) -> usize {
        self.signals.as_ref().map_or(0, Vec::len)
    }

    pub(super) fn forget_signals(&mut self, after: usize) {
        if let Some(signals) = &mut self.signals {
            signals.truncate(after);
        }
    }

    pub(super) const fn notes_count(&self) -> usize {
        self.notes.len()
    }

    pub(super) fn forget_notes(&mut self, after: usize) {
        self.notes.truncate(after);
    }

    pub(super) const fn mark(&self) -> usize {
        self.undo.len()
    }

    pub(super) fn roll_back_to(&mut self, mark: usize) {
        for (id, before) in self.undo.drain(mark..).rev() {
            if let Some(before) = before {
                self.writes.insert(id, before);
            } else {
                self.writes.remove(&id);
                self.order.retain(|other| *other != id);
            }
        }
    }

    pub(super) fn forget_marks(&mut self) {
        self.undo.clear();
    }

    /// What it does to runs, where those were that it leaves as they are, and what it notes of tasks.
    pub(super) fn into_parts(mut self) -> (Vec<RunWrite>, Vec<(RunId, Position)>, Vec<TaskNote>) {
        let order = std::mem::take(&mut self.order);
        let writes = order.iter().filter_map(|id| self.writes.remove(id));
        (writes.collect(), self.seen, self.notes)
    }
}

impl UnitOfWork {
    /// A run as this unit sees it: as it has left it, or as it was committed last. The commit fails
    /// if someone else advances it meanwhile and this unit does, too.
    pub async fn run(&self, id: RunId) -> Result<Option<Arc<StoredRun>>, Error> {
        let Some(write) = self.runs.writes.get(&id) else {
            return self.storage.run(&self.tenant, id).await;
        };
        // The tenant of what is not stored yet is not asked for by anybody.
        let tenant = self.storage.tenant_row(&self.tenant).await?;
        Ok(Some(Arc::new(StoredRun {
            id,
            tenant: tenant.unwrap_or(crate::storage::port::TenantRow(0)),
            name: write.name.clone(),
            position: write.base.unwrap_or(Position(0)),
            status: write.status,
            is_out: write.is_out,
            owner: write.owner,
            has_timer: write.had_timer,
            parent: write.parent,
            entity: write.entity,
            awaits: write.awaits,
            created: write.created,
            ended: write.ended,
            state: Arc::clone(&write.state),
        })))
    }

    /// Remembers that a run is left as it is because of how it was read: the commit fails if someone
    /// else has advanced it meanwhile.
    pub fn leave_run(&mut self, run: &StoredRun) {
        if !self.runs.writes.contains_key(&run.id) {
            self.runs.seen.push((run.id, run.position));
        }
    }

    /// The runs that this unit creates for an entity, oldest first.
    pub fn runs_begun_for(&self, entity: EntityId) -> Vec<RunId> {
        let is_begun = |id: &&RunId| {
            let write = self.runs.writes.get(id);
            write.is_some_and(|write| write.base.is_none() && write.entity == Some(entity))
        };
        self.runs.order.iter().filter(is_begun).copied().collect()
    }

    /// A run that this unit creates, as the unit has left it.
    pub async fn run_begun(&self, id: RunId) -> Result<Option<Arc<StoredRun>>, Error> {
        let write = self.runs.writes.get(&id);
        if write.is_none_or(|write| write.base.is_some()) {
            return Ok(None);
        }
        self.run(id).await
    }

    /// The run that this unit creates with a key.
    pub fn run_begun_with(&self, key: &RunKey) -> Option<RunId> {
        let mut writes = self.runs.writes.values();
        let found = writes.find(|write| write.keys.contains(key));
        found.map(|write| write.id)
    }

    /// Has those who hold a task learn this once the unit is committed.
    pub fn note_task(&mut self, note: TaskNote) {
        self.runs.notes.push(note);
    }

    /// From now on signals are put off, until [`Self::turn_ends`].
    pub fn turn_begins(&mut self) {
        self.runs.signals = Some(Vec::new());
    }

    /// Puts a signal off if a run is being advanced in this unit.
    pub fn puts_off_signal(&mut self, run: RunId, kind: &Arc<str>, payload: &Arc<str>) -> bool {
        let Some(signals) = &mut self.runs.signals else {
            return false;
        };
        signals.push(RunSignal {
            run,
            kind: Arc::clone(kind),
            payload: Arc::clone(payload),
        });
        true
    }

    /// The signals that were put off.
    pub fn turn_ends(&mut self) -> Vec<RunSignal> {
        self.runs.signals.take().unwrap_or_default()
    }

    /// The events that this unit adds to a run, each a JSON object.
    pub fn run_events(&self, id: RunId) -> &[Arc<str>] {
        let write = self.runs.writes.get(&id);
        write.map_or(&[], |write| &write.events)
    }

    /// A new run.
    pub fn begin_run(&mut self, new: NewRun, advance: RunAdvance) -> Result<(), Error> {
        let owner = self.storage.driver(advance.is_out);
        self.change_run(RunWrite {
            id: new.id,
            base: None,
            name: new.name,
            parent: new.parent,
            entity: new.entity,
            keys: new.keys,
            created: new.created,
            had_timer: false,
            had_awaited: None,
            status: advance.status,
            is_out: advance.is_out,
            owner,
            due: advance.due,
            awaits: advance.awaits,
            ended: advance.ended,
            state: advance.state,
            events: advance.events,
            last: advance.last,
            before: None,
            by: new.by,
            kind: advance.kind,
            status_name: advance.status_name,
            compensations: advance.compensations,
        })
    }

    /// What a run becomes that [`Self::run`] has given.
    pub fn advance_run(&mut self, base: &StoredRun, advance: RunAdvance) -> Result<(), Error> {
        let write = self.advanced(base, advance);
        self.change_run(write)
    }

    /// This process drives a run from now on, which stays as it is. What failed of it has failed.
    pub fn take_run_over(&mut self, base: &StoredRun, as_it_is: RunAdvance) -> Result<(), Error> {
        let write = self.advanced(base, as_it_is);
        self.put_run(write)
    }

    /// Another process drives a run from now on, which stays as it is.
    pub fn hand_run_over(
        &mut self,
        base: &StoredRun,
        as_it_is: RunAdvance,
        to: NodeRow,
    ) -> Result<(), Error> {
        let mut write = self.advanced(base, as_it_is);
        write.owner = Some(to);
        self.put_run(write)
    }

    fn advanced(&self, base: &StoredRun, advance: RunAdvance) -> RunWrite {
        let earlier = self.runs.writes.get(&base.id);
        let mut write = earlier.cloned().unwrap_or_else(|| RunWrite {
            id: base.id,
            base: Some(base.position),
            name: base.name.clone(),
            parent: base.parent,
            entity: base.entity,
            keys: Vec::new(),
            created: base.created,
            had_timer: base.has_timer,
            had_awaited: base.awaits,
            status: 0,
            is_out: false,
            owner: None,
            due: None,
            awaits: None,
            ended: None,
            state: Arc::clone(&advance.state),
            events: Vec::new(),
            last: 0,
            before: Some(RunBefore {
                status: base.status,
                is_live: base.ended.is_none(),
                bytes: base.state.len(),
            }),
            by: "",
            kind: "",
            status_name: "",
            compensations: [0; 2],
        });
        write.status = advance.status;
        write.is_out = advance.is_out;
        write.owner = if advance.stays {
            base.owner
        } else {
            self.storage.driver(advance.is_out)
        };
        write.due = advance.due;
        write.awaits = advance.awaits;
        write.ended = advance.ended;
        write.state = advance.state;
        write.last = advance.last;
        write.kind = advance.kind;
        write.status_name = advance.status_name;
        for (sum, more) in write.compensations.iter_mut().zip(advance.compensations) {
            *sum += more;
        }
        write.events.extend(advance.events);
        write
    }

    fn change_run(&mut self, write: RunWrite) -> Result<(), Error> {
        // It moves on, so whatever failed before is over.
        self.settle(&Work::run(write.id))?;
        self.put_run(write)
    }

    fn put_run(&mut self, write: RunWrite) -> Result<(), Error> {
        let events: usize = write.events.iter().map(|event| event.len()).sum();
        self.grow(write.state.len() + events + WRITE_BYTES)?;
        let is_marked = self.marks > 0;
        self.runs.put(write, is_marked);
        Ok(())
    }
}
