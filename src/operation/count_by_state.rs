//! Counts the entities of models by state (`search.md` §9).

use std::sync::Arc;

use futures_util::stream;

use super::{Access, Answers, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, search},
};
use crate::id::ModelKey;

/// How many states may be named.
const STATES_MAX: usize = 1_000;

pub(super) struct CountByState {
    model: Option<ModelKey>,
    /// Which states; all, if empty.
    states: Vec<String>,
}

impl Operation for CountByState {
    type Payload = search::Stats;
    type Answer = search::CountInState;

    const REQUEST: EventType = EventType::EntityStatsByStateGetRequest;
    const RESPONSE: EventType = EventType::EntityStatsByStateResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Stats = payload::decode(payload)?;
        let states = request.states.unwrap_or_default();
        if states.len() > STATES_MAX {
            return Err(Failure::bad_parameter(
                "states",
                format!(
                    "{} states are named; {STATES_MAX} are allowed",
                    states.len()
                ),
            ));
        }
        Ok(Self {
            model: request.model.map(Into::into),
            states,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let storage = cx.storage();
        let models = match self.model {
            Some(model) => {
                let definitions = cx.definitions(&model).await?;
                vec![(model, storage.counts_by_state(&definitions).await?)]
            }
            None => storage.all_counts_by_state(&cx.caller().tenant).await?,
        };
        let mut counts = Vec::new();
        for (model, by_state) in models {
            for (state, count) in by_state {
                if self.states.is_empty() || self.states.iter().any(|asked| asked == state.as_str())
                {
                    counts.push(Ok(search::CountInState {
                        model_name: Arc::clone(&model.name),
                        model_version: model.version,
                        state: AsText(state),
                        count,
                    }));
                }
            }
        }
        Ok(Output::many(stream::iter(counts)))
    }
}
