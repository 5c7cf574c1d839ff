//! Search indexes: which paths of which models have one, and what a write changes in them
//! (`help/design/storage.md` §6).
//!
//! An index is a set of rows, not a structure of the database: making one blocks nobody. Writers
//! maintain it from the commit that declares it; a background task fills in what was there before
//! (`upkeep::fill`).

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;

use super::{
    Error,
    backend::Backend,
    draft::{KeyChanges, Removal, TakenOut, Write},
    port::{Batch, EntityRow, Index, IndexRow, IndexState, KeyRow, ModelRow},
};
use crate::clock::Timestamp;
use crate::entity::{Document, Json, Key};
use crate::telemetry::measure;

/// Of how many entities at most the keys are looked for one by one when they are deleted.
const TAKEN_OUT_SINGLY: usize = 1_000;

/// All indexes that are maintained. Swapped by the committer, between two batches.
///
/// A lock, not a task: read by every write and search, written when an index is made or dropped.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    state: RwLock<Arc<State>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Grows with every change.
    generation: u64,
    /// By their rows.
    all: Vec<Index>,
    /// What writers maintain.
    by_model: HashMap<ModelRow, Arc<[Index]>>,
}

impl Indexes {
    pub(super) fn current(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    pub(super) fn swap(&self, mut all: Vec<Index>) {
        let before = self.current();
        for index in &mut all {
            // What is known of its use is kept, shared with those who hold it.
            if let Some(known) = before.find(index.row) {
                index.use_of.share(&known.use_of);
            }
        }
        let count = |declared| {
            let maintained = |index: &&Index| index.state != IndexState::Dropping;
            let all = all.iter().filter(maintained);
            all.filter(|index| index.declared == declared).count()
        };
        measure::indexes(count(true), count(false));
        let mut by_model: HashMap<ModelRow, Vec<Index>> = HashMap::new();
        for index in &all {
            if index.state != IndexState::Dropping {
                by_model.entry(index.model).or_default().push(index.clone());
            }
        }
        let mut state = self.state.write();
        *state = Arc::new(State {
            generation: state.generation + 1,
            all,
            by_model: by_model
                .into_iter()
                .map(|(model, indexes)| (model, indexes.into()))
                .collect(),
        });
    }
}

impl State {
    pub(super) fn of(&self, model: ModelRow) -> &[Index] {
        self.by_model.get(&model).map_or(&[], |indexes| indexes)
    }

    /// Notes that an index was used, if nobody has declared it.
    pub(super) fn note_used(&self, row: IndexRow, now: Timestamp) {
        if let Some(index) = self.find(row).filter(|index| !index.declared) {
            index.note_used(now);
        }
    }

    /// Those that nobody declared.
    pub(super) fn adaptive(&self) -> impl Iterator<Item = &Index> {
        let maintained = |index: &&Index| index.state != IndexState::Dropping;
        let all = self.all.iter().filter(maintained);
        all.filter(|index| !index.declared)
    }

    /// Whether there is that index, in that state.
    pub(super) fn is(&self, row: IndexRow, state: IndexState) -> bool {
        self.find(row).is_some_and(|index| index.state == state)
    }

    pub(super) fn find(&self, row: IndexRow) -> Option<&Index> {
        let found = self.all.binary_search_by_key(&row, |index| index.row);
        found.ok().and_then(|place| self.all.get(place))
    }

    /// Adds to a batch what a write of an entity changes.
    pub(super) fn write(&self, write: &Write, e: EntityRow, rows: &mut Batch) {
        let made_anew;
        let changes = if write.keys.generation == self.generation {
            &write.keys
        } else {
            let (before, after) = (write.before.as_ref(), &write.image.document);
            made_anew = KeyChanges::between(self, write.model, before, Some(after));
            &made_anew
        };
        let row = |(index, key): &(IndexRow, Key)| KeyRow {
            p: index.0,
            key: key.clone(),
            e: e.0,
        };
        rows.keys_removed.extend(changes.removed.iter().map(row));
        rows.keys_added.extend(changes.added.iter().map(row));
    }

    /// What takes entities out that are deleted.
    pub(super) async fn take_out(
        &self,
        removals: &[Removal],
        database: &Backend,
    ) -> Result<TakenOut, Error> {
        let mut taken = TakenOut::default();
        if self.by_model.is_empty() || removals.is_empty() {
            return Ok(taken);
        }
        let mut entities: Vec<_> = removals.iter().map(|removal| removal.base.row).collect();
        if entities.len() > TAKEN_OUT_SINGLY {
            for model in database.models_of(&entities).await? {
                let swept = self.of(model).iter().map(|index| index.row.0);
                taken.swept.extend(swept);
            }
            return Ok(taken);
        }
        entities.sort_unstable();
        let mut rest = entities.as_slice();
        while !rest.is_empty() {
            let part = database.leaving(rest).await?;
            let Some(last) = part.last().map(|leaving| leaving.entity) else {
                break;
            };
            for leaving in part {
                let document = Some(&leaving.document);
                let changes = KeyChanges::between(self, leaving.model, document, None);
                let gone = changes.removed.into_iter().map(|(index, key)| KeyRow {
                    p: index.0,
                    key,
                    e: leaving.entity.0,
                });
                taken.keys.extend(gone);
            }
            rest = &rest[rest.partition_point(|entity| *entity <= last)..];
        }
        Ok(taken)
    }

    /// The first index that someone has to work on.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Index> {
        let unfinished = |index: &&Index| index.state != IndexState::Ready;
        self.all.iter().filter(unfinished)
    }
}

impl KeyChanges {
    /// What changes where an entity was as `before` says and becomes as `after` says.
    pub(super) fn between(
        indexes: &State,
        model: ModelRow,
        before: Option<&Json>,
        after: Option<&Json>,
    ) -> Self {
        let mut changes = Self {
            generation: indexes.generation,
            ..Self::default()
        };
        let indexes = indexes.of(model);
        if indexes.is_empty() {
            return changes;
        }
        let read = |json: Option<&Json>| json.and_then(|json| Document::from_json(json).ok());
        let (before, after) = (read(before), read(after));
        for index in indexes {
            let keys = |document: &Option<Document>| {
                document
                    .as_ref()
                    .map(|document| Key::of(&index.path, document.root()))
                    .unwrap_or_default()
            };
            // Both are sorted.
            let (old, new) = (keys(&before), keys(&after));
            let of_index = |key: Key| (index.row, key);
            let removed = old.iter().filter(|key| new.binary_search(key).is_err());
            changes.removed.extend(removed.cloned().map(of_index));
            // What fills an index leaves out an entity that has moved since it was read, so who
            // moves it writes all of its keys.
            let is_filling = index.state == IndexState::Filling;
            let added = new
                .into_iter()
                .filter(|key| is_filling || old.binary_search(key).is_err());
            changes.added.extend(added.map(of_index));
        }
        changes
    }
}
