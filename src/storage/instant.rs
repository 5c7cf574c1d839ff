//! Commit times, and the promise that an instant once read stays as read (STORAGE.md §1).

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::clock::Timestamp;

/// The times of commits.
///
/// A mutex, not a task: stamping is on the path of every batch, and it is held for a few
/// comparisons only.
#[derive(Debug)]
pub(super) struct Instants {
    state: Mutex<State>,
    finished: Notify,
}

#[derive(Debug)]
struct State {
    /// The newest time given or read; the next one is later.
    floor: Timestamp,
    /// The first time of the batch that is being written.
    writing_from: Option<Timestamp>,
}

impl Instants {
    pub(super) fn new(newest: Timestamp) -> Self {
        Self {
            state: Mutex::new(State {
                floor: newest,
                writing_from: None,
            }),
            finished: Notify::new(),
        }
    }

    /// Gives `count` ascending times, a microsecond apart, to a batch that is about to be
    /// written; the first is answered. A clock that went back makes times crawl.
    pub(super) fn stamp(&self, now: Timestamp, count: i64) -> Timestamp {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = Timestamp::from_micros(now.micros().max(state.floor.micros() + 1));
        state.floor = Timestamp::from_micros(first.micros() + count - 1);
        state.writing_from = Some(first);
        first
    }

    /// The batch is durable, or will never be.
    pub(super) fn finish(&self) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .writing_from = None;
        self.finished.notify_waiters();
    }

    /// Returns when every commit up to `until` that will ever be has been written.
    pub(super) async fn settle(&self, until: Timestamp, now: Timestamp) {
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            finished.as_mut().enable();
            {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.floor = state.floor.max(until.min(now));
                if state.writing_from.is_none_or(|from| from > until) {
                    return;
                }
            }
            finished.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[tokio::test]
    async fn an_instant_that_was_read_is_never_stamped() {
        let instants = Instants::new(at(10));
        assert_eq!(instants.stamp(at(5), 3), at(11), "a clock that went back");
        instants.finish();
        assert_eq!(instants.stamp(at(20), 1), at(20));
        instants.finish();
        instants.settle(at(50), at(30)).await;
        assert_eq!(
            instants.stamp(at(30), 1),
            at(31),
            "no more than the present is promised"
        );
    }

    #[tokio::test]
    async fn a_batch_stamped_before_the_instant_is_awaited() {
        let instants = Instants::new(at(0));
        let first = instants.stamp(at(10), 1);
        tokio::select! {
            biased;
            () = instants.settle(first, at(10)) => panic!("the batch is not written yet"),
            () = std::future::ready(()) => {}
        }
        instants.settle(at(9), at(10)).await;
        let ((), ()) = tokio::join!(instants.settle(first, at(10)), async { instants.finish() });
    }
}
