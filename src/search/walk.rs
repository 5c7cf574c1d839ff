//! Walking over the entities of a model as someone sees them.

use std::{collections::BTreeMap, sync::Arc, vec};

use super::{
    filter::{Committed, Part},
    plan::AccessPath,
};
use crate::entity::Position;
use crate::error::Failure;
use crate::id::EntityId;
use crate::storage::{
    Definitions, Error, Scan, ScanPage, ScanRow, Snapshot, Sweep, UnitOfWork, Version,
};

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

    pub(super) const fn own(&self) -> &BTreeMap<EntityId, Option<Version>> {
        &self.own
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
    committed: Source,
    /// The transaction's own changes that are still ahead.
    own: BTreeMap<EntityId, Option<Version>>,
}

/// What was committed, of what is walked over.
enum Source {
    /// Whole versions.
    All(Scan),
    /// What is looked at of each.
    Pages(PageWalk),
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

/// A walk over pages. What is too large for them is read between their other rows.
struct PageWalk {
    snapshot: Snapshot,
    sweep: Sweep,
    /// The page at hand, and its next row.
    current: Option<(Arc<ScanPage>, usize)>,
}

/// How many entities are read at once.
const PART: usize = 256;

impl Walk {
    /// A walk for someone who reads what it comes by.
    pub(super) fn new(view: View, place: AccessPath, definitions: &Definitions) -> Self {
        let all = |snapshot: Snapshot, after| Source::All(snapshot.scan(definitions).after(after));
        Self::over(view, place, all)
    }

    /// A walk for someone who looks at fields, and beside them at the life cycle or not.
    pub(super) fn pages(
        view: View,
        place: AccessPath,
        definitions: &Definitions,
        lifecycle: bool,
    ) -> Self {
        let all = |snapshot: Snapshot, after| {
            Source::Pages(PageWalk {
                sweep: snapshot.sweep(definitions, lifecycle, after),
                snapshot,
                current: None,
            })
        };
        Self::over(view, place, all)
    }

    fn over(
        view: View,
        place: AccessPath,
        all: impl FnOnce(Snapshot, Option<EntityId>) -> Source,
    ) -> Self {
        Self {
            committed: match place {
                AccessPath::All(after) => all(view.snapshot, after),
                AccessPath::Few(versions) => Source::Few(Some(versions)),
                AccessPath::At(found) => Source::At {
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
    pub(super) async fn next(&mut self) -> Result<Option<Part>, Failure> {
        let Some(committed) = self.committed.next().await? else {
            return Ok(None);
        };
        // What is read ahead is there at once, and others want to be served too.
        tokio::task::yield_now().await;
        let own = up_to(&mut self.own, self.committed.reached());
        Ok(Some(Part { committed, own }))
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

impl Source {
    async fn next(&mut self) -> Result<Option<Committed>, Error> {
        let versions = match self {
            Self::All(scan) => scan.next().await?,
            Self::Pages(pages) => return pages.next().await,
            Self::Few(versions) => versions.take(),
            Self::At { done: true, .. } => None,
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
                Some(versions)
            }
        };
        Ok(versions.map(Committed::Versions))
    }

    /// The id up to which the parts given so far have gone; none once that is the end.
    fn reached(&self) -> Option<EntityId> {
        match self {
            Self::All(scan) => scan.reached(),
            Self::Pages(pages) => pages.reached(),
            Self::Few(_) => None,
            Self::At { reached, .. } => *reached,
        }
    }
}

impl PageWalk {
    async fn next(&mut self) -> Result<Option<Committed>, Error> {
        let (page, at) = match self.current.take() {
            Some(current) => current,
            None => match self.sweep.next().await? {
                Some(page) => (Arc::new(page), 0),
                None => return Ok(None),
            },
        };
        let row = |index| page.row(index).filter(|_| index < at + PART);
        let is_large = |row: ScanRow<'_>| row.document.is_none();
        let large: Vec<_> = (at..)
            .map_while(|index| row(index).filter(|row| is_large(*row)))
            .map(|row| row.position)
            .collect();
        if large.is_empty() {
            let small = (at..page.len()).take_while(|index| {
                let row = page.row(*index);
                row.is_some_and(|row| !is_large(row))
            });
            let end = at + small.count();
            self.current = (end < page.len()).then(|| (Arc::clone(&page), end));
            return Ok(Some(Committed::Rows(page, at..end)));
        }
        let (versions, count) = self.snapshot.versions(&large).await?;
        let end = at + count.max(1);
        self.current = (end < page.len()).then_some((page, end));
        Ok(Some(Committed::Versions(versions)))
    }

    fn reached(&self) -> Option<EntityId> {
        match &self.current {
            Some((page, next)) => {
                let last = next.checked_sub(1).and_then(|last| page.row(last));
                last.map(|row| row.id)
            }
            None => self.sweep.reached(),
        }
    }
}
