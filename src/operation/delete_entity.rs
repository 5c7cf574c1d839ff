//! Deletes an entity; its history stays (`rest.md` §3.7).

use super::{Access, Answer, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, entity},
};
use crate::id::EntityId;

pub(super) struct DeleteEntity(EntityId);

impl Operation for DeleteEntity {
    type Payload = entity::Delete;

    const REQUEST: EventType = EventType::EntityDeleteRequest;
    const RESPONSE: EventType = EventType::EntityDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::Delete = payload::decode(payload)?;
        entity::entity_id(&request.entity_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let mut session = cx.session().await?;
        let deleted = cx
            .runtime()
            .delete(&mut session, self.0, &cx.initiator())
            .await?;
        let transaction = session.entry();
        let json = entity::deleted(cx.request(), self.0, &deleted.model, transaction);
        cx.finish(session, Self::RESPONSE, json).await
    }
}
