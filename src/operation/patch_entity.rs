//! Patches an entity: registered, not made yet.

use super::{Access, Answer, Context, Family, Operation};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, entity},
};

pub(super) struct PatchEntity;

impl Operation for PatchEntity {
    const REQUEST: EventType = EventType::EntityPatchRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let _: entity::Patch = payload::decode(payload)?;
        Ok(Self)
    }

    async fn run(self, _cx: Context) -> Result<Answer, Failure> {
        Err(Failure::new(
            Code::NotImplemented,
            "patching is not supported yet; send the whole document with EntityUpdateRequest",
        ))
    }
}
