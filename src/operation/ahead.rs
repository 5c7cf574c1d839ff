//! Reads the next part of an answer while the previous one is being sent.
//!
//! Reading and sending take about equally long, on different threads; one after the other, each
//! would wait for the other.

use std::{task::Poll, vec};

use futures_util::poll;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::error::Failure;

/// What is read in parts.
pub(super) trait Parts: Send + 'static {
    type Item: Send + 'static;

    /// The next part; none at the end. A part may be empty although more follow.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<Self::Item>>, Failure>> + Send;

    /// Whether it is known that no part follows.
    fn is_over(&self) -> bool;
}

/// A reader that is one part ahead.
pub(super) struct Ahead<P: Parts> {
    ready: vec::IntoIter<P::Item>,
    state: State<P>,
}

enum State<P: Parts> {
    Idle(P),
    Reading(AbortOnDropHandle<Read<P>>),
    Read(Read<P>),
    Over,
}

/// A reader, and what it has read last.
type Read<P> = (P, Result<Option<Vec<<P as Parts>::Item>>, Failure>);

impl<P: Parts> Ahead<P> {
    pub(super) fn of(parts: P) -> Self {
        Self {
            ready: Vec::new().into_iter(),
            state: State::Idle(parts),
        }
    }

    /// The next item; none at the end. If it has to be waited for, `given_up` may come first,
    /// and ends the answer.
    pub(super) async fn next(
        &mut self,
        given_up: impl Future<Output = Failure>,
    ) -> Result<Option<P::Item>, Failure> {
        if let Some(item) = self.ready.next() {
            return Ok(Some(item));
        }
        tokio::select! {
            biased;
            failure = given_up => Err(failure),
            item = self.read() => item,
        }
    }

    async fn read(&mut self) -> Result<Option<P::Item>, Failure> {
        loop {
            let (parts, part) = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Ok(None),
                State::Idle(parts) => read(parts).await,
                State::Read(read) => read,
                State::Reading(reading) => reading
                    .await
                    .map_err(|error| Failure::internal(format!("reading ended: {error}")))?,
            };
            let Some(part) = part? else {
                return Ok(None);
            };
            self.ready = part.into_iter();
            if !parts.is_over() {
                self.state = State::begun(parts).await;
            }
            if let Some(item) = self.ready.next() {
                return Ok(Some(item));
            }
        }
    }
}

impl<P: Parts> State<P> {
    /// Requests the next part. The first step is done here, and only the rest in another task: a
    /// spawned task runs when this one pauses, and this one has items to send first.
    async fn begun(parts: P) -> Self {
        let mut reading = Box::pin(read(parts));
        match poll!(&mut reading) {
            Poll::Ready(read) => Self::Read(read),
            Poll::Pending => {
                let reading = tokio::spawn(reading.in_current_span());
                Self::Reading(AbortOnDropHandle::new(reading))
            }
        }
    }
}

async fn read<P: Parts>(mut parts: P) -> Read<P> {
    let part = parts.next().await;
    (parts, part)
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
    };

    use super::*;

    /// Parts of two numbers each; how often one was asked for.
    struct Counted {
        asked: Arc<AtomicU32>,
        parts: u32,
        waits: bool,
    }

    impl Parts for Counted {
        type Item = u32;

        async fn next(&mut self) -> Result<Option<Vec<u32>>, Failure> {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            if self.waits {
                tokio::task::yield_now().await;
            }
            Ok((number < self.parts).then(|| vec![number * 2, number * 2 + 1]))
        }

        fn is_over(&self) -> bool {
            self.asked.load(Ordering::Relaxed) >= self.parts
        }
    }

    #[tokio::test]
    async fn the_next_part_is_asked_for_before_the_first_item_of_this_one_is_given() {
        for waits in [false, true] {
            let asked = Arc::new(AtomicU32::new(0));
            let mut ahead = Ahead::of(Counted {
                asked: Arc::clone(&asked),
                parts: 3,
                waits,
            });
            let mut given = Vec::new();
            let mut asked_when_given = Vec::new();
            while let Some(item) = ahead.next(pending()).await.expect("an item") {
                given.push(item);
                asked_when_given.push(asked.load(Ordering::Relaxed));
            }
            assert_eq!(given, [0, 1, 2, 3, 4, 5]);
            assert_eq!(asked_when_given, [2, 2, 3, 3, 3, 3]);
        }
    }
}
