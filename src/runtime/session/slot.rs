//! The slot of a session among the tasks in flight, which is released whenever the session waits.

use super::{Session, TaskInFlight};

impl Session {
    fn slot(&mut self) -> Option<&mut TaskInFlight> {
        self.owner()?.slot.as_mut()
    }

    /// Assigns a slot, which is released whenever the session waits.
    pub(in crate::runtime) fn occupy(&mut self, slot: TaskInFlight) {
        if let Some(owner) = self.owner() {
            owner.slot = Some(slot);
        }
    }

    /// The slot that was assigned, for another try.
    pub(in crate::runtime) const fn vacate(&mut self) -> Option<TaskInFlight> {
        match self.owner() {
            Some(owner) => owner.slot.take(),
            None => None,
        }
    }

    /// Lets others advance the run of this try.
    pub(in crate::runtime) fn leave_turn(&mut self) {
        if let Some(owner) = self.owner() {
            owner.attempt.turn = None;
        }
    }

    /// Releases the slot, before waiting for a member, which may itself have something for the run
    /// that is being advanced.
    pub(in crate::runtime) fn leave_slot(&mut self) {
        self.leave_turn();
        self.leave_slot_alone();
    }

    /// Releases the slot, before waiting for work of this process. Others still wait to advance the
    /// run.
    pub(in crate::runtime) fn leave_slot_alone(&mut self) {
        if let Some(slot) = self.slot() {
            slot.leave();
        }
    }

    /// Waits for a slot in which to continue.
    pub(in crate::runtime) async fn take_slot(&mut self) {
        if let Some(slot) = self.slot() {
            slot.take().await;
        }
    }
}
