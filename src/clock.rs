//! Time as a value: instants, their source, and their notation.
//!
//! May use: nothing of this crate.
//! Must not: be read by pure modules; they receive the time as an argument.

use std::{
    fmt,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};

/// An instant, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A text that is not an RFC 3339 date-time.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 date-time, for instance 2026-01-02T03:04:05.678Z, or a date")]
pub struct NotATime(pub String);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Parses RFC 3339, like [`PointInTime::parse`].
    pub fn parse(text: &str) -> Result<Self, NotATime> {
        parse(text).map(|instant| Self(instant.timestamp_micros()))
    }

    /// The instant after a delay.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        let micros = i64::try_from(delay.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// The instant that is a delay earlier.
    #[must_use]
    pub fn before(self, delay: Duration) -> Self {
        let micros = i64::try_from(delay.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros))
    }

    /// The time from `earlier` to this instant; zero if it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 has years of four digits: an instant before or after them is the first or the last
    /// second that it can write.
    fn date_time(self) -> DateTime<Utc> {
        /// 0000-01-01T00:00:00Z and 9999-12-31T23:59:59Z, in seconds.
        const WRITTEN: (i64, i64) = (-62_167_219_200, 253_402_300_799);
        let (first, last) = WRITTEN;
        let seconds = self.0.div_euclid(1_000_000);
        let found = if seconds < first {
            DateTime::from_timestamp(first, 0)
        } else if seconds > last {
            DateTime::from_timestamp(last, 0)
        } else {
            DateTime::from_timestamp_micros(self.0)
        };
        found.unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&trimmed(self.date_time(), SecondsFormat::Micros))
    }
}

/// The instant of a read: everything up to and including it.
///
/// Clients that know only milliseconds cut the times they receive, so an instant without digits
/// below the millisecond covers that whole millisecond (`models-and-entities.md` §7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointInTime {
    /// The last instant that is included.
    pub until: Timestamp,
    /// The given instant in UTC, to the nanosecond, for answers that echo it.
    pub text: Arc<str>,
}

impl PointInTime {
    /// Parses RFC 3339; without offset it is UTC, a date alone is its midnight, and a space before
    /// the offset is a `+` that was not escaped in a query (`rest.md` §1). An offset may lack its
    /// colon or its minutes, because generated clients in Python write it so.
    pub fn parse(text: &str) -> Result<Self, NotATime> {
        let instant = parse(text)?;
        let micros = instant.timestamp_micros();
        let until = if instant.timestamp_subsec_nanos() % 1_000_000 == 0 {
            micros.saturating_add(999)
        } else {
            micros
        };
        Ok(Self {
            until: Timestamp(until),
            text: trimmed(instant, SecondsFormat::Nanos).into(),
        })
    }
}

/// RFC 3339 in UTC, trailing zeros of the fraction trimmed (`rest.md` §1).
fn trimmed(time: DateTime<Utc>, digits: SecondsFormat) -> String {
    let text = time.to_rfc3339_opts(digits, true);
    let digits = text.trim_end_matches('Z').trim_end_matches('0');
    format!("{}Z", digits.trim_end_matches('.'))
}

fn parse(text: &str) -> Result<DateTime<Utc>, NotATime> {
    let completed = if is_date(text) {
        format!("{text}T00:00:00Z")
    } else {
        complete_offset(text)
    };
    DateTime::parse_from_rfc3339(&completed)
        .or_else(|_| DateTime::parse_from_str(&completed, "%Y-%m-%dT%H:%M:%S%.f%#z"))
        .map(|time| time.to_utc())
        .or_else(|_| {
            NaiveDateTime::parse_from_str(&completed, "%Y-%m-%dT%H:%M:%S%.f").map(|t| t.and_utc())
        })
        .map_err(|_| NotATime(text.to_owned()))
}

/// Whether a text has the form of a date, `2026-01-02`.
fn is_date(text: &str) -> bool {
    let form = text.bytes().enumerate();
    text.len() == 10
        && form.into_iter().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn complete_offset(text: &str) -> String {
    match text.rsplit_once(' ') {
        Some((time, offset)) if time.contains('T') => format!("{time}+{offset}"),
        _ => text.to_owned(),
    }
}

/// The readings of both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub wall: Timestamp,
    /// The monotonic time since a fixed moment.
    pub steady: Duration,
}

/// The source of time.
#[derive(Debug, Clone)]
pub enum Clock {
    System,
    /// That of the system, corrected by the clock of a server.
    Corrected(Correction),
    /// Stands still until a test moves it.
    Manual(ManualClock),
    /// Follows the time of the test's runtime, which was at `origin` when it was `from`.
    #[cfg(test)]
    Virtual {
        origin: tokio::time::Instant,
        from: Timestamp,
    },
}

