//! A unit of work: what one request reads and writes, until it commits or is dropped
//! (`help/design/storage.md` §2).

mod commit;
mod marks;
mod messages;
mod model;
mod outcomes;
mod records;
mod runs;
mod tasks;
mod topics;

use std::{collections::BTreeMap, sync::Arc};

use foldhash::HashMap;

use super::{
    Assumption, Error, Snapshot, Storage,
    draft::{
        Attribution, Base, Growth, MessageChange, Publication, Records, Sender, StoredOutcome,
    },
    port::{Definitions, EntityRow, ModelRow, TenantRow, UNCOMMITTED, Version},
    task::{Decision, TaskChange},
};
use crate::engine::{Record, RunRecord};
use crate::entity::{Image, Json, Position, Sequence};
use crate::id::{EntityId, ModelKey, Tenant, TransactionId};
use crate::model::{Extension, UniqueKeys};
use crate::telemetry::measure::Open;

pub use marks::Mark;
use runs::Runs;
pub use runs::{NewRun, RunAdvance, RunSignal};

/// How many bytes of writes a unit holds at most.
const BYTES_MAX: usize = 64 << 20;

/// How many reads a unit remembers at most.
const READS_MAX: usize = 1_000_000;

/// What a write takes beside its document and its record, roughly.
const WRITE_BYTES: usize = 400;

/// What a removal takes, so that about a million fit.
const REMOVAL_BYTES: usize = 64;

/// Everything one request does. Dropping it is the rollback.
#[derive(Debug)]
pub struct UnitOfWork {
    storage: Storage,
    id: TransactionId,
    tenant: Tenant,
    attribution: Attribution,
    /// Taken by the first read.
    snapshot: Option<Snapshot>,
    reads: HashMap<EntityId, Option<Position>>,
    guards: HashMap<ModelKey, i64>,
    changes: HashMap<EntityId, Changed>,
    /// How many saves there were: entities are written in the order of their first.
    saves: usize,
    bytes: usize,
    decisions: Vec<Decision>,
    /// In the order in which they were made; only a rollback takes any back.
    tasks: Vec<TaskChange>,
    runs: Runs,
    /// Likewise.
    messages: Vec<MessageChange>,
    /// Likewise.
    outcomes: Vec<StoredOutcome>,
    /// What it has read of records; of its changes only a rollback takes any back.
    records: Records,
    /// In the order in which they were made; only a rollback takes any back.
    publications: Vec<Publication>,
    /// What its documents add to their models.
    growth: Growth,
    /// The transaction that the request began with, where this is a later one.
    entry: Option<TransactionId>,
    /// What its request assumes, if anything.
    assumption: Option<Assumption>,
    /// What [`Self::roll_back_to`] puts back, oldest first; kept while there is a mark.
    undo: Vec<Undo>,
    marks: usize,
    /// Counts it among those that are open.
    _open: Open,
}

/// What a unit has made of one entity.
#[derive(Debug, Clone)]
enum Changed {
    Saved(Box<Saved>),
    Removed(Removed),
    /// Made and removed again: nothing to commit, and nothing to see.
    Unmade,
}

/// What was made of an entity before something else was.
#[derive(Debug)]
struct Undo {
    id: EntityId,
    before: Option<Changed>,
    /// Whether what came after it was counted, too.
    is_counted: bool,
}

#[derive(Debug, Clone)]
struct Saved {
    /// Its place in the order of saves.
    order: usize,
    image: Image,
    tenant: TenantRow,
    /// Of its model only what the commit needs: a copy of the schema for each document that extends
    /// it would be kept until then.
    model: ModelRow,
    unique_keys: UniqueKeys,
    base: Option<Base>,
    /// The document of the base.
    before: Option<Json>,
    runs: Vec<RunRecord>,
    attribution: Option<Attribution>,
}

impl Saved {
    fn bytes(&self) -> usize {
        self.image.document.as_str().len() + WRITE_BYTES
    }
}

#[derive(Debug, Clone)]
struct Removed {
    base: Base,
    /// Whether its model has unique keys.
    keyed: bool,
    by: Option<Arc<Attribution>>,
}

/// What a unit itself has made of an entity.
enum Own {
    Untouched,
    Here(Box<Version>),
    Gone,
}

