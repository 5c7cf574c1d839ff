//! Lists the transitions of an entity's state (`workflow-engine.md` §10).

use super::{
    Access, Context, Family, Operation, Output,
    get_entity::{When, not_found},
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, as_texts, entity::entity_id, search},
};
use crate::id::EntityId;

pub(super) struct ListTransitions {
    id: EntityId,
    when: When,
}

impl Operation for ListTransitions {
    type Payload = search::Get;
    type Answer = search::Transitions;

    const REQUEST: EventType = EventType::EntityTransitionsGetRequest;
    const RESPONSE: EventType = EventType::EntityTransitionsGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Get = payload::decode(payload)?;
        Ok(Self {
            // Invalid parameters are reported before missing entities.
            when: When::read(
                request.point_in_time.as_deref(),
                request.transaction_id.as_deref(),
            )?,
            id: entity_id(&request.entity_id)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let Some(version) = self.when.find(&cx, &mut session, self.id).await? else {
            // Of an entity that exists, it is the transaction that is unknown (`rest.md` §3.8).
            let exists = session.unit()?.peek(self.id).await?.is_some();
            return Err(if exists && matches!(self.when, When::WrittenBy(_)) {
                Failure::bad_parameter(
                    "transactionId",
                    "no version of the entity was written by this transaction",
                )
            } else {
                not_found(self.id)
            });
        };
        let transitions = cx.runtime().transitions(&mut session, &version).await?;
        session.finish(cx.cancel()).await?;
        Ok(Output::one(search::Transitions {
            transitions: as_texts(transitions),
        }))
    }
}
