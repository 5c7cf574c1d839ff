//! Tables outside that show runs, and are behind: a run of theirs was committed and is not written
//! there yet.
//!
//! Each such run is a record, written by the commit of the run, so that a restart forgets none. Only
//! which tables are behind is in memory; their runs are read in pages.

use std::{collections::HashSet, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::id::{RunId, Tenant};
use crate::storage::port::{Record, RecordKey, RecordKind};

/// Between the namespace and the bundle in what a record says; a namespace has none of it.
const SEPARATOR: char = '/';

/// The table of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MirrorName {
    pub tenant: Tenant,
    pub namespace: Arc<str>,
    /// The digest of the bundle.
    pub bundle: Arc<str>,
}

impl MirrorName {
    /// What the records of its runs have as their namespace.
    pub(in crate::storage) fn records(namespace: &str, bundle: &str) -> String {
        format!("{namespace}{SEPARATOR}{bundle}")
    }

    fn of(tenant: &Tenant, records: &str) -> Option<Self> {
        let (namespace, bundle) = records.split_once(SEPARATOR)?;
        Some(Self {
            tenant: tenant.clone(),
            namespace: namespace.into(),
            bundle: bundle.into(),
        })
    }
}

/// A run that is to be written.
#[derive(Debug, Clone)]
pub struct ToMirror {
    pub run: RunId,
    pub(in crate::storage) record: Arc<Record>,
}

impl ToMirror {
    pub(in crate::storage) fn of(record: Arc<Record>) -> Option<Self> {
        let run = record.key.name.parse().ok()?;
        Some(Self {
            run: RunId::new(run),
            record,
        })
    }

    /// Its place among those of its table.
    pub fn place(&self) -> &str {
        &self.record.key.name
    }

    /// Whether the run was not committed between the two.
    pub fn is_as_committed(&self, other: &Self) -> bool {
        self.record.position == other.record.position
    }
}

/// The tables that are behind.
///
/// A mutex, not a task: held to put one name in, or to take all.
#[derive(Debug, Default)]
pub(in crate::storage) struct Mirrors {
    behind: Mutex<HashSet<MirrorName>>,
    has_changed: Notify,
}

impl Mirrors {
    /// Begins with what is stored.
    pub(in crate::storage) fn new(stored: &[(Tenant, Arc<str>)]) -> Self {
        let mirrors = Self::default();
        mirrors.note_all(stored);
        mirrors
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<MirrorName>> {
        self.behind.lock()
    }

    /// Takes note of a record that was committed.
    pub(in crate::storage) fn put(
        &self,
        tenant: &Tenant,
        key: &RecordKey,
        record: Option<&Record>,
    ) {
        if record.is_some() {
            self.note(tenant, key);
        }
    }

    /// Takes note of a record that any process has committed or dropped.
    pub(in crate::storage) fn note(&self, tenant: &Tenant, key: &RecordKey) {
        if key.kind != RecordKind::Mirror {
            return;
        }
        if let Some(name) = MirrorName::of(tenant, &key.namespace) {
            self.lock().insert(name);
            self.has_changed.notify_one();
        }
    }

    /// Takes note of what is stored: tenants, and the namespaces of their records.
    pub(in crate::storage) fn note_all(&self, stored: &[(Tenant, Arc<str>)]) {
        let names = stored.iter();
        let names = names.filter_map(|(tenant, records)| MirrorName::of(tenant, records));
        self.lock().extend(names);
        self.has_changed.notify_one();
    }

    pub(in crate::storage) fn take(&self) -> HashSet<MirrorName> {
        std::mem::take(&mut *self.lock())
    }

    pub(in crate::storage) async fn changed(&self) {
        self.has_changed.notified().await;
    }
}

/// The record of a run that is to be written.
pub(in crate::storage) fn key(namespace: &str, bundle: &str, run: RunId) -> RecordKey {
    RecordKey::new(
        RecordKind::Mirror,
        MirrorName::records(namespace, bundle),
        run.number().to_string(),
    )
}
