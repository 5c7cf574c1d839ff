//! A limit of the log lines that callers without credentials can cause, so that nobody can fill the
//! log.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How many lines the log has within a period, at most.
const LINES_MAX: u32 = 10;
const PERIOD: Duration = Duration::from_mins(1);

/// Decides which events of one kind have a line in the log.
#[derive(Debug, Default)]
pub struct LimitedLines {
    /// A mutex, not a task: held to count a line.
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    written: u32,
    /// How many events have had no line since the last one that had.
    skipped: u64,
}

impl LimitedLines {
    /// How many events had no line before this one; none if this one has no line either.
    pub fn next(&self) -> Option<u64> {
        self.lines.lock().next(Instant::now())
    }
}

impl Lines {
    fn next(&mut self, now: Instant) -> Option<u64> {
        let is_over = |since| now.saturating_duration_since(since) >= PERIOD;
        if self.since.is_none_or(is_over) {
            self.since = Some(now);
            self.written = 0;
        }
        if self.written >= LINES_MAX {
            self.skipped += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.skipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_a_few_lines_in_a_minute_and_says_how_many_it_left_out() {
        let mut lines = Lines::default();
        let begin = Instant::now();
        let logged = (0..25).filter_map(|_| lines.next(begin)).count();
        assert_eq!(logged, 10);
        let later = begin + PERIOD;
        let before = begin + PERIOD.saturating_sub(Duration::from_millis(1));
        assert_eq!(lines.next(before), None);
        assert_eq!(lines.next(later), Some(16));
        assert_eq!(lines.next(later), Some(0));
    }
}
