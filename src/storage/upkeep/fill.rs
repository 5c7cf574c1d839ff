//! Fills indexes with what was there before them, and empties those that are dropped, a few
//! hundred rows at a time (`help/design/storage.md` §6).
//!
//! A part is read without the committer, and written by it between two batches: no write waits
//! longer than for one of them, so parts are smaller where writing them takes longer.
//!
//! Of the processes that use one database one works on an index; the others take it over, from where
//! it was left, when that one is gone. Two that work on it for a moment do no harm: what is there is
//! not added again.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::entity::{Document, Key, Path};
use crate::id::EntityId;
use crate::storage::{
    Error, Storage,
    port::{FilledKey, Index, IndexState, Indexable, Upkeep},
};
use crate::telemetry::measure::Adaptive;

/// How many entities are read at once: at first, at least and at most.
const PART: i64 = 125;
const PART_LEAST: i64 = 10;
const PART_MOST: i64 = 500;

/// How many keys are written at once; no fewer than one entity has.
const KEYS_MOST: usize = 1_024;

/// How long writing a part may take until the next one is smaller, and how short it has to be for
/// the next one to be larger.
const LONG: Duration = Duration::from_millis(40);
const SHORT: Duration = Duration::from_millis(15);

/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// How often is looked whether a process is gone that works on an index.
const LOOK: Duration = Duration::from_secs(1);

impl Storage {
    /// Works on indexes as they need it, until `stop` is cancelled.
    pub async fn keep_indexes(self, stop: CancellationToken) {
        stop.run_until_cancelled(work(self)).await;
    }

    /// Whether this process works on an index that is in a state.
    fn has_index(&self, index: &Index, state: IndexState) -> bool {
        self.0.indexes.current().is(index.row, state) && self.has_share(index.row.0)
    }
}

async fn work(storage: Storage) {
    loop {
        let index = next(&storage).await;
        let done = match index.state {
            IndexState::Dropping => empty(&storage, &index).await,
            IndexState::Filling | IndexState::Ready => fill(&storage, &index).await,
        };
        match done {
            Ok(()) => {}
            Err(Error::Stopped) => return,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "an index could not be worked on; trying again"
                );
                sleep(PAUSE).await;
            }
        }
    }
}

/// Waits for an index that is to be worked on here.
async fn next(storage: &Storage) -> Index {
    loop {
        let (mine, others) = {
            let indexes = storage.0.indexes.current();
            let mut unfinished = indexes.unfinished();
            let mine = unfinished.find(|index| storage.has_share(index.row.0));
            (mine.cloned(), indexes.unfinished().next().is_some())
        };
        let changed = storage.0.fill.notified();
        match mine {
            Some(index) => return index,
            None if others => {
                let _ = timeout(LOOK, changed).await;
            }
            None => changed.await,
        }
    }
}

/// How far an index is filled; none if it is not to be filled any more.
async fn reached(storage: &Storage, index: &Index) -> Result<Option<EntityId>, Error> {
    if storage.is_shared() {
        // Another process may have filled it up to here.
        storage.reload_indexes().await?;
    }
    let indexes = storage.0.indexes.current();
    Ok(indexes.find(index.row).and_then(|index| index.filled_to))
}

/// Fills an index to its end, unless it is dropped meanwhile, or left to another process.
async fn fill(storage: &Storage, index: &Index) -> Result<(), Error> {
    let mut after = reached(storage, index).await?;
    let (mut entities, mut size) = (0, PART);
    while storage.has_index(index, IndexState::Filling) {
        let database = &storage.0.database;
        let part = database.to_index(index.model, after, size).await?;
        entities += part.len();
        for step in steps(&part, &index.path, after) {
            after = step.reached;
            let upkeep = Upkeep::Fill {
                index: index.row,
                keys: step.keys,
                reached: after,
            };
            let begun = Instant::now();
            storage.keep_up(upkeep).await?;
            size = size_after(size, begun.elapsed());
        }
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

/// How many entities are read next, after writing a part took so long.
fn size_after(size: i64, took: Duration) -> i64 {
    if took > LONG {
        (size / 2).max(PART_LEAST)
    } else if took < SHORT {
        (size * 2).min(PART_MOST)
    } else {
        size
    }
}

/// Keys that are written at once.
struct Step {
    keys: Vec<FilledKey>,
    /// The last entity that is done then; none after the last of all.
    reached: Option<EntityId>,
}

/// The keys of a part, in steps. It follows an entity; without entities it is the end.
fn steps(part: &[Indexable], path: &Path, after: Option<EntityId>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = Step {
        keys: Vec::new(),
        reached: after.or(Some(EntityId::NIL)),
    };
    for row in part {
        let keys = Document::from_json(&row.document)
            .map(|document| Key::of(path, document.root()))
            .unwrap_or_default();
        for key in keys {
            if step.keys.len() == KEYS_MOST {
                let reached = step.reached;
                let full = Step {
                    keys: std::mem::take(&mut step.keys),
                    reached,
                };
                steps.push(full);
            }
            step.keys.push(FilledKey {
                key,
                entity: row.entity,
                position: row.position,
            });
        }
        step.reached = Some(row.id);
    }
    if part.is_empty() {
        step.reached = None;
    }
    steps.push(step);
    steps
}

/// Removes the rows of an index, and then the index.
async fn empty(storage: &Storage, index: &Index) -> Result<(), Error> {
    let upkeep = || Upkeep::Empty { index: index.row };
    loop {
        if !storage.has_index(index, IndexState::Dropping) {
            return Ok(());
        }
        if storage.keep_up(upkeep()).await? == 0 {
            break;
        }
    }
    let of = &index.of;
    info!(tenant = %of.tenant, model = %of.model, path = %index.path, declared = index.declared, "the rows of a dropped index are gone");
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::entity::{Json, Position};
    use crate::id::StateName;
    use crate::storage::port::EntityRow;

    fn row(id: u128, document: String) -> Indexable {
        Indexable {
            entity: EntityRow(1),
            id: EntityId::from_uuid(Uuid::from_u128(id)),
            position: Position(1),
            state: StateName::from("A"),
            document: Json::trusted(document),
        }
    }

    #[test]
    fn a_part_of_many_keys_is_written_in_steps_that_end_after_whole_entities() {
        let path = Path::parse("$.list[*]").expect("a path");
        let list: Vec<String> = (0..600).map(|n| n.to_string()).collect();
        let list = format!(r#"{{"list":[{}]}}"#, list.join(","));
        let part = [row(1, list.clone()), row(2, list.clone()), row(3, list)];
        let made = steps(&part, &path, None);
        let id = |n| Some(EntityId::from_uuid(Uuid::from_u128(n)));
        let found: Vec<_> = made
            .iter()
            .map(|step| (step.keys.len(), step.reached))
            .collect();
        assert_eq!(found, [(KEYS_MOST, id(1)), (1_800 - KEYS_MOST, id(3))]);
        let end = steps(&[], &path, id(3));
        assert_eq!((end.len(), end[0].reached), (1, None));
    }

    #[test]
    fn parts_follow_how_long_they_take() {
        assert_eq!(size_after(PART, LONG * 2), PART / 2);
        assert_eq!(size_after(PART_LEAST, LONG * 2), PART_LEAST);
        assert_eq!(size_after(PART, Duration::ZERO), PART * 2);
        assert_eq!(size_after(PART_MOST, Duration::ZERO), PART_MOST);
        assert_eq!(size_after(PART, SHORT), PART);
    }
}
