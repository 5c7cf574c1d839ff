//! Reading the next part of an answer while the last one is sent.
//!
//! Reading and sending take about as long, and different threads; one after the other, each would
//! wait for the other.

use std::vec;

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
                State::Reading(reading) => reading
                    .await
                    .map_err(|error| Failure::internal(format!("reading ended: {error}")))?,
            };
            let Some(part) = part? else {
                return Ok(None);
            };
            self.ready = part.into_iter();
            if !parts.is_over() {
                let reading = tokio::spawn(read(parts).in_current_span());
                self.state = State::Reading(AbortOnDropHandle::new(reading));
            }
            if let Some(item) = self.ready.next() {
                return Ok(Some(item));
            }
        }
    }
}

async fn read<P: Parts>(mut parts: P) -> Read<P> {
    let part = parts.next().await;
    (parts, part)
}
