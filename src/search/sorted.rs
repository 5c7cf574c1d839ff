//! A search sorted by an indexed path: walks the index in its order, and stops when there are
//! enough matches (`storage.md` §6).
//!
//! Only scalar values are walked. Entities without one come last, and an index does not have all of
//! them: an empty list has no key. So where the scalars do not suffice, everything is sorted.

use std::collections::HashSet;

use super::{
    Effort, Excess, Query, View,
    filter::{Candidate, Filter, Looks},
    hits::Hit,
    order::{self, Order, SortSubject},
    plan,
    rank::Best,
};
use crate::condition::{Narrowing, indexed_path};
use crate::entity::{Key, KeyRange, Path, Position, Step};
use crate::error::Failure;
use crate::storage::{Index, IndexState, Keyed, Probe, Version};

/// After how many entities without enough matches another access path is faster.
const VISITED_MAX: usize = 2_000;

/// How many entities are read at once, beside those that the limit requires.
const PART: usize = 256;

/// Up to which limit the documents of hits are kept.
const FEW: usize = 64;

/// How many entities may have changed since the snapshot.
const MOVED_MAX: i64 = 10_000;

/// The matches found by walking an index; none if that is impossible or not worth it.
pub(super) async fn find(
    view: &View,
    query: &Query<'_>,
    narrowing: &Narrowing,
) -> Result<Option<(Vec<Hit>, Effort)>, Failure> {
    if query.excess != Excess::CutOff {
        return Ok(None);
    }
    let indexes = view.snapshot().indexes(query.definitions);
    let Some((index, descending)) = index_of(query.order, &indexes) else {
        return Ok(None);
    };
    if plan::finds_few(view, query.definitions, narrowing, &index.path).await? {
        return Ok(None);
    }
    let ranges = ranges(narrowing, &index.path);
    let Some(span) = span(&ranges) else {
        return Ok(None);
    };
    let (probes, snapshot) = ([Probe::Keys(index.row, span)], view.snapshot());
    // Counting keys costs less than reading entities that do not suffice.
    let wanted = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let groups: [&[Probe]; 1] = [&probes];
    let counts = snapshot.count_found(query.definitions, &groups, wanted);
    if counts.await?.iter().any(|count| *count < wanted) {
        return Ok(None);
    }
    let mut search = Search {
        view,
        query,
        filter: Filter::new(
            view,
            query.definitions,
            query.condition,
            &Looks::of(query.condition).and_order(query.order),
        ),
        best: Best::new(query),
        effort: Effort {
            by: vec![index.path.to_string()],
            visited: 0,
        },
        moved: false,
    };
    if !search.finds_enough(index, ranges, descending).await? {
        return Ok(None);
    }
    if search.moved && !search.correct().await? {
        return Ok(None);
    }
    search.add_own().await?;
    snapshot.goes_by(&probes);
    Ok(Some((search.best.into_items(), search.effort)))
}

/// The index of the first sort key. A path through lists leads to many values.
fn index_of<'a>(order: &Order, indexes: &'a [Index]) -> Option<(&'a Index, bool)> {
    let first = order.first()?;
    let SortSubject::Field(path) = &first.subject else {
        return None;
    };
    let is_member = |step: &Step| matches!(step, Step::Member(_));
    if !path.steps().iter().all(is_member) {
        return None;
    }
    let index = indexes
        .iter()
        .find(|index| index.path == *path && index.state == IndexState::Ready)?;
    Some((index, first.descending))
}

/// The ranges of keys to walk, in value order. A time sorts as the text it is, so ranges of times
/// cannot be used here.
fn ranges(narrowing: &Narrowing, path: &Path) -> Vec<KeyRange> {
    let mut ranges = match known(narrowing, path) {
        Some(known) if known.iter().all(KeyRange::is_sortable) => known,
        Some(_) | None => vec![KeyRange::sortable()],
    };
    ranges.retain(|range| !range.is_of_nulls());
    ranges.sort_unstable_by(|one, other| one.from.cmp(&other.from));
    ranges.dedup_by(|next, before| {
        let joins = next.from <= before.until;
        if joins && next.until > before.until {
            before.until = next.until.clone();
        }
        joins
    });
    ranges
}

/// The range from the first of some ranges to the last; none without ranges.
fn span(ranges: &[KeyRange]) -> Option<KeyRange> {
    let (first, last) = ranges.first().zip(ranges.last())?;
    Some(KeyRange {
        from: first.from.clone(),
        until: last.until.clone(),
    })
}

/// What a condition implies for the values at a path, if anything.
fn known(narrowing: &Narrowing, path: &Path) -> Option<Vec<KeyRange>> {
    match narrowing {
        Narrowing::Keys {
            path: known,
            ranges,
        } if *known == *path && indexed_path(path) == *path => Some(ranges.clone()),
        Narrowing::All(parts) => parts.iter().find_map(|part| known(part, path)),
        Narrowing::Keys { .. }
        | Narrowing::Everything
        | Narrowing::State(_)
        | Narrowing::After(_)
        | Narrowing::Any(_) => None,
    }
}

