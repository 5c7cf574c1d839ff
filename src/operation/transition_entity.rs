//! Takes a transition with the document as it is (`grpc.md` §8.2), in one transaction.

use super::{Access, Context, Family, Operation, Output, once::WHOLE};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self, answer, as_texts,
        entity::{self, Transitioned},
    },
};
use crate::id::{EntityId, TransitionName};
use crate::runtime::{Content, Session, Update};

pub(super) struct TransitionEntity {
    id: EntityId,
    transition: TransitionName,
    if_match: Option<Box<str>>,
}

impl Operation for TransitionEntity {
    type Payload = entity::Transition;
    type Answer = Transitioned;

    const REQUEST: EventType = EventType::EntityTransitionRequest;
    const RESPONSE: EventType = EventType::EntityTransitionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::Transition = payload::decode(payload)?;
        Ok(Self {
            id: entity::entity_id(&request.entity_id)?,
            transition: request.transition.into(),
            if_match: entity::expected_version(request.if_match),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let request = cx.request().to_owned();
        let so_far = move |_, _: &[EntityId]| {
            let nothing = Transitioned {
                available_transitions: Vec::new(),
            };
            answer::text(&request, &[], &nothing)
        };
        let mut session = cx.session_for(WHOLE, so_far).await?;
        let update = Update {
            id: self.id,
            content: Content::Kept,
            transition: Some(self.transition),
            if_match: self.if_match,
        };
        let updated = cx
            .runtime()
            .update_alone(&mut session, update, &cx.initiator())
            .await?;
        let answer = match transitions(&cx, &mut session, self.id).await {
            Ok(available) => Transitioned {
                available_transitions: as_texts(available),
            },
            Err(failure) => return Err(session.fail(failure).await.warned(updated.warnings)),
        };
        cx.finish(session, answer, updated.warnings).await
    }
}

/// The transitions of the entity as the session has left it.
async fn transitions(
    cx: &Context,
    session: &mut Session,
    id: EntityId,
) -> Result<Vec<TransitionName>, Failure> {
    let now = session.unit()?.peek(id).await?;
    let now = now.ok_or_else(|| Failure::new(Code::EntityNotFound, "entity not found"))?;
    cx.runtime().transitions(session, &now).await
}
