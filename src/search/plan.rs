//! The access path of a search: an index, states, or all entities (`storage.md` §6).

use crate::condition::Narrowing;
use crate::entity::{Path, Position};
use crate::error::Failure;
use crate::id::EntityId;
use crate::storage::{Definitions, Index, IndexState, Probe, Version};

use super::walk::View;

/// How many ranges one look-up may have.
const PROBES_MAX: usize = 64;

/// How many access paths are counted: with hundreds of conditions, the first ones suffice.
const WAYS_MAX: usize = 16;

/// Up to how many entities an access path is counted before it is chosen.
const COUNTED: i64 = 1_000;

/// How many entities are read at once with their documents.
const FEW: i64 = 32;

/// How many entities an access path may find: beyond, reading all of them in order is cheaper, and
/// takes no memory.
const FOUND_MAX: i64 = 100_000;

/// Where a search reads.
pub(super) enum AccessPath {
    /// All entities of the model, or those that come after one.
    All(Option<EntityId>),
    /// These, ordered by id.
    Few(Vec<Version>),
    At(Vec<(EntityId, Position)>),
}

/// An access path to everything that may match.
struct Way {
    probes: Vec<Probe>,
    /// The indexes it uses, as reported.
    by: Vec<String>,
}

/// Chooses the access path, and reports its indexes.
pub(super) async fn choose(
    view: &View,
    definitions: &Definitions,
    narrowing: &Narrowing,
) -> Result<(AccessPath, Vec<String>), Failure> {
    let everywhere = || Ok((AccessPath::All(narrowing.after()), Vec::new()));
    let snapshot = view.snapshot();
    let Some(mut ways) = ways(narrowing, &snapshot.indexes(definitions)) else {
        return everywhere();
    };
    // Often one value is looked up, and then counting takes longer than reading.
    ways.sort_by_key(Way::breadth);
    if let Some(way) = ways.first().filter(|_| view.is_current())
        && let Some(few) = few(view, definitions, &way.probes).await?
    {
        let way = ways.swap_remove(0);
        snapshot.goes_by(&way.probes);
        return Ok((AccessPath::Few(few), way.by));
    }
    let has_others = ways.len() > 1;
    if has_others {
        let groups: Vec<&[Probe]> = ways.iter().map(|way| way.probes.as_slice()).collect();
        let counts = snapshot.count_found(definitions, &groups, COUNTED).await?;
        // Of equals the first, because authors begin with the most specific conditions.
        let best = (0..ways.len()).min_by_key(|way| counts.get(*way).copied());
        ways.swap(0, best.unwrap_or(0));
    }
    let Way { probes, by } = ways.swap_remove(0);
    let found = if view.is_current() {
        if has_others && let Some(few) = few(view, definitions, &probes).await? {
            snapshot.goes_by(&probes);
            return Ok((AccessPath::Few(few), by));
        }
        snapshot.found(definitions, &probes, FOUND_MAX).await?
    } else {
        snapshot
            .found_as_of(definitions, &probes, FOUND_MAX)
            .await?
    };
    match found {
        Some(found) => {
            snapshot.goes_by(&probes);
            Ok((AccessPath::At(found), by))
        }
        None => everywhere(),
    }
}

/// The entities of some ranges, if they are few.
async fn few(
    view: &View,
    definitions: &Definitions,
    probes: &[Probe],
) -> Result<Option<Vec<Version>>, Failure> {
    let found = view.snapshot().look_up(definitions, probes, FEW).await?;
    Ok(found.map(|mut few| {
        few.sort_unstable_by_key(|version| version.image.id);
        few
    }))
}

/// Whether indexes of other paths find only a few.
pub(super) async fn finds_few(
    view: &View,
    definitions: &Definitions,
    narrowing: &Narrowing,
    other_than: &Path,
) -> Result<bool, Failure> {
    let snapshot = view.snapshot();
    let mut indexes = snapshot.indexes(definitions);
    indexes.retain(|index| index.path != *other_than);
    let Some(ways) = ways(narrowing, &indexes) else {
        return Ok(false);
    };
    let groups: Vec<&[Probe]> = ways.iter().map(|way| way.probes.as_slice()).collect();
    let counts = snapshot.count_found(definitions, &groups, COUNTED).await?;
    Ok(counts.iter().any(|count| *count < COUNTED))
}

impl Way {
    /// The lower, the fewer it is likely to find.
    fn breadth(&self) -> u8 {
        let breadth = |probe: &Probe| match probe {
            Probe::Keys(_, range) if range.is_of_one() => 0,
            Probe::Keys(..) => 1,
            Probe::State(_) => 2,
        };
        self.probes.iter().map(breadth).max().unwrap_or(0)
    }
}

/// The access paths that indexes offer, each of which finds everything; none if there is none.
fn ways(narrowing: &Narrowing, indexes: &[Index]) -> Option<Vec<Way>> {
    let ways = match narrowing {
        Narrowing::Everything | Narrowing::After(_) => return None,
        Narrowing::State(state) => vec![Way {
            probes: vec![Probe::State(state.clone())],
            by: vec!["state".to_owned()],
        }],
        Narrowing::Keys { path, ranges } => {
            let index = indexes
                .iter()
                .find(|index| index.path == *path && index.state == IndexState::Ready)?;
            let probes = ranges
                .iter()
                .map(|range| Probe::Keys(index.row, range.clone()));
            vec![Way {
                probes: probes.collect(),
                by: vec![path.to_string()],
            }]
        }
        Narrowing::All(parts) => {
            let ways = parts.iter().filter_map(|part| ways(part, indexes));
            ways.flatten().collect()
        }
        Narrowing::Any(parts) => {
            let mut all = Way {
                probes: Vec::new(),
                by: Vec::new(),
            };
            for part in parts {
                // Any of its access paths suffices.
                let Way { probes, by } = ways(part, indexes)?.into_iter().next()?;
                all.probes.extend(probes);
                all.by.extend(by);
            }
            all.by.sort_unstable();
            all.by.dedup();
            vec![all]
        }
    };
    let ways: Vec<_> = ways
        .into_iter()
        .filter(|way| way.probes.len() <= PROBES_MAX)
        .take(WAYS_MAX)
        .collect();
    (!ways.is_empty()).then_some(ways)
}
