//! Records as a database has them.

use std::sync::Arc;

use super::TenantRow;
use crate::clock::Timestamp;
use crate::entity::{Actor, Position};
use crate::id::{Tenant, TransactionId};

/// What a record is about; part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// What there is of one name of a definition: its versions, and which are disabled.
    Definition,
    /// The compiled form that runs follow, named by its digest.
    Program,
    Action,
    /// What starts runs by itself: a schedule or a trigger.
    Producer,
    /// A value that an action in WebAssembly keeps.
    Variable,
    /// One version of a definition, with its document as it was sent.
    Document,
    /// The code of an action.
    Module,
    /// What is known of work that failed.
    Trouble,
    /// Which worker has a task that it has pulled, and until when.
    Lease,
    /// HCL files that were applied together.
    Bundle,
    /// The connectors of a bundle, named by its digest.
    Connectors,
    /// A state machine.
    Machine,
    /// The routes of all bundles.
    Routes,
    /// A run that is to be written to the table outside that shows the runs of its bundle.
    Mirror,
    /// A JSON document under a path.
    File,
    /// Which work an item of a manager is to get whose file is not in the store.
    Intent,
    /// An action that was deleted, for its open tasks.
    DeletedAction,
    /// A run that a manager has started, and whose end it has not read yet.
    Awaited,
}

impl RecordKind {
    pub(in crate::storage) const ALL: [Self; 18] = [
        Self::Definition,
        Self::Program,
        Self::Action,
        Self::Producer,
        Self::Variable,
        Self::Document,
        Self::Module,
        Self::Trouble,
        Self::Lease,
        Self::Bundle,
        Self::Connectors,
        Self::Machine,
        Self::Routes,
        Self::Mirror,
        Self::File,
        Self::Intent,
        Self::DeletedAction,
        Self::Awaited,
    ];

    /// The kind of a code; none if this release does not know it.
    pub(in crate::storage) fn of_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    pub(in crate::storage) const fn code(self) -> i64 {
        match self {
            Self::Definition => 1,
            Self::Program => 2,
            Self::Action => 3,
            // An index of the table knows it by this number.
            Self::Producer => 4,
            Self::Variable => 5,
            Self::Document => 6,
            Self::Module => 7,
            // An index of the table knows it by this number.
            Self::Trouble => 8,
            // Likewise.
            Self::Lease => 9,
            Self::Bundle => 10,
            Self::Connectors => 11,
            Self::Machine => 12,
            Self::Routes => 13,
            Self::File => 14,
            // Indexes of the table know it by this number.
            Self::Mirror => 15,
            Self::Intent => 16,
            Self::DeletedAction => 17,
            // The statements that remove runs know it by this number.
            Self::Awaited => 18,
        }
    }
}

/// The name of a record; a tenant has one of each name at most.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey {
    pub kind: RecordKind,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl RecordKey {
    pub fn new(
        kind: RecordKind,
        namespace: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// A small named document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub key: RecordKey,
    /// The commit that wrote it last.
    pub position: Position,
    pub body: Arc<str>,
}

/// A place among all records of the database; later ones are larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordRow(pub(in crate::storage) i64);

impl RecordRow {
    /// Before all others.
    pub const FIRST: Self = Self(0);
}

/// A record that starts runs by itself, and whose it is.
#[derive(Debug, Clone)]
pub struct StoredProducer {
    pub row: RecordRow,
    pub tenant: Tenant,
    pub record: Arc<Record>,
}

/// Some of a tenant's records of one kind and namespace: by name, those after one.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct RecordPage<'a> {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) kind: RecordKind,
    pub(in crate::storage) namespace: &'a str,
    pub(in crate::storage) after: Option<&'a str>,
    pub(in crate::storage) limit: i64,
}

/// What is known of a record beside its body.
#[derive(Debug, Clone)]
pub struct RecordHead {
    pub name: Arc<str>,
    /// How many bytes its body has.
    pub bytes: u64,
    pub origin: RecordOrigin,
}

/// The commit that wrote a record last.
#[derive(Debug, Clone)]
pub struct RecordOrigin {
    pub transaction: TransactionId,
    pub at: Timestamp,
    pub author: Actor,
}

/// Some of a tenant's records of one kind and namespace whose names begin alike: by name, those
/// after one.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct RecordHeadPage<'a> {
    pub(in crate::storage) of: RecordPage<'a>,
    pub(in crate::storage) prefix: &'a str,
}
