//! Replaces the document of an entity, by a named transition or without (`workflow-engine.md` §7.4).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self, DataFormat,
        entity::{self, Chunk, Written},
    },
};
use crate::runtime::{Content, Update};

pub(super) struct UpdateEntity(Update);

/// Reads one change, of one or of many.
pub(super) fn update(change: entity::Change<'_>, format: DataFormat) -> Result<Update, Failure> {
    Ok(Update {
        id: entity::entity_id(&change.entity_id)?,
        content: Content::Replaced(format.read(change.data)?),
        transition: entity::transition(change.transition),
        if_match: entity::named_version(change.if_match).map(Into::into),
    })
}

impl Operation for UpdateEntity {
    type Payload = entity::Update<'static>;
    type Answer = Written;

    const REQUEST: EventType = EventType::EntityUpdateRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::Update<'_> = payload::decode(payload)?;
        update(request.payload, request.data_format).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let id = self.0.id;
        let updated = cx
            .runtime()
            .update_alone(&mut session, self.0, &cx.initiator())
            .await?;
        let chunk = Chunk::done(session.entry(), vec![id]);
        cx.finish(session, Written::one(chunk), updated.warnings)
            .await
    }
}
