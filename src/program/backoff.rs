//! How long to wait between executions (`orchestration.md` 1.6, 1.8).

use std::time::Duration;

use super::form::{Backoff, Poll, Retry};

impl Backoff {
    /// The delay after `repetitions` others, of which the first is `first`. `chance` decides the
    /// jitter.
    fn delay(self, first: Duration, max: Duration, repetitions: u32, chance: u64) -> Duration {
        let exponential = || {
            let factor = 1_u32.checked_shl(repetitions).unwrap_or(u32::MAX);
            first.saturating_mul(factor).min(max)
        };
        let delay = match self {
            Self::Constant => first,
            Self::Linear => first.saturating_mul(repetitions.saturating_add(1)),
            Self::Exponential => exponential(),
            Self::ExponentialJitter => {
                let delay = exponential();
                let quarter = u64::try_from((delay / 4).as_micros()).unwrap_or(u64::MAX - 1);
                delay.saturating_add(Duration::from_micros(chance % (quarter + 1)))
            }
        };
        delay.min(max)
    }
}

impl Retry {
    /// The delay before another execution, after so many of them, the first of which began so
    /// long ago; none if there is no other.
    pub fn next(&self, executions: u32, elapsed: Duration, chance: u64) -> Option<Duration> {
        if executions >= self.executions_max {
            return None;
        }
        let repetitions = executions.saturating_sub(1);
        let delay = self
            .backoff
            .delay(self.initial_delay, self.delay_max, repetitions, chance);
        let ends = elapsed.saturating_add(delay);
        self.within
            .is_none_or(|within| ends <= within)
            .then_some(delay)
    }
}

impl Poll {
    /// The delay before another poll, after so many of them; none if there is no other.
    pub fn next(&self, polls: u32, chance: u64) -> Option<Duration> {
        if polls >= self.polls_max {
            return None;
        }
        Some(match polls.checked_sub(1) {
            None => self.initial_delay,
            Some(repetitions) => {
                self.backoff
                    .delay(self.base_delay, self.delay_max, repetitions, chance)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn retry(backoff: Backoff, executions_max: u32, within: Option<Duration>) -> Retry {
        Retry {
            executions_max,
            backoff,
            initial_delay: ms(100),
            delay_max: ms(450),
            within,
        }
    }

    #[test]
    fn every_backoff_grows_by_its_formula_up_to_the_longest_delay() {
        for (backoff, expected) in [
            (Backoff::Constant, [100, 100, 100, 100]),
            (Backoff::Linear, [100, 200, 300, 400]),
            (Backoff::Exponential, [100, 200, 400, 450]),
        ] {
            let retry = retry(backoff, 99, None);
            let delays = (1..=4).map(|executions| retry.next(executions, ms(0), 7));
            let expected = expected.map(|delay| Some(ms(delay)));
            assert_eq!(delays.collect::<Vec<_>>(), expected, "{backoff:?}");
            assert!(retry.next(98, ms(0), 7).is_some());
        }
    }

    #[test]
    fn jitter_adds_at_most_a_quarter_and_is_capped_too() {
        let retry = retry(Backoff::ExponentialJitter, 99, None);
        for chance in [0, 1, 24_999, 25_000, 25_001, u64::MAX] {
            let delay = retry.next(1, ms(0), chance).expect("another");
            assert!((ms(100)..=ms(125)).contains(&delay), "{chance}: {delay:?}");
        }
        assert_eq!(retry.next(1, ms(0), 25_000), Some(ms(125)));
        assert_eq!(retry.next(3, ms(0), 99_999), Some(ms(450)));
    }

    #[test]
    fn max_attempts_counts_the_first_execution() {
        let retry = retry(Backoff::Constant, 3, None);
        let goes_on = (1..=4).map(|executions| retry.next(executions, ms(0), 0).is_some());
        assert_eq!(goes_on.collect::<Vec<_>>(), [true, true, false, false]);
    }

    #[test]
    fn within_ms_bounds_the_elapsed_time_and_the_delay_together() {
        let retry = retry(Backoff::Constant, 9, Some(ms(250)));
        for (elapsed, expected) in [(0, true), (150, true), (151, false), (400, false)] {
            assert_eq!(
                retry.next(1, ms(elapsed), 0).is_some(),
                expected,
                "{elapsed}"
            );
        }
    }

    #[test]
    fn polls_wait_the_initial_delay_first_and_back_off_after_it() {
        let poll = Poll {
            initial_delay: ms(7),
            polls_max: 4,
            backoff: Backoff::Exponential,
            base_delay: ms(10),
            delay_max: ms(35),
        };
        let delays: Vec<_> = (0..5).map(|polls| poll.next(polls, 0)).collect();
        let expected = [Some(7), Some(10), Some(20), Some(35), None];
        assert_eq!(delays, expected.map(|delay| delay.map(ms)));
    }
}
