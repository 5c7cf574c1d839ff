//! Locks or unlocks a model (`models-and-entities.md` §2).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, model},
};
use crate::id::ModelKey;
use crate::model::Lock;
use crate::storage::ModelChange;

pub(super) struct LockModel {
    model: ModelKey,
    change: model::LockChange,
}

impl Operation for LockModel {
    type Payload = model::Transition;
    type Answer = model::Changed;

    const REQUEST: EventType = EventType::EntityModelTransitionRequest;
    const RESPONSE: EventType = EventType::EntityModelTransitionResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let transition: model::Transition = payload::decode(payload)?;
        Ok(Self {
            model: transition.model.into(),
            change: transition.transition,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let (change, lock) = match self.change {
            model::LockChange::Lock => (ModelChange::Lock, Lock::Locked),
            model::LockChange::Unlock => (ModelChange::Unlock, Lock::Unlocked),
        };
        let changed = model::Changed::new(&self.model, lock);
        cx.change_model(&self.model, change, &changed, &[]).await?;
        Ok(Output::one(changed))
    }
}
