//! Health: how the latest attempts ended, the newest counting most (1.7.5).

use std::collections::VecDeque;

use crate::clock::Timestamp;
use crate::program::{arrival::Sample, form::Health};

/// The most samples of an executor that are kept, unless a plan needs more to begin with.
const SAMPLES_MAX: usize = 1_000;

/// The most samples of an executor that are kept in any case.
const SAMPLES_MAX_EVER: usize = 100_000;

/// Oldest first.
#[derive(Debug, Default)]
pub(super) struct Samples(VecDeque<(Timestamp, Sample)>);

impl Samples {
    pub(super) fn add(&mut self, health: &Health, sample: Sample, now: Timestamp) {
        let wanted = (health.samples_min as usize).clamp(SAMPLES_MAX, SAMPLES_MAX_EVER);
        while self.0.len() >= wanted {
            self.0.pop_front();
        }
        self.0.push_back((now, sample));
    }

    fn forget(&mut self, health: &Health, now: Timestamp) {
        let is_old = |samples: &VecDeque<(Timestamp, Sample)>| {
            let oldest = samples.front();
            oldest.is_some_and(|(at, _)| now.since(*at) > health.window)
        };
        while is_old(&self.0) {
            self.0.pop_front();
        }
    }

    /// How many there are within the window.
    pub(super) fn count(&mut self, health: &Health, now: Timestamp) -> usize {
        self.forget(health, now);
        self.0.len()
    }

    /// The rate of attempts that were answered, and of those that succeeded.
    pub(super) fn rates(&mut self, health: &Health, now: Timestamp) -> (f64, f64) {
        self.forget(health, now);
        if self.0.is_empty() {
            return (1.0, 1.0);
        }
        let (mut weight, mut weights, mut api, mut business) = (1.0, 0.0, 0.0, 0.0);
        for (_, sample) in self.0.iter().rev() {
            weights += weight;
            if *sample != Sample::NoAnswer {
                api += weight;
            }
            if *sample == Sample::Success {
                business += weight;
            }
            weight *= health.decay;
        }
        (api / weights, business / weights)
    }
}