impl Clock {
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => system(),
            Self::Corrected(correction) => correction.now(),
            Self::Manual(clock) => Timestamp(clock.micros.load(Ordering::SeqCst)),
            #[cfg(test)]
            Self::Virtual { origin, from } => from.after(origin.elapsed()),
        }
    }

    /// For waiting until instants of this clock.
    pub fn alarm(&self) -> Alarm {
        Alarm {
            clock: self.clone(),
            seen: self.now(),
        }
    }

    /// The wall-clock time, and the monotonic time: the wall clock may be set.
    pub fn read(&self) -> Reading {
        // Two clocks are read, and the thread may be preempted between them.
        let mut before = self.steady();
        for _ in 0..TRIES {
            let wall = self.now();
            let steady = self.steady();
            if steady.saturating_sub(before) < AT_ONCE {
                return Reading { wall, steady };
            }
            before = steady;
        }
        Reading {
            wall: self.now(),
            steady: before,
        }
    }

    fn steady(&self) -> Duration {
        static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Self::System | Self::Corrected(_) => ORIGIN.elapsed(),
            Self::Manual(clock) => {
                let passed = clock.passed.load(Ordering::SeqCst);
                Duration::from_micros(u64::try_from(passed).unwrap_or(0))
            }
            #[cfg(test)]
            Self::Virtual { origin, .. } => origin.elapsed(),
        }
    }
}

/// Waits until instants, of a clock that may be set meanwhile.
#[derive(Debug)]
pub struct Alarm {
    clock: Clock,
    /// The time that the clock showed last.
    seen: Timestamp,
}

/// Why an alarm went off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The instant has come.
    Due,
    /// The clock shows an earlier time than before: what was planned by it may be far ahead.
    SetBack,
}

impl Alarm {
    /// Waits until an instant, without one for ever. That the clock was set, forward or back, is
    /// noticed within a second, and at once if it was set back since this was called last.
    pub async fn until(&mut self, instant: Option<Timestamp>) -> Woken {
        let Some(instant) = instant else {
            return std::future::pending().await;
        };
        loop {
            let now = self.clock.now();
            let before = std::mem::replace(&mut self.seen, now);
            if now < before {
                return Woken::SetBack;
            }
            let left = instant.since(now);
            if left.is_zero() {
                return Woken::Due;
            }
            tokio::time::sleep(left.min(READ_EVERY)).await;
        }
    }
}

/// The time of the system's clock.
fn system() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// By how much the clock of a server is ahead of that of the system. Its clones are the same.
///
/// What is asked of the server was read between asking and its answer, so each answer bounds the
/// difference from both sides. It is changed only where it is out of bounds: the error is at most the
/// time of the shortest trip, and times do not jump to and fro with the length of trips.
#[derive(Debug, Clone, Default)]
pub struct Correction {
    micros: Arc<AtomicI64>,
}

impl Correction {
    fn now(&self) -> Timestamp {
        Timestamp(system().0 + self.micros())
    }

    /// One that was wrong by so much until now.
    #[cfg(test)]
    pub fn wrong_by(micros: i64) -> Self {
        Self {
            micros: Arc::new(AtomicI64::new(micros)),
        }
    }

    /// The difference, in microseconds.
    pub fn micros(&self) -> i64 {
        self.micros.load(Ordering::Relaxed)
    }

    /// The time of the system, to be given to [`Self::learn`].
    pub fn uncorrected(&self) -> Timestamp {
        system()
    }

    /// The server was asked and has answered at two times of the system, and read its clock between
    /// them. To be called by one task.
    pub fn learn(&self, asked: Timestamp, server: Timestamp, answered: Timestamp) {
        let (least, most) = (server.0 - answered.0, server.0 - asked.0);
        if least <= most {
            let corrected = self.micros().clamp(least, most);
            self.micros.store(corrected, Ordering::Relaxed);
        }
    }
}

/// How often the clock is read while an instant is awaited.
const READ_EVERY: Duration = Duration::from_secs(1);

/// Two readings within that time count as one moment.
const AT_ONCE: Duration = Duration::from_millis(10);

/// How often that is tried.
const TRIES: u32 = 100;

/// A clock that a test controls.
#[derive(Debug, Clone, Default)]
pub struct ManualClock {
    micros: Arc<AtomicI64>,
    /// How much time has passed, however the clock was set.
    passed: Arc<AtomicI64>,
}

impl ManualClock {
    /// Sets the clock. If it is set forward, that much time has passed.
    pub fn set(&self, to: Timestamp) {
        let before = self.micros.swap(to.0, Ordering::SeqCst);
        self.passed
            .fetch_add((to.0 - before).max(0), Ordering::SeqCst);
    }

