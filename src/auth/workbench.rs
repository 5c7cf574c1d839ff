//! A bounded queue for CPU-heavy work: generating secrets and keys.
//!
//! The work runs outside of the threads that serve requests, a few pieces at a time, so that many
//! such requests delay only each other, and not for long: beyond a bounded queue they are rejected.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::pool::blocking;

/// The queue. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Workbench {
    /// Permits for running and waiting work.
    entries: Arc<Semaphore>,
    /// Permits for running work.
    places: Arc<Semaphore>,
}

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Busy;

impl Workbench {
    pub(super) fn new(places: usize, waiting_max: usize) -> Self {
        Self {
            entries: Arc::new(Semaphore::new(places + waiting_max)),
            places: Arc::new(Semaphore::new(places)),
        }
    }

    /// Runs a piece of work when its turn has come. It continues, and keeps its slot, even if
    /// nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let entry = Arc::clone(&self.entries).try_acquire_owned();
        let entry = entry.map_err(|_| Busy)?;
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| Busy)?;
        let work = blocking(move || {
            let done = work();
            drop((place, entry));
            done
        });
        work.await.ok_or(Busy)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn work_waits_for_a_place_and_is_refused_if_too_much_waits() {
        let bench = Workbench::new(1, 1);
        let (go, gate) = mpsc::channel::<()>();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let first = tokio::spawn({
            let bench = bench.clone();
            async move {
                let work = move || {
                    let _ = begun.send(());
                    gate.recv()
                };
                bench.run(work).await
            }
        });
        has_begun.await.expect("begins");
        let mut second = Box::pin(bench.run(|| 2));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert_eq!(bench.run(|| 3).await, Err(Busy));
        go.send(()).expect("waits");
        first
            .await
            .expect("no panic")
            .expect("was done")
            .expect("a word");
        assert_eq!(second.await, Ok(2));
        assert_eq!(bench.run(|| 4).await, Ok(4));
    }
}
