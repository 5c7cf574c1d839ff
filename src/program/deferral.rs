//! Work of sagas that is deferred: compensations and callbacks whose entity others change each time.

use std::time::Duration;

use super::{
    machine::{Doing, Flow, Machine},
    run::{Then, Waiting},
};
use crate::backoff;

/// The first and the longest pause before what was deferred is tried again.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(5);

impl Machine<'_> {
    /// Continues with what was deferred.
    pub(super) fn resumes_deferred(&mut self) -> Flow {
        if self.is_unwinding() {
            return Flow::Go(Doing::Unwind);
        }
        let at = self.saga().at;
        self.enter_at(at)
    }

    /// Called before work that is not retried when it fails: `on_complete` and compensations. After
    /// conflicts of earlier steps it has a commit of its own, so that these do not count as its own;
    /// if others change its entity each time, it is deferred.
    pub(super) fn defers(&mut self) -> Option<Flow> {
        if self.run.has_called {
            return self.world.is_apart.then_some(Flow::PutOff(Then::Deferred));
        }
        if !self.world.is_contended {
            return None;
        }
        let deferrals = self.saga().deferrals.saturating_add(1);
        self.saga().deferrals = deferrals;
        let pause = backoff::nth(PAUSE_FIRST, PAUSE_MAX, deferrals);
        Some(Flow::Park(Waiting::Timer {
            then: Then::Deferred,
            until: self.world.now.after(pause),
        }))
    }
}
