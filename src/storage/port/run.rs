//! Runs as a database has them.

use std::sync::Arc;

use super::{NodeRow, TenantRow};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, RunId, Tenant};

/// The key of a row of `run_name`: the name of a definition, which runs keep when it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::storage) struct RunNameRow(pub(in crate::storage) i64);

/// The name of a definition within a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunName {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

/// What a text of a caller stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunKeyKind {
    /// An idempotency key of a definition (`orchestration.md` 1.10).
    Idempotency,
    /// An identifier that the caller chose.
    Chosen,
}

impl RunKeyKind {
    pub(in crate::storage) const fn code(self) -> i64 {
        match self {
            Self::Idempotency => 0,
            Self::Chosen => 1,
        }
    }
}

/// A text that at most one run of a tenant has.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    pub kind: RunKeyKind,
    /// The definition that it belongs to; empty for identifiers, which belong to the tenant.
    pub scope: Arc<str>,
    pub key: Arc<str>,
}

impl RunKey {
    /// An idempotency key of a definition.
    pub fn idempotency(name: &RunName, key: &str) -> Self {
        Self {
            kind: RunKeyKind::Idempotency,
            // A namespace has no such character.
            scope: format!("{}\n{}", name.namespace, name.name).into(),
            key: key.into(),
        }
    }

    /// An identifier that the caller chose.
    pub fn chosen(id: &str) -> Self {
        Self {
            kind: RunKeyKind::Chosen,
            scope: "".into(),
            key: id.into(),
        }
    }
}

/// A run as it is stored after its last advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    pub id: RunId,
    pub(in crate::storage) tenant: TenantRow,
    pub name: RunName,
    /// That of the last event.
    pub position: Position,
    /// As `program::Status` is numbered.
    pub status: u8,
    /// Whether work of it is out: it is sent again after a restart.
    pub is_out: bool,
    /// The process that drives it while work of it is out; none where the database is not shared.
    pub(in crate::storage) owner: Option<NodeRow>,
    /// Whether a timer of it is stored.
    pub has_timer: bool,
    pub parent: Option<RunId>,
    /// The entity that it was started for.
    pub entity: Option<EntityId>,
    /// The entity that it waits for.
    pub awaits: Option<EntityId>,
    pub created: Timestamp,
    pub ended: Option<Timestamp>,
    /// JSON.
    pub state: Arc<str>,
}

/// The events of one advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvents {
    pub run: RunId,
    /// The position of the last event; the others stand before it.
    pub position: Position,
    /// The number of the last event in its run.
    pub last: u64,
    /// A JSON list.
    pub record: Arc<str>,
}

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub struct RunsWanted {
    pub name: Option<RunName>,
    pub parent: Option<RunId>,
    pub entity: Option<EntityId>,
    /// The runs before it; none for the newest.
    pub before: Option<RunId>,
}

/// Which ended runs are removed.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct OldRunsWanted {
    /// Those that ended before this time.
    pub(in crate::storage) before: Timestamp,
    /// Of those that something else still needs, the ones that ended before this time.
    pub(in crate::storage) needed_before: Timestamp,
    /// Those that ended earlier were looked at.
    pub(in crate::storage) since: Timestamp,
}

/// A run that has ended long ago.
#[derive(Debug, Clone)]
pub(in crate::storage) struct OldRun {
    pub(in crate::storage) tenant: Tenant,
    pub(in crate::storage) run: RunId,
    pub(in crate::storage) ended: Timestamp,
    /// What its state takes.
    pub(in crate::storage) bytes: i64,
}
