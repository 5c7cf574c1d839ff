//! Giving way: judging entities is work without a pause, and others want the thread.

use std::time::{Duration, Instant};

/// For how long is worked without a pause.
const SLICE: Duration = Duration::from_millis(1);

/// Work that takes its time.
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

    /// Lets others work, if it is time.
    pub(super) async fn give_way(&mut self) {
        if self.began.elapsed() >= SLICE {
            tokio::task::yield_now().await;
            self.began = Instant::now();
        }
    }
}
