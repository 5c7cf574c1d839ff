//! Five cron fields: minute, hour, day of the month, month, day of the week (1.11).
//!
//! The grammar is ours because libraries accept more than the contract does (names of days,
//! seconds, `@daily`, `L`, `#`).

use std::fmt;

use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, Utc};

use crate::clock::Timestamp;

/// How many days are looked through for the next instant. The longest time between two is that
/// between the 29ths of February around a year that is not a leap year, such as 2100.
const DAYS_MAX: u64 = 8 * 366 + 1;

/// How many days each month has at most.
const DAYS_OF_MONTHS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A checked cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron(Box<str>);

const FIELDS: [(&str, u32, u32); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
];

impl Cron {
    /// # Errors
    /// Which field is wrong, and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<_> = text.split_ascii_whitespace().collect();
        if fields.len() != FIELDS.len() {
            return Err(format!(
                "\"{text}\" has {} fields; a cron expression has five: minute, hour, day of the month, month, day of the week",
                fields.len()
            ));
        }
        for (field, (name, low, high)) in fields.iter().zip(FIELDS) {
            if !field.split(',').all(|part| is_part(part, low, high)) {
                return Err(format!(
                    "\"{field}\" is not a {name}: use *, numbers from {low} to {high}, ranges such as {low}-{high}, steps such as */2, and lists of these"
                ));
            }
        }
        Ok(Self(fields.join(" ").into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is a day on which it fires: no month has a 32nd, and February no 30th.
    pub fn has_a_day(&self) -> bool {
        let fields: Vec<&str> = self.0.split(' ').collect();
        let [_, _, days, months, weekdays] = fields.as_slice() else {
            return false;
        };
        // Two that are restricted are alternatives, and each month has every day of the week.
        if !days.starts_with('*') && !weekdays.starts_with('*') {
            return true;
        }
        let (days, months) = (set(days, 1, 31), set(months, 1, 12));
        (1..)
            .zip(DAYS_OF_MONTHS)
            .any(|(month, last)| has(months, month) && (1..=last).any(|day| has(days, day)))
    }

    /// The first instant after this one, in UTC; none for a day that never comes, such as the
    /// 31st of February.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let fields: Vec<&str> = self.0.split(' ').collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return None;
        };
        // Two that are restricted are alternatives, as in every cron.
        let either = !days.starts_with('*') && !weekdays.starts_with('*');
        let (minutes, hours) = (set(minutes, 0, 59), set(hours, 0, 23));
        let (days, months, weekdays) = (set(days, 1, 31), set(months, 1, 12), set(weekdays, 0, 7));
        let is_day = |date: NaiveDate| {
            let number = date.weekday().num_days_from_sunday();
            let weekday = has(weekdays, number) || (number == 0 && has(weekdays, 7));
            let day = has(days, date.day());
            let is_day = if either {
                day || weekday
            } else {
                day && weekday
            };
            has(months, date.month()) && is_day
        };
        let times = || {
            let hours = (0..24).filter(|hour| has(hours, *hour));
            hours.flat_map(|hour| {
                let minutes = (0..60).filter(|minute| has(minutes, *minute));
                minutes.filter_map(move |minute| NaiveTime::from_hms_opt(hour, minute, 0))
            })
        };
        let first: DateTime<Utc> = DateTime::from_timestamp_micros(after.micros())?;
        let today = first.date_naive();
        (0..DAYS_MAX)
            .filter_map(|later| today.checked_add_days(Days::new(later)))
            .filter(|date| is_day(*date))
            .flat_map(|date| times().map(move |time| date.and_time(time).and_utc()))
            .find(|instant| *instant > first)
            .map(|instant| Timestamp::from_micros(instant.timestamp_micros()))
    }
}

/// The numbers of a field of a checked expression, a bit for each.
fn set(field: &str, low: u32, high: u32) -> u64 {
    field.split(',').fold(0, |set, part| {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from), number(to)),
            None if range == "*" => (Some(low), Some(high)),
            None => (number(range), number(range)),
        };
        let (from, to) = from.zip(to).unwrap_or((1, 0));
        let step = number(step).map_or(1, |step| step.max(1) as usize);
        let numbers = (from..=to.min(high)).step_by(step);
        numbers.fold(set, |set, number| set | 1 << number)
    })
}

