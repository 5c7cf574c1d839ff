//! A live search: what satisfies a condition, then what enters, is changed and leaves, in the order
//! of commits (`stream.md` §3).

use std::{collections::VecDeque, sync::Arc};

use futures_util::{StreamExt as _, stream};

use super::{
    Access, Answer, Answers, Context, Family, Operation,
    conditions::compile,
    reply::cancelled,
    search_entities::{condition, unknown_paths},
    subscribe_changes::{from, stopping},
};
use crate::condition::Condition;
use crate::entity::Position;
use crate::error::Failure;
use crate::event::{
    Event, EventType,
    payload::{self, feed as told, search},
};
use crate::id::ModelKey;
use crate::search::{Live, News, Turn, Watched};

pub(super) struct SubscribeSearch {
    model: ModelKey,
    condition: Arc<Condition>,
    documents: bool,
    after: Option<Position>,
}

impl Operation for SubscribeSearch {
    type Payload = told::SubscribeSearch<'static>;

    const REQUEST: EventType = EventType::EntitySearchSubscribeRequest;
    const RESPONSE: EventType = EventType::EntityChangeEvent;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Live;
    const ACCESS: Access = Access::Read;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: told::SubscribeSearch<'_> = payload::decode(payload)?;
        Ok(Self {
            model: request.model.into(),
            condition: condition(request.condition.get())?.into(),
            documents: request.include_data == Some(true),
            after: from(request.from_sequence)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        compile(&cx, &self.condition).await?;
        let definitions = cx.definitions(&self.model).await?;
        let watched = Watched {
            tenant: cx.caller().tenant.clone(),
            model: self.model,
            condition: self.condition,
            unknown_paths: unknown_paths(&cx, &definitions),
            documents: self.documents,
        };
        let storage = cx.storage();
        let live = tokio::select! {
            biased;
            () = cx.cancel().cancelled() => return Err(cancelled()),
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
        Ok(Answer::Many(events.boxed()))
    }
}

/// A live search, and what it has told and is not sent yet.
struct Watching {
    live: Live,
    ready: VecDeque<Event>,
    cx: Context,
}

impl Watching {
    async fn next(&mut self) -> Result<Event, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let news = tokio::select! {
                biased;
                () = self.cx.cancel().cancelled() => return Err(cancelled()),
                () = self.cx.stopping().cancelled() => return Err(stopping()),
                news = self.live.next() => news?,
            };
            let request = self.cx.request();
            let changed = |json| Event::ours(EventType::EntityChangeEvent, json);
            match news {
                News::Result(images) => self.ready.extend(images.iter().map(|image| {
                    let json = search::entity(request, image, None);
                    Event::ours(EventType::EntityResponse, json)
                })),
                News::Complete(at) => {
                    self.ready.push_back(changed(told::complete(request, at)));
                }
                News::Turns(turns) => self.ready.extend(
                    turns
                        .iter()
                        .map(|(change, turn)| changed(told::turn(request, change, name(*turn)))),
                ),
            }
        }
    }
}

/// What events call it.
const fn name(turn: Turn) -> &'static str {
    match turn {
        Turn::Entered => "entered",
        Turn::Changed => "changed",
        Turn::Left => "left",
    }
}
