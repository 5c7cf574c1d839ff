//! The time in which a key counts, which may be cut short.

use std::time::Duration;

use super::record::ValidityRecord;
use crate::clock::Timestamp;

/// The time in which a key is valid; the end is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Whether it was cut short: what is left is a time of grace for what the key has signed.
    is_cut: bool,
}

impl Validity {
    pub const fn new(from: Timestamp, to: Timestamp) -> Self {
        Self {
            from,
            to,
            is_cut: false,
        }
    }

    /// Whether the key is in use, or will be.
    pub fn is_active(self, now: Timestamp) -> bool {
        !self.is_cut && !self.is_over(now)
    }

    /// Whether what the key has signed is good.
    pub(super) fn holds(self, now: Timestamp) -> bool {
        (self.from..self.to).contains(&now)
    }

    /// When the time of grace ends, if it was cut short.
    pub(super) fn grace_ends(self) -> Option<Timestamp> {
        self.is_cut.then_some(self.to)
    }

    /// Whether everything is over that the key was valid for.
    pub fn is_over(self, now: Timestamp) -> bool {
        self.to <= now
    }

    /// Ends the validity after a time of grace, unless it ends before.
    #[must_use]
    pub fn cut(self, now: Timestamp, grace: Duration) -> Self {
        Self {
            to: self.to.min(now.after(grace)),
            is_cut: true,
            ..self
        }
    }

    /// As it is stored.
    pub(super) const fn record(self) -> ValidityRecord {
        ValidityRecord {
            valid_from: self.from.micros(),
            valid_to: self.to.micros(),
            invalidated: self.is_cut,
        }
    }

    /// One that was stored.
    pub(super) const fn read(record: &ValidityRecord) -> Self {
        Self {
            from: Timestamp::from_micros(record.valid_from),
            to: Timestamp::from_micros(record.valid_to),
            is_cut: record.invalidated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_key_counts_in_its_time_and_is_never_good_for_longer_once_that_is_cut() {
        let whole = Validity::new(at(10), at(100));
        let states =
            |validity: Validity, now| (validity.is_active(at(now)), validity.holds(at(now)));
        assert_eq!(states(whole, 9), (true, false));
        assert_eq!(states(whole, 10), (true, true));
        assert_eq!(states(whole, 100), (false, false));
        let cut = whole.cut(at(20), Duration::from_secs(5));
        assert_eq!(states(cut, 24), (false, true));
        assert_eq!(states(cut, 25), (false, false));
        assert_eq!(cut.cut(at(20), Duration::from_secs(50)), cut);
        assert_eq!(Validity::read(&cut.record()), cut);
    }
}
