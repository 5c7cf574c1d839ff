//! Deletes an unlocked model without entities (`models-and-entities.md` §2).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, model},
};
use crate::id::ModelKey;
use crate::storage::ModelChange;

pub(super) struct DeleteModel {
    model: ModelKey,
}

impl Operation for DeleteModel {
    type Payload = model::Delete;
    type Answer = payload::Done;

    const REQUEST: EventType = EventType::EntityModelDeleteRequest;
    const RESPONSE: EventType = EventType::EntityModelDeleteResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let delete: model::Delete = payload::decode(payload)?;
        Ok(Self {
            model: delete.model.into(),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let done = payload::Done {};
        cx.change_model(&self.model, ModelChange::Delete, &done, &[])
            .await?;
        Ok(Output::one(done))
    }
}
