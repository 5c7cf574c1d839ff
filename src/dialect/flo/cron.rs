//! Five cron fields: minute, hour, day of the month, month, day of the week (1.11).
//!
//! The grammar is ours because libraries accept more than the contract does (names of days,
//! seconds, `@daily`, `L`, `#`).

use std::fmt;

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
}