const fn has(set: u64, number: u32) -> bool {
    set >> number & 1 == 1
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `*`, `a`, `a-b`, and the first and last with `/n`.
fn is_part(part: &str, low: u32, high: u32) -> bool {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (part, None),
    };
    if step.is_some_and(|step| number(step).is_none_or(|step| step == 0)) {
        return false;
    }
    let within = |text| number(text).filter(|value| (low..=high).contains(value));
    match range.split_once('-') {
        _ if range == "*" => true,
        Some((from, to)) => within(from)
            .zip(within(to))
            .is_some_and(|(from, to)| from <= to),
        None => step.is_none() && within(range).is_some(),
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_fields_of_numbers_ranges_steps_and_lists() {
        for good in [
            "* * * * *",
            "0 0 1 1 0",
            "59 23 31 12 7",
            "*/15 0-6/2 1,15 * 1-5",
            " 0   12 * * 0,7 ",
            "5-5 * * * *",
        ] {
            assert!(Cron::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "@daily",
            "* * * JAN *",
            "* * * * MON",
            "*/0 * * * *",
            "5/2 * * * *",
            "9-5 * * * *",
            "1, * * * *",
            "-1 * * * *",
            "+1 * * * *",
            "? * * * *",
            "* * L * *",
            "1--2 * * * *",
            "*/ * * * *",
        ] {
            assert!(Cron::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_next_instant_is_the_first_that_all_fields_have() {
        for (cron, after, expected) in [
            ("* * * * *", "2026-11-23T05:10:00Z", "2026-11-23T05:11:00Z"),
            (
                "* * * * *",
                "2026-11-23T05:10:59.999999Z",
                "2026-11-23T05:11:00Z",
            ),
            (
                "*/15 * * * *",
                "2026-11-23T05:46:00Z",
                "2026-11-23T06:00:00Z",
            ),
            (
                "5-20/10 * * * *",
                "2026-11-23T05:05:00Z",
                "2026-11-23T05:15:00Z",
            ),
            ("0 0 1 1 *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            (
                "30 6 * * 1-5",
                "2026-11-20T06:30:00Z",
                "2026-11-23T06:30:00Z",
            ),
            // 0 and 7 are both Sunday.
            ("0 0 * * 0", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"),
            ("0 0 * * 7", "2026-11-23T00:00:00Z", "2026-11-29T00:00:00Z"),
            // A day of the month or a day of the week.
            ("0 0 25 * 2", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"),
            ("0 0 25 * 2", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"),
            (
                "0 0 */2 * 2",
                "2026-11-23T00:00:00Z",
                "2026-12-01T00:00:00Z",
            ),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 29 2 *", "2097-01-01T00:00:00Z", "2104-02-29T00:00:00Z"),
            (
                "1,3 2 * * *",
                "2026-11-23T02:01:00Z",
                "2026-11-23T02:03:00Z",
            ),
        ] {
            let after = Timestamp::parse(after).expect("a time");
            let next = Cron::parse(cron).expect(cron).next(after).expect(cron);
            assert_eq!(next.to_string(), expected, "{cron}");
        }
        let never = Cron::parse("0 0 31 2 *").expect("five fields");
        assert_eq!(never.next(Timestamp::from_micros(0)), None);
    }

    #[test]
    fn a_day_that_no_month_has_never_comes() {
        for (cron, has_a_day) in [
            ("* * * * *", true),
            ("0 0 29 2 *", true),
            ("0 0 30 2 *", false),
            ("0 0 31 4 *", false),
            ("0 0 31 2,4,6,9,11 *", false),
            ("0 0 31 2-4 *", true),
            ("0 0 30-31 2 *", false),
            ("0 0 31 12 *", true),
            // Or on Mondays.
            ("0 0 30 2 1", true),
            ("0 0 30 2 */2", false),
            ("0 0 */30 2 1", true),
        ] {
            let cron = Cron::parse(cron).expect(cron);
            assert_eq!(cron.has_a_day(), has_a_day, "{cron}");
            if !has_a_day {
                assert_eq!(cron.next(Timestamp::from_micros(0)), None, "{cron}");
            }
        }
    }
}
