//! Refused token requests, as the log and the metrics report them.
//!
//! The metric counts all of them. The log has a few lines in a minute at most, so that nobody can
//! fill it. It names a client only if there is one: what was sent as an id may be a secret.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::warn;

use super::{token::Refusal, turns::Peer};
use crate::telemetry::measure;

/// How many lines the log has within a period, at most.
const LINES_MAX: u32 = 10;
const PERIOD: Duration = Duration::from_mins(1);

/// Reports refused token requests.
#[derive(Debug, Default)]
pub(super) struct RefusedRequests {
    /// A mutex, not a task: held to count a line.
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    written: u32,
    /// How many refusals have had no line since the last one that had.
    skipped: u64,
}

impl Refusal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "invalid_client",
            Self::TooMany => "too_many_failures",
            Self::Busy => "busy",
            Self::Untrusted => "untrusted_token",
            Self::OtherTenant => "other_tenant",
        }
    }
}

impl RefusedRequests {
    /// Reports a refusal; `client` is the client that was named, if it is known.
    pub(super) fn report(&self, client: Option<&str>, peer: Peer, refusal: Refusal) {
        let reason = refusal.as_str();
        measure::token_refused(reason);
        let Some(skipped) = self.lines.lock().next(Instant::now()) else {
            return;
        };
        warn!(
            client.id = client,
            %peer,
            reason,
            skipped,
            "a token request was refused"
        );
    }
}

impl Lines {
    /// How many refusals had no line before this one; none if this one has no line either.
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
