//! Everything that matches, however much it is: for those who do something with each.

use super::{View, document, facts, plan::choose, slice::Slice, toll::Toll, walk::Walk};
use crate::condition::{Condition, UnknownPaths};
use crate::error::Failure;
use crate::storage::{Definitions, Version};

/// A walk over what matches, in the order of ids.
pub struct Matches<'a> {
    walk: Walk,
    definitions: &'a Definitions,
    condition: &'a Condition,
    toll: Toll<&'a Definitions>,
}

impl<'a> Matches<'a> {
    /// Refuses a condition that makes no sense for the model, as a search does.
    pub async fn new(
        view: View,
        definitions: &'a Definitions,
        condition: &'a Condition,
    ) -> Result<Self, Failure> {
        Self::with(view, definitions, condition, UnknownPaths::Refused).await
    }

    /// The same, where fields that the model does not know may mean something.
    pub(super) async fn with(
        view: View,
        definitions: &'a Definitions,
        condition: &'a Condition,
        unknown_paths: UnknownPaths,
    ) -> Result<Self, Failure> {
        let schema = &definitions.model.schema;
        condition.check_against(schema, unknown_paths)?;
        let narrowing = condition.narrowing(schema);
        let (source, _) = choose(&view, definitions, &narrowing).await?;
        Ok(Self {
            toll: Toll::new(view.snapshot().clone(), definitions, narrowing),
            walk: Walk::new(view, source, definitions),
            definitions,
            condition,
        })
    }

    /// The next that match; none at the end. A part may be empty although more follow.
    pub async fn next(&mut self) -> Result<Option<Vec<Version>>, Failure> {
        let Some(mut part) = self.walk.next().await? else {
            return Ok(None);
        };
        if self.condition.is_everything() {
            return Ok(Some(part));
        }
        self.toll.visited += part.len();
        let mut matching = Vec::with_capacity(part.len());
        let mut slice = Slice::new();
        for version in part.drain(..) {
            slice.give_way().await;
            let document = document(&version)?;
            if self
                .condition
                .holds(facts(&version, &document, self.definitions), None)
            {
                matching.push(version);
            }
        }
        self.toll.matched += matching.len();
        Ok(Some(matching))
    }
}
