//! Durations such as `30s`, `7d` and `1d12h` (`orchestration.md` 2.1).

use std::time::Duration;

/// The longest duration: a hundred years.
const MAX: Duration = Duration::from_hours(24 * 365 * 100);

/// Parses one or more whole numbers, each with its unit; none if it is anything else.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|next: char| !next.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|next: char| next.is_ascii_digit());
        let (unit, after) = rest.split_at(end.unwrap_or(rest.len()));
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let part = Duration::from_millis(count.checked_mul(millis)?);
        sum = sum.checked_add(part)?;
        rest = after;
    }
    (!text.is_empty() && sum <= MAX).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_units_and_their_sums() {
        for (text, millis) in [
            ("300ms", Some(300)),
            ("30s", Some(30_000)),
            ("5m", Some(300_000)),
            ("24h", Some(86_400_000)),
            ("7d", Some(604_800_000)),
            ("1d12h", Some(129_600_000)),
            ("1h30m15s500ms", Some(5_415_500)),
            ("0s", Some(0)),
            ("36500d", Some(3_153_600_000_000)),
            ("36500d1ms", None),
            ("", None),
            ("7", None),
            ("7w", None),
            ("1.5h", None),
            ("-5s", None),
            ("5 s", None),
            ("s", None),
            ("5S", None),
            ("99999999999999999999s", None),
            ("18446744073709551615d", None),
            ("5sx", None),
        ] {
            let found = duration(text).map(|found| found.as_millis());
            assert_eq!(found, millis, "{text}");
        }
    }
}
