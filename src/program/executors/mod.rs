//! What is known of the executors of a plan beyond any one run: breakers, rates, health and cached
//! outputs (`orchestration.md` 1.7).
//!
//! It is kept in memory, one [`PlanState`] for a plan of a workflow of a namespace, and is gone
//! after a restart. It answers [`super::Ask::Order`] and [`super::Ask::Permit`] and takes
//! [`super::Effect::Record`] and [`super::Effect::Keep`].

mod breaker;
mod cache;
mod health;
mod rate;

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use self::{breaker::Gate, cache::Outputs, health::Samples, rate::Attempts};
use super::{
    arrival::{Chosen, Permit, Sample},
    form::{Executor, Name, Plan, Selection},
};
use crate::clock::Timestamp;

/// The number of executors of a plan that are considered.
pub(super) const EXECUTORS_MAX: usize = 32;

/// The state of a plan.
#[derive(Debug, Default)]
pub struct PlanState {
    /// How many passes there were: the turn of a round-robin.
    passes: usize,
    executors: HashMap<Name, ExecutorState>,
    outputs: Outputs,
}

#[derive(Debug, Default)]
struct ExecutorState {
    gate: Gate,
    attempts: Attempts,
    samples: Samples,
}

/// An executor as operators see it (`PlanGet`).
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutorView {
    pub name: Name,
    pub score: f64,
    pub api_rate: f64,
    pub business_rate: f64,
    pub samples: usize,
    pub breaker: BreakerView,
    pub last_second: u32,
    pub last_minute: u32,
    pub last_hour: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerView {
    Closed,
    Open { until: Timestamp },
    HalfOpen { calls: u32 },
}

impl PlanState {
    /// The answer to [`super::Ask::Order`]: a cached output, or the executors in the order of
    /// their selection. `chance` is a random number.
    pub fn choose(
        &mut self,
        plan: &Plan,
        cache_key: Option<&str>,
        now: Timestamp,
        chance: u64,
    ) -> Chosen {
        if let Some((key, cache)) = cache_key.zip(plan.cache.as_ref())
            && let Some(output) = self.outputs.get(key, now, cache.ttl)
        {
            return Chosen::Cached { output };
        }
        let considered = &plan.executors[..plan.executors.len().min(EXECUTORS_MAX)];
        let mut order: Vec<&Executor> = considered.iter().collect();
        // A stable sort: ties stay in the order of the document.
        order.sort_by_key(|executor| Reverse(executor.priority));
        match plan.selection {
            Selection::RoundRobin if !order.is_empty() => {
                let turn = self.passes % order.len();
                order.rotate_left(turn);
            }
            Selection::StaticOrder | Selection::RoundRobin => {}
            Selection::Random => shuffle(&mut order, chance),
            Selection::HealthWeighted => self.by_health(plan, &mut order, now),
        }
        self.passes = self.passes.wrapping_add(1);
        let names = order.into_iter().map(|executor| executor.name.clone());
        Chosen::Executors(names.collect())
    }

    /// Best score first, once there are enough samples to decide.
    fn by_health(&mut self, plan: &Plan, order: &mut [&Executor], now: Timestamp) {
        let mut samples = 0;
        let mut scores = HashMap::new();
        for executor in order.iter() {
            let state = self.executors.entry(executor.name.clone()).or_default();
            samples += state.samples.count(&plan.health, now);
            scores.insert(&*executor.name, state.score(plan, executor, now));
        }
        if samples < plan.health.samples_min as usize {
            return;
        }
        order.sort_by(|one, other| scores[&*other.name].total_cmp(&scores[&*one.name]));
    }

    /// The answer to [`super::Ask::Permit`]. A permit is counted as an attempt. `uncommitted` are the
    /// ends of attempts that are recorded once the advance that asks is committed.
    pub fn permit(
        &mut self,
        plan: &Plan,
        executor: &str,
        uncommitted: &[Sample],
        now: Timestamp,
    ) -> Permit {
        let mut executors = plan.executors.iter();
        let Some(executor) = executors.find(|known| *known.name == *executor) else {
            return Permit::Open;
        };
        let state = self.executors.entry(executor.name.clone()).or_default();
        let mut gate = state.gate;
        for sample in uncommitted {
            gate.record(&executor.breaker, *sample, now);
        }
        if !gate.is_passable(&executor.breaker, now) {
            return Permit::Open;
        }
        if state.attempts.are_full(&executor.rate_limit, now) {
            return Permit::Limited;
        }
        state.gate.pass(&executor.breaker, now);
        state.attempts.count(&executor.rate_limit, now);
        Permit::Granted
    }

    /// Takes a permit back whose attempt was not committed.
    pub fn give_back(&mut self, executor: &str, now: Timestamp) {
        if let Some(state) = self.executors.get_mut(executor) {
            state.gate.give_back();
            state.attempts.give_back(now);
        }
    }

    /// Takes the end of an attempt.
    pub fn record(&mut self, plan: &Plan, executor: &str, sample: Sample, now: Timestamp) {
        let mut executors = plan.executors.iter();
        let Some(executor) = executors.find(|known| *known.name == *executor) else {
            return;
        };
        let state = self.executors.entry(executor.name.clone()).or_default();
        state.samples.add(&plan.health, sample, now);
        state.gate.record(&executor.breaker, sample, now);
    }

    /// Caches an output.
    pub fn keep(&mut self, plan: &Plan, key: &str, output: Arc<str>, now: Timestamp) {
        if let Some(cache) = &plan.cache {
            self.outputs.put(key, output, now.after(cache.ttl), now);
        }
    }

    /// Events of these types have arrived: drops what is cached if the plan says so.
    pub fn invalidate(&mut self, plan: &Plan, event_types: &HashSet<Arc<str>>) {
        let cache = plan.cache.iter();
        let mut types = cache.flat_map(|cache| &cache.invalidate_on);
        if types.any(|known| event_types.contains(&**known)) {
            self.outputs = Outputs::default();
        }
    }

    pub fn cache_entries(&mut self, now: Timestamp) -> usize {
        self.outputs.len(now)
    }

    /// The executors in the order of the document.
    pub fn view(&mut self, plan: &Plan, now: Timestamp) -> Vec<ExecutorView> {
        let executors = plan.executors.iter().map(|executor| {
            let state = self.executors.entry(executor.name.clone()).or_default();
            let (api_rate, business_rate) = state.samples.rates(&plan.health, now);
            let [last_second, last_minute, last_hour] = state.attempts.lately(now);
            ExecutorView {
                name: executor.name.clone(),
                score: state.score(plan, executor, now),
                api_rate,
                business_rate,
                samples: state.samples.count(&plan.health, now),
                breaker: state.gate.view(&executor.breaker, now),
                last_second,
                last_minute,
                last_hour,
            }
        });
        executors.collect()
    }
}

impl ExecutorState {
    /// 1 is best (1.7.5).
    fn score(&mut self, plan: &Plan, executor: &Executor, now: Timestamp) -> f64 {
        let (api, business) = self.samples.rates(&plan.health, now);
        let factor = match self.gate.view(&executor.breaker, now) {
            BreakerView::Closed => 1.0,
            BreakerView::Open { .. } => 0.1,
            BreakerView::HalfOpen { .. } => 0.5,
        };
        (0.7 * api + 0.3 * business) * factor
    }
}

/// Puts the items in one of all orders (Fisher and Yates; the numbers are those of a linear
/// congruential generator with the seed).
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = (state >> 33) % (last as u64 + 1);
        items.swap(last, usize::try_from(at).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests;
