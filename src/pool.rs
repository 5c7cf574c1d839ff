//! Threads for expensive work: compiling patterns, evaluating large documents with large
//! conditions, and executing modules of users.
//!
//! May use: [`crate::shares`], [`crate::telemetry`].
//! Such work runs outside of the threads that serve requests, a few pieces at a time. Each tenant
//! has a share of the slots, so that one tenant cannot occupy all of them. The work receives a flag
//! that is set when nobody waits for its result any more, and checks it every few microseconds to
//! milliseconds: a client that disconnects leaves no busy core behind.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, block_in_place, spawn_blocking},
};
use tracing::Span;

use crate::shares::Shares;
use crate::telemetry::measure::Expensive;

/// Parsing large conditions and compiling patterns.
static READING: LazyLock<Pool> = LazyLock::new(|| Pool::of_the_process(Expensive::Reading));

/// Evaluating large documents with large conditions.
static EVALUATING: LazyLock<Pool> = LazyLock::new(|| Pool::of_the_process(Expensive::Evaluating));

/// The most bytes of a document that are read on the calling thread: well below a millisecond.
pub const AT_ONCE_BYTES_MAX: usize = 64 << 10;

/// A pool of threads with shares.
#[derive(Debug)]
pub struct Pool {
    /// What is measured; none where no threads are used.
    kind: Option<Expensive>,
    places: Arc<Semaphore>,
    /// How many slots one tenant may have.
    shares: Shares<u64>,
}

/// A slot of a pool, until this is dropped.
#[derive(Debug)]
pub struct Slot {
    _place: Option<OwnedSemaphorePermit>,
    _turn: Option<OwnedSemaphorePermit>,
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
            places: Arc::new(Semaphore::new(places)),
            shares: Shares::new(share),
        }
    }

    fn new(kind: Expensive, places: usize, share: usize) -> Self {
        Self {
            kind: Some(kind),
            ..Self::of_slots(places, share)
        }
    }

    /// Waits for a slot when it is its tenant's turn. The slot is free again once it is dropped.
    pub async fn enter(&self, party: u64) -> Slot {
        let turn = self.shares.of(party).acquire_owned().await;
        let place = Arc::clone(&self.places).acquire_owned().await;
        // They are never closed.
        Slot {
            _place: place.ok(),
            _turn: turn.ok(),
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
        let work = blocking(move || {
            let measured = kind.map(Expensive::begin);
            let done = span.in_scope(|| work(&stop));
            drop((measured, slot));
            done
        });
        match work.await {
            Some(done) => done,
            // Nobody is left to be answered.
            None => std::future::pending().await,
        }
    }
}

/// Does work on a thread where it may block; none if the process is stopping. A panic continues
/// here.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match spawn_blocking(work)
        .await
        .map_err(JoinError::try_into_panic)
    {
        Ok(done) => Some(done),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => None,
    }
}

/// Does work that may take long on the calling thread, for a caller that cannot wait for another
/// one. The other tasks of the thread continue on others.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let runtime = Handle::try_current();
    if runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread) {
        block_in_place(work)
    } else {
        work()
    }
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
    }

    #[tokio::test]
    async fn a_panic_continues_where_blocking_work_is_awaited() {
        assert_eq!(blocking(|| 1).await, Some(1));
        let panicked = tokio::spawn(blocking(|| panic!("on purpose"))).await;
        assert!(panicked.expect_err("a panic").is_panic());
    }
}