enum WalkEnd {
    Enough,
    /// The range is at its end.
    More,
    TooFar,
}

struct Search<'a> {
    view: &'a View,
    query: &'a Query<'a>,
    filter: Filter<'a>,
    best: Best<'a>,
    effort: Effort,
    /// Whether anything was committed after the snapshot before everything was read.
    moved: bool,
}

impl Search<'_> {
    /// Walks the ranges until there are enough matches. False if there are fewer, or if another access
    /// path is faster.
    async fn finds_enough(
        &mut self,
        index: &Index,
        mut ranges: Vec<KeyRange>,
        descending: bool,
    ) -> Result<bool, Failure> {
        if descending {
            ranges.reverse();
        }
        for range in ranges {
            match self.walk(index, range, descending).await? {
                WalkEnd::Enough => return Ok(true),
                WalkEnd::More => {}
                WalkEnd::TooFar => return Ok(false),
            }
        }
        Ok(false)
    }

    async fn walk(
        &mut self,
        index: &Index,
        mut range: KeyRange,
        descending: bool,
    ) -> Result<WalkEnd, Failure> {
        let mut after: Option<Keyed> = None;
        let mut size = (self.query.limit + 1).min(PART);
        // The value at which there were enough: equal ones may come in any order.
        let mut last: Option<Key> = None;
        loop {
            let snapshot = self.view.snapshot();
            let part = snapshot
                .in_order(index.row, &range, after.as_ref(), descending, size)
                .await?;
            let is_newer = |newest: Position| newest.0 > snapshot.sequence().0;
            self.moved |= part.newest.is_none_or(is_newer);
            for (keyed, version) in &part.found {
                if last.as_ref().is_some_and(|last| *last != keyed.key) {
                    return Ok(WalkEnd::Enough);
                }
                self.effort.visited += 1;
                let is_as_it_was = version.position.0 <= snapshot.sequence().0;
                if is_as_it_was && !self.view.own().contains_key(&version.image.id) {
                    self.add(version).await?;
                }
                if last.is_none() && self.best.is_full() {
                    last = Some(keyed.key.clone());
                }
            }
            if !part.goes_on {
                return Ok(if last.is_some() {
                    WalkEnd::Enough
                } else {
                    WalkEnd::More
                });
            }
            if let Some(last) = &last {
                range = KeyRange::only(last);
            }
            if self.effort.visited > VISITED_MAX.max(2 * self.query.limit) {
                return Ok(WalkEnd::TooFar);
            }
            after = part.found.into_iter().next_back().map(|(keyed, _)| keyed);
            size = (2 * size).min(PART);
        }
    }

    /// Adds an entity that matches and has a scalar value at the path. The index also leads to the
    /// elements of a list, but a list has no place among the scalars.
    async fn add(&mut self, version: &Version) -> Result<(), Failure> {
        let candidate = Candidate::Version(version);
        if let Some(facts) = self.filter.admit(&candidate).await? {
            let keys = self.query.order.keys_of(facts);
            if keys.first() == Some(&order::Key::Missing) {
                return Ok(());
            }
            let hit = if self.query.limit <= FEW {
                Hit::of_few(candidate)
            } else {
                Hit::of(candidate)
            };
            self.best.add(keys, hit)?;
        }
        Ok(())
    }

    /// Moves what has changed since the snapshot to its place then, because the index has its
    /// present place. False if that is too much.
    async fn correct(&mut self) -> Result<bool, Failure> {
        let snapshot = self.view.snapshot();
        let moved = snapshot
            .found_as_of(self.query.definitions, &[], MOVED_MAX)
            .await?;
        let Some(moved) = moved else {
            return Ok(false);
        };
        let ids: HashSet<_> = moved.iter().map(|(id, _)| *id).collect();
        self.best.retain(|hit| !ids.contains(&hit.id()));
        let positions = moved
            .iter()
            .filter(|(id, _)| !self.view.own().contains_key(id))
            .map(|(_, position)| *position);
        let positions: Vec<_> = positions.collect();
        let mut ahead = positions.as_slice();
        while !ahead.is_empty() {
            let part = &ahead[..ahead.len().min(PART)];
            let (versions, count) = snapshot.versions(part).await?;
            self.effort.visited += versions.len();
            for version in &versions {
                self.add(version).await?;
            }
            ahead = &ahead[count..];
        }
        Ok(true)
    }

    /// Adds the transaction's own changes.
    async fn add_own(&mut self) -> Result<(), Failure> {
        for version in self.view.own().values().flatten() {
            self.effort.visited += 1;
            self.add(version).await?;
        }
        Ok(())
    }
}
