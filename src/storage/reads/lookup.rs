//! Which indexes there are, and what they find.

use crate::entity::{KeyRange, Path, Position};
use crate::id::EntityId;
use crate::storage::{
    Error, Snapshot, Storage,
    port::{
        Definitions, Index, IndexRow, Keyed, ModelRow, Ordered, Probe, Stretch, Upkeep,
        UsedIndexes, Version,
    },
};

/// How many positions may have been taken since a snapshot for its searches to use indexes: what
/// has changed since is looked at again (`help/design/storage.md` §6).
const CHANGES_MAX: i64 = 100_000;

impl Storage {
    /// The indexes of a model, whatever can be done with them.
    pub fn indexes(&self, definitions: &Definitions) -> Vec<Index> {
        let model = definitions.row;
        let indexes = self.0.indexes.current();
        indexes.of(model).to_vec()
    }

    /// Replaces the indexes of a model that are declared. They are filled in the background.
    pub async fn declare_indexes(
        &self,
        definitions: &Definitions,
        paths: Vec<Path>,
    ) -> Result<(), Error> {
        self.keep_up(Upkeep::DeclareIndexes {
            model: definitions.row,
            paths,
        })
        .await?;
        Ok(())
    }

    /// Makes an index that nobody declared, unless there is one, or there are enough of them;
    /// whether it was made.
    pub(in crate::storage) async fn add_index(
        &self,
        model: ModelRow,
        path: &Path,
        max: u32,
    ) -> Result<bool, Error> {
        let upkeep = Upkeep::AddIndex {
            model,
            path: path.clone(),
            max,
            now: self.now(),
        };
        Ok(self.keep_up(upkeep).await? > 0)
    }

    /// Drops an index that nobody declared, and its rows in the background; whether it was there.
    pub(in crate::storage) async fn drop_index(&self, index: IndexRow) -> Result<bool, Error> {
        Ok(self.keep_up(Upkeep::DropIndex { index }).await? > 0)
    }

    /// Takes over which indexes the database has. Called by the committer, between two batches, and
    /// when another process has changed them.
    pub(in crate::storage) async fn reload_indexes(&self) -> Result<(), Error> {
        let _turn = self.0.pulses.index_turn.lock().await;
        self.0.indexes.swap(self.0.database.indexes().await?);
        self.0.fill.notify_one();
        Ok(())
    }
}

impl Snapshot {
    /// The indexes of a model that searches may use, whatever can be done with them now.
    pub fn indexes(&self, definitions: &Definitions) -> Vec<Index> {
        match self.storage.0.missed.used() {
            UsedIndexes::Adaptive | UsedIndexes::Declared => self.storage.indexes(definitions),
            UsedIndexes::None => Vec::new(),
        }
    }

    /// How many entities each group of probes finds now, counted up to `limit`.
    pub async fn count_found(
        &self,
        definitions: &Definitions,
        groups: &[&[Probe]],
        limit: i64,
    ) -> Result<Vec<i64>, Error> {
        let database = &self.storage.0.database;
        database.count_found(definitions.row, groups, limit).await
    }

    /// The entities that any of the probes finds, as they are now, whatever the sequence of the
    /// snapshot; none if there are more than `limit`.
    pub async fn look_up(
        &self,
        definitions: &Definitions,
        probes: &[Probe],
        limit: i64,
    ) -> Result<Option<Vec<Version>>, Error> {
        let Some(tenant) = self.tenant else {
            return Ok(Some(Vec::new()));
        };
        let (storage, model) = (&self.storage, definitions.row);
        let found = storage.0.database.look_up(tenant, model, probes, limit);
        storage.once_read_durable(model, found.await?).await
    }

    /// The current versions of the entities that any of the probes finds, in the order of their
    /// ids, whatever the sequence of the snapshot; none if there are more than `limit`.
    pub async fn found(
        &self,
        definitions: &Definitions,
        probes: &[Probe],
        limit: i64,
    ) -> Result<Option<Vec<(EntityId, Position)>>, Error> {
        let (storage, model) = (&self.storage, definitions.row);
        let found = storage.0.database.found(model, probes, limit + 1).await?;
        let is_all = i64::try_from(found.len()).is_ok_and(|found| found <= limit);
        let found = is_all.then_some(found);
        storage.once_read_durable(model, found).await
    }

    /// The next entities that an index has in a range, as they are now, in the order of its keys
    /// or against it.
    pub async fn in_order(
        &self,
        index: IndexRow,
        range: &KeyRange,
        after: Option<&Keyed>,
        descending: bool,
        limit: usize,
    ) -> Result<Ordered, Error> {
        let Some(tenant) = self.tenant else {
            return Ok(Ordered {
                found: Vec::new(),
                goes_on: false,
                newest: Some(Position(0)),
            });
        };
        let database = &self.storage.0.database;
        let stretch = Stretch {
            index,
            range: range.clone(),
            after: after.cloned(),
            descending,
            limit,
        };
        database.in_order(tenant, stretch).await
    }

    /// The versions of the snapshot that any of the probes may find, in the order of their ids:
    /// of what it finds now, and of what has changed since. None if there are more than `limit`,
    /// or if so much was committed since that it is not worth it.
    pub async fn found_as_of(
        &self,
        definitions: &Definitions,
        probes: &[Probe],
        limit: i64,
    ) -> Result<Option<Vec<(EntityId, Position)>>, Error> {
        if self.storage.latest().0 - self.at.0 > CHANGES_MAX {
            return Ok(None);
        }
        let database = &self.storage.0.database;
        let found = database
            .found_as_of(definitions.row, probes, self.at, limit + 1)
            .await?;
        let is_all = i64::try_from(found.len()).is_ok_and(|found| found <= limit);
        Ok(is_all.then_some(found))
    }
}
