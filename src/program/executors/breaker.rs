//! Breakers: an executor that keeps failing is left alone for a while (1.7.3).

use super::BreakerView;
use crate::clock::Timestamp;
use crate::program::{arrival::Sample, form::Breaker};

#[derive(Debug, Clone, Copy)]
pub(super) enum Gate {
    Closed {
        failures: u32,
    },
    Open {
        since: Timestamp,
    },
    /// `calls` of those that may be made are out or have ended; `since` the last of them.
    HalfOpen {
        calls: u32,
        since: Timestamp,
    },
}

impl Default for Gate {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

/// Whether the cooldown is over, also if it began in the future: the clock was ahead then.
fn is_cool(since: Timestamp, breaker: &Breaker, now: Timestamp) -> bool {
    now < since || now.since(since) >= breaker.cooldown
}

impl Gate {
    /// Whether an attempt may be made.
    pub(super) fn is_passable(&self, breaker: &Breaker, now: Timestamp) -> bool {
        match self {
            Self::Closed { .. } => true,
            Self::Open { since } => is_cool(*since, breaker, now),
            // A call whose end never became known must not block the executor for ever.
            Self::HalfOpen { calls, since } => {
                *calls < breaker.half_open_calls_max || is_cool(*since, breaker, now)
            }
        }
    }

    /// Counts an attempt that is made now.
    pub(super) fn pass(&mut self, breaker: &Breaker, now: Timestamp) {
        *self = match *self {
            Self::Closed { failures } => Self::Closed { failures },
            Self::Open { .. } => Self::HalfOpen {
                calls: 1,
                since: now,
            },
            Self::HalfOpen { calls, .. } => Self::HalfOpen {
                calls: if calls < breaker.half_open_calls_max {
                    calls + 1
                } else {
                    1
                },
                since: now,
            },
        };
    }

    pub(super) const fn give_back(&mut self) {
        if let Self::HalfOpen { calls, .. } = self {
            *calls = calls.saturating_sub(1);
        }
    }

    /// Takes the end of an attempt.
    pub(super) const fn record(&mut self, breaker: &Breaker, sample: Sample, now: Timestamp) {
        match sample {
            Sample::Success | Sample::Other => self.succeeded(),
            Sample::Failure | Sample::NoAnswer => self.failed(breaker, now),
        }
    }

    const fn succeeded(&mut self) {
        // An attempt from before it opened says nothing about it now.
        if !matches!(self, Self::Open { .. }) {
            *self = Self::Closed { failures: 0 };
        }
    }

    const fn failed(&mut self, breaker: &Breaker, now: Timestamp) {
        match self {
            Self::Closed { failures } if *failures + 1 < breaker.failure_threshold => {
                *failures += 1;
            }
            Self::Closed { .. } | Self::HalfOpen { .. } => *self = Self::Open { since: now },
            Self::Open { .. } => {}
        }
    }

    pub(super) fn view(&self, breaker: &Breaker, now: Timestamp) -> BreakerView {
        match self {
            Self::Closed { .. } => BreakerView::Closed,
            Self::Open { .. } if self.is_passable(breaker, now) => {
                BreakerView::HalfOpen { calls: 0 }
            }
            Self::Open { since } => BreakerView::Open {
                until: since.after(breaker.cooldown),
            },
            Self::HalfOpen { calls, .. } => BreakerView::HalfOpen { calls: *calls },
        }
    }
}
