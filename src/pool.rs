//! Threads for expensive work: compiling patterns, evaluating large documents with large
//! conditions, and executing modules of users.
//!
//! May use: [`crate::telemetry`].
//! Such work runs outside of the threads that serve requests, a few pieces at a time. Each tenant
//! has a share of the slots, so that one tenant cannot occupy all of them. The work receives a flag
//! that is set when nobody waits for its result any more, and checks it every few microseconds to
//! milliseconds: a client that disconnects leaves no busy core behind.

use std::{
    collections::HashMap,
    num::NonZero,
    panic::resume_unwind,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, spawn_blocking},
};
use tracing::Span;

use crate::telemetry::measure::Expensive;

/// Parsing large conditions and compiling patterns.
static READING: LazyLock<Pool> = LazyLock::new(|| Pool::of_the_process(Expensive::Reading));

/// Evaluating large documents with large conditions.
static EVALUATING: LazyLock<Pool> = LazyLock::new(|| Pool::of_the_process(Expensive::Evaluating));

/// A pool of threads with shares.
#[derive(Debug)]
pub struct Pool {
    /// What is measured; none where no threads are used.
    kind: Option<Expensive>,
    /// How many slots one tenant may have.
    share: usize,
    places: Arc<Semaphore>,
    /// A mutex, not a task: held for one look-up at the beginning and one at the end of work that
    /// takes a thousand times as long.
    lines: Arc<Lines>,
}

type Lines = Mutex<HashMap<u64, Arc<Semaphore>>>;

/// The share of one tenant; removed when it is unused.
#[derive(Debug)]
struct Line {
    lines: Arc<Lines>,
    party: u64,
    /// None once it is dropped.
    share: Option<Arc<Semaphore>>,
}

/// A slot of a pool, until this is dropped. The fields are dropped in their order: the line last.
#[derive(Debug)]
pub struct Slot {
    _place: Option<OwnedSemaphorePermit>,
    _turn: Option<OwnedSemaphorePermit>,
    _line: Line,
}

/// Sets its flag when it is dropped.
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Pool {
    /// The pool that parses conditions and compiles patterns.
    pub fn for_reading() -> &'static Self {
        &READING
    }

    /// The pool that evaluates entities.
    pub fn for_evaluating() -> &'static Self {
        &EVALUATING
    }

    /// As many slots as processors, at least two, of which one tenant has half.
    fn of_the_process(kind: Expensive) -> Self {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let places = processors.max(2);
        Self::new(kind, places, places / 2)
    }

    /// A pool for modules of users: so many slots, and so many of them for one tenant.
    pub fn for_modules(places: usize, share: usize) -> Self {
        Self::new(Expensive::Modules, places, share)
    }

    /// Slots for work that waits more than it computes, and needs no threads of its own.
    pub fn of_slots(places: usize, share: usize) -> Self {
        Self {
            kind: None,
            share,
            places: Arc::new(Semaphore::new(places)),
            lines: Arc::default(),
        }
    }

    fn new(kind: Expensive, places: usize, share: usize) -> Self {
        Self {
            kind: Some(kind),
            share,
            places: Arc::new(Semaphore::new(places)),
            lines: Arc::default(),
        }
    }

    fn line(&self, party: u64) -> Line {
        let mut lines = lock(&self.lines);
        let share = lines
            .entry(party)
            .or_insert_with(|| Arc::new(Semaphore::new(self.share)));
        Line {
            share: Some(Arc::clone(share)),
            lines: Arc::clone(&self.lines),
            party,
        }
    }

    /// Waits for a slot when it is its tenant's turn. The slot is free again once it is dropped.
    pub async fn enter(&self, party: u64) -> Slot {
        let line = self.line(party);
        let turn = match &line.share {
            Some(share) => acquire(share).await,
            None => None,
        };
        let place = acquire(&self.places).await;
        Slot {
            _place: place,
            _turn: turn,
            _line: line,
        }
    }

    /// Runs a piece of work when it is its tenant's turn. If this future is dropped, the work does
    /// not begin, or its flag is set.
    pub async fn run<T: Send + 'static>(
        &self,
        party: u64,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> T {
        let slot = self.enter(party).await;
        let stop = Arc::new(AtomicBool::new(false));
        let _leaving = Leaving(Arc::clone(&stop));
        let (span, kind) = (Span::current(), self.kind);
        let work = spawn_blocking(move || {
            let measured = kind.map(Expensive::begin);
            let done = span.in_scope(|| work(&stop));
            drop((measured, slot));
            done
        });
        match work.await.map_err(JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => resume_unwind(panic),
            // The process is stopping, and nobody is left to be answered.
            Err(Err(_)) => std::future::pending().await,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut lines = lock(&self.lines);
        drop(self.share.take());
        let share = lines.get(&self.party);
        // Only the table has it.
        if share.is_some_and(|share| Arc::strong_count(share) == 1) {
            lines.remove(&self.party);
        }
    }
}

/// A semaphore that is never closed.
async fn acquire(semaphore: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(semaphore).acquire_owned().await.ok()
}

fn lock(lines: &Lines) -> MutexGuard<'_, HashMap<u64, Arc<Semaphore>>> {
    lines.lock()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Work that reports its beginning, and ends on request.
    fn gate() -> (
        impl FnOnce(&AtomicBool) + Send + 'static,
        tokio::sync::oneshot::Receiver<()>,
        mpsc::Sender<()>,
    ) {
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (go, gate) = mpsc::channel::<()>();
        let work = move |_: &AtomicBool| {
            let _ = begun.send(());
            let _ = gate.recv();
        };
        (work, has_begun, go)
    }

    #[tokio::test]
    async fn one_party_leaves_places_to_others() {
        let pool = Arc::new(Pool::new(Expensive::Reading, 2, 1));
        let (work, has_begun, go) = gate();
        let first = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.run(1, work).await }
        });
        has_begun.await.expect("begins");
        let mut second = Box::pin(pool.run(1, |_| "second"));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert_eq!(pool.run(2, |_| "other").await, "other");
        assert!(futures_util::poll!(&mut second).is_pending());
        go.send(()).expect("waits");
        first.await.expect("no panic");
        assert_eq!(second.await, "second");
        assert!(lock(&pool.lines).is_empty(), "nobody is remembered");
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_stopped_and_its_place_is_free() {
        let pool = Arc::new(Pool::new(Expensive::Reading, 1, 1));
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let work = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move {
                let work = move |stop: &AtomicBool| {
                    let _ = begun.send(());
                    while !stop.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                };
                pool.run(1, work).await;
            }
        });
        has_begun.await.expect("begins");
        work.abort();
        assert!(work.await.expect_err("aborted").is_cancelled());
        assert_eq!(pool.run(2, |_| 2).await, 2);
        // The stopped thread releases its slot before it leaves its line.
        let is_empty = async {
            while !lock(&pool.lines).is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let left = tokio::time::timeout(std::time::Duration::from_secs(10), is_empty).await;
        left.expect("nobody is remembered");
    }
}
