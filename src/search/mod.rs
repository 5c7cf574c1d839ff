//! Searches: exact, in a snapshot or an open transaction, with bounded memory.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`], [`crate::model`],
//! [`crate::condition`], [`crate::storage`], [`crate::pool`].
//! Every entity is evaluated (`architecture.md` §6). Matches are remembered by position and read
//! again when they are sent, so a search needs a few bytes for each.

mod filter;
mod group;
mod hits;
mod job_runner;
mod jobs;
mod live;
mod matches;
mod missed;
mod order;
mod page;
mod plan;
mod rank;
mod slice;
mod sorted;
mod walk;

use std::sync::Arc;

use crate::condition::{Condition, Facts, Undeclared};
use crate::entity::Document;
use crate::error::{Code, Coded, Failure};
use crate::storage::{Definitions, Version};

pub use group::{Aggregate, Aggregation, Group, GroupBy, GroupError, Grouping, group};
pub use hits::{Hits, Outgoing};
pub use job_runner::JobRunner;
pub use jobs::{Asked, JobError, JobPage, JobSettings, Jobs, expires};
pub use live::{Effect, Live, News, Watched};
pub use matches::Matches;
pub use order::{Order, OrderError, SORT_KEYS_MAX, SortKey, SortSubject};
pub use page::page;
pub use walk::View;

use filter::{Filter, Looks};
use hits::Hit;
use missed::MissedIndexes;
use plan::AccessPath;
use rank::Best;
use slice::Slice;
use walk::Walk;

/// A search.
#[derive(Debug)]
pub struct Query<'a> {
    pub definitions: &'a Arc<Definitions>,
    pub condition: &'a Arc<Condition>,
    pub undeclared: Undeclared,
    pub order: &'a Order,
    pub limit: usize,
    pub excess: Excess,
}

/// What happens if more match than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The search fails (`search.md` §5).
    Refused,
    /// The rest is omitted.
    CutOff,
}

/// Why a search is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "more than {limit} entities match; narrow the condition, raise the limit, or search in the background"
    )]
    TooMany { limit: usize },
    #[error("the sort keys of the matches take more than 64 MiB; narrow the condition")]
    KeysTooLarge,
    #[error(
        "more than {max} entities would be tested against a pattern; add a condition that narrows the search"
    )]
    ScanBudget { max: usize },
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::TooMany { .. } | Self::KeysTooLarge => Code::SearchResultLimit,
            Self::ScanBudget { .. } => Code::ScanBudgetExhausted,
        }
    }
}

/// The most memory that sort keys may take, in bytes.
const KEY_BYTES_MAX: usize = 64 << 20;

/// The matches, and the cost of finding them.
#[derive(Debug)]
pub struct Found {
    pub hits: Hits,
    pub effort: Effort,
}

/// The cost of a search.
#[derive(Debug, Default)]
pub struct Effort {
    /// How the entities that were read were found: paths of indexes, or `state`. Empty if every
    /// entity of the model was read.
    pub by: Vec<String>,
    /// How many entities were read.
    pub visited: usize,
}

/// Finds the matches.
pub async fn find(view: View, query: &Query<'_>) -> Result<Found, Failure> {
    let schema = &query.definitions.model.schema;
    query.condition.check_against(schema, query.undeclared)?;
    query.order.check_against(schema, query.undeclared)?;
    let snapshot = view.snapshot().clone();
    let narrowing = query.condition.narrowing(schema);
    if let Some((hits, effort)) = sorted::find(&view, query, &narrowing).await? {
        let hits = Hits::of(snapshot, hits);
        return Ok(Found { hits, effort });
    }
    let (place, by) = plan::choose(&view, query.definitions, &narrowing).await?;
    let keep = if matches!(place, AccessPath::Few(_)) {
        Hit::of_few
    } else {
        Hit::of
    };
    let mut effort = Effort { by, visited: 0 };
    let mut missed = MissedIndexes::new(snapshot.clone(), &**query.definitions, narrowing);
    let looks = Looks::of(query.condition).and_order(query.order);
    let mut filter = Filter::new(&view, query.definitions, query.condition, &looks);
    let mut walk = Walk::pages(view, place, query.definitions, looks.lifecycle);
    let mut best = Best::new(query);
    'walk: while let Some(part) = walk.next().await? {
        let mut slice = Slice::new();
        for candidate in part.candidates() {
            slice.give_way().await;
            effort.visited += 1;
            missed.visited += 1;
            let Some(facts) = filter.admit(&candidate).await? else {
                continue;
            };
            missed.matched += 1;
            best.add(query.order.keys_of(facts), keep(candidate))?;
            // Without sort keys, the first matches are the result.
            let enough = query.order.is_empty() && best.is_full();
            if enough && query.excess == Excess::CutOff {
                break 'walk;
            }
        }
    }
    let hits = Hits::of(snapshot, best.into_items());
    Ok(Found { hits, effort })
}

fn document(version: &Version) -> Result<Document, Failure> {
    Document::from_json(&version.image.document)
        .map_err(|error| Failure::internal(format!("a stored document is not readable: {error}")))
}

fn facts<'a>(
    version: &'a Version,
    document: &'a Document,
    definitions: &'a Definitions,
    absent_lists_are_null: bool,
) -> Facts<'a> {
    Facts {
        before: None,
        document: document.root(),
        schema: &definitions.model.schema,
        lifecycle: filter::lifecycle(version),
        absent_lists_are_null,
    }
}
