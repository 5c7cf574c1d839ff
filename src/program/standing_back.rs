//! Sagas that meet conflicts: what nobody repeats for them stands back, and is done later.

use std::time::Duration;

use super::{
    machine::{Doing, Flow, Machine},
    run::{Then, Waiting},
};

/// The first and the longest pause of a saga whose entity others change each time.
const STANDING_BACK: Duration = Duration::from_secs(1);
const STANDING_BACK_MAX: Duration = Duration::from_mins(5);

impl Machine<'_> {
    /// What the saga was about to do when it stood back.
    pub(super) fn goes_on(&mut self) -> Flow {
        if self.is_unwinding() {
            return Flow::Go(Doing::Unwind);
        }
        let at = self.saga().at;
        self.enter_at(at)
    }

    /// Before what nobody repeats if it fails: `on_complete` and compensations. After conflicts it
    /// has a turn of its own, so that those of others are not taken for its own; and if others change
    /// its entity each time, it is tried again later.
    pub(super) fn stands_back(&mut self) -> Option<Flow> {
        if self.run.has_called {
            return self.world.is_apart.then_some(Flow::PutOff(Then::GoOn));
        }
        if !self.world.is_contended {
            return None;
        }
        let times = self.saga().stood_back;
        self.saga().stood_back = times.saturating_add(1);
        let pause = STANDING_BACK.saturating_mul(2_u32.saturating_pow(times));
        Some(Flow::Park(Waiting::Timer {
            then: Then::GoOn,
            until: self.world.now.after(pause.min(STANDING_BACK_MAX)),
        }))
    }
}
