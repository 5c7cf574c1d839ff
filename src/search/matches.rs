//! All matches, however many: for operations on each of them.

use std::{collections::VecDeque, sync::Arc};

use super::{
    View,
    filter::{Candidate, Filter, Looks},
    missed::MissedIndexes,
    plan::choose,
    slice::Slice,
    walk::Walk,
};
use crate::condition::{Condition, Undeclared};
use crate::entity::Position;
use crate::error::Failure;
use crate::storage::{Definitions, Snapshot, Version};

/// A scan over the matches, roughly ordered by id.
pub struct Matches<'a> {
    walk: Walk,
    snapshot: Snapshot,
    filter: Filter<'a>,
    /// Matches of the current part that are still to be read.
    ahead: VecDeque<Position>,
    missed: MissedIndexes<&'a Definitions>,
}

impl<'a> Matches<'a> {
    /// Rejects a condition that is invalid for the model, as a search does.
    pub async fn new(
        view: View,
        definitions: &'a Arc<Definitions>,
        condition: &'a Arc<Condition>,
        undeclared: Undeclared,
    ) -> Result<Self, Failure> {
        let schema = &definitions.model.schema;
        condition.check_against(schema, undeclared)?;
        let narrowing = condition.narrowing(schema);
        let (place, _) = choose(&view, definitions, &narrowing).await?;
        let looks = Looks::of(condition);
        let snapshot = view.snapshot().clone();
        let missed = MissedIndexes::new(snapshot.clone(), &**definitions, narrowing);
        let filter = Filter::new(&view, definitions, condition, &looks);
        Ok(Self {
            walk: if condition.is_everything() {
                Walk::new(view, place, definitions)
            } else {
                Walk::pages(view, place, definitions, looks.lifecycle)
            },
            snapshot,
            filter,
            ahead: VecDeque::new(),
            missed,
        })
    }

    /// Removes the limit on the entities tested against patterns, for work that nobody waits for.
    pub(super) fn without_budget(mut self) -> Self {
        self.filter.forget_budget();
        self
    }

    /// The next matches; none at the end. A part may be empty although more follow.
    pub async fn next(&mut self) -> Result<Option<Vec<Version>>, Failure> {
        if self.ahead.is_empty() {
            let Some(part) = self.walk.next().await? else {
                return Ok(None);
            };
            let mut versions = Vec::new();
            let mut slice = Slice::new();
            for candidate in part.candidates() {
                slice.give_way().await;
                self.missed.visited += 1;
                if self.filter.admit(&candidate).await?.is_none() {
                    continue;
                }
                self.missed.matched += 1;
                match candidate {
                    Candidate::Version(version) => versions.push(version.clone()),
                    Candidate::Row(row) => self.ahead.push_back(row.position),
                }
            }
            return Ok(Some(versions));
        }
        let (versions, count) = self.snapshot.versions(self.ahead.make_contiguous()).await?;
        self.ahead.drain(..count);
        Ok(Some(versions))
    }
}
