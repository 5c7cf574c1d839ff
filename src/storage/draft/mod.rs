//! A finished unit of work, as the committer gets it.

mod claims;
mod growth;
mod keys;
mod message;
mod nul;
mod outcome;
mod record;
mod run;
mod topic;

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::{
    port::{EntityRow, ModelRow, Subject, TaskKey},
    task::{Decision, TaskChange},
};
use crate::clock::Timestamp;
use crate::entity::{Actor, ChangeKind, Image, Json, Position, Sequence};
use crate::id::{EntityId, ModelKey, RunId, Tenant, TransactionId};
use crate::model::{ChangeLevel, KeyDefinition, Schema};
use crate::workflow::WorkflowSet;

pub(super) use claims::{Claims, Holders, claimed};
pub(super) use growth::{FOLDED_AT, Growth, Sender, Widening, encode_schema};
pub(super) use keys::{KeyChanges, TakenOut};
pub use message::IfGone;
pub(super) use message::{MessageChange, MessageView, add_message_rows};
pub use outcome::{Once, StoredOutcome};
pub(super) use outcome::{Taken, outcome_row, outcome_rows};
pub(super) use record::{RecordChange, RecordView, Records, Seen, add_record_rows};
pub use run::TaskNote;
pub(super) use run::{RunBefore, RunWrite, add_run_rows};
pub(super) use topic::{EVENT_BYTES, Placed, Publication, TopicView};
pub use topic::{NewTopicEvent, Published};

/// Who is to be remembered for a write (`models-and-entities.md` §10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// To whom it is attributed.
    pub author: Actor,
    /// Who does it, where that is someone else.
    pub executor: Option<Actor>,
}

/// Everything one unit of work wants to be committed, and what it relied on.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) id: TransactionId,
    pub(super) tenant: Tenant,
    pub(super) attribution: Attribution,
    /// What was read, and the position it was at; none if it was not there.
    pub(super) reads: HashMap<EntityId, Option<Position>>,
    /// Models that new entities belong to.
    pub(super) guards: Vec<Guard>,
    pub(super) writes: Vec<Write>,
    /// Entities that are deleted. Apart from the writes, so that deleting a whole model takes a
    /// few bytes for each.
    pub(super) removals: Vec<Removal>,
    /// What was decided about entities that are not changed.
    pub(super) decisions: Vec<Decision>,
    pub(super) tasks: Vec<TaskChange>,
    pub(super) runs: Vec<RunWrite>,
    /// Runs that are left as they are because of how they were read, and where they were.
    pub(super) runs_left: Vec<(RunId, Position)>,
    /// What those who hold tasks of its runs learn once it is committed.
    pub(super) task_notes: Vec<TaskNote>,
    pub(super) messages: Vec<MessageChange>,
    /// What the documents add to their models.
    pub(super) widenings: Vec<Widening>,
    /// What is to be answered to repeats of the requests that this is the work of.
    pub(super) outcomes: Vec<StoredOutcome>,
    /// What was read of records, and is done to them.
    pub(super) records: Records,
    /// What is added to topics.
    pub(super) publications: Vec<Publication>,
    /// The transaction that the request began with, where this is a later one.
    pub(super) entry: Option<TransactionId>,
    /// What it assumes; none if its request has waited for a pulse.
    pub(super) assumed: Option<Assumed>,
    /// A unit that changes a model does nothing else.
    pub(super) model: Option<(ModelKey, ModelChange)>,
}

/// What a unit assumes of the commit that it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assumed {
    /// How often definitions, indexes and identities were changed.
    pub(super) revision: i64,
    /// The limit of stored bytes that its tenant has not reached, if it has one.
    pub(super) stored_below: Option<u64>,
}

/// A model that must still be as it was, and locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guard {
    pub(super) model: ModelKey,
    pub(super) revision: i64,
}

/// An entity to be deleted.
#[derive(Debug, Clone)]
pub(super) struct Removal {
    pub(super) id: EntityId,
    pub(super) base: Base,
    /// Whether its model has unique keys.
    pub(super) keyed: bool,
    /// Where it is not the unit's.
    pub(super) by: Option<Arc<Attribution>>,
}

