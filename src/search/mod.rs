//! Finding entities: exact, in the snapshot or the transaction that asks, bounded in memory.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`], [`crate::model`],
//! [`crate::condition`], [`crate::storage`].
//! Every entity is judged by the evaluator (DESIGN decision 6); what is found is remembered by
//! position, and read again when it is sent, so a search holds a few bytes for each hit.

mod group;
mod hits;
mod jobs;
mod live;
mod matches;
mod order;
mod page;
mod plan;
mod slice;
mod toll;
mod walk;

use crate::condition::{Condition, Facts, Lifecycle, UnknownPaths};
use crate::entity::Document;
use crate::error::{Code, Coded, Failure};
use crate::storage::{Definitions, Version};

pub use group::{Aggregate, Aggregation, Group, GroupBy, GroupError, Grouping, group};
pub use hits::{Hits, Outgoing};
pub use jobs::{Asked, JobError, JobPage, JobRunner, JobSettings, Jobs, expires};
pub use live::{Live, News, Turn, Watched};
pub use matches::Matches;
pub use order::{Order, OrderError, SORT_KEYS_MAX, SortKey, SortSubject};
pub use page::page;
pub use walk::View;

use hits::Hit;
use order::Ranked;
use plan::Source;
use slice::Slice;
use toll::Toll;
use walk::Walk;

/// What is looked for.
#[derive(Debug)]
pub struct Query<'a> {
    pub definitions: &'a Definitions,
    pub condition: &'a Condition,
    pub unknown_paths: UnknownPaths,
    pub order: &'a Order,
    pub limit: usize,
    pub excess: Excess,
}

/// What more matches than the limit mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The search fails (`search.md` §5).
    Refused,
    /// The rest is left out.
    CutOff,
}

/// Why a search is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("more than {limit} entities match; narrow the condition or raise the limit")]
    TooMany { limit: usize },
    #[error("the sort keys of the matches take more than 64 MiB; narrow the condition")]
    KeysTooLarge,
}

impl Coded for Error {
    fn code(&self) -> Code {
        Code::SearchResultLimit
    }
}

/// The most memory that sort keys may take, in bytes.
const KEY_BYTES_MAX: usize = 64 << 20;

/// What was found, and what it took.
#[derive(Debug)]
pub struct Found {
    pub hits: Hits,
    pub effort: Effort,
}

/// What a search took.
#[derive(Debug, Default)]
pub struct Effort {
    /// What the entities that were looked at were found by: paths of indexes, or `state`. Empty
    /// where every entity of the model was looked at.
    pub by: Vec<String>,
    /// How many entities were looked at.
    pub visited: usize,
}

/// Finds what matches.
pub async fn find(view: View, query: &Query<'_>) -> Result<Found, Failure> {
    let schema = &query.definitions.model.schema;
    query.condition.check_against(schema, query.unknown_paths)?;
    query.order.check_against(schema)?;
    let snapshot = view.snapshot().clone();
    let narrowing = query.condition.narrowing(schema);
    let (source, by) = plan::choose(&view, query.definitions, &narrowing).await?;
    let keep = if matches!(source, Source::Few(_)) {
        Hit::of_few
    } else {
        Hit::of
    };
    let mut effort = Effort { by, visited: 0 };
    let mut toll = Toll::new(snapshot.clone(), query.definitions, narrowing);
    let mut walk = Walk::new(view, source, query.definitions);
    let mut ranked: Vec<Ranked<Hit>> = Vec::new();
    let mut key_bytes = 0;
    'walk: while let Some(part) = walk.next().await? {
        let mut slice = Slice::new();
        for version in part {
            slice.give_way().await;
            effort.visited += 1;
            toll.visited += 1;
            let document = document(&version)?;
            let facts = facts(&version, &document, query.definitions);
            if !query.condition.holds(facts, None) {
                continue;
            }
            toll.matched += 1;
            let keys = query.order.keys_of(facts);
            let hit = Ranked::new(keys, keep(version));
            key_bytes += hit.key_bytes();
            ranked.push(hit);
            match query.excess {
                Excess::Refused if ranked.len() > query.limit => {
                    return Err(Error::TooMany { limit: query.limit }.into());
                }
                Excess::CutOff if query.order.is_empty() && ranked.len() == query.limit => {
                    break 'walk;
                }
                Excess::CutOff if ranked.len() > 2 * query.limit => {
                    key_bytes = keep_best(&mut ranked, query);
                }
                Excess::Refused | Excess::CutOff => {}
            }
            if key_bytes > KEY_BYTES_MAX {
                return Err(Error::KeysTooLarge.into());
            }
        }
    }
    keep_best(&mut ranked, query);
    let hits = Hits::new(snapshot, ranked);
    Ok(Found { hits, effort })
}

/// Sorts, and lets go of what is beyond the limit; how many bytes the keys of the rest take.
fn keep_best(ranked: &mut Vec<Ranked<Hit>>, query: &Query<'_>) -> usize {
    // Found in the order of ids, so equal keys stay in it.
    ranked.sort_by(|one, other| query.order.compare(one, other));
    ranked.truncate(query.limit);
    ranked.iter().map(Ranked::key_bytes).sum()
}

fn document(version: &Version) -> Result<Document, Failure> {
    Document::from_json(&version.image.document)
        .map_err(|error| Failure::internal(format!("a stored document is not readable: {error}")))
}

fn facts<'a>(
    version: &'a Version,
    document: &'a Document,
    definitions: &'a Definitions,
) -> Facts<'a> {
    let image = &version.image;
    Facts {
        before: None,
        document,
        schema: &definitions.model.schema,
        lifecycle: Lifecycle {
            id: image.id,
            state: image.state.as_str(),
            created: image.created,
            updated: image.updated,
            previous_transition: image.transition_for_latest_save(),
            transaction: image.transaction,
        },
    }
}