impl Storage {
    /// Opens a unit for one tenant.
    pub fn unit(&self, tenant: &Tenant, attribution: Attribution) -> UnitOfWork {
        self.unit_of(TransactionId::fresh(), tenant, attribution)
    }

    /// Opens a unit for one tenant, of a transaction whose identifier is given.
    pub fn unit_of(
        &self,
        id: TransactionId,
        tenant: &Tenant,
        attribution: Attribution,
    ) -> UnitOfWork {
        UnitOfWork {
            storage: self.clone(),
            id,
            tenant: tenant.clone(),
            attribution,
            snapshot: None,
            reads: HashMap::default(),
            guards: HashMap::default(),
            changes: HashMap::default(),
            saves: 0,
            bytes: 0,
            decisions: Vec::new(),
            tasks: Vec::new(),
            runs: Runs::default(),
            messages: Vec::new(),
            growth: Growth::default(),
            outcomes: Vec::new(),
            records: Records::default(),
            publications: Vec::new(),
            entry: None,
            assumption: None,
            undo: Vec::new(),
            marks: 0,
            _open: Open::new(),
        }
    }
}

impl UnitOfWork {
    pub const fn id(&self) -> TransactionId {
        self.id
    }

    pub const fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Who began it.
    pub const fn attribution(&self) -> &Attribution {
        &self.attribution
    }

    pub const fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What the unit sees beside its own changes: everything committed before its first read.
    pub async fn snapshot(&mut self) -> Result<&Snapshot, Error> {
        if self.snapshot.is_none() {
            let latest = self.storage.latest();
            self.snapshot = Some(self.storage.snapshot(&self.tenant, latest).await?);
        }
        self.snapshot.as_ref().ok_or(Error::Stopped)
    }

    /// Has the unit see what was committed up to a sequence. It must not have read yet.
    pub(super) async fn see_as_of(&mut self, at: Sequence) -> Result<(), Error> {
        self.snapshot = Some(self.storage.snapshot(&self.tenant, at).await?);
        Ok(())
    }

    /// The model of that name, as it is now and as this unit widens it; definitions are not part
    /// of a unit's snapshot.
    pub async fn definitions(
        &mut self,
        model: &ModelKey,
    ) -> Result<Option<Arc<Definitions>>, Error> {
        let definitions = self.storage.definitions(&self.tenant, model).await?;
        Ok(definitions.map(|definitions| self.growth.apply(definitions)))
    }

    /// Widens a model by what a document adds, which is committed with the unit; the model as it
    /// is then. Nothing is copied if the caller has the only other handle of it as it was.
    pub fn widen(
        &mut self,
        definitions: Arc<Definitions>,
        extension: Extension,
    ) -> Result<Arc<Definitions>, Error> {
        self.widen_by(definitions, extension, Sender::Caller)
    }

    /// The same for the document of a member. If it does not fit the model when the unit is committed,
    /// that is a conflict, so that the unit can be done again without it.
    pub fn learn(
        &mut self,
        definitions: Arc<Definitions>,
        extension: Extension,
    ) -> Result<Arc<Definitions>, Error> {
        self.widen_by(definitions, extension, Sender::Member)
    }

    fn widen_by(
        &mut self,
        definitions: Arc<Definitions>,
        extension: Extension,
        sender: Sender,
    ) -> Result<Arc<Definitions>, Error> {
        let (grown, bytes) = self.growth.add(definitions, extension, sender)?;
        self.bytes += bytes;
        self.refuse_excess()?;
        Ok(grown)
    }

    /// The entity as this unit sees it, and remembers to have seen it.
    pub async fn read(&mut self, id: EntityId) -> Result<Option<Version>, Error> {
        match self.own(id) {
            Own::Here(version) => return Ok(Some(*version)),
            Own::Gone => return Ok(None),
            Own::Untouched => {}
        }
        let version = self.snapshot().await?.version(id).await?;
        self.track(id, version.as_ref().map(|version| version.position))?;
        Ok(version.filter(|version| version.live))
    }

    /// The entity as this unit sees it, without a trace.
    pub async fn peek(&mut self, id: EntityId) -> Result<Option<Version>, Error> {
        match self.own(id) {
            Own::Here(version) => return Ok(Some(*version)),
            Own::Gone => return Ok(None),
            Own::Untouched => {}
        }
        self.snapshot().await?.entity(id).await
    }

