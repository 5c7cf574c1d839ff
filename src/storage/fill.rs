//! Fills indexes with what was there before them, and empties those that are dropped, a few
//! hundred rows at a time (STORAGE.md §6).
//!
//! A part is read without the committer, and written by it between two batches: no write waits
//! longer than for one of them.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    Error, Storage,
    port::{FilledKey, Index, IndexState, Upkeep},
};
use crate::entity::{Document, Key};
use crate::telemetry::measure::Adaptive;

/// How many entities are read at once.
const PART: i64 = 500;

/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_secs(1);

impl Storage {
    /// Works on indexes as they need it, until `stop` is cancelled.
    pub async fn keep_indexes(self, stop: CancellationToken) {
        stop.run_until_cancelled(work(self)).await;
    }
}

async fn work(storage: Storage) {
    loop {
        let next = storage.0.indexes.current().unfinished().cloned();
        let done = match next {
            None => {
                storage.0.fill.notified().await;
                continue;
            }
            Some(index) if index.state == IndexState::Dropping => empty(&storage, &index).await,
            Some(index) => fill(&storage, &index).await,
        };
        match done {
            Ok(()) => {}
            Err(Error::Stopped) => return,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "an index could not be worked on; trying again"
                );
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Fills an index to its end, unless it is dropped meanwhile.
async fn fill(storage: &Storage, index: &Index) -> Result<(), Error> {
    let mut after = index.filled_to;
    let mut entities = 0;
    while storage
        .0
        .indexes
        .current()
        .is(index.row, IndexState::Filling)
    {
        let part = storage
            .0
            .database
            .to_index(index.model, after, PART)
            .await?;
        entities += part.len();
        after = part.last().map(|row| row.id);
        let keys = part.iter().flat_map(|row| {
            let keys = Document::from_json(&row.document)
                .map(|document| Key::of(&index.path, document.root()))
                .unwrap_or_default();
            keys.into_iter().map(|key| FilledKey {
                key,
                entity: row.entity,
                position: row.position,
            })
        });
        let upkeep = Upkeep::Fill {
            index: index.row,
            keys: keys.collect(),
            reached: after,
        };
        storage.keep_up(upkeep).await?;
        if after.is_none() {
            // It has had no chance before.
            index.note_used(storage.now());
            if !index.declared {
                Adaptive::Ready.count();
            }
            let of = &index.of;
            info!(tenant = %of.tenant, model = %of.model, path = %index.path, declared = index.declared, entities, "an index is ready");
            return Ok(());
        }
    }
    Ok(())
}

/// Removes the rows of an index, and then the index.
async fn empty(storage: &Storage, index: &Index) -> Result<(), Error> {
    let upkeep = || Upkeep::Empty { index: index.row };
    while storage.keep_up(upkeep()).await? > 0 {}
    let of = &index.of;
    info!(tenant = %of.tenant, model = %of.model, path = %index.path, declared = index.declared, "the rows of a dropped index are gone");
    Ok(())
}
