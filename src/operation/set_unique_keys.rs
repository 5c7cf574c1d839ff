//! Sets the composite unique keys of a model (`models-and-entities.md` §9).

use super::{Access, Answer, Context, Family, Operation};
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

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        // What is wrong with them is told only of a model that is there and unlocked.
        let change = ModelChange::SetUniqueKeys(self.keys);
        let json = model::locked(cx.request(), &self.model, Lock::Unlocked);
        cx.change_model(&self.model, change, &json).await?;
        cx.answer(Self::RESPONSE, json)
    }
}
