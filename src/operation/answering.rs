//! Limits the bytes of answers that clients have not read yet.
//!
//! An answer is in memory until its client has read it. Those from 64 KiB on count until then, in a
//! budget of which one tenant has half. An answer that finds no room waits for others to be read;
//! those that wait have a budget of the same size, and what finds no room there is dropped at once.

use std::{sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt as _, stream};

use super::{
    Access,
    receiving::{Hold, Receiving},
};
use crate::error::Failure;
use crate::id::Tenant;
use crate::shares::SMALL_BYTES;

/// How long an answer waits for room, and how long an item of one that has begun: longer than an
/// answer that is not read at all is kept by default.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_BEGUN: Duration = Duration::from_mins(1);

/// The budget of all answers; cheap to clone.
#[derive(Debug, Clone)]
pub struct Answering {
    given: Receiving,
    waiting: Receiving,
}

/// The budget of all answers, for those to one request.
#[derive(Debug, Clone)]
pub struct AnswersTo {
    answering: Answering,
    tenant: Tenant,
    access: Access,
}

/// What an answer counts, until this is dropped; nothing where it is small.
pub type Unread = Option<Arc<Hold>>;

impl Answering {
    /// A budget of so many bytes.
    pub fn new(most: usize) -> Self {
        Self {
            given: Receiving::of_answers(most),
            waiting: Receiving::of_answers(most),
        }
    }

    /// Those to a request of a tenant. The answer to a request that changes something is sent
    /// whether there is room or not.
    pub fn to(&self, tenant: &Tenant, access: Access) -> AnswersTo {
        AnswersTo {
            answering: self.clone(),
            tenant: tenant.clone(),
            access,
        }
    }
}

impl AnswersTo {
    /// Counts an answer, and waits a little for room.
    pub async fn hold(&self, bytes: usize) -> Result<Unread, Failure> {
        self.hold_within(PATIENCE, bytes).await
    }

    async fn hold_within(&self, patience: Duration, bytes: usize) -> Result<Unread, Failure> {
        if bytes < SMALL_BYTES {
            return Ok(None);
        }
        let hold = self.answering.given.hold(&self.tenant);
        match self.access {
            Access::Write => hold.hold_anyway(bytes),
            Access::Read if hold.holds_now(bytes) => {}
            Access::Read => {
                let waiting = self.answering.waiting.hold(&self.tenant);
                waiting.try_hold(bytes)?;
                hold.hold_within(patience, bytes).await?;
            }
        }
        Ok(Some(Arc::new(hold)))
    }

    /// Counts each item of an answer until the next is asked for. One that finds no room ends the
    /// answer with what `no_room` makes of the reason.
    pub fn counting<T: Send + 'static>(
        self,
        items: impl Stream<Item = T> + Send + 'static,
        size: impl Fn(&T) -> usize + Send + Sync + 'static,
        no_room: impl Fn(&Failure) -> T + Send + Sync + 'static,
    ) -> impl Stream<Item = T> + Send + 'static {
        let begun = (items.boxed(), (self, size, no_room), Unread::None);
        stream::unfold(begun, |(mut items, counter, unread)| async move {
            // It was read, since more is asked for.
            drop(unread);
            let item = items.next().await?;
            let (room, size, no_room) = &counter;
            match room.hold_within(PATIENCE_BEGUN, size(&item)).await {
                Ok(unread) => Some((item, (items, counter, unread))),
                Err(failure) => {
                    let last = no_room(&failure);
                    Some((last, (stream::empty().boxed(), counter, None)))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    const MB: usize = 1 << 20;

    #[tokio::test(start_paused = true)]
    async fn an_answer_waits_until_others_are_read() {
        let answering = Answering::new(8 * MB);
        let room = answering.to(&"one".into(), Access::Read);
        assert!(room.hold(60 << 10).await.expect("small").is_none());
        let first = room.hold(3 * MB).await.expect("room");
        let reading = async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(room.hold(3 * MB), reading);
        let second = second.expect("the first was read");
        let (third, fourth) = tokio::join!(room.hold(3 * MB), room.hold(3 * MB));
        for refused in [third, fourth] {
            assert_eq!(refused.expect_err("no room").code(), Code::TooManyRequests);
        }
        let other = answering.to(&"other".into(), Access::Read);
        assert!(other.hold(3 * MB).await.expect("its own half").is_some());
        drop(second);
        let writer = answering.to(&"one".into(), Access::Write);
        let written = writer.hold(9 * MB).await.expect("in any case");
        assert!(room.hold(MB).await.is_err(), "it counts");
        drop(written);
        assert!(room.hold(MB).await.expect("room").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_item_counts_until_the_next_is_asked_for() {
        let answering = Answering::new(8 * MB);
        let room = answering.to(&"one".into(), Access::Read);
        let items = stream::iter([3 * MB, 3 * MB, 3 * MB]);
        let items = room.clone().counting(items, |bytes| *bytes, |_| 0);
        tokio::pin!(items);
        assert_eq!(items.next().await, Some(3 * MB));
        assert_eq!(items.next().await, Some(3 * MB), "one at a time");
        assert!(room.hold(3 * MB).await.is_err());
        assert_eq!(items.next().await, Some(3 * MB));
        assert_eq!(items.next().await, None);
        let held = room.hold(3 * MB).await.expect("all were read");
        let items = stream::iter([3 * MB, 3 * MB]);
        let items = room.counting(items, |bytes| *bytes, |_| 0);
        assert_eq!(items.collect::<Vec<_>>().await, [0], "it ends");
        let items = stream::iter([3 * MB, 3 * MB]);
        let writer = answering.to(&"one".into(), Access::Write);
        let items = writer.counting(items, |bytes| *bytes, |_| 0);
        let all: Vec<_> = items.collect().await;
        assert_eq!(all, [3 * MB, 3 * MB], "what was written is answered");
        drop(held);
    }
}
