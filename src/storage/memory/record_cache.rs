//! The newest versions of records, in memory.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::id::Tenant;
use crate::storage::port::{Record, RecordKey, RecordKind};

/// How many bytes of bodies are kept.
const BYTES_MAX: u64 = 32 << 20;

/// How large a file is at most that is kept: large ones leave no room for what runs are made of.
const FILE_BYTES_MAX: usize = 64 << 10;

/// What an entry takes beside its body, roughly.
const ENTRY_BYTES: u64 = 300;

/// How many entries are expected.
const ENTRIES: usize = 16 << 10;

/// How many counters show that a record may have been committed.
const GENERATIONS: usize = 256;

/// A name, and whose it is.
type Name = (Tenant, RecordKey);

/// Current records by name, kept as [`super::cache::Cache`] keeps entities: the committer puts each
/// in after its commit, and what a reader fills in yields to anything committed since it read.
#[derive(Debug)]
pub(in crate::storage) struct RecordCache {
    records: quick_cache::sync::Cache<Name, Arc<Record>, Bytes>,
    /// Grown when a record of that slot is committed. Mutexes, not a task: held while one entry is
    /// looked up and changed.
    generations: Box<[Mutex<u64>]>,
    slots: RandomState,
    /// Producers that were committed since this was asked last. A mutex, not a task:
    /// held while one name is put in, or all are taken.
    changed: Mutex<HashSet<Name>>,
    has_changed: Notify,
    files: Files,
}

/// The namespaces in which files were committed that somebody wants to know of.
#[derive(Debug, Default)]
struct Files {
    /// What the names of these files begin with; none if nobody asks.
    prefix: OnceLock<&'static str>,
    /// Since this was asked last. A mutex, not a task: held while one is put in, or all are taken.
    changed: Mutex<HashSet<(Tenant, Arc<str>)>>,
    has_changed: Notify,
}

impl Files {
    fn note(&self, tenant: &Tenant, key: &RecordKey) {
        let is_wanted = |prefix: &&str| key.name.starts_with(prefix);
        if key.kind == RecordKind::File && self.prefix.get().is_some_and(is_wanted) {
            self.changed
                .lock()
                .insert((tenant.clone(), Arc::clone(&key.namespace)));
            self.has_changed.notify_one();
        }
    }
}

/// What records take.
#[derive(Debug, Clone)]
struct Bytes;

impl quick_cache::Weighter<Name, Arc<Record>> for Bytes {
    fn weight(&self, _: &Name, record: &Arc<Record>) -> u64 {
        record.body.len() as u64 + ENTRY_BYTES
    }
}

/// When a reader began to read a record.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct Generation(u64);

impl Default for RecordCache {
    fn default() -> Self {
        Self {
            records: quick_cache::sync::Cache::with_weighter(ENTRIES, BYTES_MAX, Bytes),
            generations: (0..GENERATIONS).map(|_| Mutex::new(0)).collect(),
            slots: RandomState::new(),
            changed: Mutex::default(),
            has_changed: Notify::new(),
            files: Files::default(),
        }
    }
}

fn name(tenant: &Tenant, key: &RecordKey) -> Name {
    (tenant.clone(), key.clone())
}

/// Whether a record is one of those that are kept.
fn is_kept(record: &Record) -> bool {
    record.key.kind != RecordKind::File || record.body.len() <= FILE_BYTES_MAX
}

impl RecordCache {
    pub(in crate::storage) fn get(&self, tenant: &Tenant, key: &RecordKey) -> Option<Arc<Record>> {
        self.records.get(&name(tenant, key))
    }

    fn slot(&self, name: &Name) -> MutexGuard<'_, u64> {
        let slot = self.slots.hash_one(name) % GENERATIONS as u64;
        let slot = &self.generations[usize::try_from(slot).unwrap_or(0)];
        slot.lock()
    }

    /// To be asked for before reading what [`Self::fill`] is given.
    pub(in crate::storage) fn generation(&self, tenant: &Tenant, key: &RecordKey) -> Generation {
        Generation(*self.slot(&name(tenant, key)))
    }

    /// Keeps what a reader has read.
    pub(in crate::storage) fn fill(
        &self,
        tenant: &Tenant,
        record: &Arc<Record>,
        since: Generation,
    ) {
        let name = name(tenant, &record.key);
        let generation = self.slot(&name);
        if *generation == since.0 && is_kept(record) {
            self.records.insert(name.clone(), Arc::clone(record));
        }
    }

    /// Forgets all records.
    pub(in crate::storage) fn clear(&self) {
        for slot in &self.generations {
            *slot.lock() += 1;
        }
        self.records.clear();
    }

    /// The producers that were committed since this was asked last.
    pub(in crate::storage) fn take_changed(&self) -> HashSet<Name> {
        std::mem::take(&mut *self.changed.lock())
    }

    /// Returns once there may be such.
    pub(in crate::storage) async fn changed(&self) {
        self.has_changed.notified().await;
    }

    /// Has a producer looked at as if it had been committed.
    pub(in crate::storage) fn touch(&self, tenant: &Tenant, key: &RecordKey) {
        self.changed.lock().insert(name(tenant, key));
        self.has_changed.notify_one();
    }

    /// Has the namespaces noted from now on in which files are committed whose names begin so.
    pub(in crate::storage) fn watch_files(&self, prefix: &'static str) {
        let _: &&str = self.files.prefix.get_or_init(|| prefix);
    }

    /// The namespaces in which that happened since this was asked last.
    pub(in crate::storage) fn take_changed_files(&self) -> HashSet<(Tenant, Arc<str>)> {
        std::mem::take(&mut *self.files.changed.lock())
    }

    /// Returns once there may be such.
    pub(in crate::storage) async fn files_changed(&self) {
        self.files.has_changed.notified().await;
    }

    /// Keeps what was just committed, if it is the newest; of one that was dropped, nothing.
    pub(in crate::storage) fn put(
        &self,
        tenant: &Tenant,
        key: &RecordKey,
        record: Option<Record>,
        is_newest: bool,
    ) {
        let name = name(tenant, key);
        let mut generation = self.slot(&name);
        *generation += 1;
        match record.filter(|record| is_newest && is_kept(record)) {
            Some(record) => self.records.insert(name.clone(), Arc::new(record)),
            None => {
                self.records.remove(&name);
            }
        }
        drop(generation);
        // A caller that looks now finds what was committed.
        self.files.note(tenant, key);
        if key.kind == RecordKind::Producer {
            self.changed.lock().insert(name);
            self.has_changed.notify_one();
        }
    }
}
