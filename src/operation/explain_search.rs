//! Explains how a search is served: it is run, and reports its cost instead of its result
//! (`stream.md` §3).

use std::time::Instant;

use super::{
    Access, Context, Family, Operation, Output, search_entities::SearchEntities, set_indexes::items,
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::search::{self, Explanation},
};
use crate::search::Found;

pub(super) struct ExplainSearch(SearchEntities);

impl Operation for ExplainSearch {
    type Payload = search::Search<'static>;
    type Answer = Explanation;

    const REQUEST: EventType = EventType::EntitySearchExplainRequest;
    const RESPONSE: EventType = EventType::EntitySearchExplainResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        SearchEntities::parse(payload).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Self(asked) = self;
        let began = Instant::now();
        let Found { hits, effort } = asked.find(&cx).await?;
        let returned = hits.len();
        // Read as they are when they are sent, which is part of what a search takes.
        let mut outgoing = hits.into_outgoing();
        while outgoing.next().await?.is_some() {
            if cx.cancel().is_cancelled() {
                return Err(Failure::cancelled());
            }
        }
        let took = began.elapsed();
        let definitions = cx.definitions(asked.model()).await?;
        let schema = &definitions.model.schema;
        let indexable = asked.condition().indexable_paths(schema);
        let explanation = Explanation::new(effort.by, effort.visited, returned, took);
        Ok(Output::one(explanation.with_indexes(
            items(&cx.storage().indexes(&definitions)),
            indexable.iter().map(ToString::to_string).collect(),
        )))
    }
}