/// The last image a unit has of one entity.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) image: Image,
    pub(super) model: ModelRow,
    /// The version it replaces; none if the entity is new.
    pub(super) base: Option<Base>,
    /// What it claims of the unique keys of its model; none if that stays as it was.
    pub(super) claims: Option<Box<Claims>>,
    /// The document of that version.
    pub(super) before: Option<Json>,
    /// What changes in the indexes, as they were when this was finished.
    pub(super) keys: KeyChanges,
    /// The decision record, encoded.
    pub(super) record: Option<Arc<str>>,
    /// Where it is not the unit's.
    pub(super) attribution: Option<Attribution>,
}

impl Write {
    pub(super) const fn kind(&self) -> ChangeKind {
        if self.base.is_none() {
            ChangeKind::Create
        } else {
            ChangeKind::Update
        }
    }
}

impl Draft {
    /// A unit that changes nothing yet.
    pub(super) fn new(id: TransactionId, tenant: Tenant, attribution: Attribution) -> Self {
        Self {
            id,
            tenant,
            attribution,
            reads: HashMap::default(),
            guards: Vec::new(),
            writes: Vec::new(),
            removals: Vec::new(),
            decisions: Vec::new(),
            tasks: Vec::new(),
            runs: Vec::new(),
            runs_left: Vec::new(),
            task_notes: Vec::new(),
            messages: Vec::new(),
            widenings: Vec::new(),
            outcomes: Vec::new(),
            records: Records::default(),
            publications: Vec::new(),
            entry: None,
            assumed: None,
            model: None,
        }
    }

    /// Whether there is nothing to commit.
    pub(super) const fn is_empty(&self) -> bool {
        self.writes.is_empty()
            && self.removals.is_empty()
            && self.decisions.is_empty()
            && self.tasks.is_empty()
            && self.runs.is_empty()
            && self.messages.is_empty()
            && self.outcomes.is_empty()
            && self.records.changes.is_empty()
            && self.publications.is_empty()
    }

    /// The stored tasks of entities that it completes and does not write: no version shows that
    /// another process has completed them.
    pub(super) fn lone_tasks(&self) -> Vec<TaskKey> {
        let dropped = self.tasks.iter().filter_map(|change| match change {
            TaskChange::Drop(dropped) if dropped.key != TaskKey(0) => match dropped.subject {
                Subject::Entity(entity) => Some((entity, dropped.key)),
                Subject::Run(_) => None,
            },
            TaskChange::Drop(_) | TaskChange::Put(..) => None,
        });
        let mut dropped = dropped.peekable();
        if dropped.peek().is_none() {
            return Vec::new();
        }
        let written: HashSet<EntityId> = self.bases().map(|(id, _)| id).collect();
        let lone = dropped.filter(|(entity, _)| !written.contains(entity));
        lone.map(|(_, key)| key).collect()
    }

    /// Every entity that is written or deleted, and the version it replaces.
    pub(super) fn bases(&self) -> impl Iterator<Item = (EntityId, Option<Base>)> {
        let writes = self.writes.iter().map(|write| (write.image.id, write.base));
        writes.chain(
            self.removals
                .iter()
                .map(|removal| (removal.id, Some(removal.base))),
        )
    }
}

/// The version that a write replaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base {
    pub(super) row: EntityRow,
    pub(super) position: Position,
}

/// A change of a model or of its workflows.
#[derive(Debug, Clone)]
pub enum ModelChange {
    /// Makes the model, or adds to its schema.
    Import(Schema),
    Lock,
    Unlock,
    Delete,
    /// Replaces the unique keys.
    SetUniqueKeys(Vec<KeyDefinition>),
    SetChangeLevel(ChangeLevel),
    /// Replaces the workflows, unless someone else did since they were read.
    SetWorkflows {
        seen: i64,
        workflows: WorkflowSet,
    },
}

/// What became of a unit that was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    pub sequence: Sequence,
    pub at: Timestamp,
}

impl Draft {
    /// How many bytes more are stored once this is committed; fewer, if it deletes messages.
    pub(super) fn stored_bytes(&self) -> i64 {
        let writes = self.writes.iter().map(|write| {
            let record = write.record.as_ref().map_or(0, |record| record.len());
            write.image.document.as_str().len() + record
        });
        let decisions = self.decisions.iter().map(|decision| decision.record.len());
        let stored: usize = writes.chain(decisions).sum();
        let messages: i64 = self.messages.iter().map(MessageChange::bytes).sum();
        i64::try_from(stored)
            .unwrap_or(i64::MAX)
            .saturating_add(messages)
            .saturating_add(self.records.growth())
            .saturating_add(self.runs.iter().map(RunWrite::growth).sum())
            .saturating_add(self.publications.iter().map(Publication::bytes).sum())
    }
}
