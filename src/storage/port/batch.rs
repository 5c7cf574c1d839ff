//! Everything that one batch of commits writes, table by table.

use std::sync::Arc;

use uuid::Uuid;

use super::{ModelRow, Syncing};

use crate::entity::{ChangeKind, Key};

/// What became of a batch that the database has answered.
pub(in crate::storage) enum Written {
    /// It is written, and on its way to the disk.
    Syncing(Syncing),
    /// Another process was first, so nothing of it is written: what it was validated by is old.
    Overtaken,
}

/// Everything a batch writes.
#[derive(Debug, Default)]
pub(in crate::storage) struct Batch {
    /// The newest commit that it was validated by.
    pub(in crate::storage) follows: i64,
    pub(in crate::storage) commits: Vec<CommitRow>,
    pub(in crate::storage) created: Vec<NewEntity>,
    pub(in crate::storage) moved: Vec<EntityMove>,
    pub(in crate::storage) versions: Vec<NewVersion>,
    pub(in crate::storage) removals: Vec<Removals>,
    pub(in crate::storage) decisions: Vec<NewDecision>,
    /// Entities whose claims of unique keys end; that comes before any are made.
    pub(in crate::storage) freed: Vec<Freed>,
    pub(in crate::storage) claims: Vec<NewClaim>,
    pub(in crate::storage) tasks: Vec<TaskRow>,
    /// Tasks that are done or void.
    pub(in crate::storage) tasks_done: Vec<TaskDone>,
    /// The timers of runs, and runs that have none any more.
    pub(in crate::storage) timers: Vec<RunTimer>,
    pub(in crate::storage) timers_done: Vec<TimerDone>,
    pub(in crate::storage) runs: Vec<NewRun>,
    pub(in crate::storage) runs_moved: Vec<RunMove>,
    pub(in crate::storage) runs_ended: Vec<RunEnd>,
    pub(in crate::storage) run_events: Vec<RunEventRow>,
    pub(in crate::storage) run_keys: Vec<RunKeyRow>,
    pub(in crate::storage) messages: Vec<MessageRow>,
    pub(in crate::storage) outcomes: Vec<OutcomeRow>,
    pub(in crate::storage) messages_gone: Vec<MessageGone>,
    pub(in crate::storage) records: Vec<RecordPut>,
    /// None of them is put by the same batch.
    pub(in crate::storage) records_gone: Vec<RecordGone>,
    pub(in crate::storage) topics: Vec<TopicPut>,
    pub(in crate::storage) topic_events: Vec<TopicEventRow>,
    pub(in crate::storage) deltas: Vec<DeltaRow>,
    /// Models whose earlier deltas are not needed any more.
    pub(in crate::storage) folded: Vec<Folded>,
    pub(in crate::storage) keys_removed: Vec<KeyRow>,
    pub(in crate::storage) keys_added: Vec<KeyRow>,
    /// Indexes that so many entities leave that all of their keys are looked through.
    pub(in crate::storage) swept: Vec<i64>,
    /// How many bytes more each tenant has stored, where other processes count them, too.
    pub(in crate::storage) stored: Vec<(i64, i64)>,
}

/// A record without a version.
#[derive(Debug, Clone)]
pub(in crate::storage) struct NewDecision {
    pub(in crate::storage) n: i64,
    pub(in crate::storage) e: i64,
    pub(in crate::storage) record: Arc<str>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct TaskRow {
    pub(in crate::storage) k: i64,
    pub(in crate::storage) due: i64,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) e: i64,
    pub(in crate::storage) kind: i64,
    pub(in crate::storage) name: Arc<str>,
    pub(in crate::storage) body: Arc<str>,
    /// The node that is at it, where several use the database.
    pub(in crate::storage) owner: Option<i64>,
}

/// When a run is to be looked at. It replaces what the run had.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RunTimer {
    pub(in crate::storage) k: i64,
    pub(in crate::storage) due: i64,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) r: i64,
    pub(in crate::storage) kind: i64,
}

/// A run that has no timer any more.
#[derive(Debug)]
pub(in crate::storage) struct TimerDone(pub(in crate::storage) i64);

#[derive(Debug, Clone)]
pub(in crate::storage) struct NewRun {
    pub(in crate::storage) r: i64,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) q: i64,
    pub(in crate::storage) up: Option<i64>,
    pub(in crate::storage) e: Option<Uuid>,
    pub(in crate::storage) created: i64,
    pub(in crate::storage) moved: RunMove,
}