    /// What there is now of entities that were found at an earlier time, in their order: as this
    /// unit has left them, or as they are newest; none of those that are gone. Nothing is
    /// remembered as seen, since it was the earlier time that decided something.
    pub async fn now_of(
        &self,
        found: Vec<Version>,
    ) -> Result<Vec<(EntityId, Option<Version>)>, Error> {
        let database = &self.storage.0.database;
        let ids: Vec<_> = found.iter().map(|version| version.image.id).collect();
        let newest: HashMap<_, _> = database.positions(&ids).await?.into_iter().collect();
        let moved = |version: &Version| {
            newest
                .get(&version.image.id)
                .copied()
                .filter(|newest| *newest != version.position)
        };
        let mut ahead: Vec<_> = found.iter().filter_map(moved).collect();
        let mut current = HashMap::default();
        if let Some(tenant) = found.first().map(|version| version.tenant) {
            while !ahead.is_empty() {
                let (versions, reached) = database.versions(tenant, &ahead).await?;
                current.extend(
                    versions
                        .into_iter()
                        .map(|version| (version.image.id, version)),
                );
                ahead.drain(..reached);
            }
        }
        let now = |version: Version| {
            let id = version.image.id;
            let seen = match self.own(id) {
                Own::Here(version) => Some(*version),
                Own::Gone => None,
                Own::Untouched => match newest.get(&id) {
                    Some(newest) if *newest == version.position => Some(version),
                    _ => current.remove(&id).filter(|version| version.live),
                },
            };
            (id, seen)
        };
        Ok(found.into_iter().map(now).collect())
    }

    /// Remembers to have seen an entity at a position: the commit fails if it has moved.
    pub fn track(&mut self, id: EntityId, position: Option<Position>) -> Result<(), Error> {
        if self.reads.len() >= READS_MAX {
            return Err(Error::TooLarge {
                what: "1,000,000 reads",
            });
        }
        self.reads.entry(id).or_insert(position);
        Ok(())
    }

    /// The entity, if this unit has saved it.
    pub fn peek_own(&self, id: EntityId) -> Option<Version> {
        match self.own(id) {
            Own::Here(version) => Some(*version),
            Own::Gone | Own::Untouched => None,
        }
    }

    fn own(&self, id: EntityId) -> Own {
        match self.changes.get(&id) {
            Some(Changed::Saved(saved)) => Own::Here(Box::new(saved.version())),
            Some(Changed::Removed(_) | Changed::Unmade) => Own::Gone,
            None => Own::Untouched,
        }
    }

    /// The entities of a model that this unit has changed: what it sees of each, in the order of
    /// their ids.
    pub fn own_changes(&self, model: &ModelKey) -> BTreeMap<EntityId, Option<Version>> {
        let seen = |(id, changed): (&EntityId, &Changed)| match changed {
            Changed::Saved(saved) => {
                (saved.image.model == *model).then(|| (*id, Some(saved.version())))
            }
            // Which model it was of does not matter: it is not there.
            Changed::Removed(_) | Changed::Unmade => Some((*id, None)),
        };
        self.changes.iter().filter_map(seen).collect()
    }

    /// A new entity of a model, which must stay locked and as it is until the commit.
    pub fn create(
        &mut self,
        definitions: &Arc<Definitions>,
        image: Image,
        runs: Vec<RunRecord>,
        by: Option<Attribution>,
    ) -> Result<(), Error> {
        self.guards
            .insert(definitions.model.key.clone(), definitions.revision);
        self.save(Saved {
            order: self.saves,
            image,
            tenant: definitions.tenant,
            model: definitions.row,
            unique_keys: definitions.model.unique_keys.clone(),
            base: None,
            before: None,
            runs,
            attribution: by,
        })
    }

    /// A new image of an entity that `base` was read of.
    pub fn update(
        &mut self,
        definitions: &Arc<Definitions>,
        base: &Version,
        image: Image,
        runs: Vec<RunRecord>,
        by: Option<Attribution>,
    ) -> Result<(), Error> {
        self.save(Saved {
            order: self.saves,
            image,
            tenant: definitions.tenant,
            model: definitions.row,
            unique_keys: definitions.model.unique_keys.clone(),
            base: Some(base.base()),
            before: Some(base.image.document.clone()),
            runs,
            attribution: by,
        })
    }

