//! Lines of those who would conflict: of two that work on the same thing one waits for the other,
//! in the order in which they came.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The things that somebody works on, each by its hash.
#[derive(Debug, Clone, Default)]
pub struct Lines(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// A mutex, not a task: one look-up when somebody joins a line, and one when they leave it.
    things: Mutex<HashMap<u64, Line>>,
    /// Drawn at the start, so that nobody can choose names that have the hash of another tenant's.
    hasher: RandomState,
}

#[derive(Debug)]
struct Line {
    /// The one whose turn it is, and those that wait.
    users: usize,
    turn: Arc<Semaphore>,
}

/// The right to work on a thing. Dropping it gives the turn to the next in the line.
#[derive(Debug)]
pub struct Turn {
    lines: Lines,
    thing: u64,
    permit: Option<OwnedSemaphorePermit>,
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Line>> {
        self.0.things.lock()
    }

    /// Waits for the turn of somebody who works on a thing. Who stops waiting leaves the line.
    pub async fn turn(&self, thing: impl Hash) -> Turn {
        let thing = self.0.hasher.hash_one(thing);
        let line = {
            let mut things = self.lock();
            let line = things.entry(thing).or_insert_with(|| Line {
                users: 0,
                turn: Arc::new(Semaphore::new(1)),
            });
            line.users += 1;
            Arc::clone(&line.turn)
        };
        let mut turn = Turn {
            lines: self.clone(),
            thing,
            permit: None,
        };
        // It is never closed.
        turn.permit = line.acquire_owned().await.ok();
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut things = self.lines.lock();
        self.permit = None;
        if let Some(line) = things.get_mut(&self.thing) {
            line.users -= 1;
            if line.users == 0 {
                things.remove(&self.thing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_works_on_a_thing_at_a_time_in_the_order_of_the_line() {
        let lines = Lines::default();
        let first = lines.turn("a").await;
        let mut second = Box::pin(lines.turn("a"));
        let mut third = Box::pin(lines.turn("a"));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        let elsewhere = lines.turn("b").now_or_never();
        assert!(elsewhere.is_some(), "another thing has a line of its own");
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "it came later");
        drop(second.await);
        drop(third.await);
        drop(elsewhere);
        assert!(lines.lock().is_empty());
    }

    #[tokio::test]
    async fn who_stops_waiting_leaves_the_line() {
        let lines = Lines::default();
        let first = lines.turn("a").await;
        let mut second = Box::pin(lines.turn("a"));
        let mut third = Box::pin(lines.turn("a"));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        drop(second);
        drop(first);
        assert!((&mut third).now_or_never().is_some());
        drop(third);
        assert!(lines.lock().is_empty());
    }
}
