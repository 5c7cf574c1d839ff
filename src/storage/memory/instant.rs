//! Commit times, and the promise that an instant once read stays as read
//! (`help/design/storage.md` §1).

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::clock::Timestamp;
use crate::storage::port::ModelRow;
use crate::telemetry::measure;

/// How long a read waits for what it has seen to be on the disk.
pub(in crate::storage) const DISK_PATIENCE: Duration = Duration::from_secs(5);

/// Commits whose times are further ahead of the clock are reported: it must have been wrong.
const AHEAD_MAX: Duration = Duration::from_secs(5);

/// The times of commits.
///
/// A mutex, not a task: stamping is on the path of every batch, and it is held for a few
/// comparisons only.
#[derive(Debug)]
pub(in crate::storage) struct Instants {
    state: Mutex<State>,
    finished: Notify,
}

#[derive(Debug)]
struct State {
    /// The newest time given or read; the next one is later.
    floor: Timestamp,
    /// The first times of the batches that are not durable yet.
    writing: Vec<Timestamp>,
    /// Of those that can be read already, the models whose entities they change; none if that may
    /// be any.
    readable: Vec<(Timestamp, Option<Vec<ModelRow>>)>,
    /// Whether it was reported that times are ahead of the clock.
    is_ahead: bool,
}

impl Instants {
    pub(in crate::storage) fn new(newest: Timestamp) -> Self {
        Self {
            state: Mutex::new(State {
                floor: newest,
                writing: Vec::new(),
                readable: Vec::new(),
                is_ahead: false,
            }),
            finished: Notify::new(),
        }
    }

    /// Others have committed at a time; the next one is later.
    pub(in crate::storage) fn raise(&self, newest: Timestamp) {
        let mut state = self.lock();
        state.floor = state.floor.max(newest);
    }

    /// Gives `count` ascending times, a microsecond apart, to a batch that is about to be
    /// written; the first is answered. A clock that went back makes times crawl.
    pub(in crate::storage) fn stamp(&self, now: Timestamp, count: i64) -> Timestamp {
        let mut state = self.lock();
        let first = Timestamp::from_micros(now.micros().max(state.floor.micros() + 1));
        state.floor = Timestamp::from_micros(first.micros() + count - 1);
        state.writing.push(first);
        state.compare(first, now);
        first
    }

    /// Reports that the newest commit is ahead of the clock, if it is.
    pub(in crate::storage) fn compare(&self, now: Timestamp) {
        let mut state = self.lock();
        let newest = state.floor;
        state.compare(newest, now);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// From here on reads may find what a batch changes, which is not durable yet: entities of these
    /// models, or of any.
    pub(in crate::storage) fn readable(&self, first: Timestamp, models: Option<Vec<ModelRow>>) {
        self.lock().readable.push((first, models));
    }

    /// The batch whose first time that is is durable, or will never be.
    pub(in crate::storage) fn finish(&self, first: Timestamp) {
        let mut state = self.lock();
        state.writing.retain(|from| *from != first);
        state.readable.retain(|(from, _)| *from != first);
        drop(state);
        self.finished.notify_waiters();
    }

    /// Returns when everything is durable that is being written now.
    pub(in crate::storage) async fn all_finished(&self) {
        let newest = self.lock().writing.last().copied();
        if let Some(newest) = newest {
            self.wait(|state| state.writing.iter().all(|from| *from > newest))
                .await;
        }
    }

    /// Returns when everything is durable that a read of a model may have found before.
    pub(in crate::storage) async fn all_read_finished(&self, model: ModelRow) {
        let newest = {
            let state = self.lock();
            let changes = |models: &Vec<ModelRow>| models.contains(&model);
            let mut readable = state.readable.iter().rev();
            let newest = readable.find(|(_, models)| models.as_ref().is_none_or(changes));
            newest.map(|(from, _)| *from)
        };
        if let Some(newest) = newest {
            self.wait(|state| state.readable.iter().all(|(from, _)| *from > newest))
                .await;
        }
    }

    /// Returns when every commit up to `until` that will ever be has been written.
    pub(in crate::storage) async fn settle(&self, until: Timestamp, now: Timestamp) {
        self.wait(|state| {
            state.floor = state.floor.max(until.min(now));
            state.writing.iter().all(|from| *from > until)
        })
        .await;
    }

    /// Returns when something holds, which only a batch that finishes can bring about.
    async fn wait(&self, mut holds: impl FnMut(&mut State) -> bool) {
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            finished.as_mut().enable();
            if holds(&mut self.lock()) {
                return;
            }
            finished.await;
        }
    }
}

