//! Starts by the clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::dialect::flo::{self, Cron, Every};

/// A schedule, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// How many runs that it started may be live; 0: without limit.
    pub concurrent_max: u32,
    /// JSON.
    pub input: Box<str>,
    pub paused: bool,
    /// When it was activated, in microseconds: intervals are counted from there.
    since: i64,
    /// The last planned instant that is done with, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    /// When it started a run last, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fired: Option<i64>,
    /// How many instants started nothing because too many runs were live.
    #[serde(default)]
    pub skipped: u64,
    /// The runs that it started and that may be live, by number.
    #[serde(default)]
    pub live: Vec<i64>,
}

impl Schedule {
    /// What a document says, with the place of what was there before.
    pub(super) fn of(schedule: &flo::Schedule, before: Option<&Self>, now: Timestamp) -> Self {
        let (cron, interval_ms) = match &schedule.every {
            Every::Cron(cron) => (Some(cron.as_str().into()), None),
            Every::Interval(interval) => {
                let ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
                (None, Some(ms))
            }
        };
        let same = before.filter(|it| it.cron == cron && it.interval_ms == interval_ms);
        let mut defined = Self {
            cron,
            interval_ms,
            concurrent_max: schedule.concurrent_max,
            input: schedule.input.clone(),
            paused: schedule.paused,
            since: same.map_or_else(|| now.micros(), |it| it.since),
            last: before.and_then(|it| it.last),
            fired: before.and_then(|it| it.fired),
            skipped: before.map_or(0, |it| it.skipped),
            live: before.map(|it| it.live.clone()).unwrap_or_default(),
        };
        if same.is_none() && defined.is_ahead(now) {
            defined.last = None;
        }
        defined
    }

    /// The schedule, activated now. What a clock that was wrong has done with does not count.
    pub(super) fn resumed(self, now: Timestamp) -> Self {
        let last = self.last.filter(|_| !self.is_ahead(now));
        Self {
            paused: false,
            since: now.micros(),
            last,
            ..self
        }
    }

    /// Whether it has come further than its next instant after that time: the clock was set back.
    pub fn is_ahead(&self, now: Timestamp) -> bool {
        let last = self.last.unwrap_or(i64::MIN);
        match (&self.cron, self.interval()) {
            (Some(cron), _) => {
                let next = Cron::parse(cron).ok().and_then(|cron| cron.next(now));
                next.is_some_and(|next| last > next.micros())
            }
            (None, Some(interval)) => {
                let begun = last.max(self.since);
                begun > now.micros().saturating_add(interval)
            }
            (None, None) => false,
        }
    }

    /// In microseconds.
    fn interval(&self) -> Option<i64> {
        let interval = Duration::from_millis(self.interval_ms?.max(1)).as_micros();
        i64::try_from(interval).ok()
    }

