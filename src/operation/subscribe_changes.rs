//! The change feed: every committed change of the tenant, in the order of commits (`stream.md` §3).

use std::vec;

use futures_util::{StreamExt as _, stream};

use super::{Access, Answer, Answers, Context, Family, Operation, reply::cancelled};
use crate::entity::{Changed, Position};
use crate::error::{Code, Failure};
use crate::event::{
    Event, EventType,
    payload::{self, feed as told},
};
use crate::storage::{Feed, Wanted};

pub(super) struct SubscribeChanges {
    wanted: Wanted,
    after: Option<Position>,
}

impl Operation for SubscribeChanges {
    type Payload = told::Subscribe;

    const REQUEST: EventType = EventType::EntityChangesSubscribeRequest;
    const RESPONSE: EventType = EventType::EntityChangeEvent;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Live;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: told::Subscribe = payload::decode(payload)?;
        let after = match request.from_sequence {
            Some(sequence) if sequence < 0 => {
                return Err(Failure::new(
                    Code::BadRequest,
                    format!("fromSequence is {sequence}; 0 is before the first change"),
                ));
            }
            sequence => sequence.map(Position),
        };
        // No states are all of them, as where entities are counted.
        let states = request.states.filter(|states| !states.is_empty());
        Ok(Self {
            wanted: Wanted {
                model: request.model.map(Into::into),
                states: states.map(|states| states.into_iter().map(Into::into).collect()),
                documents: request.include_data == Some(true),
            },
            after,
        })
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let tenant = &cx.caller().tenant;
        let feed = cx.storage().follow(tenant, self.wanted, self.after).await?;
        let start = Following {
            feed,
            ready: Vec::new().into_iter(),
            cx,
        };
        let events = stream::try_unfold(start, |mut following| async move {
            let change = following.next().await?;
            let json = told::change(following.cx.request(), &change);
            Ok(Some((Event::ours(Self::RESPONSE, json), following)))
        });
        Ok(Answer::Many(events.boxed()))
    }
}

/// A reader of the feed, and what it was given and has not sent yet.
struct Following {
    feed: Feed,
    ready: vec::IntoIter<Changed>,
    cx: Context,
}

impl Following {
    async fn next(&mut self) -> Result<Changed, Failure> {
        loop {
            if let Some(change) = self.ready.next() {
                return Ok(change);
            }
            let changes = tokio::select! {
                biased;
                () = self.cx.cancel().cancelled() => return Err(cancelled()),
                () = self.cx.stopping().cancelled() => return Err(Failure::new(
                    Code::StorageUnavailable,
                    "the server is stopping; go on after the last sequence that came",
                )),
                changes = self.feed.next() => changes?,
            };
            self.ready = changes.into_iter();
        }
    }
}