/// A run after an advance.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RunMove {
    pub(in crate::storage) r: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) status: i64,
    pub(in crate::storage) out: bool,
    /// The node that drives it, where the database is shared and work of it is out.
    pub(in crate::storage) owner: Option<i64>,
    pub(in crate::storage) timer: bool,
    pub(in crate::storage) awaits: Option<Uuid>,
    pub(in crate::storage) ended: Option<i64>,
    pub(in crate::storage) state: Arc<str>,
}

/// A run that has ended.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RunEnd(pub(in crate::storage) RunMove);

/// The events of one advance.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RunEventRow {
    pub(in crate::storage) n: i64,
    pub(in crate::storage) r: i64,
    pub(in crate::storage) last: i64,
    pub(in crate::storage) record: Arc<str>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct RunKeyRow {
    pub(in crate::storage) t: i64,
    pub(in crate::storage) kind: i64,
    pub(in crate::storage) scope: Arc<str>,
    pub(in crate::storage) key: Arc<str>,
    pub(in crate::storage) r: i64,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct MessageRow {
    pub(in crate::storage) id: Uuid,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) header: Arc<str>,
    pub(in crate::storage) metadata: Arc<str>,
    pub(in crate::storage) content: Arc<str>,
}

/// A message that there shall be no more, if it is that tenant's.
#[derive(Debug)]
pub(in crate::storage) struct MessageGone {
    pub(in crate::storage) id: Uuid,
    pub(in crate::storage) t: i64,
}

/// The name of a record; as a row, one that there shall be no more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::storage) struct RecordGone {
    pub(in crate::storage) t: i64,
    pub(in crate::storage) kind: i64,
    pub(in crate::storage) ns: Arc<str>,
    pub(in crate::storage) name: Arc<str>,
}

/// A record that is made or replaced.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RecordPut {
    pub(in crate::storage) key: RecordGone,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) body: Arc<str>,
}

/// A topic, and how far it goes now.
#[derive(Debug, Clone)]
pub(in crate::storage) struct TopicPut {
    pub(in crate::storage) o: i64,
    pub(in crate::storage) t: i64,
    pub(in crate::storage) ns: Arc<str>,
    pub(in crate::storage) name: Arc<str>,
    pub(in crate::storage) last: i64,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct TopicEventRow {
    pub(in crate::storage) o: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) at: i64,
    pub(in crate::storage) id: Option<Arc<str>>,
    pub(in crate::storage) key: Option<Arc<str>>,
    pub(in crate::storage) kind: Option<Arc<str>>,
    pub(in crate::storage) data: Arc<str>,
}

#[derive(Debug)]
pub(in crate::storage) struct TaskDone(pub(in crate::storage) i64);

/// What became of a request that is to be done once.
#[derive(Debug, Clone)]
pub(in crate::storage) struct OutcomeRow {
    pub(in crate::storage) t: i64,
    pub(in crate::storage) key: Arc<str>,
    pub(in crate::storage) part: i64,
    pub(in crate::storage) hash: Vec<u8>,
    pub(in crate::storage) answer: Arc<str>,
    pub(in crate::storage) expires: i64,
}

/// An entity that claims nothing any more.
#[derive(Debug)]
pub(in crate::storage) struct Freed(pub(in crate::storage) i64);

/// A value of a unique key, and the entity that has it.
#[derive(Debug, Clone)]
pub(in crate::storage) struct NewClaim {
    pub(in crate::storage) m: i64,
    /// The place of the key among those of the model.
    pub(in crate::storage) u: i64,
    pub(in crate::storage) key: Vec<u8>,
    pub(in crate::storage) e: i64,
}

/// What a commit adds to the schema of a model.
#[derive(Debug, Clone)]
pub(in crate::storage) struct DeltaRow {
    pub(in crate::storage) m: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) delta: String,
}

/// A model, and its first delta that counts.
#[derive(Debug)]
pub(in crate::storage) struct Folded {
    pub(in crate::storage) m: i64,
    pub(in crate::storage) n: i64,
}

/// An entity under a key of an index.
#[derive(Debug)]
pub(in crate::storage) struct KeyRow {
    pub(in crate::storage) p: i64,
    pub(in crate::storage) key: Key,
    pub(in crate::storage) e: i64,
}

