//! Shares: how much of something each tenant may use at once, so that none can use all of it.
//!
//! May use: nothing of this crate.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// What is smaller is counted in no share of bytes: the number of requests bounds it.
pub const SMALL_BYTES: usize = 64 << 10;

/// The shares of all that use something, by their keys. A share is forgotten when nobody has a
/// permit of it or waits for one.
#[derive(Debug)]
pub struct Shares<K> {
    /// How many permits a share has.
    each: usize,
    /// A mutex, not a task: held for a look-up.
    known: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> Shares<K> {
    pub fn new(each: usize) -> Self {
        Self {
            each,
            known: Mutex::default(),
        }
    }

    /// The share of one user. It is never closed.
    pub fn of(&self, key: K) -> Arc<Semaphore> {
        let mut known = self.known.lock();
        if let Some(share) = known.get(&key).and_then(Weak::upgrade) {
            return share;
        }
        if known.len() == known.capacity() {
            known.retain(|_, share| share.strong_count() > 0);
            // The next search for unused ones comes when there are twice as many.
            let len = known.len();
            known.reserve(len + 1);
        }
        let share = Arc::new(Semaphore::new(self.each));
        known.insert(key, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_one_while_it_is_used_and_forgotten_later() {
        let shares = Shares::new(2);
        let permit = shares.of(0).try_acquire_owned().expect("a permit");
        assert_eq!(shares.of(0).available_permits(), 1);
        assert_eq!(shares.of(1).available_permits(), 2);
        for key in 2..1_000 {
            shares.of(key);
        }
        let known = shares.known.lock().len();
        assert!(known < 20, "unused ones are forgotten: {known}");
        assert_eq!(shares.of(0).available_permits(), 1);
        drop(permit);
        assert_eq!(shares.of(0).available_permits(), 2);
    }
}
