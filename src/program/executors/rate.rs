//! Rates: how many attempts there were in the last second, minute and hour (1.7.4).

use std::collections::VecDeque;

use crate::clock::Timestamp;
use crate::program::form::RateLimit;

/// A limit up to this is exact. One above it is counted in sixtieths of its window, of which the
/// oldest counts whole, so it is never exceeded.
pub(super) const EXACT_MAX: u32 = 10_000;

const SECOND: i64 = 1_000_000;

/// The windows of limits, in microseconds.
const WINDOWS: [i64; 3] = [SECOND, 60 * SECOND, 3_600 * SECOND];

/// Sixty, and the one that has begun.
const SLOTS: usize = 61;
const SLOTS_I64: i64 = 61;

#[derive(Debug)]
pub(super) struct Attempts {
    /// The latest, as many as an exact limit needs, oldest first.
    latest: VecDeque<i64>,
    rings: [Ring; 3],
}

/// A count of what happened in a window, in sixtieths of it.
#[derive(Debug)]
struct Ring {
    width: i64,
    counts: [u32; SLOTS],
    /// The number of the newest sixtieth.
    newest: i64,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            latest: VecDeque::new(),
            rings: WINDOWS.map(Ring::new),
        }
    }
}

impl Attempts {
    /// Whether another attempt would exceed a limit.
    pub(super) fn are_full(&mut self, limit: &RateLimit, now: Timestamp) -> bool {
        let limits = [limit.per_second, limit.per_minute, limit.per_hour];
        let mut windows = limits.into_iter().zip(WINDOWS).zip(&mut self.rings);
        windows.any(|((limit, window), ring)| match limit {
            None => false,
            Some(0) => true,
            Some(limit) if limit <= EXACT_MAX => {
                let place = self.latest.len().checked_sub(limit as usize);
                let oldest = place.and_then(|place| self.latest.get(place));
                // One in the future was made while the clock was ahead.
                oldest.is_some_and(|oldest| (0..window).contains(&(now.micros() - oldest)))
            }
            Some(limit) => ring.sum(now.micros()) >= limit,
        })
    }

    pub(super) fn count(&mut self, limit: &RateLimit, now: Timestamp) {
        let limits = [limit.per_second, limit.per_minute, limit.per_hour];
        let exact = limits
            .into_iter()
            .flatten()
            .filter(|limit| *limit <= EXACT_MAX);
        let kept = exact.max().unwrap_or(0) as usize;
        self.latest.push_back(now.micros());
        while self.latest.len() > kept {
            self.latest.pop_front();
        }
        for ring in &mut self.rings {
            ring.add(now.micros());
        }
    }

    pub(super) fn give_back(&mut self, now: Timestamp) {
        self.latest.pop_back();
        for ring in &mut self.rings {
            ring.take(now.micros());
        }
    }

    /// The attempts of the last second, minute and hour, to a sixtieth of these.
    pub(super) fn lately(&mut self, now: Timestamp) -> [u32; 3] {
        let [second, minute, hour] = &mut self.rings;
        [second, minute, hour].map(|ring| ring.sum(now.micros()))
    }
}

impl Ring {
    const fn new(window: i64) -> Self {
        Self {
            width: window / 60,
            counts: [0; SLOTS],
            newest: i64::MIN,
        }
    }

    /// Moves on to the slot of an instant.
    fn slot(&mut self, micros: i64) -> &mut u32 {
        let number = micros.div_euclid(self.width);
        if number < self.newest.saturating_sub(SLOTS_I64) {
            // The clock was ahead.
            self.counts = [0; SLOTS];
            self.newest = number;
        }
        let number = number.max(self.newest);
        let passed = number.saturating_sub(self.newest).min(SLOTS_I64);
        for step in 0..passed {
            self.counts[Self::place(number - step)] = 0;
        }
        self.newest = number;
        &mut self.counts[Self::place(number)]
    }

    fn place(number: i64) -> usize {
        usize::try_from(number.rem_euclid(SLOTS_I64)).unwrap_or(0)
    }

    fn add(&mut self, micros: i64) {
        let slot = self.slot(micros);
        *slot = slot.saturating_add(1);
    }

    fn take(&mut self, micros: i64) {
        let slot = self.slot(micros);
        *slot = slot.saturating_sub(1);
    }

    fn sum(&mut self, micros: i64) -> u32 {
        self.slot(micros);
        let counts = self.counts.iter();
        counts.fold(0, |sum, count| sum.saturating_add(*count))
    }
}