/// Entities that one commit deletes.
#[derive(Debug)]
pub(in crate::storage) struct Removals {
    /// The position of the first; the others follow.
    pub(in crate::storage) first: i64,
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) author: Option<i64>,
    pub(in crate::storage) executor: Option<i64>,
    pub(in crate::storage) entities: Vec<i64>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct CommitRow {
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) id: Uuid,
    /// The transaction that the request began with, where this is a later one.
    pub(in crate::storage) entry: Option<Uuid>,
    pub(in crate::storage) tenant: i64,
    pub(in crate::storage) at: i64,
    pub(in crate::storage) author: i64,
    pub(in crate::storage) executor: Option<i64>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct NewEntity {
    pub(in crate::storage) e: i64,
    pub(in crate::storage) id: Uuid,
    pub(in crate::storage) m: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) state: Arc<str>,
    pub(in crate::storage) created: i64,
    pub(in crate::storage) workflow: Option<Arc<str>>,
}

/// An entity whose current version is another one now.
#[derive(Debug)]
pub(in crate::storage) struct EntityMove {
    pub(in crate::storage) e: i64,
    pub(in crate::storage) n: i64,
    pub(in crate::storage) state: Arc<str>,
}

#[derive(Debug, Clone)]
pub(in crate::storage) struct NewVersion {
    pub(in crate::storage) n: i64,
    pub(in crate::storage) e: i64,
    pub(in crate::storage) m: i64,
    pub(in crate::storage) seq: i64,
    pub(in crate::storage) kind: ChangeKind,
    pub(in crate::storage) state: Arc<str>,
    pub(in crate::storage) transition: Option<Arc<str>>,
    pub(in crate::storage) author: Option<i64>,
    pub(in crate::storage) executor: Option<i64>,
    pub(in crate::storage) data: Option<Arc<str>>,
    pub(in crate::storage) record: Option<Arc<str>>,
}

impl Batch {
    /// With room for so many units, each of one version.
    pub(in crate::storage) fn with_room(units: usize) -> Self {
        Self {
            commits: Vec::with_capacity(units),
            created: Vec::with_capacity(units),
            versions: Vec::with_capacity(units),
            ..Self::default()
        }
    }

    /// Makes or replaces a record after everything that is in the batch so far; of several rows of
    /// one name the last counts.
    pub(in crate::storage) fn put_record(&mut self, record: RecordPut) {
        self.records_gone.retain(|gone| *gone != record.key);
        self.records.push(record);
    }

    /// Deletes a record, likewise.
    pub(in crate::storage) fn drop_record(&mut self, key: RecordGone) {
        self.records.retain(|put| put.key != key);
        self.records_gone.push(key);
    }

    /// A tenant has stored so many bytes more.
    pub(in crate::storage) fn add_stored(&mut self, tenant: i64, bytes: i64) {
        let mut known = self.stored.iter_mut().rev();
        match known.find(|(known, _)| *known == tenant) {
            Some((_, sum)) => *sum = sum.saturating_add(bytes),
            None => self.stored.push((tenant, bytes)),
        }
    }

    /// The models whose entities it changes, some of them more than once; none if that may be any,
    /// since of what is deleted they are not known.
    pub(in crate::storage) fn models_changed(&self) -> Option<Vec<ModelRow>> {
        let mut models: Vec<_> = self.versions.iter().map(|row| ModelRow(row.m)).collect();
        models.dedup();
        self.removals.is_empty().then_some(models)
    }

    /// Whether it changes what batches are validated by.
    pub(in crate::storage) const fn changes_definitions(&self) -> bool {
        !self.deltas.is_empty() || !self.folded.is_empty()
    }

    /// How many rows of each table are written, or taken out one by one.
    pub(in crate::storage) const fn lengths(&self) -> [usize; 25] {
        [
            self.commits.len(),
            self.created.len(),
            self.moved.len(),
            self.versions.len(),
            self.decisions.len(),
            self.claims.len(),
            self.tasks.len(),
            self.tasks_done.len(),
            self.timers.len(),
            self.timers_done.len(),
            self.runs.len(),
            self.runs_moved.len(),
            self.runs_ended.len(),
            self.run_events.len(),
            self.run_keys.len(),
            self.messages.len(),
            self.outcomes.len(),
            self.messages_gone.len(),
            self.deltas.len(),
            self.keys_removed.len(),
            self.keys_added.len(),
            self.records.len(),
            self.records_gone.len(),
            self.topics.len(),
            self.topic_events.len(),
        ]
    }

    /// How many rows are written.
    pub(in crate::storage) fn len(&self) -> usize {
        self.lengths().into_iter().sum()
    }
}
