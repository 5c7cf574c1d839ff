//! Counts the entities of models (`search.md` §9).

use futures_util::{StreamExt as _, stream};

use super::{Access, Answer, Answers, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    Event, EventType,
    payload::{self, search},
};
use crate::id::ModelKey;
use crate::storage::ModelCount;

pub(super) struct CountEntities(Option<ModelKey>);

impl Operation for CountEntities {
    type Payload = search::Stats;

    const REQUEST: EventType = EventType::EntityStatsGetRequest;
    const RESPONSE: EventType = EventType::EntityStatsResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Stats = payload::decode(payload)?;
        Ok(Self(request.model.map(Into::into)))
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let counts = match self.0 {
            Some(model) => {
                let definitions = cx.definitions(&model).await?;
                let count = cx.storage().count(&definitions).await?;
                vec![ModelCount { model, count }]
            }
            None => cx.storage().counts(&cx.caller().tenant).await?,
        };
        let events = counts.into_iter().map(move |counted| {
            Ok(Event::ours(
                Self::RESPONSE,
                search::count(cx.request(), &counted.model, counted.count),
            ))
        });
        Ok(Answer::Many(stream::iter(events).boxed()))
    }
}
