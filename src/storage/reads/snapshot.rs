//! Reads of one tenant as of one sequence.

use std::collections::HashMap;

use tokio::time::timeout;

use crate::entity::{Change, Position, Sequence};
use crate::id::{EntityId, ModelKey, StateName, Tenant, TransactionId};
use crate::storage::{
    Error, Storage,
    memory::instant::DISK_PATIENCE,
    port::{Definitions, ModelRow, Recorded, TenantRow, Version},
};

/// How many entities one trip of a scan brings.
const SCAN_ROWS: i64 = 256;

/// Everything a tenant had at one moment. It holds nothing open: history does not change, so any
/// connection answers at any time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(in crate::storage) storage: Storage,
    /// None for a tenant that has never written.
    pub(in crate::storage) tenant: Option<TenantRow>,
    pub(in crate::storage) at: Sequence,
}

/// The newest changes of an entity, newest first.
pub type History = Vec<Change>;

/// How many entities a model has.
#[derive(Debug, Clone)]
pub struct ModelCount {
    pub model: ModelKey,
    pub count: i64,
}

impl Snapshot {
    pub(in crate::storage) const fn new(
        storage: Storage,
        tenant: Option<TenantRow>,
        at: Sequence,
    ) -> Self {
        Self {
            storage,
            tenant,
            at,
        }
    }

    pub const fn sequence(&self) -> Sequence {
        self.at
    }

    /// Whether `IS_NULL` holds below a list that is not there.
    pub fn absent_lists_are_null(&self) -> bool {
        self.storage.absent_lists_are_null()
    }

    /// How many entities a search may evaluate by what no database can say; none for any
    /// number.
    pub fn scan_max(&self) -> Option<usize> {
        Some(self.storage.0.scan_max).filter(|max| *max > 0)
    }

    /// The version of an entity then, also if that is a deletion.
    pub async fn version(&self, id: EntityId) -> Result<Option<Version>, Error> {
        let Some(tenant) = self.tenant else {
            return Ok(None);
        };
        let inner = &self.storage.0;
        if let Some(known) = inner
            .cache
            .get(id)
            .filter(|known| known.position.0 <= self.at.0)
        {
            return Ok((known.tenant == tenant).then_some(known));
        }
        let since = inner.cache.generation(id);
        match inner.database.current(tenant, id).await? {
            Some(current) if current.position.0 <= self.at.0 => {
                if current.live {
                    inner.cache.fill(&current, since);
                }
                Ok(Some(current))
            }
            Some(_) => inner.database.as_of(tenant, id, self.at).await,
            None => Ok(None),
        }
    }

    /// The entity as it was then, if it was there.
    pub async fn entity(&self, id: EntityId) -> Result<Option<Version>, Error> {
        Ok(self.version(id).await?.filter(|version| version.live))
    }

    /// The version that a transaction wrote, also of an entity that was deleted later.
    pub async fn written_by(
        &self,
        id: EntityId,
        transaction: TransactionId,
    ) -> Result<Option<Version>, Error> {
        let Some(tenant) = self.tenant else {
            return Ok(None);
        };
        let version = self
            .storage
            .0
            .database
            .by_transaction(tenant, id, transaction, self.at)
            .await?;
        Ok(version.filter(|version| version.live))
    }

    pub async fn history(&self, id: EntityId, limit: i64) -> Result<History, Error> {
        let Some(tenant) = self.tenant else {
            return Ok(Vec::new());
        };
        self.storage
            .0
            .database
            .history(tenant, id, self.at, limit)
            .await
    }

    /// What is recorded of an entity, newest first; what came before a position, if one is given.
    pub async fn trail(
        &self,
        id: EntityId,
        before: Option<Position>,
        limit: i64,
    ) -> Result<Vec<Recorded>, Error> {
        let Some(tenant) = self.tenant else {
            return Ok(Vec::new());
        };
        let until = before.map_or(Position(self.at.0), |before| Position(before.0 - 1));
        self.storage
            .0
            .database
            .trail(tenant, id, until, limit)
            .await
    }

    /// What one request has recorded of an entity, newest first.
    pub async fn trail_of(
        &self,
        id: EntityId,
        transaction: TransactionId,
    ) -> Result<Vec<Recorded>, Error> {
        let mut found = Vec::new();
        let mut before = None;
        loop {
            let part = self.trail(id, before, SCAN_ROWS).await?;
            before = part.last().map(|recorded| recorded.position);
            let of_it = |recorded: &Recorded| {
                recorded.entry == transaction || recorded.transaction == transaction
            };
            // The commits of one request need not stand side by side, but its first is the last.
            let begun = part
                .iter()
                .any(|recorded| recorded.transaction == transaction);
            found.extend(part.into_iter().filter(of_it));
            if begun || before.is_none() {
                return Ok(found);
            }
        }
    }

    /// The versions at the first of these positions, in their order, and how many positions that
    /// were: at least one, and fewer than all if their documents are large.
    pub async fn versions(&self, positions: &[Position]) -> Result<(Vec<Version>, usize), Error> {
        let Some(tenant) = self.tenant else {
            return Ok((Vec::new(), positions.len()));
        };
        self.storage.0.database.versions(tenant, positions).await
    }

    /// Which versions those at these positions have replaced; those that begin an entity have
    /// replaced none.
    pub async fn replaced(
        &self,
        positions: &[Position],
    ) -> Result<HashMap<Position, Position>, Error> {
        self.storage.0.database.replaced(positions).await
    }

