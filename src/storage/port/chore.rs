//! What is written between two batches. On `SQLite` none of it is a commit: it takes no position,
//! and nobody's snapshot sees it.

use std::sync::Arc;

use super::{
    CommitRow, EntityRow, Finished, IdentityChange, IndexRow, JobEnd, JobRow, ModelRow, NodeRow,
    OutcomeRow, TenantRow,
};
use crate::clock::Timestamp;
use crate::entity::{Key, Path, Position, Sequence};
use crate::id::{EntityId, JobId, RunId, Tenant};

/// Something to be written between two batches, in a transaction of its own.
#[derive(Debug)]
pub(in crate::storage) enum Upkeep {
    /// Replaces the declared indexes of a model.
    DeclareIndexes {
        model: ModelRow,
        paths: Vec<Path>,
    },
    /// Makes an index that nobody declared, unless there are so many of them.
    AddIndex {
        model: ModelRow,
        path: Path,
        max: u32,
        now: Timestamp,
    },
    /// Drops one that nobody declared.
    DropIndex {
        index: IndexRow,
    },
    /// Remembers when one was used.
    Used {
        index: IndexRow,
        used: Timestamp,
    },
    /// Adds the keys of entities that are still as they were read; having reached no entity, the
    /// index is ready.
    Fill {
        index: IndexRow,
        keys: Vec<FilledKey>,
        reached: Option<EntityId>,
    },
    /// Removes some keys of a dropped index; answers how many, and forgets it after the last.
    Empty {
        index: IndexRow,
    },
    Job(JobChore),
    /// Changes who may call, unless other processes have done so more often than was seen.
    Identities {
        changes: Arc<[IdentityChange]>,
        seen: u64,
    },
    /// Removes parts of histories of runs.
    ForgetRunEvents {
        events: Vec<Position>,
        freed: FreedBytes,
    },
    /// Removes runs that have ended, with their keys and what is left of their histories.
    ForgetRuns {
        runs: Vec<RunId>,
        freed: FreedBytes,
    },
    /// Removes the events of topics up to a place that are before a time.
    ForgetTopicEvents {
        until: i64,
        before: Timestamp,
        freed: FreedBytes,
    },
}

/// How many bytes fewer tenants have stored then.
pub(in crate::storage) type FreedBytes = Vec<(TenantRow, Tenant, i64)>;

/// What became of upkeep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum KeptUp {
    /// It is done; how many rows that took.
    Done(u64),
    /// It follows a commit that is not the newest one, so nothing was written.
    Overtaken,
    /// What it removes is not all there any more: another process removes it. Nothing was written.
    Gone,
}

/// A commit that holds no unit: where other processes write too, upkeep may have a place among the
/// commits.
#[derive(Debug)]
pub(in crate::storage) struct Link {
    /// The newest commit, as far as is known.
    pub(in crate::storage) follows: i64,
    pub(in crate::storage) commit: CommitRow,
    /// Whether it changes what batches are validated by.
    pub(in crate::storage) revises: bool,
}

/// A key of an entity as of a position.
#[derive(Debug)]
pub(in crate::storage) struct FilledKey {
    pub(in crate::storage) key: Key,
    pub(in crate::storage) entity: EntityRow,
    pub(in crate::storage) position: Position,
}

impl Upkeep {
    /// Whether it changes which indexes there are, or what can be done with them.
    pub(in crate::storage) const fn changes_indexes(&self) -> bool {
        match self {
            Self::DeclareIndexes { .. }
            | Self::AddIndex { .. }
            | Self::DropIndex { .. }
            | Self::Empty { .. } => true,
            Self::Fill { reached, .. } => reached.is_none(),
            Self::Used { .. }
            | Self::Job(_)
            | Self::Identities { .. }
            | Self::ForgetRunEvents { .. }
            | Self::ForgetRuns { .. }
            | Self::ForgetTopicEvents { .. } => false,
        }
    }

    /// Whether it changes what batches are validated by.
    pub(in crate::storage) const fn revises(&self) -> bool {
        self.changes_indexes() || matches!(self, Self::Identities { .. })
    }

    /// Whether it has a place among the commits: it changes what batches are validated by, or relies
    /// on that, or on what other processes have not done meanwhile. A request that is to be done
    /// once relies on its repeat not having been done elsewhere.
    pub(in crate::storage) const fn is_link(&self) -> bool {
        let is_once = self.outcome().is_some();
        self.revises() || matches!(self, Self::Fill { .. }) || !self.freed().is_empty() || is_once
    }

    /// How many bytes fewer tenants have stored then.
    pub(in crate::storage) const fn freed(&self) -> &[(TenantRow, Tenant, i64)] {
        match self {
            Self::ForgetRunEvents { freed, .. }
            | Self::ForgetRuns { freed, .. }
            | Self::ForgetTopicEvents { freed, .. } => freed.as_slice(),
            Self::DeclareIndexes { .. }
            | Self::AddIndex { .. }
            | Self::DropIndex { .. }
            | Self::Empty { .. }
            | Self::Fill { .. }
            | Self::Used { .. }
            | Self::Job(_)
            | Self::Identities { .. } => &[],
        }
    }

    /// What is remembered of a request that is to be done once.
    pub(in crate::storage) const fn outcome(&self) -> Option<&OutcomeRow> {
        match self {
            Self::Job(chore) => chore.outcome(),
            Self::DeclareIndexes { .. }
            | Self::AddIndex { .. }
            | Self::DropIndex { .. }
            | Self::Used { .. }
            | Self::Fill { .. }
            | Self::Empty { .. }
            | Self::Identities { .. }
            | Self::ForgetRunEvents { .. }
            | Self::ForgetRuns { .. }
            | Self::ForgetTopicEvents { .. } => None,
        }
    }
}

/// Something to be written about a job.
#[derive(Debug)]
pub(in crate::storage) enum JobChore {
    Put {
        id: JobId,
        tenant: TenantRow,
        model: ModelRow,
        at: Sequence,
        query: Arc<str>,
        schema: String,
        created: Timestamp,
        outcome: Option<OutcomeRow>,
    },
    Cancel {
        job: JobRow,
        finished: Finished,
        outcome: Option<OutcomeRow>,
    },
    AddHits {
        job: JobRow,
        /// The node that has the job.
        by: NodeRow,
        first: i64,
        positions: Vec<Position>,
    },
    Finish {
        job: JobRow,
        by: NodeRow,
        end: JobEnd,
        first: i64,
        positions: Vec<Position>,
    },
    /// Removes some of what it has found; answers how many. Of a node only if it has the job.
    DropHits {
        job: JobRow,
        by: Option<NodeRow>,
    },
    Drop(JobRow),
}

impl JobChore {
    /// What is remembered of the request, if it is to be done once.
    pub(in crate::storage) const fn outcome(&self) -> Option<&OutcomeRow> {
        match self {
            Self::Put { outcome, .. } | Self::Cancel { outcome, .. } => outcome.as_ref(),
            Self::AddHits { .. } | Self::Finish { .. } | Self::DropHits { .. } | Self::Drop(_) => {
                None
            }
        }
    }
}
