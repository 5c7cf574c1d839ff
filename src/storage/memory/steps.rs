//! Steps of the wall clock, and what they mean for what is due.
//!
//! Due times are times of the wall clock, for that is what the table, the audit trail and members
//! speak of. But a wall clock may be set, and then two questions have an answer each:
//!
//! - *Set forward*: a task is due when its time has come by the wall clock. So what became overdue
//!   is done at once.
//! - *Set back*: a task that was written before is due when as much time has passed as was left,
//!   although the wall clock does not show its time yet. Otherwise a clock that is set back by an
//!   hour would delay every timer by an hour. A task that is written after the step goes by the
//!   wall clock as it is now: it has been given its time from it.
//!
//! Both follow from one rule. The difference between the wall clock and a clock that nobody sets
//! is constant but for steps. A task is due as soon as its time has come on the wall clock as it
//! is now, *or as it would be had it not been set back* since the task was written. By how much
//! such a task is ahead is its *lead*. A step back gives everything written so far a greater lead;
//! a step forward takes from it, so that a clock that is set back and forth changes nothing.
//!
//! Which tasks were written before a step is known by their keys, which ascend. A step is noticed
//! when clocks are compared: whenever tasks are written or looked for, and once a second while
//! there are any. A change that is smaller than [`STEP`] is a clock that is being adjusted, and
//! tasks follow it. Leads are not stored: after a restart the wall clock decides.

use crate::clock::Reading;

/// The least change that counts as setting the clock, in microseconds.
const STEP: i64 = 500_000;

/// How many steps back are distinguished; the oldest ones count as one, the smaller one.
const LEADS_MAX: usize = 16;

/// What the clocks showed last, and the leads of what was written before the clock was set back.
#[derive(Debug)]
pub(in crate::storage) struct Steps {
    last: Reading,
    leads: Leads,
}

/// Leads by key: ascending keys, descending leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::storage) struct Leads(Vec<Lead>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Lead {
    /// The last task that has it.
    until: i64,
    micros: i64,
}

/// The clock was set.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::storage) struct Step {
    /// By how much, in microseconds; negative if it was set back.
    pub(in crate::storage) by: i64,
    /// The leads that tasks had before.
    pub(in crate::storage) before: Leads,
}

impl Steps {
    pub(in crate::storage) const fn new(now: Reading) -> Self {
        Self {
            last: now,
            leads: Leads(Vec::new()),
        }
    }

    pub(in crate::storage) const fn leads(&self) -> &Leads {
        &self.leads
    }

    /// Compares the clocks. The newest task that was written before is that one.
    pub(in crate::storage) fn look(&mut self, now: Reading, newest: i64) -> Option<Step> {
        let passed = now.steady.saturating_sub(self.last.steady);
        let expected = self.last.wall.after(passed).micros();
        self.last = now;
        let by = now.wall.micros().saturating_sub(expected);
        if by.abs() < STEP {
            return None;
        }
        let before = self.leads.clone();
        self.leads.step(by, newest);
        Some(Step { by, before })
    }
}

impl Leads {
    /// By how many microseconds a task is ahead of the wall clock.
    pub(in crate::storage) fn of(&self, key: i64) -> i64 {
        let lead = self.0.iter().find(|lead| key <= lead.until);
        lead.map_or(0, |lead| lead.micros)
    }

    pub(in crate::storage) fn most(&self) -> i64 {
        self.0.first().map_or(0, |lead| lead.micros)
    }

    pub(in crate::storage) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn step(&mut self, by: i64, newest: i64) {
        for lead in &mut self.0 {
            lead.micros = lead.micros.saturating_sub(by);
        }
        if by < 0 {
            self.0.push(Lead {
                until: newest,
                micros: by.saturating_neg(),
            });
        }
        self.0.retain(|lead| lead.micros > 0);
        if self.0.len() > LEADS_MAX {
            self.0.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Timestamp;

    const SECOND: i64 = 1_000_000;

    fn reading(wall: i64, steady: u64) -> Reading {
        Reading {
            wall: Timestamp::from_micros(wall * SECOND),
            steady: Duration::from_secs(steady),
        }
    }

    #[test]
    fn what_was_written_before_the_clock_was_set_back_is_ahead_until_it_is_set_forward() {
        let mut steps = Steps::new(reading(1_000, 0));
        // Wall clock, steady clock, newest task; then the leads of tasks 1 to 4, in seconds.
        for (wall, steady, newest, leads) in [
            (1_010, 10, 1, [0, 0, 0, 0]),
            (911, 11, 1, [100, 0, 0, 0]),
            (912, 12, 2, [100, 0, 0, 0]),
            (853, 13, 2, [160, 60, 0, 0]),
            (854, 14, 3, [160, 60, 0, 0]),
            (955, 15, 3, [60, 0, 0, 0]),
            (956, 16, 4, [60, 0, 0, 0]),
            (2_000, 17, 4, [0, 0, 0, 0]),
        ] {
            steps.look(reading(wall, steady), newest);
            let found = [1, 2, 3, 4].map(|key| steps.leads().of(key) / SECOND);
            assert_eq!(found, leads, "at {wall}");
            assert_eq!(steps.leads().most() / SECOND, leads[0]);
        }
        assert!(steps.leads().is_empty());
    }

    #[test]
    fn a_clock_that_is_adjusted_is_not_set() {
        let mut steps = Steps::new(reading(1_000, 0));
        let mut wall = 1_000 * SECOND;
        for second in 1..100 {
            wall += SECOND - STEP / 2;
            let now = Reading {
                wall: Timestamp::from_micros(wall),
                steady: Duration::from_secs(second),
            };
            assert_eq!(steps.look(now, 1), None);
        }
        assert!(steps.leads().is_empty());
    }

    #[test]
    fn many_steps_back_take_a_bounded_room() {
        let mut steps = Steps::new(reading(1_000_000, 0));
        for n in 1..100 {
            steps.look(reading(1_000_000 - 10 * n, 0), n);
        }
        assert_eq!(steps.leads().0.len(), LEADS_MAX);
        assert_eq!(steps.leads().of(1), steps.leads().most());
    }
}
