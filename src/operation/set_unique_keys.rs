//! Sets the composite unique keys of a model (`models-and-entities.md` §9).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, model},
};
use crate::id::ModelKey;
use crate::model::{KeyDefinition, Lock};
use crate::storage::ModelChange;

pub(super) struct SetUniqueKeys {
    model: ModelKey,
    keys: Vec<KeyDefinition>,
}

impl Operation for SetUniqueKeys {
    type Payload = model::SetUniqueKeys;
    type Answer = model::Changed;

    const REQUEST: EventType = EventType::EntityModelSetUniqueKeysRequest;
    const RESPONSE: EventType = EventType::EntityModelSetUniqueKeysResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: model::SetUniqueKeys = payload::decode(payload)?;
        Ok(Self {
            model: request.model.into(),
            keys: request.unique_keys.into_iter().map(Into::into).collect(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        // Errors in them are reported only if the model exists and is unlocked.
        let change = ModelChange::SetUniqueKeys(self.keys);
        let changed = model::Changed::new(&self.model, Lock::Unlocked);
        cx.change_model(&self.model, change, &changed, &[]).await?;
        Ok(Output::one(changed))
    }
}
