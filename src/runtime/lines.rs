//! Lines of those who would conflict: of two that work on the same thing one waits for the other,
//! in the order in which they came.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The things that somebody works on, each by its hash, and a value of each line.
#[derive(Debug, Clone, Default)]
pub struct Lines<V = ()>(Arc<Inner<V>>);

#[derive(Debug, Default)]
struct Inner<V> {
    /// A mutex, not a task: one look-up when somebody joins a line, and one when they leave it.
    things: Mutex<HashMap<u64, Line<V>>>,
    /// Drawn at the start, so that nobody can choose names that have the hash of another tenant's.
    hasher: RandomState,
}

#[derive(Debug)]
struct Line<V> {
    /// The one whose turn it is, and those that wait.
    users: usize,
    turn: Arc<AsyncMutex<()>>,
    value: V,
}

/// A place in the line for a thing. Dropping it leaves the line.
#[derive(Debug)]
pub struct Place<V = ()> {
    lines: Lines<V>,
    thing: u64,
    turn: Arc<AsyncMutex<()>>,
    /// That of the line.
    pub value: V,
}

/// The right to work on a thing. Dropping it gives the turn to the next in the line.
#[derive(Debug)]
pub struct Turn<V = ()> {
    _guard: OwnedMutexGuard<()>,
    _place: Place<V>,
}

impl Lines {
    /// Waits for the turn of somebody who works on a thing. A caller that stops waiting leaves the
    /// line.
    pub async fn turn(&self, thing: impl Hash) -> Turn {
        self.join(thing, ()).turn().await
    }
}

impl<V> Lines<V> {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Line<V>>> {
        self.0.things.lock()
    }
}

impl<V: Copy> Lines<V> {
    /// Joins the line for a thing. The line has the value of the first who joined it.
    pub fn join(&self, thing: impl Hash, value: V) -> Place<V> {
        let thing = self.0.hasher.hash_one(thing);
        let mut things = self.lock();
        let line = things.entry(thing).or_insert_with(|| Line {
            users: 0,
            turn: Arc::default(),
            value,
        });
        line.users += 1;
        Place {
            lines: Self(Arc::clone(&self.0)),
            thing,
            turn: Arc::clone(&line.turn),
            value: line.value,
        }
    }
}

impl<V> Place<V> {
    /// Waits for the turn of those that joined before.
    pub async fn turn(self) -> Turn<V> {
        Turn {
            _guard: Arc::clone(&self.turn).lock_owned().await,
            _place: self,
        }
    }
}

impl<V> Drop for Place<V> {
    fn drop(&mut self) {
        let mut things = self.lines.lock();
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

    #[test]
    fn a_line_has_the_value_of_the_first() {
        let lines = Lines::default();
        let first = lines.join("a", 1);
        assert_eq!(lines.join("a", 2).value, 1);
        assert_eq!(lines.join("b", 2).value, 2);
        drop(first);
        assert_eq!(lines.join("a", 2).value, 2);
    }

    #[tokio::test]
    async fn a_caller_that_stops_waiting_leaves_the_line() {
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