    /// Walks the entities of a model in the order of their ids.
    pub fn scan(&self, definitions: &Definitions) -> Scan {
        Scan {
            snapshot: self.clone(),
            model: definitions.row,
            after: None,
            done: false,
        }
    }

    /// One page of the entities of a model, in the order of their ids: which they are, and where
    /// their versions stand. They are as they are now, whatever the sequence of the snapshot.
    pub async fn current_page(
        &self,
        definitions: &Definitions,
        offset: i64,
        limit: i64,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        let inner = &self.storage.0;
        let turn = inner.long_reads.turn(definitions.tenant).await;
        let page = inner.database.page(definitions.row, limit, offset).await?;
        drop(turn);
        self.storage.once_durable(page).await
    }

    /// The ids of a page of the entities that come after an id, and where their versions stand, as
    /// of the sequence of the snapshot.
    pub async fn page(
        &self,
        definitions: &Definitions,
        after: Option<EntityId>,
        offset: i64,
        limit: i64,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        let inner = &self.storage.0;
        let _turn = inner.long_reads.turn(definitions.tenant).await;
        inner
            .database
            .page_as_of(definitions.row, after, self.at, limit, offset)
            .await
    }
}

impl Storage {
    /// Reads of one tenant as of a sequence, for as long as the caller likes; it holds nothing.
    pub async fn snapshot(&self, tenant: &Tenant, at: Sequence) -> Result<Snapshot, Error> {
        let tenant = self.tenant_row(tenant).await?;
        Ok(Snapshot::new(self.clone(), tenant, at))
    }

    /// Waits for the turn of the tenant of a model to read for long. It ends when what is returned
    /// is dropped; reads within it must not wait for one of their own.
    pub async fn long_read(&self, definitions: &Definitions) -> impl Sized + Send + use<> {
        self.0.long_reads.turn(definitions.tenant).await
    }

    /// How many entities each model of a tenant has now.
    pub async fn counts(&self, tenant: &Tenant) -> Result<Vec<ModelCount>, Error> {
        let mut counts = Vec::new();
        let Some(row) = self.tenant_row(tenant).await? else {
            return Ok(counts);
        };
        for listed in self.models(tenant).await? {
            let _turn = self.0.long_reads.turn(row).await;
            counts.push(ModelCount {
                count: self.0.database.count(listed.row).await?,
                model: listed.key,
            });
        }
        self.once_durable(counts).await
    }

    /// How many entities of each model of a tenant are in each state now; one that is deleted
    /// meanwhile has none.
    pub async fn all_counts_by_state(
        &self,
        tenant: &Tenant,
    ) -> Result<Vec<(ModelKey, Vec<(StateName, i64)>)>, Error> {
        let mut counts = Vec::new();
        let Some(row) = self.tenant_row(tenant).await? else {
            return Ok(counts);
        };
        for listed in self.models(tenant).await? {
            let _turn = self.0.long_reads.turn(row).await;
            let by_state = self.0.database.counts_by_state(listed.row).await?;
            counts.push((listed.key, by_state));
        }
        self.once_durable(counts).await
    }

    /// How many entities of a model are in each state now.
    pub async fn counts_by_state(
        &self,
        definitions: &Definitions,
    ) -> Result<Vec<(StateName, i64)>, Error> {
        let turn = self.0.long_reads.turn(definitions.tenant).await;
        let counts = self.0.database.counts_by_state(definitions.row).await?;
        drop(turn);
        self.once_durable(counts).await
    }

    /// How many entities a model has now.
    pub async fn count(&self, definitions: &Definitions) -> Result<i64, Error> {
        let turn = self.0.long_reads.turn(definitions.tenant).await;
        let count = self.0.database.count(definitions.row).await?;
        drop(turn);
        self.once_durable(count).await
    }

    /// What was read of what is there now, whatever its sequence: what is committed can be read
    /// shortly before it is on the disk. A disk that fails is not waited for.
    pub(in crate::storage) async fn once_durable<T>(&self, found: T) -> Result<T, Error> {
        let durable = timeout(DISK_PATIENCE, self.0.instants.all_finished());
        durable.await.map_err(|_| Error::Unavailable)?;
        Ok(found)
    }

    /// The same of what was read of one model, for reads that come in numbers: only what may have
    /// been found is waited for.
    pub(in crate::storage) async fn once_read_durable<T>(
        &self,
        model: ModelRow,
        found: T,
    ) -> Result<T, Error> {
        let durable = timeout(DISK_PATIENCE, self.0.instants.all_read_finished(model));
        durable.await.map_err(|_| Error::Unavailable)?;
        Ok(found)
    }
}

/// A walk over the entities of a model, a part at a time.
#[derive(Debug)]
pub struct Scan {
    snapshot: Snapshot,
    model: ModelRow,
    after: Option<EntityId>,
    done: bool,
}

impl Scan {
    /// Leaves out everything up to an id.
    #[must_use]
    pub const fn after(mut self, id: Option<EntityId>) -> Self {
        self.after = id;
        self
    }

    /// The next entities; none at the end. A part may be empty although more follow.
    pub async fn next(&mut self) -> Result<Option<Vec<Version>>, Error> {
        let Some(tenant) = self.snapshot.tenant.filter(|_| !self.done) else {
            return Ok(None);
        };
        let database = &self.snapshot.storage.0.database;
        let (versions, reached) = database
            .scan(tenant, self.model, self.after, self.snapshot.at, SCAN_ROWS)
            .await?;
        self.done = reached.is_none();
        self.after = reached;
        Ok(Some(versions))
    }

    /// The id up to which the parts given so far have gone; none once that is the end.
    pub const fn reached(&self) -> Option<EntityId> {
        self.after
    }
}
