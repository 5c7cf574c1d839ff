//! The end of the run that a transaction began (`rest.md` §5).

use super::{Access, Answer, Context, Family, Operation};
use crate::audit::{self, MachineEvent};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, audit as told, entity::entity_id},
};
use crate::id::{EntityId, TransactionId};

pub(super) struct AuditFinished {
    id: EntityId,
    transaction: TransactionId,
}

impl Operation for AuditFinished {
    type Payload = told::GetFinished;

    const REQUEST: EventType = EventType::EntityAuditFinishedGetRequest;
    const RESPONSE: EventType = EventType::EntityAuditFinishedGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: told::GetFinished = payload::decode(payload)?;
        Ok(Self {
            transaction: request
                .transaction_id
                .parse()
                .map_err(|_| unknown(&request.transaction_id))?,
            id: entity_id(&request.entity_id)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let tenant = &cx.caller().tenant;
        let snapshot = cx.storage().snapshot(tenant, cx.storage().latest()).await?;
        let event = audit::finished(&snapshot, self.id, self.transaction)
            .await?
            .ok_or_else(|| Failure::new(Code::EntityNotFound, "finished event not found"))?;
        let item = machine(self.id, &event);
        cx.answer(Self::RESPONSE, told::finished(cx.request(), &item))
    }
}

pub(super) fn unknown(transaction: &str) -> Failure {
    Failure::new(
        Code::BadRequest,
        format!("`transactionId` is `{transaction}`, which is not a UUID"),
    )
}

pub(super) fn machine(entity: EntityId, event: &MachineEvent) -> String {
    told::machine(
        entity,
        &told::Machine {
            kind: event.kind,
            state: event.state.as_deref(),
            details: &event.details,
            data: &event.data,
            at: event.at,
            transaction: event.transaction,
        },
    )
}
