//! Limits how much JSON is read for one turn of a run, or for one template; and how much of that on
//! a thread that serves requests.
//!
//! Each member of a path is looked for in all of the value that it is a member of, so a path into a
//! deeply nested document reads most of it once per level.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::{Deserialize, Serialize};

/// How many bytes may be read.
const BYTES: usize = 64 << 20;

/// How many of them by one piece of work on a thread that serves requests: about a millisecond.
const AT_ONCE: usize = 256 << 10;

thread_local! {
    /// What is left of these for the work of this thread; none if the thread has time.
    static LEFT_AT_ONCE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// What is left of that.
#[derive(Debug, Serialize, Deserialize)]
pub struct Budget(AtomicUsize);

/// The work is for a thread that has time.
struct NotAtOnce;

/// Does work on a thread that serves requests; none if it evaluates more than such a thread has
/// time for. Then it was done in part, and is to be done from its beginning on another thread.
///
/// What an expression costs depends on its values and not on their size alone: a macro within a
/// macro goes through a short list as often as that has pairs.
pub fn at_once<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = LEFT_AT_ONCE.replace(Some(AT_ONCE));
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT_AT_ONCE.set(before);
    match done {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<NotAtOnce>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Takes bytes of what may be read at once, which ends the work if there are not as many.
pub(super) fn take_at_once(bytes: usize) {
    let Some(left) = LEFT_AT_ONCE.get() else {
        return;
    };
    let Some(left) = left.checked_sub(bytes) else {
        // An error would become the result of the expression.
        resume_unwind(Box::new(NotAtOnce));
    };
    LEFT_AT_ONCE.set(Some(left));
}

/// Nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuchWork;

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicUsize::new(BYTES))
    }
}

impl Clone for Budget {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Budget {
    /// Whether nothing was taken yet.
    pub fn is_whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) == BYTES
    }

    /// Takes that many bytes, if there are as many.
    pub(super) fn take(&self, bytes: usize) -> Result<(), TooMuchWork> {
        take_at_once(bytes);
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes);
        self.0.store(left.ok_or(TooMuchWork)?, Ordering::Relaxed);
        Ok(())
    }

    /// Takes that many bytes within [`Budget::while_left`], which ends if there are not as many.
    pub(super) fn spend(&self, bytes: usize) {
        if let Err(nothing_left) = self.take(bytes) {
            // An error would not end it: macros and operators go on after errors.
            resume_unwind(Box::new(nothing_left));
        }
    }

    /// Does work that takes of a copy of the budget, as long as anything is left.
    pub(super) fn while_left<T>(
        &self,
        work: impl FnOnce(Arc<Self>) -> T,
    ) -> Result<T, TooMuchWork> {
        let copy = Arc::new(self.clone());
        let done = catch_unwind(AssertUnwindSafe(|| work(Arc::clone(&copy))));
        self.0
            .store(copy.0.load(Ordering::Relaxed), Ordering::Relaxed);
        done.map_err(|panic| match panic.downcast::<TooMuchWork>() {
            Ok(nothing_left) => *nothing_left,
            Err(panic) => resume_unwind(panic),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_at_once_ends_where_it_costs_too_much() {
        let read = |budget: &Budget, bytes: usize| {
            let done = budget.while_left(|copy| copy.spend(bytes));
            done.is_ok() && budget.take(bytes).is_ok()
        };
        let budget = Budget::default();
        assert_eq!(at_once(|| read(&budget, AT_ONCE / 2)), Some(true));
        assert_eq!(at_once(|| read(&budget, AT_ONCE / 2 + 1)), None);
        // Each piece of work has as much, and none of it is counted elsewhere.
        assert_eq!(at_once(|| read(&budget, AT_ONCE / 2)), Some(true));
        assert!(read(&budget, AT_ONCE));
        assert_eq!(at_once(|| read(&budget, BYTES)), None);
        assert!(!read(&budget, BYTES));
    }

    #[test]
    fn other_panics_leave_the_work_at_once() {
        let panicked: Result<Option<()>, _> =
            catch_unwind(|| at_once(|| resume_unwind(Box::new("on purpose"))));
        let panic = panicked.expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        assert_eq!(LEFT_AT_ONCE.get(), None);
    }
}
