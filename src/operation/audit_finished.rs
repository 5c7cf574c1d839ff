//! The end of the run that a transaction began (`rest.md` §5).

use super::{Access, Context, Family, Operation, Output};
use crate::audit::{self, MachineEvent};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, audit as wire, entity::entity_id},
};
use crate::id::{EntityId, TransactionId};

pub(super) struct AuditFinished {
    id: EntityId,
    transaction: TransactionId,
}

impl Operation for AuditFinished {
    type Payload = wire::GetFinished;
    type Answer = wire::Finished;

    const REQUEST: EventType = EventType::EntityAuditFinishedGetRequest;
    const RESPONSE: EventType = EventType::EntityAuditFinishedGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: wire::GetFinished = payload::decode(payload)?;
        Ok(Self {
            transaction: request
                .transaction_id
                .parse()
                .map_err(|_| unknown(&request.transaction_id))?,
            id: entity_id(&request.entity_id)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let snapshot = cx.storage().snapshot(tenant, cx.storage().latest()).await?;
        let event = audit::finished(&snapshot, self.id, self.transaction)
            .await?
            .ok_or_else(|| Failure::new(Code::EntityNotFound, "finished event not found"))?;
        Ok(Output::one(wire::Finished {
            item: machine(self.id, event),
        }))
    }
}

pub(super) fn unknown(transaction: &str) -> Failure {
    Failure::bad_parameter(
        "transactionId",
        format!("`transactionId` is `{transaction}`, which is not a UUID"),
    )
}

pub(super) fn machine(entity: EntityId, event: MachineEvent) -> wire::Item {
    wire::Item::StateMachine(wire::StateMachine {
        instant: wire::Instant::at(event.at),
        entity_id: AsText(entity),
        event_type: event.kind,
        transaction_id: AsText(event.transaction),
        state: event.state,
        details: event.details,
        data: event.data,
    })
}