    /// The next planned instant: after the one that is done with, and after now, so that what was
    /// missed is not made up for and a clock that is set back repeats no instant of a `cron`. An
    /// interval is counted from now if the clock was set back by more than one.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.next_after(now, now)
    }

    /// The same, after a time that may be past. Whether the clock was set back only now can tell.
    pub fn next_after(&self, after: Timestamp, now: Timestamp) -> Option<Timestamp> {
        if let (None, Some(interval)) = (&self.cron, self.interval())
            && self.is_ahead(now)
        {
            let next = now.micros().checked_add(interval);
            return next.map(Timestamp::from_micros);
        }
        let after = after.micros().max(self.last.unwrap_or(i64::MIN));
        match (&self.cron, self.interval()) {
            (Some(cron), _) => {
                let cron = Cron::parse(cron).ok()?;
                cron.next(Timestamp::from_micros(after))
            }
            (None, Some(interval)) => {
                let passed = after.saturating_sub(self.since).max(0) / interval;
                let next = passed.checked_add(1)?.checked_mul(interval)?;
                self.since.checked_add(next).map(Timestamp::from_micros)
            }
            (None, None) => None,
        }
    }

    /// The next planned instant that is not done with and came after that time, and after the
    /// schedule was activated.
    pub fn next_since(&self, after: Timestamp, now: Timestamp) -> Option<Timestamp> {
        if self.is_ahead(now) {
            return self.next(now);
        }
        let after = after.micros().max(self.since);
        self.next_after(Timestamp::from_micros(after), now)
    }

    /// Whether that planned instant is still to be done.
    pub fn awaits(&self, planned: Timestamp, now: Timestamp) -> bool {
        let is_counted_again = self.cron.is_none() && self.is_ahead(now);
        is_counted_again || self.last.is_none_or(|last| last < planned.micros())
    }

    /// Whether another run may be started.
    pub fn has_room(&self) -> bool {
        let live = u32::try_from(self.live.len()).unwrap_or(u32::MAX);
        self.concurrent_max == 0 || live < self.concurrent_max
    }

    /// A planned instant has started nothing.
    pub fn skip(&mut self, planned: Timestamp, now: Timestamp) {
        self.done(planned, now);
        self.skipped += 1;
    }

    /// A planned instant is done with. An interval that is ahead is counted from it.
    fn done(&mut self, planned: Timestamp, now: Timestamp) {
        if self.cron.is_none() && self.is_ahead(now) {
            self.since = planned.micros();
        }
        self.last = Some(planned.micros());
    }

    /// A planned instant has started a run.
    pub fn fire(&mut self, planned: Timestamp, now: Timestamp, run: i64) {
        /// How many runs are known of a schedule without limit.
        const KNOWN_MAX: usize = 1_000;
        self.done(planned, now);
        self.fired = self.last;
        if self.concurrent_max > 0 || self.live.len() < KNOWN_MAX {
            self.live.push(run);
        }
    }

    /// The planned instant at which it started a run last.
    pub fn last_fire(&self) -> Option<Timestamp> {
        self.fired.map(Timestamp::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a time")
    }

    fn made(every: Every, now: Timestamp) -> Schedule {
        let schedule = flo::Schedule {
            every,
            concurrent_max: 1,
            input: "{}".into(),
            paused: false,
        };
        Schedule::of(&schedule, None, now)
    }

    #[test]
    fn an_interval_is_counted_from_the_activation() {
        let begun = at("2026-11-23T05:00:00.250Z");
        let each = Duration::from_secs(10);
        let mut schedule = made(Every::Interval(each), begun);
        for (now, next) in [
            ("2026-11-23T05:00:00.25Z", "2026-11-23T05:00:10.25Z"),
            ("2026-11-23T05:00:10.24Z", "2026-11-23T05:00:10.25Z"),
            // Missed ones are not made up for.
            ("2026-11-23T05:01:07Z", "2026-11-23T05:01:10.25Z"),
            // The clock was set back to before the activation, by less than an interval and more.
            ("2026-11-23T04:59:55Z", "2026-11-23T05:00:10.25Z"),
            ("2026-11-23T04:00:00Z", "2026-11-23T04:00:10Z"),
        ] {
            assert_eq!(schedule.next(at(now)), Some(at(next)), "{now}");
        }
        let planned = at("2026-11-23T05:00:10.25Z");
        assert!(schedule.awaits(planned, planned));
        schedule.fire(planned, planned, 1);
        assert!(!schedule.awaits(planned, planned));
        let next = schedule.next(at("2026-11-23T05:00:05Z"));
        assert_eq!(next, Some(at("2026-11-23T05:00:20.25Z")));
        let resumed = schedule.resumed(at("2026-11-23T06:00:01Z"));
        let next = resumed.next(at("2026-11-23T06:00:01Z"));
        assert_eq!(next, Some(at("2026-11-23T06:00:11Z")));
    }

    #[test]
    fn a_cron_schedule_does_each_planned_instant_once() {
        let begun = at("2026-11-23T05:00:30Z");
        let cron = Cron::parse("*/5 * * * *").expect("valid");
        let mut schedule = made(Every::Cron(cron), begun);
        let first = schedule.next(begun).expect("one");
        assert_eq!(first, at("2026-11-23T05:05:00Z"));
        schedule.skip(first, first);
        assert_eq!(schedule.skipped, 1);
        assert_eq!(schedule.last_fire(), None);
        // The clock was set back.
        assert_eq!(schedule.next(begun), Some(at("2026-11-23T05:10:00Z")));
        let never = Cron::parse("0 0 31 2 *").expect("valid");
        let never = made(Every::Cron(never), begun);
        assert_eq!(never.next(begun), None);
    }

    #[test]
    fn a_clock_that_was_wrong_silences_no_schedule() {
        let (wrong, right) = (at("2026-12-23T05:00:00Z"), at("2026-11-23T05:00:00Z"));
        let mut interval = made(Every::Interval(Duration::from_secs(10)), wrong);
        interval.fire(at("2026-12-23T05:00:10Z"), at("2026-12-23T05:00:10Z"), 1);
        assert!(interval.is_ahead(right));
        let next = at("2026-11-23T05:00:10Z");
        assert_eq!(interval.next(right), Some(next));
        assert_eq!(interval.next_since(right, right), Some(next));
        assert!(interval.awaits(next, next));
        interval.fire(next, next, 2);
        assert!(!interval.awaits(next, next) && !interval.is_ahead(next));
        assert_eq!(interval.next(next), Some(at("2026-11-23T05:00:20Z")));

        let each = |minutes: &str| Cron::parse(&format!("*/{minutes} * * * *")).expect("valid");
        let mut cron = made(Every::Cron(each("5")), wrong);
        cron.fire(at("2026-12-23T05:05:00Z"), at("2026-12-23T05:05:00Z"), 1);
        // By itself it repeats nothing.
        assert!(cron.is_ahead(right));
        assert_eq!(cron.next(right), Some(at("2026-12-23T05:10:00Z")));
        assert!(!cron.awaits(at("2026-11-23T05:05:00Z"), at("2026-11-23T05:05:00Z")));
        let other = flo::Schedule {
            every: Every::Cron(each("7")),
            concurrent_max: 1,
            input: "{}".into(),
            paused: false,
        };
        let other = Schedule::of(&other, Some(&cron), right);
        assert_eq!(other.next(right), Some(at("2026-11-23T05:07:00Z")));
        let resumed = cron.resumed(right);
        assert_eq!(resumed.next(right), Some(at("2026-11-23T05:05:00Z")));
        // Set back by less than an interval, no instant is repeated.
        let mut cron = made(Every::Cron(each("5")), right);
        cron.fire(at("2026-11-23T05:05:00Z"), at("2026-11-23T05:05:00Z"), 1);
        let resumed = cron.resumed(at("2026-11-23T05:04:00Z"));
        let next = resumed.next(at("2026-11-23T05:04:00Z"));
        assert_eq!(next, Some(at("2026-11-23T05:10:00Z")));
    }

    /// As for a process that starts, or takes over what one that is gone has left.
    #[test]
    fn no_instant_is_done_again_while_the_clock_ascends() {
        let begun = at("2026-11-23T05:00:00Z");
        let mut schedule = made(Every::Interval(Duration::from_secs(1)), begun);
        let mut last = begun;
        for step in 1..60 {
            let now = begun.after(Duration::from_millis(step * 700));
            let before = now.before(Duration::from_secs(15));
            while let Some(planned) = schedule.next_since(before, now)
                && planned <= now
            {
                assert!(schedule.awaits(planned, now) && planned > last, "{planned}");
                schedule.fire(planned, now, 1);
                last = planned;
                assert!(schedule.next_after(begun, now) > Some(planned));
            }
        }
        assert_eq!(last, at("2026-11-23T05:00:41Z"));
        assert!(!schedule.awaits(at("2026-11-23T05:00:38Z"), last));
    }

    #[test]
    fn a_limit_of_runs_counts_those_that_are_live() {
        let begun = at("2026-11-23T05:00:00Z");
        let each = Every::Interval(Duration::from_secs(1));
        let mut schedule = made(each, begun);
        assert!(schedule.has_room());
        schedule.fire(at("2026-11-23T05:00:01Z"), at("2026-11-23T05:00:01Z"), 7);
        assert!(!schedule.has_room());
        schedule.live.clear();
        assert!(schedule.has_room());
        schedule.concurrent_max = 0;
        schedule.fire(at("2026-11-23T05:00:02Z"), at("2026-11-23T05:00:02Z"), 8);
        assert!(schedule.has_room());
    }

    #[test]
    fn a_schedule_that_is_defined_again_keeps_its_place_if_its_times_are_the_same() {
        let (begun, later) = (at("2026-11-23T05:00:00Z"), at("2026-11-23T05:00:07Z"));
        let each = |seconds| flo::Schedule {
            every: Every::Interval(Duration::from_secs(seconds)),
            concurrent_max: 2,
            input: "{}".into(),
            paused: false,
        };
        let mut before = Schedule::of(&each(10), None, begun);
        before.fire(at("2026-11-23T05:00:10Z"), at("2026-11-23T05:00:10Z"), 1);
        let same = Schedule::of(&each(10), Some(&before), later);
        assert_eq!(same, before);
        let other = Schedule::of(&each(20), Some(&before), later);
        assert_eq!(other.live, [1]);
        assert_eq!(other.next(later), Some(at("2026-11-23T05:00:27Z")));
    }
}
