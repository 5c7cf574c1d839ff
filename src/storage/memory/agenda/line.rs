//! The line of one tenant.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
};

use crate::storage::memory::steps::Leads;

/// The tasks of a tenant, by when they are due.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) known: BinaryHeap<Reverse<(i64, i64)>>,
    /// Those that were postponed.
    pub(super) again: BinaryHeap<Reverse<(i64, i64)>>,
    /// Whether one that was postponed comes next, should there be both.
    pub(super) turn_of_again: bool,
    /// What comes after that, by due time and key, is only in the table.
    pub(super) border: Option<(i64, i64)>,
    /// What was committed while a page is being read.
    pub(super) meanwhile: Option<Vec<(i64, i64)>>,
    /// Tasks that a page brought before their commit was announced.
    pub(super) early: HashSet<i64>,
    /// Not read before that, because it could not be.
    pub(super) not_before: i64,
    pub(super) is_in_ring: bool,
    /// What it is listed by in `waiting` and in `unread`.
    pub(super) waits: Option<i64>,
    pub(super) wants: Option<i64>,
}

impl Line {
    /// When the next one is due.
    pub(super) fn next(&self) -> Option<i64> {
        let due = |Reverse((due, _)): &Reverse<(i64, i64)>| *due;
        let (known, again) = (self.known.peek().map(due), self.again.peek().map(due));
        known.into_iter().chain(again).min()
    }

    /// The key of the next one that is due, and its place if it was not postponed.
    pub(super) fn take(&mut self, wall: i64, leads: &Leads) -> Option<(i64, Option<(i64, i64)>)> {
        let is_due =
            |next: Option<&Reverse<(i64, i64)>>| next.is_some_and(|Reverse((due, _))| *due <= wall);
        let (known, again) = (is_due(self.known.peek()), is_due(self.again.peek()));
        if again && (self.turn_of_again || !known) {
            self.turn_of_again = false;
            return self.again.pop().map(|Reverse((_, key))| (key, None));
        }
        if !known {
            return None;
        }
        self.turn_of_again = true;
        let Reverse((due, key)) = self.known.pop()?;
        let place = (due.saturating_add(leads.of(key)), key);
        Some((key, Some(place)))
    }

    /// The clock was set: tasks keep their times in the table, and pauses their length.
    pub(super) fn step(&mut self, by: i64, before: &Leads, after: &Leads) {
        let moved = |Reverse((due, key)): Reverse<(i64, i64)>| {
            let due = due.saturating_add(before.of(key) - after.of(key));
            Reverse((due, key))
        };
        self.known = std::mem::take(&mut self.known)
            .into_iter()
            .map(moved)
            .collect();
        let kept =
            |Reverse((due, key)): Reverse<(i64, i64)>| Reverse((due.saturating_add(by), key));
        self.again = std::mem::take(&mut self.again)
            .into_iter()
            .map(kept)
            .collect();
        self.not_before = self.not_before.saturating_add(by);
    }

    /// Leaves the later half of what is known to the table; how many those are.
    pub(super) fn shed(&mut self, leads: &Leads, reached: Option<(i64, i64)>) -> usize {
        let in_table =
            |Reverse((due, key)): Reverse<(i64, i64)>| (due.saturating_add(leads.of(key)), key);
        let known = std::mem::take(&mut self.known);
        let mut all: Vec<_> = known.into_iter().map(in_table).collect();
        all.sort_unstable();
        // What has been taken is not to be read again.
        let taken = all.partition_point(|place| Some(*place) <= reached);
        // One stays, so that the line need not be read on at once.
        let shed = all.split_off(all.len().div_ceil(2).max(taken));
        if !shed.is_empty() {
            let last = all.last().copied().max(reached);
            // What is not read yet stays so.
            self.border = self.border.min(last).or(last);
        }
        let kept = all.into_iter();
        self.known = kept
            .map(|(due, key)| Reverse((due.saturating_sub(leads.of(key)), key)))
            .collect();
        shed.len()
    }

    pub(super) fn is_over(&self) -> bool {
        self.known.is_empty()
            && self.again.is_empty()
            && self.border.is_none()
            && self.meanwhile.is_none()
            && self.early.is_empty()
            && !self.is_in_ring
    }
}