impl State {
    /// A read as of the present does not show what has a later time, and nobody expects that.
    fn compare(&mut self, at: Timestamp, now: Timestamp) {
        let ahead = at.since(now);
        measure::commit_time_ahead(ahead);
        let was_ahead = std::mem::replace(&mut self.is_ahead, ahead > AHEAD_MAX);
        if self.is_ahead && !was_ahead {
            warn!(
                newest = %at,
                ahead_s = ahead.as_secs(),
                "the newest commit is ahead of the clock; until the clock has reached it, commits \
                 get times after it, and reads with pointInTime up to the present do not show them; \
                 set the clock if it is behind, else see `interlock help operators`"
            );
        } else if was_ahead && !self.is_ahead {
            info!("the times of commits are those of the clock again");
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[tokio::test]
    async fn an_instant_that_was_read_is_never_stamped() {
        let instants = Instants::new(at(10));
        assert_eq!(instants.stamp(at(5), 3), at(11), "a clock that went back");
        instants.finish(at(11));
        assert_eq!(instants.stamp(at(20), 1), at(20));
        instants.finish(at(20));
        instants.settle(at(50), at(30)).await;
        assert_eq!(
            instants.stamp(at(30), 1),
            at(31),
            "no more than the present is promised"
        );
    }

    #[test]
    fn times_ahead_of_the_clock_are_noticed_until_it_has_reached_them() {
        let day = at(86_400_000_000);
        let instants = Instants::new(day);
        let is_ahead = || instants.lock().is_ahead;
        instants.compare(day.before(AHEAD_MAX));
        assert!(!is_ahead());
        instants.compare(day.before(2 * AHEAD_MAX));
        assert!(is_ahead());
        let first = instants.stamp(at(0), 1);
        assert!(first > day && is_ahead());
        instants.stamp(first.after(AHEAD_MAX), 1);
        assert!(!is_ahead());
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
        let ((), ()) = tokio::join!(instants.settle(first, at(10)), async {
            instants.finish(first);
        });
    }

    #[tokio::test]
    async fn who_has_read_a_model_waits_for_what_changes_it_and_can_be_read() {
        let instants = Instants::new(at(0));
        let read = |model| instants.all_read_finished(ModelRow(model)).now_or_never();
        let (one, two) = (instants.stamp(at(10), 1), instants.stamp(at(20), 1));
        assert!(read(1).is_some(), "nothing of them can be read yet");
        instants.readable(one, Some(vec![ModelRow(1)]));
        assert!(read(1).is_none() && read(2).is_some());
        instants.readable(two, None);
        instants.finish(one);
        assert!(read(1).is_none() && read(2).is_none());
        instants.finish(two);
        assert!(read(1).is_some());
    }

    #[tokio::test]
    async fn of_two_batches_each_is_awaited() {
        let instants = Instants::new(at(0));
        let (one, two) = (instants.stamp(at(10), 1), instants.stamp(at(20), 1));
        instants.finish(two);
        assert!(instants.settle(one, at(20)).now_or_never().is_none());
        assert!(instants.all_finished().now_or_never().is_none());
        instants.finish(one);
        instants.settle(two, at(20)).await;
        instants.all_finished().await;
    }
}
