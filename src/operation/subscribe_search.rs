//! A live search: what satisfies a condition, then what enters, is changed and leaves, in the order
//! of commits (`stream.md` §3).

use std::{collections::VecDeque, sync::Arc};

use futures_util::stream;

use super::{
    Access, Answers, Context, Family, Operation, Output, conditions::compile,
    search_entities::condition, subscribe_changes::from,
};
use crate::condition::Condition;
use crate::entity::Position;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        feed::{self as wire, ChangeEvent, Effect},
        search::Entity,
    },
};
use crate::id::ModelKey;
use crate::search::{self, Live, News, Watched};

pub(super) struct SubscribeSearch {
    model: ModelKey,
    condition: Arc<Condition>,
    documents: bool,
    after: Option<Position>,
}

impl Operation for SubscribeSearch {
    type Payload = wire::SubscribeSearch<'static>;
    type Answer = wire::News;

    const REQUEST: EventType = EventType::EntitySearchSubscribeRequest;
    const RESPONSE: EventType = EventType::EntityChangeEvent;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Live;
    const ACCESS: Access = Access::Read;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: wire::SubscribeSearch<'_> = payload::decode(payload)?;
        Ok(Self {
            model: request.model.into(),
            condition: condition(request.condition.get())?.into(),
            documents: request.include_data == Some(true),
            after: from(request.from_sequence)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        compile(&cx, &self.condition).await?;
        let definitions = cx.definitions(&self.model).await?;
        let watched = Watched {
            tenant: cx.caller().tenant.clone(),
            model: self.model,
            condition: self.condition,
            undeclared: cx.runtime().undeclared(&definitions),
            documents: self.documents,
        };
        let storage = cx.storage();
        let live = tokio::select! {
            biased;
            () = cx.cancel().cancelled() => return Err(Failure::cancelled()),
            live = async {
                match self.after {
                    Some(after) => Live::resume(storage, &definitions, watched, after).await,
                    None => Live::begin(storage, &definitions, watched).await,
                }
            } => live?,
        };
        let start = Watching {
            live,
            ready: VecDeque::new(),
            cx,
        };
        let events = stream::try_unfold(start, |mut watching| async move {
            let event = watching.next().await?;
            Ok(Some((event, watching)))
        });
        Ok(Output::many(events))
    }
}

/// A live search, and its answers that are not sent yet.
struct Watching {
    live: Live,
    ready: VecDeque<wire::News>,
    cx: Context,
}

impl Watching {
    async fn next(&mut self) -> Result<wire::News, Failure> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                return Ok(news);
            }
            let news = tokio::select! {
                biased;
                failure = self.cx.given_up() => return Err(failure),
                news = self.live.next() => news?,
            };
            match news {
                News::Result(images) => self.ready.extend(
                    images
                        .into_iter()
                        .map(|image| wire::News::Entity(Box::new(Entity::new(image, None)))),
                ),
                News::Complete(at) => {
                    let complete = ChangeEvent::complete(at);
                    self.ready.push_back(wire::News::Change(complete));
                }
                News::Effects(effects) => {
                    let event = |(change, caused)| {
                        wire::News::Change(ChangeEvent::new(change, Some(effect(caused))))
                    };
                    self.ready.extend(effects.into_iter().map(event));
                }
            }
        }
    }
}

/// What a change did, as events say it.
const fn effect(effect: search::Effect) -> Effect {
    match effect {
        search::Effect::Entered => Effect::Entered,
        search::Effect::Changed => Effect::Changed,
        search::Effect::Left => Effect::Left,
    }
}
