//! Versions that were replaced, in memory: reads as of earlier times tend to come in numbers.
//!
//! History does not change, so what is in here is never wrong and needs no care.

use std::sync::Arc;

use super::port::Version;
use crate::clock::Timestamp;
use crate::id::EntityId;

/// How many bytes of documents are kept.
const BYTES_MAX: u64 = 8 << 20;

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
pub(super) struct Past(moka::sync::Cache<EntityId, Arc<[Span]>>);

impl Default for Past {
    fn default() -> Self {
        let size = |span: &Span| span.version.image.document.as_str().len() + ENTRY_BYTES;
        Self(
            moka::sync::Cache::builder()
                .max_capacity(BYTES_MAX)
                .weigher(move |_, spans: &Arc<[Span]>| {
                    u32::try_from(spans.iter().map(size).sum::<usize>()).unwrap_or(u32::MAX)
                })
                .build(),
        )
    }
}

impl Past {
    pub(super) fn get(&self, id: EntityId, at: Timestamp) -> Option<Version> {
        let spans = self.0.get(&id)?;
        let holds = |span: &&Span| span.version.image.updated <= at && at < span.until;
        spans.iter().find(holds).map(|span| span.version.clone())
    }

    pub(super) fn keep(&self, version: &Version, until: Timestamp) {
        let span = Span {
            version: version.clone(),
            until,
        };
        self.0
            .entry(version.image.id)
            .and_upsert_with(|known| match known {
                None => [span].into(),
                Some(known) => {
                    let known = known.into_value();
                    let others = known
                        .iter()
                        .filter(|other| other.version.position != span.version.position)
                        .take(SPANS_MAX - 1);
                    std::iter::once(&span).chain(others).cloned().collect()
                }
            });
    }
}
