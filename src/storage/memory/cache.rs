//! The newest versions of entities, in memory (`help/design/storage.md` §4).

use parking_lot::{Mutex, MutexGuard};

use crate::id::EntityId;
use crate::storage::port::Version;

/// How many bytes of documents are kept.
const BYTES_MAX: u64 = 64 << 20;

/// What an entry takes beside its document, roughly.
const ENTRY_BYTES: u64 = 400;

/// How many entries there are of documents that are neither large nor small; more are no harm.
const ENTRIES: usize = 64 << 10;

/// Into how many parts the cache is divided. What is larger than one is not kept, so it is not left
/// to the number of processors.
const PARTS: usize = 8;

/// How many counters show that an entity may have been committed.
const GENERATIONS: usize = 4_096;

/// Current versions by id. What is in here is current: the committer puts each version in after
/// its commit, in order, and what a reader fills in yields to anything committed since it read.
#[derive(Debug)]
pub(in crate::storage) struct Cache {
    versions: quick_cache::sync::Cache<EntityId, Version, Bytes>,
    /// Grown when an entity of that slot is put in by the committer, so that a reader that was
    /// slow does not bring back what it read before, even if the newer entry is evicted. Mutexes,
    /// not a task: held while one entry is looked up and changed.
    generations: Box<[Mutex<u64>]>,
}

/// What versions take.
#[derive(Debug, Clone)]
struct Bytes;

impl quick_cache::Weighter<EntityId, Version> for Bytes {
    fn weight(&self, _: &EntityId, version: &Version) -> u64 {
        version.image.document.as_str().len() as u64 + ENTRY_BYTES
    }
}

/// When a reader began to read an entity.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct Generation(u64);

impl Default for Cache {
    fn default() -> Self {
        Self {
            versions: versions(),
            generations: (0..GENERATIONS).map(|_| Mutex::new(0)).collect(),
        }
    }
}

fn versions() -> quick_cache::sync::Cache<EntityId, Version, Bytes> {
    let options = quick_cache::OptionsBuilder::new()
        .shards(PARTS)
        .estimated_items_capacity(ENTRIES)
        .weight_capacity(BYTES_MAX)
        .build()
        .expect("both capacities are given");
    let lifecycle = quick_cache::sync::DefaultLifecycle::default();
    let hasher = quick_cache::DefaultHashBuilder::default();
    quick_cache::sync::Cache::with_options(options, Bytes, hasher, lifecycle)
}

impl Cache {
    pub(in crate::storage) fn get(&self, id: EntityId) -> Option<Version> {
        self.versions.get(&id)
    }

    fn slot(&self, id: EntityId) -> MutexGuard<'_, u64> {
        // The last bits of a v7 UUID are random.
        let low = id.uuid().as_u128() & 0xffff;
        let slot = &self.generations[usize::try_from(low).unwrap_or(0) % GENERATIONS];
        slot.lock()
    }

    /// To be asked for before reading what [`Self::fill`] is given.
    pub(in crate::storage) fn generation(&self, id: EntityId) -> Generation {
        Generation(*self.slot(id))
    }

    /// Keeps what a reader has read.
    pub(in crate::storage) fn fill(&self, version: &Version, since: Generation) {
        let id = version.image.id;
        let generation = self.slot(id);
        let known = self.versions.peek(&id);
        let is_newer = known.is_none_or(|known| known.position < version.position);
        if is_newer && *generation == since.0 {
            self.versions.insert(id, version.clone());
        }
    }

    /// Keeps what was just committed. Like a fill it holds the lock of the slot, so that no fill
    /// that has already decided comes after it.
    pub(in crate::storage) fn put(&self, version: Version) {
        let id = version.image.id;
        let mut generation = self.slot(id);
        *generation += 1;
        self.versions.insert(id, version);
    }

    /// Lets go of everything: other processes have committed, and it is not known what.
    pub(in crate::storage) fn clear(&self) {
        for slot in &self.generations {
            *slot.lock() += 1;
        }
        self.versions.clear();
    }

    /// Lets go of what was just deleted.
    pub(in crate::storage) fn forget(&self, id: EntityId) {
        let mut generation = self.slot(id);
        *generation += 1;
        self.versions.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::entity::{Image, Json, Position};
    use crate::id::{ModelKey, TransactionId};
    use crate::storage::port::{EntityRow, TenantRow};

    fn version(id: EntityId, position: i64) -> Version {
        let at = Timestamp::from_micros(0);
        Version {
            row: EntityRow(1),
            tenant: TenantRow(1),
            position: Position(position),
            live: true,
            image: Image {
                id,
                model: ModelKey::new("m", 1),
                state: "A".into(),
                document: Json::trusted("{}"),
                created: at,
                updated: at,
                transaction: TransactionId::NIL,
                transition: None,
                workflow: None,
            },
        }
    }

    fn position(cache: &Cache, id: EntityId) -> Option<i64> {
        cache.get(id).map(|version| version.position.0)
    }

    #[test]
    fn a_slow_reader_never_brings_back_what_was_overwritten() {
        let cache = Cache::default();
        let id = EntityId::fresh();
        let since = cache.generation(id);
        cache.fill(&version(id, 5), since);
        assert_eq!(position(&cache, id), Some(5));

        let since = cache.generation(id);
        cache.put(version(id, 7));
        cache.fill(&version(id, 5), since);
        assert_eq!(
            position(&cache, id),
            Some(7),
            "it yields to a higher position"
        );

        cache.versions.remove(&id);
        cache.fill(&version(id, 5), since);
        assert_eq!(
            position(&cache, id),
            None,
            "also when that has been evicted"
        );
    }
}
