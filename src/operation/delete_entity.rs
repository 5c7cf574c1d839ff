//! Deletes an entity; its history stays (`rest.md` §3.7).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, AsText, entity},
};
use crate::id::EntityId;

pub(super) struct DeleteEntity {
    id: EntityId,
    if_match: Option<Box<str>>,
}

impl Operation for DeleteEntity {
    type Payload = entity::Delete;
    type Answer = entity::Deleted;

    const REQUEST: EventType = EventType::EntityDeleteRequest;
    const RESPONSE: EventType = EventType::EntityDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::Delete = payload::decode(payload)?;
        Ok(Self {
            id: entity::entity_id(&request.entity_id)?,
            if_match: entity::expected_version(request.if_match),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let is_ignored = cx.runtime().compat().deletions_ignore_if_match();
        let if_match = self.if_match.as_deref().filter(|_| !is_ignored);
        let deleted = cx
            .runtime()
            .delete(&mut session, self.id, if_match, &cx.initiator())
            .await?;
        let transaction = session.entry();
        let answer = entity::Deleted {
            entity_id: AsText(self.id),
            model: deleted.model.into(),
            transaction_id: AsText(transaction),
        };
        cx.finish(session, answer, Vec::new()).await
    }
}
