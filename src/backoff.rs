//! Pauses between attempts: each is twice as long as the one before, up to a longest.
//!
//! May use: nothing of this crate.

use std::time::Duration;

use tokio::time::sleep;

/// The pauses between the attempts of one piece of work.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    pause: Duration,
}

impl Backoff {
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            pause: first,
        }
    }

    /// The pause that comes next; the one after it is longer.
    pub fn pause(&mut self) -> Duration {
        let longer = self.pause.saturating_mul(2).min(self.longest);
        std::mem::replace(&mut self.pause, longer)
    }

    /// Waits for the pause that comes next.
    pub async fn wait(&mut self) {
        sleep(self.pause()).await;
    }

    /// An attempt was of use: the next pause is the first again.
    pub const fn reset(&mut self) {
        self.pause = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(100));
        let mut pauses = || -> Vec<_> { (0..4).map(|_| backoff.pause().as_millis()).collect() };
        assert_eq!(pauses(), [20, 40, 80, 100]);
        assert_eq!(pauses(), [100; 4]);
        backoff.reset();
        assert_eq!(backoff.pause().as_millis(), 20);
    }
}
