//! The change feed: every committed change of the tenant, in the order of commits (`stream.md` §3).

use futures_util::stream;

use super::{
    Access, Answers, Context, Family, Operation, Output,
    ahead::{Ahead, Parts},
    context::stopping,
};
use crate::entity::{Changed, Position};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, feed as wire},
};
use crate::storage::{Feed, Wanted};

pub(super) struct SubscribeChanges {
    wanted: Wanted,
    after: Option<Position>,
}

impl Operation for SubscribeChanges {
    type Payload = wire::Subscribe;
    type Answer = wire::ChangeEvent;

    const REQUEST: EventType = EventType::EntityChangesSubscribeRequest;
    const RESPONSE: EventType = EventType::EntityChangeEvent;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Live;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: wire::Subscribe = payload::decode(payload)?;
        let after = from(request.from_sequence)?;
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

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let feed = cx.storage().follow(tenant, self.wanted, self.after).await?;
        let start = Following {
            changes: Ahead::of(feed),
            cx,
        };
        let events = stream::try_unfold(start, |mut following| async move {
            let change = following.next().await?;
            Ok(Some((wire::ChangeEvent::new(change, None), following)))
        });
        Ok(Output::many(events))
    }
}

/// The position that a caller has seen last.
pub(super) fn from(sequence: Option<i64>) -> Result<Option<Position>, Failure> {
    match sequence {
        Some(sequence) if sequence < 0 => Err(Failure::new(
            Code::BadRequest,
            format!("fromSequence is {sequence}; 0 is before the first change"),
        )),
        sequence => Ok(sequence.map(Position)),
    }
}

/// A reader of the feed, and for whom.
struct Following {
    changes: Ahead<Feed>,
    cx: Context,
}

impl Following {
    async fn next(&mut self) -> Result<Changed, Failure> {
        let next = self.changes.next(self.cx.given_up()).await?;
        next.ok_or_else(stopping)
    }
}

impl Parts for Feed {
    type Item = Changed;

    async fn next(&mut self) -> Result<Option<Vec<Changed>>, Failure> {
        Ok(Some(Self::next(self).await?))
    }

    fn is_over(&self) -> bool {
        false
    }
}
