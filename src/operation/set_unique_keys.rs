//! Sets the composite unique keys of a model: registered, not made yet.

use super::{Access, Answer, Context, Family, Operation};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, model},
};

pub(super) struct SetUniqueKeys;

impl Operation for SetUniqueKeys {
    const REQUEST: EventType = EventType::EntityModelSetUniqueKeysRequest;
    const RESPONSE: EventType = EventType::EntityModelSetUniqueKeysResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let _: model::SetUniqueKeys = payload::decode(payload)?;
        Ok(Self)
    }

    async fn run(self, _cx: Context) -> Result<Answer, Failure> {
        Err(Failure::new(
            Code::NotImplemented,
            "unique keys are not supported yet",
        ))
    }
}
