//! Versions that were replaced, in memory: reads as of earlier times tend to come in numbers.
//!
//! History does not change, so what is in here is wrong only after the database has lost some.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::id::EntityId;
use crate::storage::port::Version;

/// How many bytes of documents are kept.
const BYTES_MAX: u64 = 8 << 20;

/// How many entities are expected.
const ENTRIES: usize = 4_096;

/// How many versions of one entity are kept, the ones asked for last.
const SPANS_MAX: usize = 16;

/// What an entry takes beside its document, roughly.
const ENTRY_BYTES: usize = 400;

/// A version, and when the next one took its place.
#[derive(Debug, Clone)]
struct Span {
    version: Version,
    until: Timestamp,
}

/// Replaced versions by entity.
#[derive(Debug)]
pub(in crate::storage) struct Past(quick_cache::sync::Cache<EntityId, Arc<[Span]>, Bytes>);

/// What versions take.
#[derive(Debug, Clone)]
struct Bytes;

impl quick_cache::Weighter<EntityId, Arc<[Span]>> for Bytes {
    fn weight(&self, _: &EntityId, spans: &Arc<[Span]>) -> u64 {
        let size = |span: &Span| span.version.image.document.as_str().len() + ENTRY_BYTES;
        spans.iter().map(size).sum::<usize>() as u64
    }
}

impl Default for Past {
    fn default() -> Self {
        Self(quick_cache::sync::Cache::with_weighter(
            ENTRIES, BYTES_MAX, Bytes,
        ))
    }
}

impl Past {
    pub(in crate::storage) fn get(&self, id: EntityId, at: Timestamp) -> Option<Version> {
        let spans = self.0.get(&id)?;
        let holds = |span: &&Span| span.version.image.updated <= at && at < span.until;
        spans.iter().find(holds).map(|span| span.version.clone())
    }

    /// Lets go of everything.
    pub(in crate::storage) fn clear(&self) {
        self.0.clear();
    }

    pub(in crate::storage) fn keep(&self, version: &Version, until: Timestamp) {
        let span = Span {
            version: version.clone(),
            until,
        };
        // Of two that are kept at once, one may be lost: it is read again.
        let spans = match self.0.get(&version.image.id) {
            None => [span].into(),
            Some(known) => {
                let others = known
                    .iter()
                    .filter(|other| other.version.position != span.version.position)
                    .take(SPANS_MAX - 1);
                std::iter::once(&span).chain(others).cloned().collect()
            }
        };
        self.0.insert(version.image.id, spans);
    }
}
