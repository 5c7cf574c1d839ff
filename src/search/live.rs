//! Live searches: the result as of one sequence, then how every later change affects it, in commit
//! order (`stream.md` §3).
//!
//! Nothing of the result is kept. Whether an entity was in it before a change is decided by
//! evaluating the version that the change replaced, which still exists; both versions are evaluated
//! with the present model. So the cost of a subscriber does not depend on the number of matches,
//! and a client resumes after any sequence.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use super::{
    View,
    filter::{Candidate, Filter, Looks},
    missed::MissedIndexes,
    plan::choose,
    slice::Slice,
    walk::Walk,
};
use crate::condition::{Condition, Undeclared};
use crate::entity::{ChangeKind, Changed, Image, Json, Position, Sequence};
use crate::error::Failure;
use crate::id::{ModelKey, Tenant};
use crate::storage::{Definitions, Error, Feed, Storage, Version, Wanted};

/// How many bytes of documents are taken from memory at once.
const KNOWN_BYTES: usize = 2 << 20;

/// The subject of a live search.
#[derive(Debug)]
pub struct Watched {
    pub tenant: Tenant,
    pub model: ModelKey,
    pub condition: Arc<Condition>,
    pub undeclared: Undeclared,
    /// Include the documents of entities that enter or change.
    pub documents: bool,
}

/// How a change affected a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Entered,
    Changed,
    Left,
}

impl Effect {
    /// The effect on an entity that matched, or not, before and after a change.
    const fn of(before: bool, after: bool) -> Option<Self> {
        match (before, after) {
            (false, false) => None,
            (false, true) => Some(Self::Entered),
            (true, true) => Some(Self::Changed),
            (true, false) => Some(Self::Left),
        }
    }
}

/// The next part of a live search.
#[derive(Debug)]
pub enum News {
    /// Entities of the result, ordered by id.
    Result(Vec<Image>),
    /// The result is complete, as of a sequence.
    Complete(Sequence),
    /// The effects of later changes. The document of a change is included if requested.
    Effects(Vec<(Changed, Effect)>),
}

/// A live search.
pub struct Live {
    storage: Storage,
    watched: Watched,
    /// The part of the result that has not been sent.
    result: Option<Unfinished>,
    feed: Feed,
    /// Changes that have not been evaluated.
    ahead: VecDeque<Ahead>,
}

/// A result that is being sent.
struct Unfinished {
    walk: Walk,
    missed: MissedIndexes<Arc<Definitions>>,
    at: Sequence,
}

/// A change, and the version it replaced.
struct Ahead {
    change: Changed,
    replaced: Option<Position>,
}

impl Live {
    /// Begins with the present result. Rejects what a search rejects, in the same order.
    pub async fn begin(
        storage: &Storage,
        definitions: &Arc<Definitions>,
        watched: Watched,
    ) -> Result<Self, Failure> {
        let schema = &definitions.model.schema;
        watched
            .condition
            .check_against(schema, watched.undeclared)?;
        let at = storage.latest();
        // The feed continues exactly where the result ends.
        let feed = follow(storage, &watched, Position(at.0)).await?;
        let view = View::as_of(storage.snapshot(&watched.tenant, at).await?);
        let narrowing = watched.condition.narrowing(schema);
        let (source, _) = choose(&view, definitions, &narrowing).await?;
        let missed =
            MissedIndexes::new(view.snapshot().clone(), Arc::clone(definitions), narrowing);
        Ok(Self {
            storage: storage.clone(),
            result: Some(Unfinished {
                walk: Walk::new(view, source, definitions),
                missed,
                at,
            }),
            watched,
            feed,
            ahead: VecDeque::new(),
        })
    }

    /// Resumes after a sequence that the caller has seen.
    pub async fn resume(
        storage: &Storage,
        definitions: &Definitions,
        watched: Watched,
        after: Position,
    ) -> Result<Self, Failure> {
        let schema = &definitions.model.schema;
        watched
            .condition
            .check_against(schema, watched.undeclared)?;
        Ok(Self {
            storage: storage.clone(),
            result: None,
            feed: follow(storage, &watched, after).await?,
            watched,
            ahead: VecDeque::new(),
        })
    }

    /// The next part; waits until there is one.
    pub async fn next(&mut self) -> Result<News, Failure> {
        let nulls = self.storage.absent_lists_are_null();
        if let Some(result) = &mut self.result {
            if let Some(part) = result.walk.next().await? {
                let definitions = definitions(&self.storage, &self.watched).await?;
                let part = part.into_versions();
                result.missed.visited += part.len();
                let mut images = Vec::new();
                let mut slice = Slice::new();
                for version in part {
                    slice.give_way().await;
                    if matches(&self.watched.condition, &version, &definitions, nulls).await? {
                        images.push(version.image);
                    }
                }
                result.missed.matched += images.len();
                return Ok(News::Result(images));
            }
            let at = result.at;
            self.result = None;
            return Ok(News::Complete(at));
        }
        loop {
            if self.ahead.is_empty() {
                self.read_on().await?;
            }
            let effects = self.evaluate().await?;
            if !effects.is_empty() {
                return Ok(News::Effects(effects));
            }
        }
    }

