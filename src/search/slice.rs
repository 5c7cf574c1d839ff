//! Yields to other tasks during long computations.

use std::time::{Duration, Instant};

/// How long to work without yielding.
const SLICE: Duration = Duration::from_millis(1);

/// A long computation.
#[derive(Debug)]
pub(super) struct Slice {
    began: Instant,
}

impl Slice {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
        }
    }

    /// Yields if it is time.
    pub(super) async fn give_way(&mut self) {
        if self.began.elapsed() >= SLICE {
            tokio::task::yield_now().await;
            self.began = Instant::now();
        }
    }
}
