//! What a session does on behalf of others: of events and steps, and of transitions that signal runs.

use std::{mem, sync::Arc};

use super::{Role, Session};
use crate::id::EntityId;
use crate::runtime::{machines::Acting, runs::Try};

impl Session {
    /// Says which try it is of what has arrived for a run.
    pub fn is_try(&mut self, attempt: Try) {
        if let Some(owner) = self.owner() {
            owner.attempt = attempt;
        }
    }

    /// How many tries before it met a conflict.
    pub(in crate::runtime) const fn conflicts(&self) -> u32 {
        match &self.role {
            Role::Owner(owner) => owner.attempt.conflicts,
            Role::Guest(_) => 0,
        }
    }

    /// Says what actions of state machines are done for from here on; what they were done for.
    pub(in crate::runtime) fn acts_for(&mut self, acting: Option<Acting>) -> Option<Acting> {
        mem::replace(&mut self.owner()?.acting, acting)
    }

    /// Says for which execution of a step actions of state machines are done from here on.
    pub(in crate::runtime) fn acts_for_step(&mut self, key: &str) {
        if let Some(owner) = self.owner() {
            owner.acting = Some(Acting {
                key: key.into(),
                acted: Arc::clone(owner.attempt.acted.get_or_insert_default()),
            });
        }
    }

    /// Notes that an entity is being moved while runs are signalled, until [`Self::has_moved`].
    pub(in crate::runtime) fn moves(&mut self, id: EntityId) {
        self.moving.push(id);
    }

    /// The runs were signalled.
    pub(in crate::runtime) fn has_moved(&mut self) {
        self.moving.pop();
    }

    /// The entities that are being moved by transitions that have signalled the run that is being
    /// advanced.
    pub(in crate::runtime) fn moving(&self) -> &[EntityId] {
        &self.moving
    }

    /// What actions of state machines are done for; none for a plain transition.
    pub(in crate::runtime) const fn acting(&self) -> Option<&Acting> {
        match &self.role {
            Role::Owner(owner) => owner.acting.as_ref(),
            Role::Guest(_) => None,
        }
    }
}