    pub fn advance_ms(&self, ms: i64) {
        self.passed.fetch_add(ms * 1_000, Ordering::SeqCst);
        self.micros.fetch_add(ms * 1_000, Ordering::SeqCst);
    }

    /// Sets the clock forward or back without time passing.
    pub fn step_ms(&self, ms: i64) {
        self.micros.fetch_add(ms * 1_000, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_alarm_notices_that_the_clock_is_set() {
        for (by, expected) in [
            (3_600_000, Woken::Due),
            (3_599_999, Woken::Due),
            (-1, Woken::SetBack),
        ] {
            let manual = ManualClock::default();
            let clock = Clock::Manual(manual.clone());
            let (mut alarm, hour) = (clock.alarm(), clock.now().after(Duration::from_hours(1)));
            let setting = async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                manual.step_ms(by);
                tokio::time::sleep(READ_EVERY).await;
                manual.advance_ms(1_000);
            };
            let woken = tokio::time::timeout(3 * READ_EVERY, alarm.until(Some(hour)));
            let (woken, ()) = tokio::join!(woken, setting);
            assert_eq!(woken.expect("within three looks"), expected, "{by}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_notices_what_happened_between_two_waits() {
        let manual = ManualClock::default();
        let mut alarm = Clock::Manual(manual.clone()).alarm();
        manual.step_ms(-500);
        let now = Clock::Manual(manual).now();
        assert_eq!(alarm.until(Some(now)).await, Woken::SetBack);
        assert_eq!(alarm.until(Some(now)).await, Woken::Due);
    }

    #[test]
    fn times_are_written_without_trailing_zeros() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_500_000, "1970-01-01T00:00:01.5Z"),
            (1_000_010, "1970-01-01T00:00:01.00001Z"),
            (20_000_000, "1970-01-01T00:00:20Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
            (253_402_300_800_000_000, "9999-12-31T23:59:59Z"),
            (i64::MAX, "9999-12-31T23:59:59Z"),
            (i64::MIN, "0000-01-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp(micros).to_string(), text);
        }
    }

    #[test]
    fn a_correction_changes_only_as_far_as_it_has_to() {
        let correction = Correction::default();
        let mut learned = Vec::new();
        for (asked, server, answered) in [
            (0, 1_000, 10),
            (100, 1_104, 110),
            (200, 1_203, 500),
            (300, 1_310, 301),
            (400, 300, 410),
            (500, 400, 490),
        ] {
            let at = Timestamp::from_micros;
            correction.learn(at(asked), at(server), at(answered));
            learned.push(correction.micros());
        }
        // The last has no bounds: the clock of the system went back meanwhile.
        assert_eq!(learned, [990, 994, 994, 1_009, -100, -100]);
    }

    #[test]
    fn a_point_in_time_without_fine_digits_covers_its_millisecond() {
        for (text, until) in [
            ("1970-01-01T00:00:01Z", 1_000_999),
            ("1970-01-01T00:00:01.002Z", 1_002_999),
            ("1970-01-01T00:00:01.002000Z", 1_002_999),
            ("1970-01-01T00:00:01.002001Z", 1_002_001),
            ("1970-01-01T00:00:01.0020019Z", 1_002_001),
            ("1970-01-01T01:00:01+01:00", 1_000_999),
            ("1970-01-01T01:00:01 01:00", 1_000_999),
            ("1970-01-01T00:00:01.002001+0000", 1_002_001),
            ("1970-01-01T01:30:01+0130", 1_000_999),
            ("1970-01-01T01:30:01 0130", 1_000_999),
            ("1969-12-31T23:00:01-01", 1_000_999),
            ("1970-01-01T00:00:01", 1_000_999),
            ("1970-01-02", 86_400_000_999),
        ] {
            assert_eq!(
                PointInTime::parse(text).expect(text).until,
                Timestamp(until),
                "{text}"
            );
        }
        for (text, echoed) in [
            ("1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z"),
            ("1970-01-01T01:00:01+01:00", "1970-01-01T00:00:01Z"),
            ("1970-01-01T00:00:01.120", "1970-01-01T00:00:01.12Z"),
            (
                "1970-01-01T00:00:01.000000010Z",
                "1970-01-01T00:00:01.00000001Z",
            ),
            ("1970-01-02", "1970-01-02T00:00:00Z"),
        ] {
            let parsed = PointInTime::parse(text).expect(text);
            assert_eq!(&*parsed.text, echoed);
        }
        for text in [
            "",
            "yesterday",
            "1970-13-01",
            "1970-1-1",
            "1970-13-01T00:00:00Z",
            "1970-01-01T00:00:01+1",
            "1970-01-01T00:00:01+01000",
        ] {
            assert!(PointInTime::parse(text).is_err(), "{text}");
        }
    }
}