    /// Reads the next changes from the feed.
    async fn read_on(&mut self) -> Result<(), Failure> {
        let changes = self.feed.next().await?;
        let replacing = changes
            .iter()
            .filter(|change| change.kind != ChangeKind::Create);
        let positions: Vec<_> = replacing.map(|change| change.position).collect();
        let replaced = if positions.is_empty() {
            HashMap::new()
        } else {
            let snapshot = self
                .storage
                .snapshot(&self.watched.tenant, self.storage.latest())
                .await?;
            let _reading = self.storage.reading_behind().await;
            snapshot.replaced(&positions).await?
        };
        self.ahead = changes
            .into_iter()
            .map(|change| Ahead {
                replaced: replaced.get(&change.position).copied(),
                change,
            })
            .collect();
        Ok(())
    }

    /// Evaluates the next changes: as many as fit into one part.
    async fn evaluate(&mut self) -> Result<Vec<(Changed, Effect)>, Failure> {
        let definitions = definitions(&self.storage, &self.watched).await?;
        let nulls = self.storage.absent_lists_are_null();
        let evaluate = async |version: Version| -> Result<Evaluated, Failure> {
            let holds = matches(&self.watched.condition, &version, &definitions, nulls).await?;
            let document = (self.watched.documents && holds).then_some(version.image.document);
            Ok(Evaluated { holds, document })
        };
        let mut slice = Slice::new();
        let mut evaluated: HashMap<Position, Evaluated> = HashMap::new();
        // A reader that is up to date finds the newest changes in memory.
        let mut bytes = 0;
        for Ahead { change, .. } in &self.ahead {
            if bytes < KNOWN_BYTES
                && let Some(version) = self.storage.known(change)
            {
                slice.give_way().await;
                bytes += version.image.document.as_str().len();
                evaluated.insert(change.position, evaluate(version).await?);
            }
        }
        // A version made by one change may already be replaced by another.
        let mut known: HashSet<_> = evaluated.keys().copied().collect();
        let needed = self.ahead.iter().flat_map(Ahead::needed);
        let needed: Vec<_> = needed.filter(|position| known.insert(*position)).collect();
        let mut rest = needed.as_slice();
        let mut effects = Vec::new();
        while effects.is_empty() && !self.ahead.is_empty() {
            if !rest.is_empty() {
                let reading = self.storage.reading_behind().await;
                let now = self.storage.latest();
                let snapshot = self.storage.snapshot(&self.watched.tenant, now).await?;
                let (versions, count) = snapshot.versions(rest).await?;
                drop(reading);
                for version in versions {
                    slice.give_way().await;
                    evaluated.insert(version.position, evaluate(version).await?);
                }
                let (reached, further) = rest.split_at(count);
                // Entities that were not found belong to another tenant.
                for position in reached {
                    evaluated.entry(*position).or_default();
                }
                rest = further;
            }
            while let Some(first) = self.ahead.front()
                && first
                    .needed()
                    .all(|position| evaluated.contains_key(&position))
                && let Some(Ahead { change, replaced }) = self.ahead.pop_front()
            {
                let of = |position| evaluated.get(&position);
                let before = replaced.and_then(of).is_some_and(|before| before.holds);
                let after = of(change.position);
                if let Some(effect) = Effect::of(before, after.is_some_and(|after| after.holds)) {
                    let document = after.and_then(|after| after.document.clone());
                    effects.push((Changed { document, ..change }, effect));
                }
            }
        }
        Ok(effects)
    }
}

impl Ahead {
    /// The versions to evaluate.
    fn needed(&self) -> impl Iterator<Item = Position> + use<> {
        // A deletion leaves no version.
        let is_there = self.change.kind != ChangeKind::Delete;
        let change = is_there.then_some(self.change.position);
        [self.replaced, change].into_iter().flatten()
    }
}

/// What is known of a version.
#[derive(Debug, Default)]
struct Evaluated {
    holds: bool,
    document: Option<Json>,
}

async fn follow(storage: &Storage, watched: &Watched, after: Position) -> Result<Feed, Error> {
    let wanted = Wanted {
        model: Some(watched.model.clone()),
        states: None,
        documents: false,
    };
    storage.follow(&watched.tenant, wanted, Some(after)).await
}

/// The present model, which may have grown since the search began.
async fn definitions(storage: &Storage, watched: &Watched) -> Result<Arc<Definitions>, Error> {
    let found = storage.definitions(&watched.tenant, &watched.model).await?;
    found.ok_or_else(|| Error::ModelNotFound(watched.model.clone()))
}

async fn matches(
    condition: &Arc<Condition>,
    version: &Version,
    definitions: &Arc<Definitions>,
    absent_lists_are_null: bool,
) -> Result<bool, Failure> {
    if !version.live {
        return Ok(false);
    }
    let looks = Looks::of(condition);
    let mut evaluate =
        Filter::without_budget(definitions, condition, &looks, absent_lists_are_null);
    let candidate = Candidate::Version(version);
    let found = evaluate.admit(&candidate).await?;
    Ok(found.is_some())
}
