//! How far this process has taken over what was committed, and the pulses that it waits for.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{self, Notify, watch},
    time::timeout,
};

use crate::entity::Sequence;
use crate::storage::{Error, port::Newest};

/// How long a pulse waits for the caches to take over a commit of this process that is in the
/// database already.
const OWN_PATIENCE: Duration = Duration::from_millis(5);

/// The commit that everything in memory is as of.
#[derive(Debug)]
pub(in crate::storage) struct Applied {
    /// A mutex, not a task: held while the caches take over what one batch, or a pulse, brings.
    newest: Mutex<Newest>,
    /// The same sequence, for readers.
    sequence: AtomicI64,
}

/// The right to change what is in memory.
pub(in crate::storage) struct Applying<'a> {
    newest: MutexGuard<'a, Newest>,
    sequence: &'a AtomicI64,
}

impl Applied {
    pub(in crate::storage) const fn new(newest: Newest) -> Self {
        Self {
            sequence: AtomicI64::new(newest.sequence.0),
            newest: Mutex::new(newest),
        }
    }

    pub(in crate::storage) fn sequence(&self) -> Sequence {
        Sequence(self.sequence.load(Ordering::Acquire))
    }

    pub(in crate::storage) fn newest(&self) -> Newest {
        *self.newest.lock()
    }

    pub(in crate::storage) fn begin(&self) -> Applying<'_> {
        Applying {
            newest: self.newest.lock(),
            sequence: &self.sequence,
        }
    }
}

impl Applying<'_> {
    /// Whether a commit is later than all that was applied. One that is not was applied already,
    /// with what other processes have committed since.
    pub(in crate::storage) fn is_news(&self, sequence: Sequence) -> bool {
        self.newest.sequence < sequence
    }

    /// The newest commit that was applied.
    pub(in crate::storage) fn sequence(&self) -> Sequence {
        self.newest.sequence
    }

    /// How often what batches are validated by was changed, as of what was applied.
    pub(in crate::storage) fn revision(&self) -> i64 {
        self.newest.revision
    }

    /// Marks everything up to that commit as applied. What is published to readers of the feed is
    /// published before this is dropped, so that they receive commits in order.
    pub(in crate::storage) fn finish(&mut self, newest: Newest) {
        if self.is_news(newest.sequence) {
            *self.newest = newest;
            self.sequence.store(newest.sequence.0, Ordering::Release);
        }
    }
}

/// Pulses that are wanted, and what became of them.
#[derive(Debug)]
pub(in crate::storage) struct Pulses {
    wanted: Notify,
    /// Whether this process has committed something that others are to be notified of.
    committed: Notify,
    /// How many have begun.
    begun: AtomicU64,
    ended: watch::Sender<Ended>,
    /// The last commit of the newest batch that this process has begun to write; 0 once it failed or
    /// was given up.
    writing: watch::Sender<i64>,
    /// Held while the list of indexes is read and taken over, so that an older one never comes last.
    pub(in crate::storage) index_turn: sync::Mutex<()>,
    /// Held while an instant is made final that is later than every commit.
    pub(in crate::storage) instant_turn: sync::Mutex<()>,
}

/// The last pulse that has ended.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    number: u64,
    failed: bool,
}

impl Default for Pulses {
    fn default() -> Self {
        Self {
            wanted: Notify::new(),
            committed: Notify::new(),
            begun: AtomicU64::new(0),
            ended: watch::Sender::default(),
            writing: watch::Sender::default(),
            index_turn: sync::Mutex::default(),
            instant_turn: sync::Mutex::default(),
        }
    }
}

impl Pulses {
    /// Waits for a pulse that begins from here on.
    pub(in crate::storage) async fn next(&self) -> Result<(), Error> {
        let mut ended = self.ended.subscribe();
        // One that has begun may have read already.
        let number = self.begun.load(Ordering::SeqCst) + 1;
        self.wanted.notify_one();
        let ended = ended.wait_for(|ended| ended.number >= number).await;
        match ended {
            Ok(ended) if !ended.failed => Ok(()),
            Ok(_) | Err(_) => Err(Error::Unavailable),
        }
    }

    /// Has one begin soon.
    pub(in crate::storage) fn want(&self) {
        self.wanted.notify_one();
    }

    /// Returns once one is wanted; to be asked for by one task.
    pub(in crate::storage) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Has other processes notified of a commit of this one.
    pub(in crate::storage) fn committed(&self) {
        self.committed.notify_one();
    }

    /// This process begins to write a batch that ends with that commit.
    pub(in crate::storage) fn begin_writing(&self, newest: Sequence) {
        self.writing.send_replace(newest.0);
    }

    /// The caches have taken over a batch of this process.
    pub(in crate::storage) fn has_taken_over(&self) {
        self.writing.send_modify(|_| {});
    }

    /// No pulse is to wait for what this process was writing.
    pub(in crate::storage) fn stop_writing(&self) {
        self.writing.send_replace(0);
    }

    /// Waits until the caches have a commit, if this process may be writing it; whether they have.
    pub(in crate::storage) async fn await_own(&self, commit: Sequence, applied: &Applied) -> bool {
        let mut writing = self.writing.subscribe();
        let taken_over =
            writing.wait_for(|writing| applied.sequence() >= commit || *writing < commit.0);
        let waited = timeout(OWN_PATIENCE, taken_over).await;
        waited.is_ok() && applied.sequence() >= commit
    }

    /// Returns once that is to be done; to be asked for by one task.
    pub(in crate::storage) async fn has_committed(&self) {
        self.committed.notified().await;
    }

    /// One begins; its number.
    pub(in crate::storage) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// It has ended.
    pub(in crate::storage) fn end(&self, number: u64, failed: bool) {
        self.ended.send_replace(Ended { number, failed });
    }

    /// Whether the last one was answered.
    pub(in crate::storage) fn are_answered(&self) -> bool {
        !self.ended.borrow().failed
    }

    /// Nobody is waited for any more.
    pub(in crate::storage) fn stop(&self) {
        self.ended.send_replace(Ended {
            number: u64::MAX,
            failed: true,
        });
    }
}
