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
    /// How many attempts were of no use since the last that was.
    attempts: u32,
}

impl Backoff {
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            attempts: 0,
        }
    }

    /// The pause that comes next; the one after it is longer.
    pub fn pause(&mut self) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        nth(self.first, self.longest, self.attempts)
    }

    /// Waits for the pause that comes next.
    pub async fn wait(&mut self) {
        sleep(self.pause()).await;
    }

    /// An attempt was of use: the next pause is the first again.
    pub const fn reset(&mut self) {
        self.attempts = 0;
    }
}

/// The pause after that many attempts.
pub fn nth(first: Duration, longest: Duration, attempts: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1));
    first.saturating_mul(doubled).min(longest)
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

    #[test]
    fn the_pause_after_many_attempts_is_the_longest() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(32));
        let pauses = [0, 1, 2, 6, 7, 32, 33, u32::MAX].map(|n| nth(first, longest, n).as_secs());
        assert_eq!(pauses, [1, 1, 2, 32, 32, 32, 32, 32]);
        assert_eq!(nth(Duration::ZERO, longest, 9), Duration::ZERO);
    }
}
