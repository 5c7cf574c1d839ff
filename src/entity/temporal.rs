//! Text that denotes a time: which kind, and when.

use chrono::{NaiveDate, NaiveTime, Timelike as _};

/// The kind of time that a text denotes (`models-and-entities.md` §3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TemporalClass {
    ZonedDateTime,
    LocalDateTime,
    LocalDate,
    LocalTime,
    YearMonth,
    Year,
}

impl TemporalClass {
    pub const ALL: &[Self] = &[
        Self::ZonedDateTime,
        Self::LocalDateTime,
        Self::LocalDate,
        Self::LocalTime,
        Self::YearMonth,
        Self::Year,
    ];
}

/// A time, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temporal {
    pub class: TemporalClass,
    /// Local date and time: milliseconds since 1970-01-01T00:00 without an offset; for a time of
    /// day, since midnight; for a longer period, its start.
    pub wall_ms: i64,
    /// East of UTC; zero if none is given.
    pub offset_ms: i64,
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

impl Temporal {
    /// Parses a text as the first kind of time that fits, if any.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() < 4 || !text.is_ascii() {
            return None;
        }
        match text.len() {
            4 => Self::year(text),
            7 if text.as_bytes()[4] == b'-' => Self::year_month(text),
            _ if text.as_bytes().get(2) == Some(&b':') => Self::local_time(text),
            10 => Self::local_date(text),
            _ => Self::date_time(text),
        }
    }

    /// The instant, in milliseconds since 1970-01-01T00:00:00Z; without an offset, in UTC.
    pub const fn instant_ms(self) -> i64 {
        self.wall_ms - self.offset_ms
    }

    const fn local(class: TemporalClass, wall_ms: i64) -> Self {
        Self {
            class,
            wall_ms,
            offset_ms: 0,
        }
    }

    fn year(text: &str) -> Option<Self> {
        Some(Self::local(
            TemporalClass::Year,
            start_of(number(text)?, 1, 1)?,
        ))
    }

    fn year_month(text: &str) -> Option<Self> {
        let start = start_of(number(&text[..4])?, number(&text[5..])?, 1)?;
        Some(Self::local(TemporalClass::YearMonth, start))
    }

    fn local_date(text: &str) -> Option<Self> {
        Some(Self::local(TemporalClass::LocalDate, date_ms(text)?))
    }

    fn local_time(text: &str) -> Option<Self> {
        Some(Self::local(TemporalClass::LocalTime, time_ms(text)?))
    }

    fn date_time(text: &str) -> Option<Self> {
        let (date, rest) = text.split_once('T')?;
        let date_ms = date_ms(date)?;
        let (time, offset) = match rest.find(['Z', '+', '-']) {
            Some(at) => (&rest[..at], Some(offset_ms(&rest[at..])?)),
            None => (rest, None),
        };
        Some(Self {
            class: if offset.is_some() {
                TemporalClass::ZonedDateTime
            } else {
                TemporalClass::LocalDateTime
            },
            wall_ms: date_ms + time_ms(time)?,
            offset_ms: offset.unwrap_or(0),
        })
    }

    /// This time cut to the start of the period of `class`, for classes of calendar times; none for
    /// a time of day.
    pub fn floor_ms(self, class: TemporalClass) -> Option<i64> {
        use chrono::Datelike as _;
        if self.class == TemporalClass::LocalTime {
            return (class == TemporalClass::LocalTime).then_some(self.wall_ms);
        }
        let days = self.wall_ms.div_euclid(DAY_MS);
        let date = || NaiveDate::from_epoch_days(i32::try_from(days).ok()?);
        match class {
            TemporalClass::ZonedDateTime => Some(self.instant_ms()),
            TemporalClass::LocalDateTime => Some(self.wall_ms),
            TemporalClass::LocalDate => Some(days * DAY_MS),
            TemporalClass::YearMonth => start_of(date()?.year(), date()?.month(), 1),
            TemporalClass::Year => start_of(date()?.year(), 1, 1),
            TemporalClass::LocalTime => None,
        }
    }
}

fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn start_of(year: i32, month: u32, day: u32) -> Option<i64> {
    let date = NaiveDate::from_ymd_opt(year, month, day)?;
    Some(i64::from(date.to_epoch_days()) * DAY_MS)
}

fn date_ms(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    start_of(
        number(&text[..4])?,
        number(&text[5..7])?,
        number(&text[8..])?,
    )
}

/// `HH:mm`, `HH:mm:ss`, or the latter with up to nine fraction digits.
fn time_ms(text: &str) -> Option<i64> {
    let (clock, fraction) = text
        .split_once('.')
        .map_or((text, None), |(clock, digits)| (clock, Some(digits)));
    let fits = match (clock.len(), fraction) {
        (5 | 8, None) => true,
        (8, Some(digits)) => (1..=9).contains(&digits.len()),
        _ => false,
    };
    if !fits
        || clock.as_bytes()[2] != b':'
        || clock.as_bytes().get(5).is_some_and(|byte| *byte != b':')
    {
        return None;
    }
    let seconds = if clock.len() == 8 {
        number(&clock[6..])?
    } else {
        0
    };
    let time = NaiveTime::from_hms_opt(number(&clock[..2])?, number(&clock[3..5])?, seconds)?;
    let ms = match fraction {
        Some(digits) => number::<i64>(&format!("{digits:0<9}"))? / 1_000_000,
        None => 0,
    };
    Some(i64::from(time.num_seconds_from_midnight()) * 1_000 + ms)
}

/// `Z`, `±HH:mm` or `±HH`.
fn offset_ms(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = &text[1..];
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        5 if digits.as_bytes()[2] == b':' => (&digits[..2], &digits[3..]),
        _ => return None,
    };
    let (hours, minutes) = (number::<i64>(hours)?, number::<i64>(minutes)?);
    (hours <= 18 && minutes < 60).then_some(sign * (hours * 60 + minutes) * MINUTE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kind_that_parses_wins() {
        use TemporalClass as C;
        for (text, class, wall_ms) in [
            ("1970-01-01T00:00:01Z", C::ZonedDateTime, 1_000),
            ("1970-01-01T00:00+02:00", C::ZonedDateTime, 0),
            ("1970-01-01T00:00:01.5-01", C::ZonedDateTime, 1_500),
            ("1970-01-01T00:01", C::LocalDateTime, 60_000),
            ("1970-01-02", C::LocalDate, DAY_MS),
            ("12:30", C::LocalTime, 45_000_000),
            ("00:00:00.123456789", C::LocalTime, 123),
            ("1970-02", C::YearMonth, 31 * DAY_MS),
            ("1971", C::Year, 365 * DAY_MS),
        ] {
            let temporal = Temporal::parse(text).expect(text);
            assert_eq!(temporal.class, class, "{text}");
            assert_eq!(temporal.wall_ms, wall_ms, "{text}");
        }
        let zoned = Temporal::parse("1970-01-01T02:00:00+02:00").expect("zoned");
        assert_eq!(zoned.instant_ms(), 0);
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "abc",
            "197",
            "19700",
            "1970-13",
            "1970-02-30",
            "25:00",
            "1970-01-01T",
            "1970-01-01 00:00",
            "1970-01-01T00:00:60Z",
            "12:30:00.",
            "1970-01-01T00:00:00+25:00",
            "20:1",
            "１９７０",
        ] {
            assert!(Temporal::parse(text).is_none(), "{text}");
        }
    }
}