    fn save(&mut self, mut saved: Saved) -> Result<(), Error> {
        let id = saved.image.id;
        // A later image of the same unit replaces the earlier one; its decisions add up.
        if let Some(Changed::Saved(earlier)) = self.changes.get(&id) {
            saved.order = earlier.order;
            saved.base = earlier.base;
            saved.before.clone_from(&earlier.before);
            saved.runs.splice(0..0, earlier.runs.iter().cloned());
            if self.marks == 0 {
                self.bytes -= earlier.bytes();
            }
        }
        self.bytes += saved.bytes();
        self.refuse_excess()?;
        self.saves += 1;
        self.change(id, Changed::Saved(Box::new(saved)), true);
        Ok(())
    }

    /// Deletes an entity that `base` was read of.
    pub fn remove(
        &mut self,
        definitions: &Definitions,
        base: &Version,
        by: Option<Arc<Attribution>>,
    ) -> Result<(), Error> {
        let id = base.image.id;
        let remove = |base| {
            Changed::Removed(Removed {
                base,
                keyed: definitions.has_unique_keys(),
                by,
            })
        };
        let removed = match self.changes.get(&id) {
            Some(Changed::Saved(saved)) => saved.base.map_or(Changed::Unmade, remove),
            Some(Changed::Removed(_) | Changed::Unmade) => return Ok(()),
            None => remove(base.base()),
        };
        self.bytes += REMOVAL_BYTES;
        self.refuse_excess()?;
        self.change(id, removed, true);
        Ok(())
    }

    /// Makes room for so many bytes more.
    const fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes;
        self.refuse_excess()
    }

    const fn refuse_excess(&self) -> Result<(), Error> {
        if self.bytes > BYTES_MAX {
            Err(Error::TooLarge {
                what: "64 MiB of writes",
            })
        } else {
            Ok(())
        }
    }

    fn change(&mut self, id: EntityId, changed: Changed, is_counted: bool) {
        let before = self.changes.insert(id, changed);
        if self.marks > 0 {
            self.undo.push(Undo {
                id,
                before,
                is_counted,
            });
        }
    }

    /// From here on the commit fails if the assumption does not hold.
    pub fn rest_on(&mut self, assumption: Assumption) {
        self.assumption = Some(assumption);
    }

    /// Checks the assumption, before the request has an effect outside of the database.
    pub async fn verify(&self) -> Result<(), Error> {
        match &self.assumption {
            Some(assumption) => self.storage.verify(assumption, &self.tenant).await,
            None => Ok(()),
        }
    }

    /// Another unit of the same request, to come after this one.
    #[must_use]
    pub fn successor(&self, entry: TransactionId) -> Self {
        let mut next = self.storage.unit(&self.tenant, self.attribution.clone());
        next.entry = Some(entry);
        next
    }

    /// Remembers that it is a later transaction of the request that began with `entry`.
    pub const fn follow(&mut self, entry: TransactionId) {
        self.entry = Some(entry);
    }

    /// What was decided about an entity that is left as it is.
    pub fn note(&mut self, base: &Version, run: RunRecord) -> Result<(), Error> {
        // One that this unit makes has no place of its own yet.
        if let Some(Changed::Saved(saved)) = self.changes.get(&base.image.id)
            && saved.base.is_none()
        {
            let mut saved = saved.clone();
            saved.runs.push(run);
            // The same image, which is counted already.
            self.change(base.image.id, Changed::Saved(saved), false);
            return Ok(());
        }
        let record: Option<Arc<str>> = Record::of(vec![run]).encode().map(Into::into);
        if let Some(record) = record {
            self.bytes += record.len();
            self.refuse_excess()?;
            self.decisions.push(Decision {
                entity: base.row,
                record,
            });
        }
        Ok(())
    }
}

impl Version {
    const fn base(&self) -> Base {
        Base {
            row: self.row,
            position: self.position,
        }
    }
}

impl Saved {
    /// The image as a version that is not committed yet.
    fn version(&self) -> Version {
        Version {
            row: self.base.map_or(EntityRow(0), |base| base.row),
            tenant: self.tenant,
            position: UNCOMMITTED,
            live: true,
            image: self.image.clone(),
        }
    }
}
