//! Walking over the entities of a model as someone sees them.

use std::{collections::BTreeMap, vec};

use super::plan::Source;
use crate::entity::Position;
use crate::error::Failure;
use crate::id::EntityId;
use crate::storage::{Definitions, Error, Scan, Snapshot, UnitOfWork, Version};

/// What a search sees.
#[derive(Debug)]
pub struct View {
    snapshot: Snapshot,
    /// What the transaction that asks has changed itself; none is what it has deleted.
    own: BTreeMap<EntityId, Option<Version>>,
    /// Whether the snapshot was taken for this search alone, at the newest sequence.
    current: bool,
}

impl View {
    /// Everything that is committed now.
    pub const fn current(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            own: BTreeMap::new(),
            current: true,
        }
    }

    /// Everything that was committed at some time.
    pub const fn as_of(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            own: BTreeMap::new(),
            current: false,
        }
    }

    /// What a unit of work sees of a model, its own changes included.
    pub async fn of(unit: &mut UnitOfWork, definitions: &Definitions) -> Result<Self, Error> {
        Ok(Self {
            own: unit.own_changes(&definitions.model.key),
            snapshot: unit.snapshot().await?.clone(),
            current: false,
        })
    }

    pub(super) const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(super) fn into_own(self) -> BTreeMap<EntityId, Option<Version>> {
        self.own
    }

    pub(super) const fn is_current(&self) -> bool {
        self.current
    }
}

/// A walk in the order of ids.
pub(super) struct Walk {
    committed: Committed,
    /// The transaction's own changes that are still ahead.
    own: BTreeMap<EntityId, Option<Version>>,
}

/// What was committed, of what is walked over.
enum Committed {
    All(Scan),
    /// Read already.
    Few(Option<Vec<Version>>),
    At {
        snapshot: Snapshot,
        ahead: vec::IntoIter<(EntityId, Position)>,
        /// Up to where it has come; none at the end.
        reached: Option<EntityId>,
        done: bool,
    },
}

/// How many entities are read at once.
const PART: usize = 256;

impl Walk {
    pub(super) fn new(view: View, source: Source, definitions: &Definitions) -> Self {
        Self {
            committed: match source {
                Source::All => Committed::All(view.snapshot.scan(definitions)),
                Source::Few(versions) => Committed::Few(Some(versions)),
                Source::At(found) => Committed::At {
                    snapshot: view.snapshot,
                    ahead: found.into_iter(),
                    reached: None,
                    done: false,
                },
            },
            own: view.own,
        }
    }

    /// The next entities; none at the end. A part may be empty although more follow.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Version>>, Failure> {
        let Some(committed) = self.committed.next().await? else {
            return Ok(None);
        };
        let own = up_to(&mut self.own, self.committed.reached());
        if own.is_empty() {
            return Ok(Some(committed));
        }
        let mut seen: BTreeMap<EntityId, Version> = committed
            .into_iter()
            .map(|version| (version.image.id, version))
            .collect();
        for (id, changed) in own {
            match changed {
                Some(version) => seen.insert(id, version),
                None => seen.remove(&id),
            };
        }
        Ok(Some(seen.into_values().collect()))
    }
}

/// Takes the changes up to an id, it included; without one, all.
pub(super) fn up_to(
    own: &mut BTreeMap<EntityId, Option<Version>>,
    reached: Option<EntityId>,
) -> BTreeMap<EntityId, Option<Version>> {
    let Some(reached) = reached else {
        return std::mem::take(own);
    };
    let ahead = own.split_off(&reached);
    let mut passed = std::mem::replace(own, ahead);
    // `split_off` leaves the id itself ahead.
    passed.extend(own.remove_entry(&reached));
    passed
}

impl Committed {
    async fn next(&mut self) -> Result<Option<Vec<Version>>, Error> {
        match self {
            Self::All(scan) => scan.next().await,
            Self::Few(versions) => Ok(versions.take()),
            Self::At { done: true, .. } => Ok(None),
            Self::At {
                snapshot,
                ahead,
                reached,
                done,
            } => {
                let part = ahead.as_slice().iter().take(PART);
                let positions: Vec<_> = part.map(|(_, position)| *position).collect();
                let (versions, count) = snapshot.versions(&positions).await?;
                let last = ahead.by_ref().take(count).last();
                *done = ahead.as_slice().is_empty();
                *reached = last.map(|(id, _)| id).filter(|_| !*done);
                Ok(Some(versions))
            }
        }
    }

    /// The id up to which the parts given so far have gone; none once that is the end.
    const fn reached(&self) -> Option<EntityId> {
        match self {
            Self::All(scan) => scan.reached(),
            Self::Few(_) => None,
            Self::At { reached, .. } => *reached,
        }
    }
}
