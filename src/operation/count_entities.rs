//! Counts the entities of models (`search.md` §9).

use futures_util::stream;

use super::{Access, Answers, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, search},
};
use crate::id::ModelKey;
use crate::storage::ModelCount;

pub(super) struct CountEntities(Option<ModelKey>);

impl Operation for CountEntities {
    type Payload = search::Stats;
    type Answer = search::Count;

    const REQUEST: EventType = EventType::EntityStatsGetRequest;
    const RESPONSE: EventType = EventType::EntityStatsResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Stats = payload::decode(payload)?;
        Ok(Self(request.model.map(Into::into)))
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let counts = match self.0 {
            Some(model) => {
                let definitions = cx.definitions(&model).await?;
                let count = cx.storage().count(&definitions).await?;
                vec![ModelCount { model, count }]
            }
            None => cx.storage().counts(&cx.caller().tenant).await?,
        };
        let counts = counts.into_iter().map(|counted| {
            Ok(search::Count {
                model_name: counted.model.name,
                model_version: counted.model.version,
                count: counted.count,
            })
        });
        Ok(Output::many(stream::iter(counts)))
    }
}
